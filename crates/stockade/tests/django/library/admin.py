"""How the admin shows them."""
from django.contrib import admin

from .models import Author, Book


@admin.register(Book)
class BookAdmin(admin.ModelAdmin):
    list_display = ["title", "author", "genre", "in_print"]
    list_filter = ["genre", "in_print"]
    search_fields = ["title"]


admin.site.register(Author)
