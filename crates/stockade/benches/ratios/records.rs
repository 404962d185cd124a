//! The audit log: how many events a second it makes durable, and what an intent and an outcome cost an action.

use audit::{ActionContext, Event, EventKind, EventSubject, Key, Log, LogOptions, Permitted};
use policy::{Action, Click, Decision, Facts, Permit, Policy, SessionContext, Target};
use std::path::Path;
use std::time::{Duration, Instant};

const WRITING: Duration = Duration::from_secs(2);

/// A log on the disk that the build is on.
pub struct Record {
    pub log: Log,
    _folder: tempfile::TempDir,
}

pub fn about() -> EventSubject {
    EventSubject {
        tenant: "default".into(),
        actor: "bench".into(),
        session_id: policy::SessionId::parse("s-bench").ok(),
        jail_id: None,
    }
}

fn permit() -> Permit {
    match Policy::default().decide(
        Action::Click(Click::on(Target::Focused)),
        Facts::default(),
        &SessionContext::default(),
    ) {
        Decision::Allow(permit) => permit,
        other => panic!("{other:?}"),
    }
}

impl Record {
    pub fn open() -> Record {
        Record::open_in(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// A log in memory: its cost is no part of what is measured.
    pub fn in_memory() -> Record {
        Record::open_in(Path::new("/dev/shm"))
    }

    /// What the driver takes, made as the gate makes it.
    pub async fn permit(&self, action: Action, facts: Facts) -> Permitted {
        let permit = match Policy::default().decide(action, facts, &SessionContext::default()) {
            Decision::Allow(permit) => permit,
            other => panic!("{other:?}"),
        };
        let (about, redact) = (about(), |text: &str| redact::Redacted::outside_sessions(text));
        let context =
            ActionContext { subject: &about, user_agent: &"bench".into(), before: None, redact: &redact };
        self.log.intend(permit, context).await.unwrap().0
    }

    fn open_in(parent: &Path) -> Record {
        let folder = tempfile::tempdir_in(parent).unwrap();
        let key = Key::load_or_create(&folder.path().join("key")).unwrap();
        let options = LogOptions { key, segment_bytes: 16 << 20, most_bytes: 1 << 30 };
        let (log, _) = Log::open(&folder.path().join("audit"), "bench", options).unwrap();
        Record { log, _folder: folder }
    }

    /// Events a second that so many sessions get recorded, each waiting for one before the next.
    pub async fn events_a_second(&self, sessions: usize) -> f64 {
        let begun = Instant::now();
        let writers = (0..sessions).map(|_| {
            let log = self.log.clone();
            tokio::spawn(async move {
                let mut written = 0u32;
                while begun.elapsed() < WRITING {
                    log.append(&Event::new(EventKind::Refused, about()).result("ok")).await.unwrap();
                    written += 1;
                }
                written
            })
        });
        let mut written = 0;
        for writer in writers.collect::<Vec<_>>() {
            written += writer.await.unwrap();
        }
        f64::from(written) / begun.elapsed().as_secs_f64()
    }

    /// What the intent and the outcome of one action take, while so many sessions act at the pace of agents.
    pub async fn cost(
        &self,
        sessions: usize,
        actions: usize,
        acting: Duration,
        thinking: Duration,
    ) -> Vec<Duration> {
        let agents = (0..sessions).map(|number| {
            let log = self.log.clone();
            tokio::spawn(async move {
                let mut costs = Vec::new();
                tokio::time::sleep(thinking * number as u32 / sessions as u32).await;
                for _ in 0..actions {
                    let (about, redact) = (about(), |text: &str| redact::Redacted::outside_sessions(text));
                    let context = ActionContext {
                        subject: &about,
                        user_agent: &"bench".into(),
                        before: None,
                        redact: &redact,
                    };
                    let begun = Instant::now();
                    let (_, intent) = log.intend(permit(), context).await.unwrap();
                    let intended = begun.elapsed();
                    tokio::time::sleep(acting).await;
                    let begun = Instant::now();
                    intent.complete(|event| event.result("ok")).await.unwrap();
                    costs.push(intended + begun.elapsed());
                    tokio::time::sleep(thinking).await;
                }
                costs
            })
        });
        let mut costs = Vec::new();
        for agent in agents.collect::<Vec<_>>() {
            costs.extend(agent.await.unwrap());
        }
        costs
    }
}
