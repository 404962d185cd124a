//! Paths and headers of the control socket, shared by the server and its clients.

/// A stdio client joins here: the connection is upgraded and carries MCP lines from then on.
pub const PIPE_PATH: &str = "/v1/pipe";
/// The command line acts here.
pub const ACTIONS_PATH: &str = "/v1/actions";
/// Whom the pipe or the action speaks for, as `tenant/actor`.
pub const SCOPE_HEADER: &str = "x-stockade-scope";
/// The token of a logged-in operator.
pub const TOKEN_HEADER: &str = "x-stockade-operator";

/// Encodes any text as one path segment.
pub fn path_segment(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}
