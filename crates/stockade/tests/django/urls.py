"""The admin, and a door that signs the tests in: an agent never types a password."""
from django.contrib import admin
from django.contrib.auth import get_user_model, login
from django.shortcuts import redirect
from django.urls import path


def sign_in(request):
    login(request, get_user_model().objects.get(username="keeper"), backend="django.contrib.auth.backends.ModelBackend")
    return redirect("/admin/")


urlpatterns = [path("sign-in/", sign_in), path("admin/", admin.site.urls)]
