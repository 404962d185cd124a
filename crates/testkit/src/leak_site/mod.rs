//! The echo site: it is signed in to by the canaries, and tries hard to give them back.
//!
//! It is told their values, so that its pages are the same whether or not anybody sent it some; what it was really sent
//! is noted, because a run in which nothing arrived proves nothing.

mod behaviour;
pub mod canary;
pub mod forms;
mod pages;

pub use behaviour::{Answer, BEHAVIOURS, Behaviour};
pub use pages::PLACES;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{Html, Response};
use axum::routing::{get, post};
use canary::{Canaries, Kind};
use engine::error::Fault;
use forms::{FORMS, Form};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;

/// What stands around the name of the place where the site put a value.
pub const MARK: (&str, &str) = ("zq", "qz");

/// The mark of a place, to stand before a value in a page.
pub fn mark(place: &str) -> String {
    format!("{}{place}{}", MARK.0, MARK.1)
}

/// The name under which the jailed browser reaches it.
pub const HOST: &str = "echo.test";

#[derive(Clone)]
pub struct Site {
    canaries: Canaries,
    arrived: Arc<Mutex<BTreeSet<Kind>>>,
}

impl Site {
    pub fn new(canaries: Canaries) -> Site {
        Site { canaries, arrived: Arc::default() }
    }

    /// Serves on a free port of this machine, until the runtime ends.
    pub async fn serve(&self) -> Result<SocketAddr, Fault> {
        let failed = |e: std::io::Error| Fault::io("cannot_listen", "cannot serve the echo site", &e);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let router = self.router();
        tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the echo site stopped");
            }
        });
        Ok(address)
    }

    /// Which of the canaries it has been sent, or has handed out.
    pub fn arrived(&self) -> BTreeSet<Kind> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn router(&self) -> Router {
        let router = Router::new()
            .route("/", get(front))
            .route("/seen", post(seen))
            .route("/to/{form}", get(pages::to))
            .route("/hop/{form}", get(pages::hop))
            .route("/form/{form}", get(pages::form))
            .route("/frame/{form}", get(pages::frame))
            .route("/pictures", get(pages::pictures));
        behaviour::routes(router)
            .layer(middleware::from_fn_with_state(self.clone(), note))
            .with_state(self.clone())
    }

    fn value(&self, kind: Kind) -> &str {
        self.canaries.of(kind)
    }

    /// What a place shows: values behind its mark. All of them as they are, some of them in each other form.
    fn text_for(&self, place: &str, number: usize, form: &Form) -> String {
        self.some(number, form).map(|value| format!("{} {} ", mark(place), form.text(value))).collect()
    }

    fn html_for(&self, place: &str, number: usize, form: &Form) -> String {
        self.some(number, form).map(|value| format!("{} {} ", mark(place), form.html(value))).collect()
    }

    fn some<'s>(&'s self, number: usize, form: &Form) -> impl Iterator<Item = &'s str> {
        const OF_EACH_FORM: usize = 3;
        let all: Vec<&str> = self.canaries.all().iter().map(|canary| canary.value.as_str()).collect();
        let count = if std::ptr::eq(form, &raw const FORMS[0]) { all.len() } else { OF_EACH_FORM };
        (0..count).map(move |at| all[(number * OF_EACH_FORM + at) % all.len()])
    }

    /// As they are, all in one line.
    fn line(&self, place: &str) -> String {
        self.text_for(place, 0, &FORMS[0])
    }
}

/// Takes note of what a request brings.
async fn note(State(site): State<Site>, request: Request, next: Next) -> Response {
    let sent: Vec<String> = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    site.look_at(&sent.join("\n"));
    next.run(request).await
}

impl Site {
    fn look_at(&self, text: &str) {
        use base64::Engine;
        let pair = format!("{}:{}", canary::USER, self.value(Kind::BasicPassword));
        let basic = base64::engine::general_purpose::STANDARD.encode(pair);
        let mut arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        for canary in self.canaries.all() {
            let looked_for = if canary.kind == Kind::BasicPassword { &basic } else { &canary.value };
            if text.contains(looked_for.as_str()) {
                arrived.insert(canary.kind);
            }
        }
    }
}

/// What a page's script found in its stores.
async fn seen(State(site): State<Site>, body: Bytes) -> &'static str {
    site.look_at(&String::from_utf8_lossy(&body));
    "noted"
}

/// Tells the site what is in the stores, hands out what a site hands out, and shows the control.
async fn front(State(site): State<Site>) -> ([(&'static str, String); 1], Html<String>) {
    let rotated = format!("rotated={}; Path=/; HttpOnly", site.value(Kind::RotatedCookie));
    let page = format!(
        "<!doctype html><title>Signed in</title><h1>Welcome</h1><p id=theme>no theme</p><p id=token></p><p id=done>not yet</p>
<script>(async () => {{
  document.getElementById('theme').textContent = 'the theme is ' + localStorage.getItem('theme');
  const stores = () => JSON.stringify([{{...localStorage}}, {{...sessionStorage}}, document.cookie]);
  await fetch('/seen', {{method: 'POST', body: stores()}});
  const reply = await (await fetch('/token')).json();
  document.getElementById('token').textContent = '{mark} ' + reply.access_token;
  localStorage.setItem('handed', '{stored}');
  await fetch('/seen', {{method: 'POST', body: stores() + reply.access_token}});
  document.getElementById('done').textContent = 'all is done';
}})()</script>",
        mark = mark("tokenshown"),
        stored = site.value(Kind::StoredByPage)
    );
    ([("set-cookie", rotated)], Html(page))
}
