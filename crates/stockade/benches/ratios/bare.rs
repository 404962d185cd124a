//! The floor: Chromium's headless shell with the flags that a jailed one has, and no jail.

use crate::common::chromium::Chromium;
use crate::link::Link;
use browser::cdp::{Connection, ConnectionOptions, websocket_config};
use std::time::{Duration, Instant};

pub struct Shell(Chromium);

impl Shell {
    /// Returns when it says that it listens.
    pub fn start() -> Shell {
        let flags = browser::launch_flags(&browser::LaunchOptions::default());
        // The jail's own: its pipe, its proxy and its profile.
        let own = ["--remote-debugging-pipe", "--proxy-", "--user-data-dir"];
        Shell(Chromium::start(
            flags.into_iter().filter(|flag| !own.iter().any(|prefix| flag.starts_with(prefix))),
        ))
    }

    pub async fn connection(&self) -> Link {
        Link::over(self.browser_connection().await).await
    }

    pub async fn browser_connection(&self) -> Connection {
        Connection::over(self.0.socket(Some(websocket_config())).await, ConnectionOptions::default())
    }
}

pub fn time_to_ready() -> Duration {
    let begun = Instant::now();
    let _shell = Shell::start();
    begun.elapsed()
}
