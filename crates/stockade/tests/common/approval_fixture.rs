//! An agent over MCP whose actions need approval, and a site that records them.

use super::login::PASSWORD;
use super::machine::{self, PATIENCE};
use super::site::Site;
use super::{Home, Mcp, Server};
use serde_json::{Value, json};

/// A button name with which a page tries to look like Stockade.
pub const MARKUP: &str = "</bdi></blockquote><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">";

fn page() -> String {
    let markup = MARKUP.replace('&', "&amp;").replace('"', "&quot;").replace('\'', "&#39;");
    let markup = markup.replace('<', "&lt;");
    format!(
        "<title>{MARKUP}</title><meta charset=utf-8><body style='font:18px sans-serif;margin:40px'><h1>Your account</h1>
         <p>Everything that you have here.</p>
         <form method=post action=/files><button>Delete</button></form><p>
         <form method=post action=/gone><button>Delete account</button></form><p>
         <form method=post action=/files><button aria-label='Delete {markup}'>Delete these</button></form>"
    )
}

const DONE: &str = "<title>Done</title><h1>Done</h1>";

/// A server with an operator, and an agent whose session is on the page.
pub struct ApprovalFixture {
    pub mcp: Mcp,
    pub server: Server,
    pub home: Home,
    pub session: String,
    _site: Site,
}

impl ApprovalFixture {
    /// `hitl` is YAML that goes under `hitl`, each line indented by six.
    pub fn start(hitl: &str) -> ApprovalFixture {
        let site = Site::serve(&[("/", &page()), ("/files", DONE), ("/gone", DONE)]);
        let hitl = format!("    hitl:\n      approvals_per_minute: 60\n{hitl}");
        // A long timeout, because some tests wait for requests that get no answer.
        let hosts = site.setting(&["account.test"]);
        let home = Home::new(&format!("    session_timeout: 1800\n{hosts}{hitl}"));
        home.set_password();
        let server = home.serve(&[]);
        let mut mcp = home.mcp();
        let session = mcp.open();
        mcp.goto(&session, "http://account.test/");
        ApprovalFixture { mcp, server, home, session, _site: site }
    }

    pub fn console(&self) -> String {
        format!("http://{}/console", self.server.address())
    }

    /// Starts a click that needs approval, on the button with this text. Returns the number of the call.
    pub fn click(&mut self, text: &str) -> u64 {
        let arguments = json!({"session_id": self.session, "visible_text": text});
        self.mcp.begin("tools/call", json!({"name": "browser_click", "arguments": arguments}))
    }

    /// The result of the waiting call: the page's address, or the code of the error.
    pub fn outcome(&mut self, call: u64) -> Result<String, String> {
        let result = self.result_of(call);
        let fields = &result["structuredContent"];
        if result["isError"] == true {
            let error = super::known(fields["error"].clone());
            return Err(error["code"].as_str().unwrap().to_owned());
        }
        Ok(fields["url"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned())
    }

    /// The error of the waiting call.
    pub fn error_of(&mut self, call: u64) -> Value {
        super::known(self.result_of(call)["structuredContent"]["error"].clone())
    }

    fn result_of(&mut self, call: u64) -> Value {
        loop {
            let message = self.mcp.next_message();
            if message["id"] == call {
                return message["result"].clone();
            }
        }
    }

    /// Returns to the page, where the same can be asked again.
    pub fn again(&mut self) {
        self.mcp.goto(&self.session, "http://account.test/");
    }

    /// The waiting approval request, as the command line lists it.
    pub fn waiting(&self) -> Value {
        machine::until("a question waits", PATIENCE, || {
            let (code, listed) = self.home.as_operator(&["approvals"]);
            assert_eq!(code, 0, "{listed}");
            listed["approvals"].as_array()?.iter().find(|approval| approval["state"] == "waiting").cloned()
        })
    }

    pub fn decided(&self, id: &Value) -> Value {
        let (_, listed) = self.home.as_operator(&["approvals"]);
        listed["approvals"].as_array().unwrap().iter().find(|it| it["id"] == *id).cloned().unwrap()
    }

    pub fn password(&self) -> &'static str {
        PASSWORD
    }
}
