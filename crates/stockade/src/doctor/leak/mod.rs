//! `doctor --leak`: puts canaries into every kind of credential, runs every tool on a site that echoes them, and
//! searches all output for them.

mod findings;
mod images;
mod memory;
mod program;
mod scenario;
mod search;

pub use findings::{LeakCategory, LeakFinding};
pub use testkit::leak_site::canary::{Canaries, Kind};
pub use testkit::leak_site::forms::FORMS;
pub use testkit::leak_site::{BEHAVIOURS, PLACEMENTS};

use engine::error::Fault;
use engine::state::State;
use error_code::ErrorCode;
use findings::LeakFindings;
use jiff::Timestamp;
use policy::Name;
use program::{TestInstance, incomplete_run, list_files};
use scenario::{LeakScenario, PASSWORD};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use testkit::leak_site::{HOST, Site};
use vault::{Database, GrantRequest, GrantedHost, Grants, Issuer};

/// Options of a leak run.
pub struct LeakOptions {
    /// The program under test: this one.
    pub program: PathBuf,
    /// Environment variables besides this process's own.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether the session is signed in with the credential. A clean session has none of the values, so the redactor
    /// does not know them and the search must find what the site echoes. Tests use that to show that the search notices
    /// a missing redactor; the command line does not offer it.
    pub signed_in: bool,
    /// Whether the credential is sealed. One that is not has its values in the browser, and the search of the jail's
    /// memory must find them: tests use that to show that the search works.
    pub sealed: bool,
}

#[derive(Debug, Serialize)]
pub struct LeakReport {
    pub ok: bool,
    /// Places that were searched, by category.
    pub searched: BTreeMap<LeakCategory, usize>,
    pub places: usize,
    pub bytes: u64,
    pub canaries: usize,
    pub forms: usize,
    pub seconds: f64,
    pub finds: BTreeSet<LeakFinding>,
    /// By tool: confirmed guesses of a value's prefix, and all guesses. Confirmed guesses reveal the value letter by
    /// letter, so one is as bad as a finding.
    pub guesses: BTreeMap<String, (usize, usize)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

/// The fault for a run that found canaries.
fn leak_found(finds: usize) -> Fault {
    Fault::outside_sessions(ErrorCode::LeakFound, format!("planted secrets were found in {finds} places"))
        .hint("Do not sign in with this build. Report the list below; it contains no secret.")
}

/// Runs the whole test in a minute or two; calls `progress` with the current step.
pub async fn run(
    options: LeakOptions,
    progress: impl FnMut(&str) + Send + 'static,
) -> Result<LeakReport, Fault> {
    run_parts(options, LeakParts::All, progress).await
}

/// Runs only the search of a jail's memory and files, which takes seconds.
pub async fn run_jail_search(
    options: LeakOptions,
    progress: impl FnMut(&str) + Send + 'static,
) -> Result<LeakReport, Fault> {
    run_parts(options, LeakParts::Jail, progress).await
}

async fn run_parts(
    options: LeakOptions,
    parts: LeakParts,
    mut progress: impl FnMut(&str) + Send + 'static,
) -> Result<LeakReport, Fault> {
    let canaries = Canaries::plant();
    let site = Site::new(canaries.clone());
    let address = site.serve().await?;
    // Processes and pipes are waited for on a blocking thread, while the site runs here.
    let work = move || run_blocking(options, parts, &canaries, &site, address, &mut progress);
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::caused(ErrorCode::Internal, &error))?
}

/// Which parts of the scenario run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeakParts {
    All,
    Jail,
}

fn run_blocking(
    options: LeakOptions,
    parts: LeakParts,
    canaries: &Canaries,
    site: &Site,
    address: SocketAddr,
    progress: &mut dyn FnMut(&str),
) -> Result<LeakReport, Fault> {
    let begun = Instant::now();
    let instance = TestInstance::make(options.program, options.environment, &configuration(address))?;
    let mut findings = LeakFindings::new(canaries);
    progress("starting");
    let grant = match options.signed_in {
        true => Some(issue_grant(&instance, canaries, options.sealed, &mut findings)?),
        false => None,
    };
    require_success(
        instance.run(&["operator", "password", "--password-stdin"], &format!("{PASSWORD}\n"))?,
        "operator password",
    )?;
    let server = instance.serve()?;
    let mut scenario = LeakScenario::new(&instance, &server, &mut findings, site, canaries, grant, progress)?;
    match parts {
        LeakParts::All => scenario.run()?,
        LeakParts::Jail => scenario.search_jail()?,
    }
    drop(scenario);
    server.end();
    progress("searching the files");
    search_files(&instance, &mut findings)?;
    let finds = findings.finds().clone();
    let guessed: usize = findings.guesses().values().map(|(right, _)| right).sum();
    let places = finds.len() + guessed;
    Ok(LeakReport {
        ok: places == 0,
        searched: findings.searched().clone(),
        places: findings.searched().values().sum(),
        bytes: findings.bytes(),
        canaries: canaries.all().len(),
        forms: FORMS.len(),
        seconds: (begun.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        error: (places > 0).then(|| leak_found(places)),
        finds,
        guesses: findings.guesses().clone(),
    })
}

/// Enables every feature, so that all are tested; only critical actions need approval.
fn configuration(site: SocketAddr) -> String {
    format!(
        "security:
  browser:
    session_timeout: 3600
    max_actions_per_session: 100000
    read_dom: true
    recording: audit
    audit:
      image_format: png
    container:
      cpu_shares: 2
      memory_limit: 1g
    credentials:
      vault_backend: store
    hitl:
      medium: allow
      high: allow
      critical: ask
      failures_before_pause: 0
      approvals_per_minute: 60
      approval_timeout: 600
    egress:
      hosts:
        {HOST}: {site}
"
    )
}

/// The lifetime of the grant: the longest that a run may take.
const LIFETIME: Duration = Duration::from_secs(3600);

/// Stores the credential and issues a grant for any number of sessions.
fn issue_grant(
    instance: &TestInstance,
    canaries: &Canaries,
    sealed: bool,
    findings: &mut LeakFindings,
) -> Result<String, Fault> {
    let mut document = canaries.credential(HOST);
    document["sealed"] = sealed.into();
    let document = document.to_string();
    let put = require_success(instance.run(&["credential", "put", "--json"], &document)?, "credential put")?;
    findings.search_text(LeakCategory::Commands, "stockade credential put", &put);
    let name = |text: &str| Name::parse(text).map_err(|error| Fault::caused(ErrorCode::Internal, &error));
    let host = GrantedHost::parse(HOST).map_err(|error| Fault::caused(ErrorCode::Internal, &error))?;
    let request = GrantRequest {
        tenant: engine::storage::default_scope()?.tenant,
        issuer: Issuer::Operator,
        operator: name("leak")?,
        origin_session: name("leak")?,
        hosts: vec![host],
        lifetime: Some(LIFETIME),
        single_use: false,
        access: policy::Access::Write,
    };
    let issuing = async {
        let state = State::open(&instance.state())?;
        let grants = Grants::new(Database::sqlite(&state.vault_database())?);
        Ok::<_, Fault>(grants.issue(request, Timestamp::now()).await?)
    };
    let (token, _) = tokio::runtime::Handle::current().block_on(issuing)?;
    findings.add_value(Kind::Grant, token.expose_secret());
    Ok(token.expose_secret().to_owned())
}

fn require_success((printed, ok): (Vec<u8>, bool), what: &str) -> Result<Vec<u8>, Fault> {
    if ok { Ok(printed) } else { Err(incomplete_run(format!("`stockade {what}` failed"))) }
}

/// Searches the files that remain: the state folder, files that commands wrote, and the logs.
fn search_files(instance: &TestInstance, findings: &mut LeakFindings) -> Result<(), Fault> {
    let read = |path: &PathBuf| {
        std::fs::read(path)
            .map_err(|error| incomplete_run(format!("cannot read {}: {error}", path.display())))
    };
    for path in list_files(&instance.state())? {
        findings.search_file(&instance.state(), &path, &read(&path)?);
    }
    for (folder, category) in
        [(instance.logs(), LeakCategory::Logs), (instance.folder.join("out"), LeakCategory::Commands)]
    {
        for path in list_files(&folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            findings.search_html(category, &name, &String::from_utf8_lossy(&read(&path)?));
        }
    }
    Ok(())
}
