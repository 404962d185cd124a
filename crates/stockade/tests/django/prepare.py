"""Fills the database before the site starts."""
import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from library.models import Author, Book  # noqa: E402

call_command("migrate", run_syncdb=True, verbosity=0)
get_user_model().objects.create_superuser("keeper", "keeper@admin.test")
author = Author.objects.create(name="Ada Byron")
for number in range(1, 6):
    Book.objects.create(title=f"Poem {number}", author=author, genre="poems", published="1840-01-01")
Book.objects.create(title="Novel 1", author=author, genre="novel", published="1841-02-03", in_print=True)
