"""Books and who wrote them."""
