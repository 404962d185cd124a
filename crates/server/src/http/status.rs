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
                    "A jailed browser for AI agents, with your approval before anything risky."
                }
                div.state {
                    div { span.soft { "Server" } b.up { "running" } }
                    div { span.soft { "Sessions" } b { (sessions) } }
                    div { span.soft { "Browser" } b { (browser) } }
                    div { span.soft { "Version" } b { (env!("CARGO_PKG_VERSION")) } }
                }
                h2 { "Connect an agent" }
                p {
                    "Give your MCP client the address " code { "/mcp" } " on this server and a key. The first start showed \
                    a key in the terminal. To make another:"
                }
                pre { "stockade key make --label my-agent" }
                h2 { "Approve" }
                p {
                    "Risky actions wait for your approval in " a href="/console" { "the console" } "."
                }
                h2 { "Operate" }
                dl {
                    dt { "stockade session list" } dd { "lists open sessions" }
                    dt { "stockade session close ID" } dd { "ends a session" }
                    dt { "stockade doctor" } dd { "checks this machine" }
                }
            }
        }
    }
}
