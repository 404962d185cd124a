//! Tries a stored login: opens a signed-in session, looks at one page of the site, and closes the session.

use browser::{CallerId, Content, Outcome, ReplyOptions};
use engine::control::Control;
use engine::error::Fault;
use engine::gate::ActionRequest;
use engine::logins::{LoginRequest, OperatorContext, UnreplacedPlaceholder};
use engine::session::{EndReason, OpenRequest, Session};
use error_code::ErrorCode;
use policy::{Action, LoadState, Name, Navigate, Scope, Tenant, WebUrl};
use redact::{Redacted, Secret};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use vault::{CredentialId, GrantRequest, GrantedHost, Issuer, Summary, VaultError};

/// Lifetime of the grant that the test issues for itself.
const GRANT_LIFETIME: Duration = Duration::from_secs(120);
/// Paths and words of pages that ask for a log-in.
const LOGIN_PATHS: [&str; 6] = ["login", "signin", "sign-in", "log-in", "sso", "auth"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginVerdict {
    /// The credential's probe holds.
    SignedIn,
    /// The probe says so, or the site answers 401 or 403, or leads to a page that asks for a password.
    SignedOut,
    /// There is no probe, and nothing on the page says otherwise.
    LooksSignedIn,
}

#[derive(Clone, Debug, Serialize)]
pub struct LoginTest {
    pub credential: String,
    pub verdict: LoginVerdict,
    /// The page that was looked at, its status and its title.
    pub url: Redacted,
    pub status: Option<u16>,
    pub title: Redacted,
    pub sealed: bool,
    /// Why it counts as signed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Redacted>,
    pub unreplaced_placeholders: Vec<UnreplacedPlaceholder>,
}

/// Runs the test with a grant of its own. The session and everything in it is on record like any other.
pub async fn run(
    control: &Control,
    tenant: &Tenant,
    operator: &str,
    id: &CredentialId,
) -> Result<LoginTest, Fault> {
    let logins = &control.logins;
    let vault = logins.vault()?;
    let known = vault.list(tenant).await?.into_iter().find(|one: &Summary| one.id == *id);
    known.ok_or_else(|| VaultError::UnknownCredential { id: id.to_string() })?;
    let outline = vault.outline(tenant, id).await?;
    let name = |text: &str| Name::parse(text).map_err(|error| Fault::caused(ErrorCode::Internal, &error));
    let address = format!("{}{}", outline.origin, outline.probe.as_deref().unwrap_or("/"));
    let url = WebUrl::parse(&address).map_err(|refusal| engine::error::bad_address(&refusal))?;
    let request = GrantRequest {
        tenant: tenant.clone(),
        issuer: Issuer::Operator,
        operator: name(operator)?,
        origin_session: name("credential-test")?,
        hosts: vec![GrantedHost::parse(url.host())?],
        lifetime: Some(GRANT_LIFETIME),
        single_use: true,
        access: policy::Access::Write,
    };
    let by = OperatorContext { log: &control.log, tenant, operator };
    let (token, _) = logins.issue(by, request).await?;
    let scope = Scope { tenant: tenant.clone(), actor: control.default_scope()?.actor };
    let login = LoginRequest {
        grant: Some(Secret::new(token.expose_secret().to_owned())),
        credentials: vec![id.clone()],
        ..LoginRequest::default()
    };
    let mut test = LoginTest {
        credential: id.to_string(),
        verdict: LoginVerdict::SignedOut,
        url: Redacted::outside_sessions(address),
        status: None,
        title: Redacted::default(),
        sealed: outline.is_sealed,
        reason: None,
        unreplaced_placeholders: Vec::new(),
    };
    let opened =
        control.gate.open(&scope, OpenRequest { login: Some(login), ..OpenRequest::default() }).await;
    let session = match opened {
        Ok(session) => session,
        Err(fault) if fault.code == ErrorCode::CredentialExpired => {
            test.reason = Some(fault.message);
            return Ok(test);
        }
        Err(fault) => return Err(fault),
    };
    let looked = look(control, &scope, &session, url, outline.probe.is_some(), &mut test).await;
    test.unreplaced_placeholders = session.unreplaced_placeholders();
    control.gate.sessions.end(&session, EndReason::Closed).await;
    looked.map(|()| test)
}

/// Loads the page and judges it.
async fn look(
    control: &Control,
    scope: &Scope,
    session: &Arc<Session>,
    url: WebUrl,
    is_probed: bool,
    test: &mut LoginTest,
) -> Result<(), Fault> {
    let action = Action::Navigate(Navigate { url, wait_for: LoadState::Load });
    let reply_options = ReplyOptions { caller: CallerId::new("credential-test"), full: true };
    let request = ActionRequest::unattended(action, reply_options);
    let went = control.gate.act(scope, session.id.as_str(), request, &CancellationToken::new()).await;
    let reply = match went {
        Ok(reply) => reply,
        Err(fault) if fault.code == ErrorCode::CredentialExpired => {
            test.reason = Some(fault.message);
            return Ok(());
        }
        Err(fault) => return Err(fault),
    };
    let Outcome::Navigated { final_url, title, status, snapshot, .. } = reply.outcome else {
        return Err(Fault::new(ErrorCode::Internal, "a navigation came to something else"));
    };
    let text = match &snapshot.content {
        Content::Outline(text) | Content::Markdown(text) | Content::Changes { text, .. } => text.as_str(),
        Content::Tree(tree) => tree.text_content.as_str(),
    };
    test.reason = signed_out_reason(final_url.as_str(), status, text);
    test.verdict = match (&test.reason, is_probed) {
        (Some(_), false) => LoginVerdict::SignedOut,
        // The probe was checked when the session opened.
        (_, true) => LoginVerdict::SignedIn,
        (None, false) => LoginVerdict::LooksSignedIn,
    };
    if test.verdict == LoginVerdict::SignedIn {
        test.reason = None;
    }
    test.url = final_url;
    test.title = title;
    test.status = status;
    Ok(())
}

/// Signs that a page asks for a log-in, for a credential without a probe.
fn signed_out_reason(final_url: &str, status: Option<u16>, outline: &str) -> Option<Redacted> {
    if let Some(status @ (401 | 403)) = status {
        return Some(redact::redacted!("the site answered {}", status));
    }
    let path = url::Url::parse(final_url).map(|url| url.path().to_ascii_lowercase()).unwrap_or_default();
    let is_login_path = path
        .split('/')
        .any(|part| LOGIN_PATHS.iter().any(|word| part == *word || part.starts_with(&format!("{word}."))));
    let asks_for_password = outline.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("textbox") && line.contains("password")
    });
    match (is_login_path, asks_for_password) {
        (true, _) => Some("the site leads to a log-in page".into()),
        (false, true) => Some("the page asks for a password".into()),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_asks_for_a_log_in_is_recognised() {
        for (url, status, outline, expected) in [
            ("https://a.test/", Some(200), "- heading \"Inbox\"", false),
            ("https://a.test/", Some(401), "", true),
            ("https://a.test/", Some(403), "", true),
            ("https://a.test/accounts/login/?next=/", Some(200), "", true),
            ("https://a.test/signin", Some(200), "", true),
            ("https://a.test/login.php", Some(200), "", true),
            ("https://a.test/blogging", Some(200), "", false),
            ("https://a.test/author/ada", Some(200), "", false),
            ("https://a.test/", Some(200), "- textbox \"Password\" [secret]", true),
        ] {
            let found = signed_out_reason(url, status, outline).is_some();
            assert_eq!(found, expected, "{url} {status:?} {outline}");
        }
    }
}
