//! The operator's own browser: a real Chromium with its sandbox on, driven by mouse and keys over CDP.

use super::chromium::Chromium;
use super::machine::PATIENCE;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

pub struct OperatorBrowser {
    _chromium: Chromium,
    runtime: Runtime,
    socket: WebSocketStream<TcpStream>,
    session: String,
    next: u64,
}

impl OperatorBrowser {
    pub fn start() -> OperatorBrowser {
        let flags = [
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
        ];
        let chromium = Chromium::start(flags.map(str::to_owned));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let socket = runtime.block_on(chromium.socket(None));
        let mut person =
            OperatorBrowser { _chromium: chromium, runtime, socket, session: String::new(), next: 1 };
        let target = person.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = person.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        person.session = attached["sessionId"].as_str().unwrap().to_owned();
        person.call("Page.enable", json!({}));
        // The window is already in front, so a click does not have to bring it there.
        person.call("Emulation.setFocusEmulationEnabled", json!({"enabled": true}));
        person
    }

    /// One CDP call.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.exchange(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn exchange(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut request = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            request["sessionId"] = json!(self.session);
        }
        let socket = &mut self.socket;
        self.runtime.block_on(async {
            socket.send(Message::text(request.to_string())).await.unwrap();
            loop {
                let message = tokio::time::timeout(PATIENCE, socket.next()).await;
                let message = message.unwrap_or_else(|_| panic!("{method} takes too long")).unwrap().unwrap();
                let Message::Text(text) = message else { continue };
                let answer: Value = serde_json::from_str(&text).unwrap();
                if answer["id"] == id {
                    return answer;
                }
            }
        })
    }

    /// Sets the window's size and the preference for dark colours.
    pub fn window(&mut self, width: u32, height: u32, dark: bool) {
        let mobile = width < 500;
        let scale = if mobile { 2 } else { 1 };
        let size = json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if dark { "dark" } else { "light" };
        let feature = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", feature);
    }

    pub fn go(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        self.until("document.readyState === 'complete'");
    }

    /// Evaluates an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.try_eval(expression) != json!(true) {
            if begun.elapsed() > PATIENCE {
                let page = self.eval("document.documentElement.outerHTML");
                panic!("{expression}: not within {PATIENCE:?}: {page}");
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    /// The same, while the tab may be navigating.
    fn try_eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": format!("!!({expression})"), "returnByValue": true});
        self.exchange("Runtime.evaluate", params)["result"]["result"]["value"].clone()
    }

    /// Clicks the centre of an element.
    pub fn press(&mut self, selector: &str) {
        self.press_while(selector, |_| ());
    }

    /// Presses the mouse, runs `meanwhile`, then releases the mouse.
    pub fn press_while(&mut self, selector: &str, meanwhile: impl FnOnce(&mut OperatorBrowser)) {
        let selector = json!(selector);
        self.until(&format!("document.querySelector({selector})"));
        let place = self.eval(&format!(
            "(() => {{ const e = document.querySelector({selector}); e.scrollIntoView({{block: 'center', behavior: 'instant'}});
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        ));
        let event = |kind: &str| json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
        self.call("Input.dispatchMouseEvent", event("mousePressed"));
        meanwhile(self);
        self.call("Input.dispatchMouseEvent", event("mouseReleased"));
    }

    /// Shortens the timers of pages that load from now on. The console fetches its list every four seconds; tests need
    /// not wait that long.
    pub fn hurry_timers(&mut self) {
        let source =
            "{ const real = setInterval; window.setInterval = (run, ms) => real(run, Math.min(ms, 250)); }";
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": source }));
    }

    /// Waits until the console has fetched and shown its list twice, because the first fetch may have begun earlier.
    pub fn until_refreshed(&mut self) {
        let fetched = "performance.getEntriesByType('resource').filter((it) => it.name.endsWith(live.dataset.from)).length";
        let before = self.eval(fetched).as_u64().unwrap();
        self.until(&format!("{fetched} >= {}", before + 2));
    }

    /// Presses a key that has a character.
    pub fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key});
            if key == "Enter" {
                event["windowsVirtualKeyCode"] = json!(13);
                event["text"] = json!("\r");
            } else if kind == "keyDown" {
                event["text"] = json!(key);
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    pub fn picture(&mut self, path: &Path) {
        use base64::Engine;
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = base64::engine::general_purpose::STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Logs in on the console's own page.
    pub fn log_in(&mut self, console: &str, password: &str) {
        self.go(console);
        self.until("location.pathname === '/console/login'");
        self.press("input[name=password]");
        self.write(password);
        self.key("Enter");
        self.until("document.getElementById('live')");
    }
}
