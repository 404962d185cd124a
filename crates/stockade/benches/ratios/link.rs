//! A CDP connection with one page, and the smallest call that reaches its renderer.

use browser::cdp::{Command, Connection, SessionId};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

pub struct Link {
    connection: Connection,
    session: SessionId,
}

#[derive(Serialize)]
struct CreateTarget {
    url: &'static str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    target_id: String,
}

impl Command for CreateTarget {
    const METHOD: &'static str = "Target.createTarget";
    type Response = Created;
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Attach {
    target_id: String,
    flatten: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attached {
    session_id: SessionId,
}

impl Command for Attach {
    const METHOD: &'static str = "Target.attachToTarget";
    type Response = Attached;
}

#[derive(Serialize)]
struct Evaluate {
    expression: &'static str,
}

impl Command for Evaluate {
    const METHOD: &'static str = "Runtime.evaluate";
    type Response = serde::de::IgnoredAny;
}

fn soon() -> tokio::time::Instant {
    tokio::time::Instant::now() + Duration::from_secs(30)
}

impl Link {
    pub async fn over(connection: Connection) -> Link {
        let target = connection.call(None, &CreateTarget { url: "about:blank" }, soon()).await.unwrap();
        let attach = Attach { target_id: target.target_id, flatten: true };
        let session = connection.call(None, &attach, soon()).await.unwrap().session_id;
        Link { connection, session }
    }

    pub async fn round_trip(&self) -> Duration {
        let begun = Instant::now();
        self.connection.call(Some(&self.session), &Evaluate { expression: "1" }, soon()).await.unwrap();
        begun.elapsed()
    }
}
