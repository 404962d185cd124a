//! What a client and its server have said so far, as far as another server has to know it.

use super::envelope;
use super::tool_reply;
use super::tools::OPEN_SESSION;
use engine::error::Fault;
use error_code::ErrorCode;
use serde::Deserialize;
use serde_json::{Value, json};

/// Requests that are remembered until they are answered; far more than a client has at once.
const MAX_UNANSWERED: usize = 1024;
const INTERNAL_ERROR: i32 = -32603;

/// The parts of a message that say what it is. The rest is not looked at, so it may be anything.
#[derive(Deserialize)]
pub struct MessageHead {
    id: Option<Value>,
    method: Option<String>,
    params: Option<ParamsHead>,
}

#[derive(Deserialize)]
struct ParamsHead {
    name: Option<String>,
    #[serde(rename = "requestId")]
    request_id: Option<Value>,
    arguments: Option<ArgumentsHead>,
}

#[derive(Deserialize)]
struct ArgumentsHead {
    session_id: Option<Value>,
}

impl MessageHead {
    pub fn parse(line: &[u8]) -> Option<MessageHead> {
        serde_json::from_slice(line).ok()
    }

    pub fn is_initialize(&self) -> bool {
        self.method.as_deref() == Some("initialize")
    }

    pub fn is_response_to(&self, id: &Value) -> bool {
        self.method.is_none() && self.id.as_ref() == Some(id)
    }

    fn is_tool_call(&self) -> bool {
        self.method.as_deref() == Some("tools/call")
    }

    /// Whether the call needs a session that was opened before.
    fn needs_session(&self) -> bool {
        self.is_tool_call()
            && self.params.as_ref().and_then(|params| params.name.as_deref()) != Some(OPEN_SESSION)
    }

    fn names_session(&self) -> bool {
        let arguments = self.params.as_ref().and_then(|params| params.arguments.as_ref());
        arguments.is_some_and(|arguments| arguments.session_id.is_some())
    }
}

/// The lines that open a conversation of the 2025 revisions.
#[derive(Clone)]
pub struct ClientHandshake {
    pub id: Value,
    pub initialize: Vec<u8>,
    pub initialized: Vec<u8>,
}

#[derive(Default)]
pub struct Conversation {
    handshake: Option<ClientHandshake>,
    unanswered: Vec<MessageHead>,
    /// A tool was called since the server was joined, so there can be sessions.
    has_called_tools: bool,
    /// A server was lost, and the client does not know it yet.
    owes_notice: bool,
}

impl Conversation {
    pub fn note_from_client(&mut self, line: &[u8]) {
        let Some(head) = MessageHead::parse(line) else { return };
        match (&head.id, head.method.as_deref()) {
            (Some(id), Some(_)) => {
                if head.is_initialize() {
                    let initialized = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
                    self.handshake = Some(ClientHandshake {
                        id: id.clone(),
                        initialize: [line, b"\n"].concat(),
                        initialized: [&initialized[..], b"\n"].concat(),
                    });
                }
                self.has_called_tools |= head.is_tool_call();
                if self.unanswered.len() < MAX_UNANSWERED {
                    self.unanswered.push(head);
                }
            }
            (None, Some("notifications/cancelled")) => {
                let cancelled = head.params.and_then(|params| params.request_id);
                self.unanswered.retain(|request| request.id != cancelled);
            }
            _ => {}
        }
    }

    pub fn note_from_server(&mut self, head: &MessageHead) {
        if head.method.is_none() {
            self.unanswered.retain(|request| request.id != head.id);
        }
    }

    /// `None` for a client that has not initialized: later revisions say everything in each request.
    pub fn handshake(&self) -> Option<ClientHandshake> {
        self.handshake.clone()
    }

    /// The answers to all requests that the lost server left.
    pub fn lose_server(&mut self) -> Vec<Value> {
        let unanswered = std::mem::take(&mut self.unanswered);
        let is_told = unanswered.iter().any(MessageHead::is_tool_call);
        self.owes_notice = (self.owes_notice || self.has_called_tools) && !is_told;
        self.has_called_tools = false;
        if unanswered.iter().any(MessageHead::is_initialize) {
            self.handshake = None;
        }
        let answer = |head: &MessageHead| {
            let fault = Fault::new(
                ErrorCode::ServerLost,
                "the Stockade server ended during this call, and all its browser sessions with it",
            );
            let fault = if head.is_tool_call() {
                fault.hint(
                    "Whether the call had an effect is not known. Open a new session with browser_open_session, and \
                     look before you repeat it. The next call joins the server that runs then, or starts one.",
                )
            } else {
                fault.hint("Try again: that joins the server that runs now, or starts one.").retryable()
            };
            self.failure(head, &fault)
        };
        unanswered.iter().filter_map(answer).collect()
    }

    /// The answer to the first call after a server was lost; `None` when the client knows, or need not know.
    pub fn take_notice(&mut self, head: &MessageHead) -> Option<Value> {
        if !head.is_tool_call() || !std::mem::take(&mut self.owes_notice) || !head.needs_session() {
            return None;
        }
        let fault = Fault::new(
            ErrorCode::ServerLost,
            "the Stockade server ended, and all its browser sessions with it; this call was not made",
        )
        .hint(
            "Open a new session with browser_open_session, and begin there. The next call joins the server that runs \
             now, or starts one.",
        )
        .retryable_if(!head.names_session());
        self.failure(head, &fault)
    }

    /// A request's failure, as a tool's result where it called one; `None` for a notification.
    pub fn failure(&self, head: &MessageHead, fault: &Fault) -> Option<Value> {
        let id = head.id.as_ref()?;
        if !head.is_tool_call() {
            return Some(envelope::error_response(id, INTERNAL_ERROR, fault));
        }
        let mut result = tool_reply::into_call_result(Err(fault.clone()));
        if self.handshake.is_some() {
            // Clients that initialize are of a revision without it.
            result.result_type = None;
        }
        Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: u64, method: &str, params: Value) -> Vec<u8> {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string().into_bytes()
    }

    fn head(line: &[u8]) -> MessageHead {
        MessageHead::parse(line).unwrap()
    }

    fn read_call(id: u64, arguments: Value) -> Vec<u8> {
        request(id, "tools/call", json!({"name": "browser_read", "arguments": arguments}))
    }

    #[test]
    fn what_a_lost_server_left_is_answered_and_nothing_else() {
        let mut conversation = Conversation::default();
        conversation.note_from_client(&request(1, "initialize", json!({})));
        conversation.note_from_server(&head(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
        for id in 2..5 {
            conversation.note_from_client(&read_call(id, json!({})));
        }
        conversation.note_from_client(&request(5, "tools/list", json!({})));
        conversation.note_from_server(&head(br#"{"jsonrpc":"2.0","id":2,"result":{}}"#));
        // A request of the server's own may have the same number.
        conversation.note_from_server(&head(br#"{"jsonrpc":"2.0","id":3,"method":"elicitation/create"}"#));
        conversation.note_from_client(
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#,
        );
        let answers = conversation.lose_server();
        assert_eq!(answers.len(), 2, "{answers:?}");
        assert_eq!(answers[0]["id"], 3);
        let error = &answers[0]["result"]["structuredContent"]["error"];
        assert_eq!((&error["code"], &error["retryable"]), (&json!("server_lost"), &json!(false)));
        assert_eq!(answers[0]["result"].get("resultType"), None);
        let error = &answers[1]["error"];
        assert_eq!(
            (&answers[1]["id"], &error["code"], &error["data"]["retryable"]),
            (&json!(5), &json!(-32603), &json!(true))
        );
        assert!(conversation.lose_server().is_empty());
        assert!(conversation.take_notice(&head(&read_call(6, json!({})))).is_none(), "it knows already");
    }

    #[test]
    fn a_client_that_was_idle_learns_of_the_loss_by_its_next_call() {
        for (next, retryable) in [
            (read_call(2, json!({"session_id": "s-1"})), Some(false)),
            (read_call(2, json!({})), Some(true)),
            (request(2, "tools/call", json!({"name": OPEN_SESSION})), None),
        ] {
            let mut conversation = Conversation::default();
            conversation.note_from_client(&read_call(1, json!({})));
            conversation.note_from_server(&head(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
            assert!(conversation.lose_server().is_empty());
            assert!(conversation.take_notice(&head(&request(9, "tools/list", json!({})))).is_none());
            let notice = conversation.take_notice(&head(&next));
            let said =
                notice.map(|it| it["result"]["structuredContent"]["error"]["retryable"].as_bool().unwrap());
            assert_eq!(said, retryable);
            assert!(conversation.take_notice(&head(&next)).is_none(), "once is enough");
        }
        let mut unused = Conversation::default();
        unused.note_from_client(&request(1, "tools/list", json!({})));
        unused.lose_server();
        assert!(unused.take_notice(&head(&read_call(2, json!({})))).is_none(), "it had no session");
    }
}
