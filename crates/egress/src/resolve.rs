//! Name resolution on the host, bounded in time and number.

use crate::Reason;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

pub(crate) type Addresses = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// A lookup sits on a thread until the name server answers or gives up, and cannot be called back.
/// Further lookups of the session wait for a free slot, within their own timeout.
const MAX_LOOKUPS: usize = 32;

#[derive(Clone, Debug)]
pub(crate) struct Resolver {
    lookup: fn(String) -> Addresses,
    slots: Arc<Semaphore>,
    timeout: Duration,
}

impl Resolver {
    /// Asks whatever the host asks: its name servers and its hosts file.
    pub(crate) fn system(timeout: Duration) -> Resolver {
        Resolver::with(system_lookup, timeout)
    }

    pub(crate) fn with(lookup: fn(String) -> Addresses, timeout: Duration) -> Resolver {
        Resolver { lookup, slots: Arc::new(Semaphore::new(MAX_LOOKUPS)), timeout }
    }

    pub(crate) async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, Reason> {
        let slots = Arc::clone(&self.slots);
        let lookup = (self.lookup)(name.to_owned());
        let looked_up = async move {
            let slot = slots.acquire_owned().await.map_err(io::Error::other)?;
            // A task of its own, so that the slot stays taken until the thread is free again.
            let task = tokio::spawn(async move {
                let found = lookup.await;
                drop(slot);
                found
            });
            task.await.map_err(io::Error::other)?
        };
        match tokio::time::timeout(self.timeout, looked_up).await {
            Err(_) => Err(Reason::LookupTimeout),
            Ok(Err(error)) => {
                tracing::debug!(name, %error, "a name was not found");
                Err(Reason::HostNotFound)
            }
            Ok(Ok(found)) => Ok(found),
        }
    }
}

fn system_lookup(name: String) -> Addresses {
    Box::pin(async move {
        let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A name server of a few fixed answers.
    pub(crate) fn table() -> Resolver {
        Resolver::with(fixed, Duration::from_secs(30))
    }

    fn fixed(name: String) -> Addresses {
        let answers: Option<&[&str]> = match name.as_str() {
            "public.test" => Some(&["93.184.216.34"]),
            "mixed.test" => Some(&["10.0.0.5", "93.184.216.34", "fe80::1", "2606:4700::1", "127.0.0.1"]),
            "private.test" => Some(&["10.0.0.5"]),
            "mapped.test" => Some(&["::ffff:127.0.0.1"]),
            "empty.test" => Some(&[]),
            _ => None,
        };
        let answer = match answers {
            Some(all) => Ok(all.iter().map(|ip| ip.parse().unwrap()).collect()),
            None => Err(io::Error::other("no such name")),
        };
        Box::pin(std::future::ready(answer))
    }

    pub(crate) fn never(_: String) -> Addresses {
        Box::pin(std::future::pending())
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_server_that_is_silent_costs_a_bounded_time_and_number_of_lookups() {
        let resolver = Resolver::with(never, Duration::from_secs(5));
        for _ in 0..MAX_LOOKUPS + 3 {
            assert_eq!(resolver.resolve("slow.test").await, Err(Reason::LookupTimeout));
        }
        assert_eq!(resolver.slots.available_permits(), 0);
    }
}
