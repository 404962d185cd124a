//! `doctor --leak`: canaries in every kind of credential, every tool on a site that echoes them, and a search of all that
//! came out.

mod drive;
mod ledger;
mod pixels;
mod program;
mod search;

pub use ledger::{Category, Find};
pub use testkit::leak_site::canary::{Canaries, Kind};
pub use testkit::leak_site::forms::FORMS;
pub use testkit::leak_site::{BEHAVIOURS, PLACEMENTS};

use drive::{Drive, PASSWORD};
use engine::error::Fault;
use engine::state::State;
use error_code::ErrorCode;
use jiff::Timestamp;
use ledger::Ledger;
use policy::Name;
use program::{Home, files, unfinished};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use testkit::leak_site::{HOST, Site};
use vault::{Database, GrantRequest, GrantedHost, Grants, Issuer};

/// How the run is made.
pub struct Options {
    /// The program that is tried: this one.
    pub program: PathBuf,
    /// What it is started with besides this process's own environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether the session is signed in by the credential. One that is not is `clean`: it was given none of the values,
    /// so nothing takes them out of what the site says, and the search has to find them. That is how a test shows that
    /// the search would notice a missing redactor; the command line has no way to ask for it.
    pub signed_in: bool,
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub ok: bool,
    /// How many places were searched, by their kind.
    pub searched: BTreeMap<Category, usize>,
    pub places: usize,
    pub bytes: u64,
    pub canaries: usize,
    pub forms: usize,
    pub seconds: f64,
    pub finds: BTreeSet<Find>,
    /// By tool: how many guesses of a value's beginning were told to be right, of how many. Letter by letter that would be
    /// the value, so one is as bad as a find.
    pub guesses: BTreeMap<String, (usize, usize)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

/// What an operator would do if one byte got out.
fn leak_found(finds: usize) -> Fault {
    Fault::new(ErrorCode::LeakFound, format!("canaries were found in {finds} places where none may be"))
        .hint("Sign nobody in with this build. Report the list; no value is in it.")
}

/// Makes the whole run; `tell` hears what is being done. It takes a minute or two.
pub async fn run(options: Options, mut tell: impl FnMut(&str) + Send + 'static) -> Result<Report, Fault> {
    let canaries = Canaries::plant();
    let site = Site::new(canaries.clone());
    let address = site.serve().await?;
    // Processes and pipes are waited for in the plain way, beside the site.
    let work = move || whole(options, &canaries, &site, address, &mut tell);
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::caused(ErrorCode::Internal, &error))?
}

fn whole(
    options: Options,
    canaries: &Canaries,
    site: &Site,
    address: SocketAddr,
    tell: &mut dyn FnMut(&str),
) -> Result<Report, Fault> {
    let begun = Instant::now();
    let home = Home::make(options.program, options.environment, &configuration(address))?;
    let mut ledger = Ledger::new(canaries);
    tell("starting");
    let grant = if options.signed_in { Some(grant(&home, canaries, &mut ledger)?) } else { None };
    done(
        home.run(&["operator", "password", "--password-stdin"], &format!("{PASSWORD}\n"))?,
        "operator password",
    )?;
    let server = home.serve()?;
    Drive::new(&home, &server, &mut ledger, site, canaries, grant, tell)?.run()?;
    server.end();
    tell("searching the files");
    after(&home, &mut ledger)?;
    let finds = ledger.finds().clone();
    let guessed: usize = ledger.guesses().values().map(|(right, _)| right).sum();
    let places = finds.len() + guessed;
    Ok(Report {
        ok: places == 0,
        searched: ledger.searched().clone(),
        places: ledger.searched().values().sum(),
        bytes: ledger.bytes(),
        canaries: canaries.all().len(),
        forms: FORMS.len(),
        seconds: (begun.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        error: (places > 0).then(|| leak_found(places)),
        finds,
        guesses: ledger.guesses().clone(),
    })
}

/// Everything on, so that everything is tried; who is asked is asked about the worst alone.
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

/// How long the run may take.
const LIFETIME: Duration = Duration::from_secs(3600);

/// Puts the credential into the vault and lets one session after another have it.
fn grant(home: &Home, canaries: &Canaries, ledger: &mut Ledger) -> Result<String, Fault> {
    let document = canaries.credential(HOST).to_string();
    let put = done(home.run(&["credential", "put", "--json"], &document)?, "credential put")?;
    ledger.text(Category::Commands, "stockade credential put", &put);
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
    };
    let issuing = async {
        let state = State::open(&home.state())?;
        let grants = Grants::new(Database::sqlite(&state.vault_database())?);
        Ok::<_, Fault>(grants.issue(request, Timestamp::now()).await?)
    };
    let (token, _) = tokio::runtime::Handle::current().block_on(issuing)?;
    ledger.also(Kind::Grant, token.expose_secret());
    Ok(token.expose_secret().to_owned())
}

fn done((printed, ok): (Vec<u8>, bool), what: &str) -> Result<Vec<u8>, Fault> {
    if ok { Ok(printed) } else { Err(unfinished(format!("`stockade {what}` failed"))) }
}

/// What is left when everything has ended: the state folder, what commands wrote, and the logs.
fn after(home: &Home, ledger: &mut Ledger) -> Result<(), Fault> {
    let read = |path: &PathBuf| {
        std::fs::read(path).map_err(|error| unfinished(format!("cannot read {}: {error}", path.display())))
    };
    for path in files(&home.state())? {
        ledger.file(&home.state(), &path, &read(&path)?);
    }
    for (folder, category) in [(home.logs(), Category::Logs), (home.folder.join("out"), Category::Commands)] {
        for path in files(&folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            ledger.page(category, &name, &String::from_utf8_lossy(&read(&path)?));
        }
    }
    Ok(())
}
