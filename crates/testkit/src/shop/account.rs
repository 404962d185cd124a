//! Signing in and out, and the account that can be deleted.

use super::html::{form_error, page};
use super::store::Store;
use axum::Json;
use axum::extract::{Form, State};
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The one account of the shop. It protects nothing: everything here is made up.
pub const EMAIL: &str = "mara@shop.test";
pub const PASSWORD: &str = "orchard-in-june";

const COOKIE_NAME: &str = "shop_session";

#[derive(Deserialize)]
pub(super) struct Login {
    #[serde(default)]
    email: String,
    #[serde(default)]
    password: String,
}

pub(super) async fn form() -> Markup {
    sign_in_page("", None)
}

pub(super) async fn login(State(store): State<Arc<Store>>, Form(login): Form<Login>) -> Response {
    let known = login.email.trim().eq_ignore_ascii_case(EMAIL) && login.password == PASSWORD;
    if !known || !store.account_exists() {
        let error = "There is no account with this e-mail and password.";
        return (StatusCode::UNAUTHORIZED, sign_in_page(&login.email, Some(error))).into_response();
    }
    let cookie = format!("{COOKIE_NAME}={}; Path=/; HttpOnly; SameSite=Lax", store.sign_in());
    ([(SET_COOKIE, cookie)], Redirect::to("/account")).into_response()
}

pub(super) async fn logout(State(store): State<Arc<Store>>, headers: HeaderMap) -> Response {
    if let Some(token) = token(&headers) {
        store.sign_out(token);
    }
    let cookie = format!("{COOKIE_NAME}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
    ([(SET_COOKIE, cookie)], Redirect::to("/account")).into_response()
}

pub(super) async fn show(State(store): State<Arc<Store>>, headers: HeaderMap) -> Markup {
    let main = html! {
        h1 { "Your account" }
        @if signed_in(&store, &headers) {
            p role="status" { "You are signed in as " (EMAIL) "." }
            div.panel {
                dl {
                    dt { "Name" } dd { "Mara Lindqvist" }
                    dt { "E-mail" } dd { (EMAIL) }
                    dt { "Orders in the shop" } dd { (store.orders().len()) }
                }
                form method="post" action="/logout" { button.button.quiet { "Sign out" } }
            }
            div.panel.danger {
                h2 { "Delete account" }
                p { "Your orders and addresses go with it. This cannot be undone." }
                form method="post" action="/account/delete" data-confirm="Delete your account for good?" {
                    button.button.red { "Delete account" }
                }
            }
        } @else if store.account_exists() {
            p role="status" { "You are not signed in." }
            p { a.button href="/login" { "Sign in" } }
        } @else {
            p role="status" { "The account was deleted." }
            form method="post" action="/account/restore" {
                button.button.quiet { "Bring the demonstration account back" }
            }
        }
    };
    page("Your account", &main)
}

pub(super) async fn delete(State(store): State<Arc<Store>>, headers: HeaderMap) -> Response {
    if !signed_in(&store, &headers) {
        return Redirect::to("/login").into_response();
    }
    store.delete_account();
    Redirect::to("/account").into_response()
}

pub(super) async fn restore(State(store): State<Arc<Store>>) -> Redirect {
    store.restore_account();
    Redirect::to("/account")
}

#[derive(Serialize)]
pub(super) struct AccountState {
    exists: bool,
    signed_in: bool,
}

/// The account's state as JSON, for tests.
pub(super) async fn state(State(store): State<Arc<Store>>, headers: HeaderMap) -> Json<AccountState> {
    Json(AccountState { exists: store.account_exists(), signed_in: signed_in(&store, &headers) })
}

fn sign_in_page(email: &str, error: Option<&str>) -> Markup {
    let main = html! {
        h1 { "Sign in" }
        (form_error(error))
        form.panel.form method="post" action="/login" {
            label for="email" { "E-mail" }
            input id="email" name="email" type="email" autocomplete="username" value=(email);
            label for="password" { "Password" }
            input id="password" name="password" type="password" autocomplete="current-password";
            button.button { "Sign in" }
        }
    };
    page("Sign in", &main)
}

fn signed_in(store: &Store, headers: &HeaderMap) -> bool {
    token(headers).is_some_and(|token| store.is_signed_in(token))
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value)
}
