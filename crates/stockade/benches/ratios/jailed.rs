//! Stockade itself: sessions as the gate opens them, and one jail with a bare connection into it.

use crate::common::{Home, machine};
use browser::cdp::{Connection, ConnectionOptions};
use engine::control::Control;
use engine::logins::LoginRequest;
use engine::provider::sandbox::tunnel::Tunnel;
use engine::session::{EndReason, OpenRequest};
use engine::state::{self, State};
use engine::storage::{self, Storage};
use jail::template::{BuildOptions, Flavour, Store};
use jail::{CgroupChoice, JailId, JailSpec, KeeperCommand, Limits, NativeOptions, NativeRuntime, Runtime};
use jiff::Timestamp;
use policy::{Name, Scope};
use redact::Secret;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stockade::config::{ConfigPaths, Override, load};
use tokio::net::UnixListener;
use vault::{Credential, CredentialId, GrantRequest, GrantedHost, Issuer};

/// Where the login of the bench belongs. Nobody goes there.
const SIGNED_IN: &str = "signed-in.test";

pub struct Stockade {
    pub control: Control,
    pub scope: Scope,
    _folder: tempfile::TempDir,
}

/// The template that a release build would use.
fn template() -> jail::template::Template {
    let bridge = Path::new(env!("CARGO_BIN_EXE_stockade")).with_file_name("stockade-bridge");
    let store = Store::open(&state::templates_dir().unwrap()).unwrap();
    let options = BuildOptions { flavour: Flavour::Headless, bridge, browser: None };
    store.build(&options, &mut |_| {}).unwrap()
}

impl Stockade {
    /// With settings of its own: keys and values.
    pub async fn start(settings: &[(&str, &str)]) -> Stockade {
        template();
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path()).unwrap();
        let storage = Storage::open(&state.database()).await.unwrap();
        let set = settings.iter().map(|(key, value)| Override::new("--set", key, value).unwrap());
        let config = load(&ConfigPaths::default(), &set.collect::<Vec<_>>()).unwrap().config;
        let control = Control::start(&config, &state, storage).await.unwrap();
        Stockade { control, scope: storage::default_scope().unwrap(), _folder: folder }
    }

    pub async fn time_to_open(&self) -> Duration {
        self.time_of(OpenRequest::default()).await
    }

    /// Signed in, by a grant that was issued before.
    pub async fn time_to_open_signed_in(&self) -> Duration {
        let request = GrantRequest {
            tenant: self.scope.tenant.clone(),
            issuer: Issuer::Operator,
            operator: Name::parse("bench").unwrap(),
            origin_session: Name::parse("bench").unwrap(),
            hosts: vec![GrantedHost::parse(SIGNED_IN).unwrap()],
            lifetime: None,
            single_use: true,
            access: policy::Access::Write,
        };
        let (token, _) = self.control.logins.grants.issue(request, Timestamp::now()).await.unwrap();
        let grant = Some(Secret::new(token.expose_secret().to_owned()));
        let login = Some(LoginRequest { grant, ..LoginRequest::default() });
        self.time_of(OpenRequest { login, ..OpenRequest::default() }).await
    }

    /// Ten cookies, two stores and a header.
    pub async fn store_login(&self) {
        let cookies: Vec<_> = (0..10)
            .map(|n| json!({"name": format!("c{n}"), "value": format!("cookie-value-{n}-0a1b2c3d")}))
            .collect();
        let entries = |kind: &str| -> serde_json::Map<String, serde_json::Value> {
            (0..5).map(|n| (format!("{kind}{n}"), json!(format!("{kind}-value-{n}-4e5f6a7b")))).collect()
        };
        let document = json!({
            "domain": SIGNED_IN,
            "cookies": cookies,
            "localStorage": entries("local"),
            "sessionStorage": entries("session"),
            "headers": {"X-Key": "header-value-8c9d0e1f"},
        });
        let credential = Credential::from_json(document.to_string().as_bytes()).unwrap();
        let id = CredentialId::parse(SIGNED_IN).unwrap();
        let vault = self.control.logins.vault().unwrap();
        vault.put(&self.scope.tenant, &id, &credential, Timestamp::now()).await.unwrap();
    }

    async fn time_of(&self, request: OpenRequest) -> Duration {
        let begun = Instant::now();
        let session = self.control.gate.open(&self.scope, request).await.unwrap();
        let took = begun.elapsed();
        self.control.gate.sessions.end(&session, EndReason::Closed).await;
        took
    }

    /// The times of opening this many sessions, one after the other, which all stay open to the end.
    pub async fn times_to_open_all(&self, count: usize) -> Vec<Duration> {
        let mut sessions = Vec::new();
        let mut times = Vec::new();
        for _ in 0..count {
            let begun = Instant::now();
            sessions.push(self.control.gate.open(&self.scope, OpenRequest::default()).await.unwrap());
            times.push(begun.elapsed());
        }
        for session in &sessions {
            self.control.gate.sessions.end(session, EndReason::Closed).await;
        }
        times
    }

    pub async fn stop(self) {
        self.control.shut_down().await;
    }
}

/// A jail as a session has it when it opens.
pub struct Jail {
    runtime: NativeRuntime,
    id: JailId,
    _tunnel: Arc<Tunnel>,
    _egress: egress::Egress,
}

/// The port inside of the jail where the bridge takes the browser's requests.
const PROXY_PORT: u16 = 3128;

impl Jail {
    /// The jail, whose browser reaches these hosts, and the connection that its driver would use.
    pub async fn start(hosts: &[(&str, String)]) -> (Jail, Connection) {
        let options = NativeOptions {
            runtime_dir: state::runtime_dir(),
            templates: state::templates_dir().unwrap(),
            flavour: Flavour::Headless,
            bridge: state::bridge_program().unwrap(),
            cgroup: CgroupChoice::Auto,
            keeper: KeeperCommand::default(),
        };
        let runtime = NativeRuntime::start_from(template(), &options).unwrap();
        let id = JailId::parse("bench").unwrap();
        let prepared = runtime.prepare(&id).unwrap();
        let signer = Arc::new(bridge::token::Signer::generate().unwrap());
        prepared.egress.set_nonblocking(true).unwrap();
        let way_out = UnixListener::from_std(prepared.egress).unwrap();
        let hosts = egress::HostMap::parse(hosts.iter().map(|(host, to)| (*host, to.clone()))).unwrap();
        let rules = Arc::new(egress::Rules::new(hosts));
        let egress = egress::serve(way_out, rules, egress::Options::default(), None);
        prepared.cdp.set_nonblocking(true).unwrap();
        let listener = UnixListener::from_std(prepared.cdp).unwrap();
        let tunnel = Arc::new(Tunnel::new(listener, signer.clone(), "bench/bench".into(), id.to_string()));
        let mut command: Vec<String> =
            [jail::BRIDGE, "--cdp", jail::CDP_SOCKET, "--egress", jail::EGRESS_SOCKET]
                .map(str::to_owned)
                .to_vec();
        command.extend(["--public-key".into(), signer.public_key(), "--scope".into(), "bench/bench".into()]);
        command.extend(["--target".into(), id.to_string(), "--restarts".into(), "0".into()]);
        command.extend(["--proxy-port".into(), PROXY_PORT.to_string(), "--".into()]);
        command.push(runtime.info().browser_program.clone());
        let proxy = format!("127.0.0.1:{PROXY_PORT}");
        let launch = browser::LaunchOptions { proxy, ..browser::LaunchOptions::default() };
        command.extend(browser::launch_flags(&launch));
        let limits = Limits::default();
        let env = vec![("HOME".into(), "/tmp".into())];
        runtime.start(&JailSpec { id: id.clone(), limits, command, env }).unwrap();
        let ready = tunnel.version(Duration::from_secs(30)).await.unwrap();
        let socket = tunnel.open_cdp(&ready.ws_path).await.unwrap();
        let connection = Connection::over(socket, ConnectionOptions::default());
        tokio::spawn(engine::provider::sandbox::tunnel::keep_renewed(tunnel.clone(), connection.renewals()));
        (Jail { runtime, id, _tunnel: tunnel, _egress: egress }, connection)
    }
}

impl Drop for Jail {
    fn drop(&mut self) {
        self.runtime.destroy(&self.id).unwrap();
    }
}

/// Proportional set size of the control plane process alone, in megabytes.
pub fn memory_with_none_and_five() -> (f64, f64) {
    let home = Home::new("");
    let mut mcp = home.mcp();
    let none = machine::proportional_megabytes(mcp.child.id());
    for _ in 0..5 {
        let session = mcp.open();
        mcp.goto(&session, "http://shop.test/");
    }
    (none, machine::proportional_megabytes(mcp.child.id()))
}
