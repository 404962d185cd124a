//! Pages to look at: the front, search, a product, the stock list, the quote frame, dialogs.

use super::catalog::{self, PRODUCTS, Product};
use super::html::{Price, Text, page, search_page};
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use serde::Deserialize;

/// Long enough to show how a page is cut to a budget.
const STOCK_ROWS: usize = 1000;

/// A host to take a frame from; a longer one is ignored.
const LONGEST_FRAME: usize = 100;

pub(super) async fn front() -> Html<String> {
    let (cards, shelf) = (cards(PRODUCTS.iter()), include_str!("pictures/shelf.svg"));
    page(
        "Good things for house and garden",
        &format!(
            r#"<section class="hero"><div><p class="eyebrow">New for autumn</p><h1>Good things for house and garden</h1>
<p>Made by hand, mended for life, sent in paper.</p><p class="row"><a class="button" href="/product/watering-can">See the watering can</a><a class="button quiet" href="/search?q=kitchen">For the kitchen</a></p></div>
<span role="img" aria-label="Potted plants on a shelf">{shelf}</span></section>
<h2>Everything in the shop</h2>
<ul class="cards">{cards}</ul>"#
        ),
    )
}

#[derive(Deserialize)]
pub(super) struct SearchQuery {
    #[serde(default)]
    q: String,
}

pub(super) async fn search(Query(SearchQuery { q }): Query<SearchQuery>) -> Html<String> {
    let found = catalog::search(&q);
    let count = match found.len() {
        0 => "Nothing was found".to_owned(),
        1 => "1 thing was found".to_owned(),
        many => format!("{many} things were found"),
    };
    let words = if q.trim().is_empty() { String::new() } else { format!(" for “{}”", Text(q.trim())) };
    let cards = cards(found.into_iter());
    let main =
        format!(r#"<h1>Search</h1><p role="status">{count}{words}.</p><ul class="cards">{cards}</ul>"#);
    search_page("Search", &q, &main)
}

#[derive(Deserialize)]
pub(super) struct FrameQuery {
    frame: Option<String>,
}

/// The delivery quote comes in a frame: from this host, or from another one when `?frame=` names it.
pub(super) async fn product(Path(slug): Path<String>, Query(query): Query<FrameQuery>) -> Response {
    let Some(product) = catalog::find(&slug) else {
        return (StatusCode::NOT_FOUND, missing()).into_response();
    };
    let frame = query.frame.as_deref().filter(|host| is_host(host));
    let quote = frame.map_or_else(|| "/quote".to_owned(), |host| format!("http://{host}/quote"));
    let Product { name, about, made_of, group, slug, .. } = product;
    let (price, picture, quote) = (Price(product.cents), picture(product), Text(&quote));
    let main = format!(
        r#"<article class="product">{picture}<div><p class="eyebrow">{group}</p><h1>{name}</h1><p class="price">{price}</p><p>{about}</p>
<dl><dt>Made of</dt><dd>{made_of}</dd><dt>Delivery</dt><dd>Two to four days</dd><dt>Returns</dt><dd>Within 60 days</dd></dl>
<p><a class="button" href="/order?product={slug}">Order this</a></p>
<iframe src="{quote}" title="Delivery quote" width="420" height="170"></iframe></div></article>"#
    );
    page(name, &main).into_response()
}

pub(super) async fn stock() -> Html<String> {
    const WAREHOUSES: [&str; 4] = ["Aarhus", "Ghent", "Porto", "Tartu"];
    let row = |(number, product): (usize, &Product)| {
        let (warehouse, pieces) = (WAREHOUSES[number / PRODUCTS.len() % WAREHOUSES.len()], number * 37 % 113);
        let state = if pieces == 0 { "Sold out" } else { "In stock" };
        let (lot, Product { slug, name, .. }) = (number + 1, product);
        format!(
            r#"<tr><td>JH-{lot:04}</td><td><a href="/product/{slug}">{name}</a></td><td>{warehouse}</td><td class="number">{pieces}</td><td>{state}</td></tr>"#
        )
    };
    let rows: String = PRODUCTS.iter().cycle().take(STOCK_ROWS).enumerate().map(row).collect();
    let main = format!(
        r#"<h1>Stock</h1><p>{STOCK_ROWS} lots in four warehouses, counted this morning.</p>
<div class="wide"><table><caption>Stock by lot</caption><thead><tr><th>Lot</th><th>Product</th><th>Warehouse</th><th class="number">Pieces</th><th>State</th></tr></thead><tbody>{rows}</tbody></table></div>"#
    );
    page("Stock", &main)
}

#[derive(Deserialize)]
pub(super) struct QuoteQuery {
    country: Option<String>,
}

/// A page for a frame: it has no header, and answers in place.
pub(super) async fn quote(Query(QuoteQuery { country }): Query<QuoteQuery>) -> Html<String> {
    const COUNTRIES: [(&str, u32); 4] =
        [("Denmark", 490), ("Belgium", 650), ("Portugal", 790), ("Estonia", 720)];
    let chosen = COUNTRIES.iter().find(|(name, _)| country.as_deref() == Some(name));
    let options: String = COUNTRIES
        .iter()
        .map(|one| {
            let selected = if chosen == Some(one) { " selected" } else { "" };
            format!("<option{selected}>{}</option>", one.0)
        })
        .collect();
    let answer = chosen.map_or_else(
        || "Choose a country to see what delivery costs.".to_owned(),
        |(name, cents)| format!("Delivery to {name} costs {}.", Price(*cents)),
    );
    Html(format!(
        r#"<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Delivery quote</title><link rel="stylesheet" href="/shop.css"></head>
<body class="frame"><form action="/quote"><label for="country">Deliver to</label><select id="country" name="country">{options}</select><button class="button quiet">Get a quote</button></form><p role="status">{answer}</p></body></html>"#
    ))
}

pub(super) async fn dialogs() -> Html<String> {
    page(
        "Dialogs",
        r#"<h1>Dialogs</h1><p>Four ways in which a page can stop and ask.</p>
<div class="panel"><p class="row"><button class="button" data-dialog="alert">Show an alert</button><button class="button" data-dialog="confirm">Ask to confirm</button><button class="button" data-dialog="prompt">Ask for a name</button><button class="button quiet" data-dialog="modal">Open the newsletter</button></p><p>Last answer: <output id="answer">none yet</output></p></div>
<dialog id="modal" aria-labelledby="modal-title"><form method="dialog"><h2 id="modal-title">Our newsletter</h2><p>Four letters a year, one for each season.</p><p class="row"><button class="button" value="subscribed">Subscribe</button><button class="button quiet" value="dismissed">Not now</button></p></form></dialog>"#,
    )
}

pub(super) fn missing() -> Html<String> {
    page("Not found", r#"<h1>There is no such page</h1><p><a href="/">Back to the shop</a></p>"#)
}

pub(super) fn picture(product: &Product) -> String {
    format!(
        r#"<span class="picture" role="img" aria-label="{}">{}</span>"#,
        Text(product.name),
        product.picture
    )
}

fn cards<'a>(products: impl Iterator<Item = &'a Product>) -> String {
    products
        .map(|product| {
            let Product { slug, name, group, .. } = product;
            let (picture, price) = (picture(product), Price(product.cents));
            format!(
                r#"<li class="card"><a href="/product/{slug}">{picture}<span class="eyebrow">{group}</span><h3>{name}</h3></a><p><span class="price">{price}</span><a class="order" href="/order?product={slug}" aria-label="Order {name}">Order</a></p></li>"#
            )
        })
        .collect()
}

/// A host and maybe a port, of characters that mean nothing else in an address.
fn is_host(text: &str) -> bool {
    let fits = (1..=LONGEST_FRAME).contains(&text.len());
    fits && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':'))
}
