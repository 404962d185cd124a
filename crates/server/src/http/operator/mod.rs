//! Operator routes: the console's pages, verdicts, grants.
//!
//! One table lists all routes with the access that each requires. The router is built from it, and so is the test that
//! an agent's key is refused everywhere.

mod approvals;
mod control_socket;
mod events;
mod grants;
mod guard;
mod login;
mod webhook;

pub use control_socket::{SocketPeer, SocketState, router as socket_router};

use crate::console;
use crate::http::guard::ServerAddress;
use crate::operator::OperatorAuth;
use crate::operator::webhook::{NonceCache, WebhookSecret};
use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef};
use axum::middleware;
use axum::routing::{MethodRouter, get, post};
use engine::control::Control;
use guard::Guard;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// The largest form, in bytes; a note for the agent is its longest field.
const MAX_FORM_BYTES: usize = 16 * 1024;

/// What a route requires of its caller. No route accepts an agent's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAccess {
    /// Nothing: static files and login pages.
    Public,
    /// A login session; page loads without one are redirected to the login page.
    Session,
    /// A login session, whose idle timeout is not extended.
    PassiveSession,
    /// A login session and a form with its anti-forgery token.
    SessionForm,
    /// A webhook signature, and no login session.
    Signature,
}

/// One route.
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub access: RouteAccess,
    handler: fn() -> MethodRouter<OperatorState>,
}

const fn route(
    method: &'static str,
    path: &'static str,
    access: RouteAccess,
    handler: fn() -> MethodRouter<OperatorState>,
) -> Route {
    Route { method, path, access, handler }
}

/// Every operator route.
pub const ROUTES: &[Route] = &[
    route("GET", "/console/console.css", RouteAccess::Public, || get(console::style)),
    route("GET", "/console/console.js", RouteAccess::Public, || get(console::script)),
    route("GET", "/console/login", RouteAccess::Public, || get(login::page)),
    route("GET", "/console/link", RouteAccess::Public, || get(login::link_page)),
    route("POST", "/operator/login", RouteAccess::Public, || post(login::with_password)),
    route("POST", "/operator/link", RouteAccess::Public, || post(login::with_link)),
    route("POST", "/operator/password", RouteAccess::SessionForm, || post(login::set_password)),
    route("POST", "/operator/logout", RouteAccess::SessionForm, || post(login::log_out)),
    route("GET", "/console", RouteAccess::Session, || get(approvals::page)),
    route("GET", "/console/approvals/{id}", RouteAccess::Session, || get(approvals::single)),
    route("GET", "/operator/live", RouteAccess::PassiveSession, || get(approvals::live)),
    route("GET", "/operator/live/{id}", RouteAccess::PassiveSession, || get(approvals::single_live)),
    route("GET", "/operator/events", RouteAccess::PassiveSession, || get(events::stream)),
    route("GET", "/operator/approvals/{id}/picture", RouteAccess::PassiveSession, || get(approvals::picture)),
    route("POST", "/operator/approvals/{id}", RouteAccess::SessionForm, || post(approvals::answer)),
    route("GET", "/operator/grants", RouteAccess::Session, || get(grants::list)),
    route("POST", "/operator/grants", RouteAccess::SessionForm, || post(grants::issue)),
    route("POST", "/operator/grants/{id}/revoke", RouteAccess::SessionForm, || post(grants::revoke)),
    route("GET", "/operator/credentials", RouteAccess::Session, || get(grants::credentials)),
    route("POST", "/operator/webhook", RouteAccess::Signature, || post(webhook::post)),
];

/// State of the operator routes.
#[derive(Clone)]
pub struct OperatorState {
    pub control: Arc<Control>,
    pub auth: OperatorAuth,
    /// The port of this server.
    port: u16,
    /// The console's external address, if a reverse proxy leads to it.
    pub external_url: Option<Arc<url::Url>>,
    pub stop: CancellationToken,
    /// One permit per event stream.
    streams: Arc<Semaphore>,
    webhook: Option<Arc<WebhookVerifier>>,
}

/// Verifies webhook verdicts.
pub struct WebhookVerifier {
    pub secret: Arc<WebhookSecret>,
    nonces: NonceCache,
}

impl OperatorState {
    pub fn new(
        control: Arc<Control>,
        auth: OperatorAuth,
        address: &ServerAddress,
        secret: Option<Arc<WebhookSecret>>,
        stop: CancellationToken,
    ) -> OperatorState {
        let streams = Arc::new(Semaphore::new(events::MAX_STREAMS));
        let webhook =
            secret.map(|secret| Arc::new(WebhookVerifier { secret, nonces: NonceCache::default() }));
        let external_url = address.external_url.clone().map(Arc::new);
        OperatorState { control, auth, port: address.address.port(), external_url, stop, streams, webhook }
    }
}

impl FromRef<OperatorState> for Arc<Control> {
    fn from_ref(state: &OperatorState) -> Arc<Control> {
        state.control.clone()
    }
}

pub fn router(state: OperatorState) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let guard = Guard { state: state.clone(), access: route.access };
        let guarded = (route.handler)().route_layer(middleware::from_fn_with_state(guard, guard::check));
        router = router.route(route.path, guarded);
    }
    router.layer(DefaultBodyLimit::max(MAX_FORM_BYTES)).with_state(state)
}
