//! The audit log: how many events a second it makes durable, and what an intent and an outcome cost an action.

use audit::{About, Context, Event, EventKind, Key, Log, LogOptions};
use policy::{Action, Click, Decision, Facts, Permit, Policy, Standing, Target};
use std::time::{Duration, Instant};

const WRITING: Duration = Duration::from_secs(2);

/// A log on the disk that the build is on.
pub struct Record {
    log: Log,
    _folder: tempfile::TempDir,
}

fn about() -> About {
    About { tenant: "default".into(), actor: "bench".into(), session_id: "s-bench".into(), jail_id: None }
}

fn permit() -> Permit {
    match Policy::default().decide(
        Action::Click(Click::on(Target::Focused)),
        Facts::default(),
        &Standing::default(),
    ) {
        Decision::Allow(permit) => permit,
        other => panic!("{other:?}"),
    }
}

impl Record {
    pub fn open() -> Record {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let key = Key::load_or_create(&folder.path().join("key")).unwrap();
        let options = LogOptions { key, segment_bytes: 16 << 20, most_bytes: 1 << 30 };
        let log = Log::open(&folder.path().join("audit"), "bench", options).unwrap();
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
                    let (about, veil) = (about(), |text: &str| text.to_owned());
                    let context = Context { about: &about, user_agent: "bench", before: None, veil: &veil };
                    let begun = Instant::now();
                    let (_, intent) = log.intend(permit(), context).await.unwrap();
                    let intended = begun.elapsed();
                    tokio::time::sleep(acting).await;
                    let begun = Instant::now();
                    intent.came_to(|event| event.result("ok")).await.unwrap();
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
