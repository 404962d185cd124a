//! Connecting to a site by the session's rules, on record: the first time, and again after a request was held.

use crate::connect::connect;
use crate::hosts::HostName;
use crate::ledger::{Ledger, RequestSummary, RowId};
use crate::meter::{Meter, MeteredStream};
use crate::resolve::Resolver;
use crate::{Reason, Rules};
use std::sync::Arc;
use std::time::Duration;

/// What it takes to connect to a site.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    pub(crate) rules: Arc<Rules>,
    pub(crate) resolver: Resolver,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) connect_timeout: Duration,
}

/// A site as a request names it.
#[derive(Clone, Debug)]
pub(crate) struct DialTarget {
    pub(crate) host: HostName,
    pub(crate) port: u16,
    pub(crate) is_tunnel: bool,
    /// For the ledger.
    pub(crate) summary: RequestSummary,
}

impl Dialer {
    /// Decides, connects, and records the outcome in the ledger.
    pub(crate) async fn dial(
        &self,
        target: &DialTarget,
        meter: &Arc<Meter>,
    ) -> Result<(MeteredStream, RowId), Reason> {
        let DialTarget { host, port, is_tunnel, summary } = target;
        let reached = async {
            let route = self.rules.route(host, *port, *is_tunnel, &self.resolver).await?;
            connect(&route, self.connect_timeout).await
        };
        match reached.await {
            Ok((stream, address)) => {
                let row = self.ledger.record_allowed(summary.clone(), address, Arc::clone(meter));
                Ok((MeteredStream::new(stream, Arc::clone(meter)), row))
            }
            Err(error) => {
                self.ledger.record_failure(summary.clone(), error);
                Err(error.reason)
            }
        }
    }
}
