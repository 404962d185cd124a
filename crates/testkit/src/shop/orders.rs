//! The order form, the confirmation page, and a JSON list of orders for tests.

use super::catalog::{self, PRODUCTS};
use super::html::{Price, form_error, page};
use super::pages::{missing, picture};
use super::store::{Order, Store};
use axum::Json;
use axum::extract::{Form, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

const DELIVERIES: [(&str, &str); 3] = [
    ("standard", "Standard, two to four days"),
    ("express", "Express, tomorrow"),
    ("pickup", "I pick it up"),
];

const MAX_PIECES: u32 = 20;
const MAX_NAME_CHARS: usize = 100;
const MAX_ADDRESS_CHARS: usize = 500;

/// The form as submitted, not yet validated.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OrderForm {
    product: String,
    quantity: String,
    name: String,
    address: String,
    delivery: String,
    gift_wrap: Option<String>,
}

pub(super) async fn form(Query(prefilled): Query<OrderForm>) -> Markup {
    show(&OrderForm { quantity: "1".to_owned(), ..prefilled }, None)
}

pub(super) async fn place(State(store): State<Arc<Store>>, Form(submitted): Form<OrderForm>) -> Response {
    match validate(&submitted) {
        Ok(order) => Redirect::to(&format!("/order/{}", store.add(order))).into_response(),
        Err(error) => (StatusCode::UNPROCESSABLE_ENTITY, show(&submitted, Some(error))).into_response(),
    }
}

pub(super) async fn thanks(State(store): State<Arc<Store>>, Path(number): Path<String>) -> Response {
    let order = number.parse().ok().and_then(|number| store.order(number));
    let Some(order) = order else {
        return (StatusCode::NOT_FOUND, missing()).into_response();
    };
    let product = catalog::find(order.product);
    let (name, cents) = product.map_or(("Something", 0), |product| (product.name, product.cents));
    let main = html! {
        h1 { "Thank you, " (order.name) }
        p role="status" { "Order " (order.number) " is placed." }
        div.panel.receipt {
            @if let Some(product) = product { (picture(product)) }
            dl {
                dt { "Product" } dd { (name) }
                dt { "Quantity" } dd { (order.quantity) }
                dt { "Total" } dd { (Price(cents.saturating_mul(order.quantity))) }
                dt { "Delivery" } dd { (label(order.delivery)) }
                dt { "Gift wrap" } dd { @if order.gift_wrap { "Yes" } @else { "No" } }
                dt { "To" } dd.lines { (order.address) }
            }
        }
        p { a href="/" { "Back to the shop" } }
    };
    page("Thank you", &main).into_response()
}

/// All stored orders, oldest first.
pub(super) async fn list(State(store): State<Arc<Store>>) -> Json<Vec<Order>> {
    Json(store.orders())
}

fn validate(submitted: &OrderForm) -> Result<Order, &'static str> {
    let product = catalog::find(&submitted.product).ok_or("Choose a product.")?;
    let quantity = submitted.quantity.trim().parse().ok().filter(|pieces| (1..=MAX_PIECES).contains(pieces));
    let quantity = quantity.ok_or("Choose a quantity from 1 to 20.")?;
    let name =
        bounded(&submitted.name, MAX_NAME_CHARS).ok_or("Tell us your name, in at most 100 letters.")?;
    let address = bounded(&submitted.address, MAX_ADDRESS_CHARS)
        .ok_or("Tell us your address, in at most 500 letters.")?;
    let delivery = DELIVERIES.iter().find(|(value, _)| *value == submitted.delivery);
    let (delivery, _) = delivery.ok_or("Choose a delivery.")?;
    let gift_wrap = submitted.gift_wrap.is_some();
    Ok(Order { number: 0, product: product.slug, quantity, name, address, delivery, gift_wrap })
}

fn bounded(text: &str, longest: usize) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text.chars().count() <= longest).then(|| text.to_owned())
}

fn label(delivery: &str) -> &'static str {
    DELIVERIES.iter().find(|(value, _)| *value == delivery).map_or("", |(_, label)| label)
}

fn show(submitted: &OrderForm, error: Option<&str>) -> Markup {
    let main = html! {
        h1 { "Your order" }
        (form_error(error))
        form.panel.form method="post" action="/order" {
            label for="product" { "Product" }
            select id="product" name="product" {
                @for product in PRODUCTS {
                    option value=(product.slug) selected[product.slug == submitted.product] {
                        (product.name) " – " (Price(product.cents))
                    }
                }
            }
            label for="quantity" { "Quantity" }
            input id="quantity" name="quantity" type="number" min="1" max=(MAX_PIECES) value=(submitted.quantity);
            label for="name" { "Name" }
            input id="name" name="name" autocomplete="name" value=(submitted.name);
            label for="address" { "Address" }
            textarea id="address" name="address" rows="3" autocomplete="street-address" { (submitted.address) }
            label for="delivery" { "Delivery" }
            select id="delivery" name="delivery" {
                @for (value, label) in DELIVERIES {
                    option value=(value) selected[value == submitted.delivery] { (label) }
                }
            }
            label.check {
                input type="checkbox" name="gift_wrap" value="yes" checked[submitted.gift_wrap.is_some()];
                " Wrap it as a gift"
            }
            button.button { "Place order" }
        }
    };
    page("Your order", &main)
}
