//! The order form, what becomes of it, and a list for whoever checks.

use super::catalog::{self, PRODUCTS};
use super::html::{Price, Text, page};
use super::pages::{missing, picture};
use super::store::{Order, Store};
use axum::Json;
use axum::extract::{Form, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;
use std::sync::Arc;

const DELIVERIES: [(&str, &str); 3] = [
    ("standard", "Standard, two to four days"),
    ("express", "Express, tomorrow"),
    ("pickup", "I pick it up"),
];

const MOST_PIECES: u32 = 20;
const LONGEST_NAME: usize = 100;
const LONGEST_ADDRESS: usize = 500;

/// The form as it came: nothing is believed yet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filled {
    product: String,
    quantity: String,
    name: String,
    address: String,
    delivery: String,
    gift_wrap: Option<String>,
}

pub(super) async fn form(Query(asked): Query<Filled>) -> Html<String> {
    show(&Filled { quantity: "1".to_owned(), ..asked }, None)
}

pub(super) async fn place(State(store): State<Arc<Store>>, Form(filled): Form<Filled>) -> Response {
    match read(&filled) {
        Ok(order) => Redirect::to(&format!("/order/{}", store.add(order))).into_response(),
        Err(fault) => (StatusCode::UNPROCESSABLE_ENTITY, show(&filled, Some(fault))).into_response(),
    }
}

pub(super) async fn thanks(State(store): State<Arc<Store>>, Path(number): Path<String>) -> Response {
    let order = number.parse().ok().and_then(|number| store.order(number));
    let Some(order) = order else {
        return (StatusCode::NOT_FOUND, missing()).into_response();
    };
    let product = catalog::find(order.product);
    let (name, cents) = product.map_or(("Something", 0), |product| (product.name, product.cents));
    let picture = product.map(picture).unwrap_or_default();
    let gift = if order.gift_wrap { "Yes" } else { "No" };
    let main = format!(
        r#"<h1>Thank you, {}</h1><p role="status">Order {} is placed.</p>
<div class="panel receipt">{picture}<dl><dt>Product</dt><dd>{name}</dd><dt>Quantity</dt><dd>{}</dd><dt>Total</dt><dd>{}</dd><dt>Delivery</dt><dd>{}</dd><dt>Gift wrap</dt><dd>{gift}</dd><dt>To</dt><dd class="lines">{}</dd></dl></div>
<p><a href="/">Back to the shop</a></p>"#,
        Text(&order.name),
        order.number,
        order.quantity,
        Price(cents.saturating_mul(order.quantity)),
        label(order.delivery),
        Text(&order.address),
    );
    page("Thank you", &main).into_response()
}

/// All orders that are remembered, oldest first.
pub(super) async fn list(State(store): State<Arc<Store>>) -> Json<Vec<Order>> {
    Json(store.orders())
}

fn read(filled: &Filled) -> Result<Order, &'static str> {
    let product = catalog::find(&filled.product).ok_or("Choose a product.")?;
    let quantity = filled.quantity.trim().parse().ok().filter(|pieces| (1..=MOST_PIECES).contains(pieces));
    let quantity = quantity.ok_or("Choose a quantity from 1 to 20.")?;
    let name = bounded(&filled.name, LONGEST_NAME).ok_or("Tell us your name, in at most 100 letters.")?;
    let address =
        bounded(&filled.address, LONGEST_ADDRESS).ok_or("Tell us your address, in at most 500 letters.")?;
    let delivery = DELIVERIES.iter().find(|(value, _)| *value == filled.delivery);
    let (delivery, _) = delivery.ok_or("Choose a delivery.")?;
    let gift_wrap = filled.gift_wrap.is_some();
    Ok(Order { number: 0, product: product.slug, quantity, name, address, delivery, gift_wrap })
}

fn bounded(text: &str, longest: usize) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text.chars().count() <= longest).then(|| text.to_owned())
}

fn label(delivery: &str) -> &'static str {
    DELIVERIES.iter().find(|(value, _)| *value == delivery).map_or("", |(_, label)| label)
}

fn show(filled: &Filled, fault: Option<&str>) -> Html<String> {
    let options = |all: &mut dyn Iterator<Item = (&str, String)>, chosen: &str| -> String {
        all.map(|(value, label)| {
            let selected = if value == chosen { " selected" } else { "" };
            format!(r#"<option value="{value}"{selected}>{label}</option>"#)
        })
        .collect()
    };
    let products = options(
        &mut PRODUCTS
            .iter()
            .map(|product| (product.slug, format!("{} – {}", product.name, Price(product.cents)))),
        &filled.product,
    );
    let deliveries =
        options(&mut DELIVERIES.iter().map(|(value, label)| (*value, (*label).to_owned())), &filled.delivery);
    let fault = fault.map(|text| format!(r#"<p class="fault" role="alert">{text}</p>"#)).unwrap_or_default();
    let wrapped = if filled.gift_wrap.is_some() { " checked" } else { "" };
    let main = format!(
        r#"<h1>Your order</h1>{fault}
<form class="panel form" method="post" action="/order">
<label for="product">Product</label><select id="product" name="product">{products}</select>
<label for="quantity">Quantity</label><input id="quantity" name="quantity" type="number" min="1" max="{MOST_PIECES}" value="{}">
<label for="name">Name</label><input id="name" name="name" autocomplete="name" value="{}">
<label for="address">Address</label><textarea id="address" name="address" rows="3" autocomplete="street-address">{}</textarea>
<label for="delivery">Delivery</label><select id="delivery" name="delivery">{deliveries}</select>
<label class="check"><input type="checkbox" name="gift_wrap" value="yes"{wrapped}> Wrap it as a gift</label>
<button class="button">Place order</button>
</form>"#,
        Text(&filled.quantity),
        Text(&filled.name),
        Text(&filled.address),
    );
    page("Your order", &main)
}
