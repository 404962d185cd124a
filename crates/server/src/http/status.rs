//! The page at `/`: that Stockade runs, and how to connect to it. It shows no secret and has no controls.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use engine::control::Control;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::sync::Arc;

const STYLE: &str = include_str!("status.css");
/// The page has no script and loads nothing.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

pub async fn page(State(control): State<Arc<Control>>) -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    (headers, render(control.gate.sessions.open_count(), control.browser_version())).into_response()
}

fn render(sessions: usize, browser: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            title { "Stockade" }
            style { (PreEscaped(STYLE)) }
            main {
                h1 { "Stockade" }
                p.soft {
                    "A browser that an AI agent can use as yours, without ever holding what makes it yours."
                }
                div.state {
                    div { span.soft { "Server" } b.up { "running" } }
                    div { span.soft { "Open sessions" } b { (sessions) } }
                    div { span.soft { "Browser" } b { (browser) } }
                    div { span.soft { "Version" } b { (env!("CARGO_PKG_VERSION")) } }
                }
                h2 { "Connect an agent" }
                p {
                    "Give your MCP client the address " code { "/mcp" } " on this server and a key. The key was shown \
                    in the terminal at the first start; make another there:"
                }
                pre { "stockade key make --label my-agent" }
                h2 { "Decide what it may do" }
                p {
                    "What an agent may not do by itself waits for a person in " a href="/console" { "the console" } "."
                }
                h2 { "Look after it" }
                dl {
                    dt { "stockade session list" } dd { "who is using a browser" }
                    dt { "stockade session close ID" } dd { "end a session now" }
                    dt { "stockade doctor" } dd { "what works here, and what does not" }
                }
            }
        }
    }
}
