//! The front page, search, product pages, the stock list, the quote frame and the dialogs page.

use super::catalog::{self, PRODUCTS, Product};
use super::html::{Price, page, search_page};
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Deserialize;

/// Enough rows that a snapshot of the page exceeds its token budget.
const STOCK_ROWS: usize = 1000;

/// The longest host name for the frame; a longer one is ignored.
const MAX_HOST_BYTES: usize = 100;

pub(super) async fn front() -> Markup {
    let main = html! {
        section.hero {
            div {
                p.eyebrow { "New for autumn" }
                h1 { "Good things for house and garden" }
                p { "Made by hand, mended for life, sent in paper." }
                p.row {
                    a.button href="/product/watering-can" { "See the watering can" }
                    a.button.quiet href="/search?q=kitchen" { "For the kitchen" }
                }
            }
            span role="img" aria-label="Potted plants on a shelf" {
                (PreEscaped(include_str!("pictures/shelf.svg")))
            }
        }
        h2 { "Everything in the shop" }
        (cards(PRODUCTS.iter()))
    };
    page("Good things for house and garden", &main)
}

#[derive(Deserialize)]
pub(super) struct SearchQuery {
    #[serde(default)]
    q: String,
}

pub(super) async fn search(Query(SearchQuery { q }): Query<SearchQuery>) -> Markup {
    let found = catalog::search(&q);
    let count = match found.len() {
        0 => "Nothing was found".to_owned(),
        1 => "1 thing was found".to_owned(),
        many => format!("{many} things were found"),
    };
    let main = html! {
        h1 { "Search" }
        p role="status" {
            (count)
            @if !q.trim().is_empty() { " for “" (q.trim()) "”" }
            "."
        }
        (cards(found.into_iter()))
    };
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
    let main = html! {
        article.product {
            (picture(product))
            div {
                p.eyebrow { (group) }
                h1 { (name) }
                p.price { (Price(product.cents)) }
                p { (about) }
                dl {
                    dt { "Made of" } dd { (made_of) }
                    dt { "Delivery" } dd { "Two to four days" }
                    dt { "Returns" } dd { "Within 60 days" }
                }
                p { a.button href={ "/order?product=" (slug) } { "Order this" } }
                iframe src=(quote) title="Delivery quote" width="420" height="170" {}
            }
        }
    };
    page(name, &main).into_response()
}

pub(super) async fn stock() -> Markup {
    const WAREHOUSES: [&str; 4] = ["Aarhus", "Ghent", "Porto", "Tartu"];
    let row = |(number, product): (usize, &Product)| {
        let (warehouse, pieces) = (WAREHOUSES[number / PRODUCTS.len() % WAREHOUSES.len()], number * 37 % 113);
        html! {
            tr {
                td { "JH-" (format!("{:04}", number + 1)) }
                td { a href={ "/product/" (product.slug) } { (product.name) } }
                td { (warehouse) }
                td.number { (pieces) }
                td { @if pieces == 0 { "Sold out" } @else { "In stock" } }
            }
        }
    };
    let main = html! {
        h1 { "Stock" }
        p { (STOCK_ROWS) " lots in four warehouses, counted this morning." }
        div.wide {
            table {
                caption { "Stock by lot" }
                thead {
                    tr { th { "Lot" } th { "Product" } th { "Warehouse" } th.number { "Pieces" } th { "State" } }
                }
                tbody { @for lot in PRODUCTS.iter().cycle().take(STOCK_ROWS).enumerate() { (row(lot)) } }
            }
        }
    };
    page("Stock", &main)
}

#[derive(Deserialize)]
pub(super) struct QuoteQuery {
    country: Option<String>,
}

/// The document of the quote frame, without the shop's header.
pub(super) async fn quote(Query(QuoteQuery { country }): Query<QuoteQuery>) -> Markup {
    const COUNTRIES: [(&str, u32); 4] =
        [("Denmark", 490), ("Belgium", 650), ("Portugal", 790), ("Estonia", 720)];
    let chosen = COUNTRIES.iter().find(|(name, _)| country.as_deref() == Some(name));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Delivery quote" }
                link rel="stylesheet" href="/shop.css";
            }
            body.frame {
                form action="/quote" {
                    label for="country" { "Deliver to" }
                    select id="country" name="country" {
                        @for country in &COUNTRIES { option selected[chosen == Some(country)] { (country.0) } }
                    }
                    button.button.quiet { "Get a quote" }
                }
                p role="status" {
                    @if let Some((name, cents)) = chosen {
                        "Delivery to " (name) " costs " (Price(*cents)) "."
                    } @else {
                        "Choose a country to see what delivery costs."
                    }
                }
            }
        }
    }
}

pub(super) async fn dialogs() -> Markup {
    let main = html! {
        h1 { "Dialogs" }
        p { "Four ways in which a page can stop and ask." }
        div.panel {
            p.row {
                button.button data-dialog="alert" { "Show an alert" }
                button.button data-dialog="confirm" { "Ask to confirm" }
                button.button data-dialog="prompt" { "Ask for a name" }
                button.button.quiet data-dialog="modal" { "Open the newsletter" }
            }
            p { "Last answer: " output id="answer" { "none yet" } }
        }
        dialog id="modal" aria-labelledby="modal-title" {
            form method="dialog" {
                h2 id="modal-title" { "Our newsletter" }
                p { "Four letters a year, one for each season." }
                p.row {
                    button.button value="subscribed" { "Subscribe" }
                    button.button.quiet value="dismissed" { "Not now" }
                }
            }
        }
    };
    page("Dialogs", &main)
}

pub(super) fn missing() -> Markup {
    page("Not found", &html! { h1 { "There is no such page" } p { a href="/" { "Back to the shop" } } })
}

pub(super) fn picture(product: &Product) -> Markup {
    html! {
        span.picture role="img" aria-label=(product.name) { (PreEscaped(product.picture)) }
    }
}

fn cards<'a>(products: impl Iterator<Item = &'a Product>) -> Markup {
    html! {
        ul.cards {
            @for product in products {
                @let Product { slug, name, group, .. } = product;
                li.card {
                    a href={ "/product/" (slug) } {
                        (picture(product))
                        span.eyebrow { (group) }
                        h3 { (name) }
                    }
                    p {
                        span.price { (Price(product.cents)) }
                        a.order href={ "/order?product=" (slug) } aria-label={ "Order " (name) } { "Order" }
                    }
                }
            }
        }
    }
}

/// A host with an optional port, and no characters that have another meaning in a URL.
fn is_host(text: &str) -> bool {
    let fits = (1..=MAX_HOST_BYTES).contains(&text.len());
    fits && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':'))
}
