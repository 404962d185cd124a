//! The operators' side of the server: the console's pages, and what decides.
//!
//! All routes stand in one table, each with what it asks of its caller, so that none can be forgotten: the router is
//! made of the table, and so is the test that an agent's key opens nothing here.

mod approvals;
mod events;
mod grants;
mod guard;
mod login;
mod socket;
mod webhook;

pub use socket::{SocketState, router as socket_router};

use crate::console;
use crate::http::guard::Place;
use crate::operator::Desk;
use crate::operator::webhook::{Nonces, Secret};
use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef};
use axum::middleware;
use axum::routing::{MethodRouter, get, post};
use engine::control::Control;
use guard::Guard;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// The largest form; a note for the agent is the longest thing in one.
const LARGEST_FORM: usize = 16 * 1024;

/// What a route asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: files of the console, and the ways in. Not for agents even so.
    Nothing,
    /// An operator who is logged in; a page is shown the way in.
    Visit,
    /// The same, without counting as a sign of life.
    Watching,
    /// The same, and a form that we made.
    Form,
    /// A signature; no operator is logged in.
    Signature,
}

/// One route.
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub needs: Needs,
    handler: fn() -> MethodRouter<Doors>,
}

const fn route(
    method: &'static str,
    path: &'static str,
    needs: Needs,
    handler: fn() -> MethodRouter<Doors>,
) -> Route {
    Route { method, path, needs, handler }
}

/// Every route of the operators.
pub const ROUTES: &[Route] = &[
    route("GET", "/console/console.css", Needs::Nothing, || get(console::style)),
    route("GET", "/console/console.js", Needs::Nothing, || get(console::script)),
    route("GET", "/console/login", Needs::Nothing, || get(login::page)),
    route("GET", "/console/link", Needs::Nothing, || get(login::link_page)),
    route("POST", "/operator/login", Needs::Nothing, || post(login::by_password)),
    route("POST", "/operator/link", Needs::Nothing, || post(login::by_link)),
    route("POST", "/operator/logout", Needs::Form, || post(login::leave)),
    route("GET", "/console", Needs::Visit, || get(approvals::page)),
    route("GET", "/console/approvals/{id}", Needs::Visit, || get(approvals::single)),
    route("GET", "/operator/live", Needs::Watching, || get(approvals::live)),
    route("GET", "/operator/live/{id}", Needs::Watching, || get(approvals::single_live)),
    route("GET", "/operator/events", Needs::Watching, || get(events::stream)),
    route("GET", "/operator/approvals/{id}/picture", Needs::Watching, || get(approvals::picture)),
    route("POST", "/operator/approvals/{id}", Needs::Form, || post(approvals::answer)),
    route("GET", "/operator/grants", Needs::Visit, || get(grants::list)),
    route("POST", "/operator/grants", Needs::Form, || post(grants::issue)),
    route("POST", "/operator/grants/{id}/revoke", Needs::Form, || post(grants::revoke)),
    route("GET", "/operator/credentials", Needs::Visit, || get(grants::credentials)),
    route("POST", "/operator/webhook", Needs::Signature, || post(webhook::post)),
];

/// What the operators' routes work with.
#[derive(Clone)]
pub struct Doors {
    pub control: Arc<Control>,
    /// Where operators log in.
    pub desk: Desk,
    /// The port that this server listens on.
    port: u16,
    /// Where the console is reached from outside, if a proxy leads to it.
    pub outside: Option<Arc<url::Url>>,
    pub stop: CancellationToken,
    /// A place for each open console.
    streams: Arc<Semaphore>,
    webhook: Option<Arc<Webhook>>,
}

/// What is needed to believe an answer.
pub struct Webhook {
    pub secret: Arc<Secret>,
    nonces: Nonces,
}

impl Doors {
    pub fn new(
        control: Arc<Control>,
        desk: Desk,
        place: &Place,
        secret: Option<Arc<Secret>>,
        stop: CancellationToken,
    ) -> Doors {
        let streams = Arc::new(Semaphore::new(events::MOST_STREAMS));
        let webhook = secret.map(|secret| Arc::new(Webhook { secret, nonces: Nonces::default() }));
        let outside = place.outside.clone().map(Arc::new);
        Doors { control, desk, port: place.address.port(), outside, stop, streams, webhook }
    }
}

impl FromRef<Doors> for Arc<Control> {
    fn from_ref(doors: &Doors) -> Arc<Control> {
        doors.control.clone()
    }
}

pub fn router(doors: Doors) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let guard = Guard { doors: doors.clone(), needs: route.needs };
        let guarded = (route.handler)().route_layer(middleware::from_fn_with_state(guard, guard::check));
        router = router.route(route.path, guarded);
    }
    router.layer(DefaultBodyLimit::max(LARGEST_FORM)).with_state(doors)
}
