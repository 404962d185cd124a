//! The browser of an open session: the provided browser and the connection to it.

use crate::error::Fault;
use crate::provider::{Keepalive, ProvidedBrowser};
use browser::Browser;
use browser::cdp::Closed;
use tokio::sync::watch;

/// Dropping it closes the connection and destroys the browser.
pub(crate) struct SessionBrowser {
    /// The first field: the connection closes before the browser is destroyed.
    pub link: BrowserLink,
    pub provided: ProvidedBrowser,
    pub restarts_left: u32,
    /// The fault of a restart that no call has reported: it happened while no call was under way.
    pub unreported: Option<Fault>,
}

/// One connection to one Chromium. Replaced as a whole when the browser restarts.
pub(crate) struct BrowserLink {
    pub browser: Browser,
    pub closed: watch::Receiver<Option<Closed>>,
    pub _keepalive: Keepalive,
}

impl BrowserLink {
    pub fn is_alive(&self) -> bool {
        self.closed.borrow().is_none()
    }
}
