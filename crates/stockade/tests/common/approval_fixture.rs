//! An agent over MCP that asks for what only a person may allow, on a site that notes what was done to it.

use super::login::PASSWORD;
use super::machine::{self, PATIENCE};
use super::site::Site;
use super::{Home, Mcp, Server};
use serde_json::{Value, json};

/// What a page calls its button, to be more than a name.
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

/// A server with an operator, and an agent in a session on the page.
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
        // Some of it is waiting for an answer that does not come.
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

    /// Begins a click that is asked about, on what a person reads on the button; the number of the call.
    pub fn click(&mut self, text: &str) -> u64 {
        let arguments = json!({"session_id": self.session, "visible_text": text});
        self.mcp.begin("tools/call", json!({"name": "browser_click", "arguments": arguments}))
    }

    /// What the waiting call came to: the address that the page is at, or the code of the error.
    pub fn outcome(&mut self, call: u64) -> Result<String, String> {
        let result = self.result_of(call);
        let fields = &result["structuredContent"];
        if result["isError"] == true {
            let error = super::known(fields["error"].clone());
            return Err(error["code"].as_str().unwrap().to_owned());
        }
        Ok(fields["url"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned())
    }

    /// The whole error that the waiting call came to.
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

    /// Back to where it can be asked again.
    pub fn again(&mut self) {
        self.mcp.goto(&self.session, "http://account.test/");
    }

    /// The question that waits, as the command line lists it.
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
