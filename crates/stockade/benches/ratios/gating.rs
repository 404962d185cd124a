//! What the gate adds to an allowed click: the same click through the gate, and by the driver alone in a jail like it.

use crate::jailed::{Jail, Stockade};
use crate::records::Record;
use browser::{Browser, BrowserOptions, CallerId, ReplyOptions};
use engine::gate::ActionRequest;
use engine::session::OpenRequest;
use policy::{Action, Click, LoadState, Navigate, Target, WebUrl};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const HOST: &str = "bench.test";

pub struct Gated {
    stockade: Stockade,
    session: String,
}

pub struct Driven {
    browser: Browser,
    record: Record,
    _jail: Jail,
}

fn go() -> Action {
    let url = WebUrl::parse(&format!("http://{HOST}/")).unwrap();
    Action::Navigate(Navigate { url, wait_for: LoadState::Load })
}

/// On a name that is harmless, so that nobody is asked.
fn click() -> Action {
    let (role, name) = ("button".to_owned(), Some("Add one".to_owned()));
    Action::Click(Click::on(Target::Role { role, name, index: 0 }))
}

fn reply() -> ReplyOptions {
    ReplyOptions { caller: CallerId::new("bench"), full: false }
}

impl Gated {
    pub async fn start(address: &str) -> Gated {
        let hosts = format!("{{{HOST}: {address}}}");
        let settings = [
            ("egress.hosts", hosts.as_str()),
            ("max_actions_per_session", "100000"),
            ("session_timeout", "3600"),
        ];
        let stockade = Stockade::start(&settings).await;
        let session = stockade.control.gate.open(&stockade.scope, OpenRequest::default()).await.unwrap();
        let gated = Gated { session: session.id.to_string(), stockade };
        gated.act(go()).await;
        gated
    }

    async fn act(&self, action: Action) -> Duration {
        let begun = Instant::now();
        let request = ActionRequest::unattended(action, reply());
        let gate = &self.stockade.control.gate;
        let acted = gate.act(&self.stockade.scope, &self.session, request, &CancellationToken::new()).await;
        drop(acted.unwrap());
        begun.elapsed()
    }

    pub async fn click(&self) -> Duration {
        self.act(click()).await
    }

    pub async fn stop(self) {
        self.stockade.stop().await;
    }
}

impl Driven {
    pub async fn start(address: &str) -> Driven {
        let (jail, connection) = Jail::start(&[(HOST, address.to_owned())]).await;
        let browser =
            Browser::attach(connection, BrowserOptions::default()).await.unwrap().without_credentials();
        let driven = Driven { browser, record: Record::in_memory(), _jail: jail };
        driven.act(go()).await;
        driven
    }

    async fn act(&self, action: Action) -> Duration {
        let begun = Instant::now();
        let facts = self.browser.resolve(&action).await.unwrap();
        let resolved = begun.elapsed();
        // What turns it into something performable is the gate's part, and is not counted here.
        let permit = self.record.permit(action, facts).await;
        let begun = Instant::now();
        self.browser.perform(permit, &reply()).await.unwrap();
        resolved + begun.elapsed()
    }

    pub async fn click(&self) -> Duration {
        self.act(click()).await
    }
}
