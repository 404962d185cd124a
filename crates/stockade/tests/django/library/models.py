"""Two tables with the kinds of field that an admin shows: text, choice, date, box, reference."""
from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=100)

    def __str__(self):
        return self.name


class Book(models.Model):
    title = models.CharField(max_length=200)
    author = models.ForeignKey(Author, on_delete=models.CASCADE)
    genre = models.CharField(max_length=20, choices=[("novel", "Novel"), ("poems", "Poems"), ("essay", "Essay")])
    published = models.DateField()
    in_print = models.BooleanField(default=False)
    notes = models.TextField(blank=True)

    def __str__(self):
        return self.title
