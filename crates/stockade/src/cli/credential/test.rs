//! `stockade credential test`: opens a signed-in session, looks at one page, and says whether the site knows its owner.

use crate::cli::output::{BAD, BOLD, DIM, GOOD, HINT, print_progress};
use crate::cli::{Context, Reply};
use crate::login_test::{self, LoginTest, LoginVerdict};
use engine::control::Control;
use engine::error::Fault;
use engine::storage::Storage;
use error_code::ErrorCode;
use policy::Tenant;
use vault::CredentialId;

pub async fn run(
    context: &Context,
    tenant: &Tenant,
    operator: &str,
    id: &CredentialId,
) -> Result<Reply, Fault> {
    let config = context.load_config(Vec::new())?.enabled()?;
    let state = context.open_state()?;
    let storage = Storage::open(&state.database()).await?;
    print_progress(context, &format!("Opening a session that is signed in with {id}..."));
    let control = Control::start_on(context.backend(&config)?, &config, &state, storage).await?;
    let tested = login_test::run(&control, tenant, operator, id).await;
    control.shut_down().await;
    let test = tested?;
    let json = serde_json::to_value(&test).map_err(|error| Fault::caused(ErrorCode::Internal, &error))?;
    let problem = (test.verdict == LoginVerdict::SignedOut).then(|| {
        let why = test.reason.clone().unwrap_or_else(|| "the site shows a signed-out page".into());
        Fault::new(ErrorCode::CredentialExpired, redact::redacted!("{} does not sign in: {}", id, why)).hint(
            "Log in with your own browser, and store the login again with `stockade credential import`.",
        )
    });
    Ok(Reply::with_problem(render(id, &test), json, problem))
}

fn render(id: &CredentialId, test: &LoginTest) -> String {
    let (style, verdict) = match test.verdict {
        LoginVerdict::SignedIn => (GOOD, "signed in"),
        LoginVerdict::LooksSignedIn => (GOOD, "looks signed in"),
        LoginVerdict::SignedOut => (BAD, "not signed in"),
    };
    let mut out = format!("{style}{verdict}{style:#}\n");
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            out.push_str(&format!("  {DIM}{name:<8}{DIM:#} {value}\n"));
        }
    };
    row("page", audit::sanitize_within(test.url.as_str(), 200));
    row("title", audit::sanitize_within(test.title.as_str(), 60));
    row("status", test.status.map(|status| status.to_string()).unwrap_or_default());
    row("reason", test.reason.as_ref().map(|reason| reason.as_str().to_owned()).unwrap_or_default());
    row("sealed", if test.sealed { "yes" } else { "no: the browser holds the secrets" }.to_owned());
    if test.verdict == LoginVerdict::LooksSignedIn {
        out.push_str(&format!(
            "{HINT}Without a probe this is a guess.{HINT:#} A `probe` in the credential makes it certain.\n"
        ));
    }
    if !test.unreplaced_placeholders.is_empty() {
        out.push_str(&format!("\n{HINT}Sent as a placeholder{HINT:#}, not as the secret, in\n"));
        for place in &test.unreplaced_placeholders {
            let field = place.field.as_ref().map_or_else(String::new, |field| format!(" ({field})"));
            out.push_str(&format!(
                "  {} {}{field}\n",
                place.kind,
                audit::sanitize_within(place.path.as_str(), 60)
            ));
        }
        out.push_str(&format!(
            "{BOLD}stockade credential show {id}{BOLD:#} says how to allow one of them.\n"
        ));
    }
    out
}
