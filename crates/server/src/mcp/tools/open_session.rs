//! `browser_open_session`: starts a jailed browser.

use super::super::server::Call;
use super::super::tool_reply::{ErrorReply, ToolReply};
use super::bad_arguments;
use engine::error::Fault;
use engine::logins::LoginRequest;
use engine::session::{CredentialMode, OpenRequest, RecordMode};
use policy::{Access, DomainPattern, Name};
use redact::{Redacted, RedactedFields, Secret, redacted};
use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vault::{CredentialId, Host};

pub const NAME: &str = "browser_open_session";

/// A grant names at most as many.
const MAX_REQUESTED: usize = 32;

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct OpenSessionArguments {
    /// A name to call the session by, instead of its id: a-z, 0-9, '-', '_' and '.'
    #[serde(default)]
    session_name: Option<String>,
    /// "clean": signed in nowhere (default). "operator": with logins that a person granted
    #[serde(default)]
    credential_mode: CredentialMode,
    /// With credential_mode "operator": the sites whose logins are wanted; all that the grant is for, if left out. With "clean": the only sites that may be opened, such as example.org, *.example.org or https://example.org:8443
    #[serde(default)]
    #[schemars(length(max = 32))]
    domains: Vec<String>,
    /// The operator's grant (gr_stockade_...), for credential_mode "operator"; not needed where the operator set a standing one
    #[serde(default, alias = "operator_grant_token")]
    grant: Option<String>,
    /// Logins by the names that the operator gave them, where there are several for one site
    #[serde(default)]
    #[schemars(length(max = 32))]
    credentials: Vec<String>,
    /// With credential_mode "operator": less access than was granted. "read": a person is asked about every change on the site; "write": about consequential ones
    #[serde(default)]
    access: Option<RequestedAccess>,
    /// Screenshots: "transient" keeps the last ones until the session closes, "off" keeps none, "audit" keeps all
    #[serde(default)]
    record: Option<RecordMode>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum RequestedAccess {
    Read,
    Write,
    Full,
}

impl From<RequestedAccess> for Access {
    fn from(requested: RequestedAccess) -> Access {
        match requested {
            RequestedAccess::Read => Access::Read,
            RequestedAccess::Write => Access::Write,
            RequestedAccess::Full => Access::Full,
        }
    }
}

#[derive(Serialize, JsonSchema, RedactedFields)]
pub struct OpenSessionReply {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_name: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credential_mode: Option<CredentialMode>,
    /// Hosts whose logins are in the browser
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    signed_in_to: Vec<Redacted>,
    /// What is weaker than usual in this session
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<RecordMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Redacted>,
    /// Seconds until the session ends by itself
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_left: Option<u64>,
    /// Calls the session may still take
    #[serde(skip_serializing_if = "Option::is_none")]
    actions_left: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorReply>,
}

pub fn tool() -> Tool {
    Tool::new(NAME, "Open a browser session: a fresh Chromium in a jail of its own, with an empty profile. Returns the \
session_id that every other call takes. A session ends by itself after a while and after a number of calls; the reply says when.", serde_json::Map::new())
        .with_input_schema::<OpenSessionArguments>()
        .with_output_schema::<OpenSessionReply>()
        .with_annotations(ToolAnnotations::with_title("Open a browser session").read_only(false).destructive(false).idempotent(false).open_world(false))
}

pub async fn run(call: &Call<'_>, arguments: OpenSessionArguments) -> Result<ToolReply, Fault> {
    let name = match arguments.session_name.as_deref() {
        Some(text) => {
            Some(Name::parse(text).map_err(|e| bad_arguments(NAME, &format!("session_name: {e}")))?)
        }
        None => None,
    };
    if name.as_ref().is_some_and(|name| name.as_str().starts_with("s-")) {
        return Err(bad_arguments(NAME, "session_name: names that begin with s- are ids"));
    }
    let login = requested_login(
        arguments.credential_mode,
        arguments.grant,
        &arguments.domains,
        &arguments.credentials,
        arguments.access.map(Access::from),
    )?;
    let domains = match login {
        Some(_) => Vec::new(),
        None => allowlist(&arguments.domains)?,
    };
    let request = OpenRequest { name, login, domains, record: arguments.record };
    let session = Box::pin(call.control.gate.open(&call.scope, request)).await?;
    call.adopt(session.id.as_str()).await;
    let summary = session.summary();
    let signed_in = match session.signed_in_to() {
        hosts if hosts.is_empty() => "".into(),
        hosts => redacted!(" Signed in to {}; other sites are asked for.", Redacted::join(hosts, ", ")),
    };
    let notes = session.notes();
    let weaker = match &*notes {
        [] => "".into(),
        notes => redacted!(" Note: {}.", Redacted::join(notes.to_vec(), "; ")),
    };
    let text = redacted!(
        "Session {} is open: {} s and {} actions left.{}{} Navigate next.",
        summary.session_id,
        summary.seconds_left,
        summary.max_actions,
        signed_in,
        weaker
    );
    ToolReply::new(
        text,
        &OpenSessionReply {
            success: true,
            session_id: Some(Redacted::from_safe(&summary.session_id)),
            session_name: summary.session_name.as_ref().map(Redacted::from_safe),
            credential_mode: Some(summary.credential_mode),
            signed_in_to: session.signed_in_to(),
            notes,
            record: Some(summary.record),
            started_at: Some(Redacted::from_safe(summary.started_at)),
            seconds_left: Some(summary.seconds_left),
            actions_left: Some(summary.max_actions),
            error: None,
        },
    )
}

/// Parses the sites that a clean session asks to be kept to.
fn allowlist(domains: &[String]) -> Result<Vec<DomainPattern>, Fault> {
    if domains.len() > MAX_REQUESTED {
        return Err(bad_arguments(NAME, &format!("domains: at most {MAX_REQUESTED}")));
    }
    let pattern = |text: &String| {
        DomainPattern::parse(text).ok_or_else(|| {
            let shown = audit::sanitize(text);
            bad_arguments(
                NAME,
                &format!("domains: {shown:?} is not a site such as example.org or *.example.org"),
            )
        })
    };
    domains.iter().map(pattern).collect()
}

/// Parses the requested logins; `None` for a clean session.
fn requested_login(
    mode: CredentialMode,
    grant: Option<String>,
    domains: &[String],
    credentials: &[String],
    access: Option<Access>,
) -> Result<Option<LoginRequest>, Fault> {
    if mode == CredentialMode::Clean {
        let extra = [
            ("grant", grant.is_some()),
            ("credentials", !credentials.is_empty()),
            ("access", access.is_some()),
        ];
        return match extra.into_iter().find(|(_, is_given)| *is_given) {
            Some((field, _)) => {
                Err(bad_arguments(NAME, &format!("{field}: goes with credential_mode \"operator\"")))
            }
            None => Ok(None),
        };
    }
    if domains.len() > MAX_REQUESTED || credentials.len() > MAX_REQUESTED {
        return Err(bad_arguments(NAME, &format!("domains, credentials: at most {MAX_REQUESTED}")));
    }
    let host = |text: &String| Host::parse(text).map_err(|e| bad_arguments(NAME, &format!("domains: {e}")));
    let id = |text: &String| {
        CredentialId::parse(text).map_err(|e| bad_arguments(NAME, &format!("credentials: {e}")))
    };
    Ok(Some(LoginRequest {
        grant: grant.map(Secret::new),
        hosts: domains.iter().map(host).collect::<Result<_, _>>()?,
        credentials: credentials.iter().map(id).collect::<Result<_, _>>()?,
        access,
    }))
}
