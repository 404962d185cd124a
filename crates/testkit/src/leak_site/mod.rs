//! The echo site: the canaries sign in to it, and it tries every way to return them to the agent.
//!
//! The site knows the canaries from the start, so its pages do not depend on what it receives. It records which canaries
//! it did receive, because a run in which none arrived proves nothing.

mod behaviour;
pub mod canary;
pub mod forms;
mod pages;

pub use behaviour::{BEHAVIOURS, Behaviour, FollowUp};
pub use pages::{PLACEMENTS, Placement};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use canary::{Canaries, Kind};
use engine::error::Fault;
use error_code::ErrorCode;
use forms::{FORMS, Form};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;

/// Delimiters around the name of a placement.
pub const MARK: (&str, &str) = ("zq", "qz");

/// The mark of a placement, which precedes each value in a page.
pub fn mark(place: &str) -> String {
    format!("{}{place}{}", MARK.0, MARK.1)
}

/// The host name under which the jailed browser reaches the site.
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
        let failed = |e: std::io::Error| Fault::io(ErrorCode::CannotListen, "cannot serve the echo site", &e);
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

    /// The canaries that the site has received or issued.
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
            .layer(middleware::from_fn_with_state(self.clone(), record_headers))
            .with_state(self.clone())
    }

    fn value(&self, kind: Kind) -> &str {
        self.canaries.of(kind)
    }

    /// The values of a placement, each behind its mark: all of them unencoded, some of them in each other form.
    fn text_for(&self, place: &str, number: usize, form: &Form) -> String {
        self.some(number, form).map(|value| format!("{} {} ", mark(place), form.text(value))).collect()
    }

    fn html_for(&self, place: &str, number: usize, form: &Form) -> Markup {
        html! { @for value in self.some(number, form) { (mark(place)) " " (form.html(value)) " " } }
    }

    fn some<'s>(&'s self, number: usize, form: &Form) -> impl Iterator<Item = &'s str> {
        const OF_EACH_FORM: usize = 3;
        let all: Vec<&str> = self.canaries.all().iter().map(|canary| canary.value.as_str()).collect();
        let count = if std::ptr::eq(form, &raw const FORMS[0]) { all.len() } else { OF_EACH_FORM };
        (0..count).map(move |at| all[(number * OF_EACH_FORM + at) % all.len()])
    }

    /// All values, unencoded, in one line.
    fn line(&self, place: &str) -> String {
        self.text_for(place, 0, &FORMS[0])
    }
}

/// Records the canaries in the headers of a request.
async fn record_headers(State(site): State<Site>, request: Request, next: Next) -> Response {
    let sent: Vec<String> = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    site.record_arrivals(&sent.join("\n"));
    next.run(request).await
}

impl Site {
    fn record_arrivals(&self, text: &str) {
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

/// Receives what a page's script found in its stores.
async fn seen(State(site): State<Site>, body: Bytes) -> &'static str {
    site.record_arrivals(&String::from_utf8_lossy(&body));
    "noted"
}

/// Reports the browser's stores to the site, in a body and in headers, issues the site's own tokens, and shows the value that is no secret.
async fn front(State(site): State<Site>) -> ([(&'static str, String); 1], Markup) {
    let rotated = format!("rotated={}; Path=/; HttpOnly", site.value(Kind::RotatedCookie));
    let script = format!(
        "(async () => {{
  document.getElementById('theme').textContent = 'the theme is ' + localStorage.getItem('theme');
  const stores = () => JSON.stringify([{{...localStorage}}, {{...sessionStorage}}, document.cookie]);
  const headers = {{'X-Local': localStorage.getItem('token') || '', 'X-Session': sessionStorage.getItem('tab') || ''}};
  await fetch('/seen', {{method: 'POST', headers, body: stores()}});
  const reply = await (await fetch('/token')).json();
  document.getElementById('token').textContent = '{mark} ' + reply.access_token;
  localStorage.setItem('handed', '{stored}');
  await fetch('/seen', {{method: 'POST', body: stores() + reply.access_token}});
  document.getElementById('done').textContent = 'all is done';
}})()",
        mark = mark("tokenshown"),
        stored = site.value(Kind::StoredByPage)
    );
    let page = html! {
        (DOCTYPE)
        title { "Signed in" }
        h1 { "Welcome" }
        p id="theme" { "no theme" }
        p id="token" {}
        p id="done" { "not yet" }
        script { (PreEscaped(script)) }
    };
    ([("set-cookie", rotated)], page)
}
