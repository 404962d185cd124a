"""The admin, and a door that signs the tests in: an agent never types a password."""
from django.contrib import admin
from django.contrib.auth import get_user_model, login
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path
from library.models import Author, Book


def sign_in(request):
    login(request, get_user_model().objects.get(username="keeper"), backend="django.contrib.auth.backends.ModelBackend")
    return redirect("/admin/")


def rename(request):
    """Renames the author by script, with the token in a header, as Django's documentation shows it. Keeps what the script saw."""
    if request.method == "POST":
        Author.objects.update(name=request.POST["name"])
        Book.objects.update(notes=request.POST["cookies"])
        return HttpResponse("renamed")
    return HttpResponse(
        """<h1>Rename</h1><p id="done"></p><script>
        const token = document.cookie.split("csrftoken=")[1].split(";")[0];
        const body = new URLSearchParams({name: "Ada King", cookies: document.cookie});
        fetch("", {method: "POST", headers: {"X-CSRFToken": token}, body})
          .then((reply) => { done.textContent = "answer " + reply.status; });
        </script>"""
    )


urlpatterns = [path("sign-in/", sign_in), path("rename/", rename), path("admin/", admin.site.urls)]
