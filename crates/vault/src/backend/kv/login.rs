//! Authentication to a vault server. The token is renewed while it lives and replaced when it is gone.

use super::http::KvClient;
use super::text_at;
use crate::backend::env::read_file;
use crate::error::VaultError;
use crate::secret_tree::SecretNode;
use redact::Secret;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use zeroize::Zeroizing;

/// How we authenticate to the server.
pub enum KvAuth {
    Token(KvSecret),
    AppRole {
        mount: String,
        role_id: String,
        secret_id: KvSecret,
    },
    /// By the token of the pod's service account.
    Kubernetes {
        mount: String,
        role: String,
        token_file: PathBuf,
    },
}

pub enum KvSecret {
    Plain(Secret),
    /// Read at every login, because a vault agent may renew it.
    File(PathBuf),
    /// A wrapping token that contains it. It unwraps once; a failure means that it was used before.
    Wrapped(Secret),
}

/// The token in use.
struct LiveToken {
    token: Secret,
    /// `None` for a token that does not expire.
    until: Option<Instant>,
    lease: Duration,
    renewable: bool,
}

pub(super) struct TokenManager {
    client: KvClient,
    auth: KvAuth,
    held: Mutex<Option<LiveToken>>,
    /// The unwrapped secret, because the wrapping token cannot be used again.
    unwrapped: Mutex<Option<Secret>>,
}

/// A token that expires sooner than this is not used for a call.
const MARGIN: Duration = Duration::from_millis(500);
/// Upper bound of a lease. A longer or meaningless one is checked with the server after this time.
const LONGEST_LEASE: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// The shortest time between two renewals, failed ones included.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

impl TokenManager {
    pub(super) fn new(client: KvClient, auth: KvAuth) -> Arc<TokenManager> {
        Arc::new(TokenManager { client, auth, held: Mutex::new(None), unwrapped: Mutex::new(None) })
    }

    pub(super) fn client(&self) -> &KvClient {
        &self.client
    }

    /// A valid token; logs in if there is none. Concurrent callers share one login.
    pub(super) async fn token(self: &Arc<TokenManager>) -> Result<Secret, VaultError> {
        let mut held = self.held.lock().await;
        let good =
            held.as_ref().filter(|held| held.until.is_none_or(|until| until > Instant::now() + MARGIN));
        if let Some(good) = good {
            return Ok(good.token.duplicate());
        }
        let fresh = self.log_in().await?;
        let token = fresh.token.duplicate();
        if fresh.renewable {
            tokio::spawn(keep_alive(Arc::downgrade(self), token.duplicate(), fresh.lease));
        }
        *held = Some(fresh);
        Ok(token)
    }

    /// Replaces a token that was refused; `None` if a new login gives the same one.
    pub(super) async fn replace(
        self: &Arc<TokenManager>,
        refused: &Secret,
    ) -> Result<Option<Secret>, VaultError> {
        {
            let mut held = self.held.lock().await;
            if held.as_ref().is_some_and(|held| held.token.expose_secret() == refused.expose_secret()) {
                *held = None;
            }
        }
        let token = self.token().await?;
        Ok((token.expose_secret() != refused.expose_secret()).then_some(token))
    }

    async fn log_in(&self) -> Result<LiveToken, VaultError> {
        match &self.auth {
            KvAuth::Token(secret) => {
                let token = self.open(secret, "token", "auth", "client_token").await?;
                self.look_up(token).await
            }
            KvAuth::AppRole { mount, role_id, secret_id } => {
                let secret_id = self.open(secret_id, "AppRole", "data", "secret_id").await?;
                let body = object(&[("role_id", role_id), ("secret_id", secret_id.expose_secret())]);
                self.log_in_by("AppRole", mount, body).await
            }
            KvAuth::Kubernetes { mount, role, token_file } => {
                let jwt = self.file(token_file, "Kubernetes").await?;
                let body = object(&[("role", role), ("jwt", jwt.expose_secret())]);
                self.log_in_by("Kubernetes", mount, body).await
            }
        }
    }

    async fn log_in_by(
        &self,
        method: &'static str,
        mount: &str,
        body: Zeroizing<String>,
    ) -> Result<LiveToken, VaultError> {
        let path = format!("auth/{}/login", mount.trim_matches('/'));
        let response = self.client.call("POST", &path, None, Some(body)).await?;
        if response.status != 200 {
            return Err(self.failed(method, response.reason()));
        }
        self.held(method, response.body)
    }

    /// Asks the server for the lifetime of a token that was configured.
    async fn look_up(&self, token: Secret) -> Result<LiveToken, VaultError> {
        let response = self.client.call("GET", "auth/token/lookup-self", Some(&token), None).await?;
        if response.status != 200 {
            return Err(self.failed("token", response.reason()));
        }
        let read = || -> Result<(i64, bool), crate::Malformed> {
            let mut data = response.body.fields("")?.need("data")?.fields("data")?;
            let seconds = data.optional("ttl", SecretNode::number)?.unwrap_or(0);
            Ok((seconds, data.optional("renewable", SecretNode::truth)?.unwrap_or(false)))
        };
        let (seconds, renewable) = read().map_err(|bad| self.failed("token", bad.to_string()))?;
        Ok(LiveToken::new(token, seconds, renewable))
    }

    fn held(&self, method: &'static str, body: SecretNode) -> Result<LiveToken, VaultError> {
        let read = || -> Result<LiveToken, crate::Malformed> {
            let mut auth = body.fields("")?.need("auth")?.fields("auth")?;
            let token = Secret::new(auth.need("client_token")?.text("auth.client_token")?);
            let seconds = auth.optional("lease_duration", SecretNode::number)?.unwrap_or(0);
            let renewable = auth.optional("renewable", SecretNode::truth)?.unwrap_or(false);
            Ok(LiveToken::new(token, seconds, renewable))
        };
        read().map_err(|bad| self.failed(method, bad.to_string()))
    }

    async fn open(
        &self,
        secret: &KvSecret,
        method: &'static str,
        outer: &str,
        inner: &str,
    ) -> Result<Secret, VaultError> {
        match secret {
            KvSecret::Plain(secret) => Ok(secret.duplicate()),
            KvSecret::File(file) => self.file(file, method).await,
            KvSecret::Wrapped(wrapping) => {
                let mut unwrapped = self.unwrapped.lock().await;
                if let Some(secret) = &*unwrapped {
                    return Ok(secret.duplicate());
                }
                let response = self.client.call("POST", "sys/wrapping/unwrap", Some(wrapping), None).await?;
                if response.status != 200 {
                    return Err(VaultError::WrappingSpent);
                }
                let secret = text_at(response.body, outer, inner)
                    .ok_or_else(|| self.failed(method, format!("the wrapping token holds no {inner}")))?;
                *unwrapped = Some(secret.duplicate());
                Ok(secret)
            }
        }
    }

    async fn file(&self, file: &std::path::Path, method: &'static str) -> Result<Secret, VaultError> {
        let failed = |reason: String| self.failed(method, format!("{}: {reason}", file.display()));
        let bytes = read_file(file).await.map_err(|error| failed(error.to_string()))?;
        let text = std::str::from_utf8(&bytes).map_err(|error| failed(error.to_string()))?.trim();
        Ok(Secret::new(text.to_owned()))
    }

    fn failed(&self, method: &'static str, reason: String) -> VaultError {
        VaultError::LoginFailed { address: self.client.address().to_owned(), method, reason }
    }

    /// Renews the token if it is still the one in use. Returns its new lease.
    async fn renew(&self, token: &Secret) -> Result<Option<Duration>, VaultError> {
        let response = self.client.call("POST", "auth/token/renew-self", Some(token), None).await?;
        let mut held = self.held.lock().await;
        let in_use = held.as_ref().is_some_and(|held| held.token.expose_secret() == token.expose_secret());
        if !in_use {
            return Ok(None);
        }
        if response.status != 200 {
            // Revoked, or at its maximum age: the next caller logs in again.
            *held = None;
            return Ok(None);
        }
        let renewed = self.held("token", response.body)?;
        let lease = renewed.lease;
        *held = Some(renewed);
        Ok(Some(lease))
    }
}

impl LiveToken {
    /// The server says 0 for a token that does not expire.
    fn new(token: Secret, seconds: i64, renewable: bool) -> LiveToken {
        let lease = Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).min(LONGEST_LEASE);
        let until = (!lease.is_zero()).then(|| Instant::now() + lease);
        LiveToken { token, until, lease, renewable: renewable && until.is_some() }
    }
}

/// Renews at two thirds of the lease, until the manager is dropped or another token is in use.
async fn keep_alive(tokens: Weak<TokenManager>, token: Secret, mut lease: Duration) {
    let mut end = Instant::now() + lease;
    let mut pause = lease * 2 / 3;
    loop {
        tokio::time::sleep(pause.max(SHORTEST_PAUSE)).await;
        let Some(tokens) = tokens.upgrade() else { return };
        match tokens.renew(&token).await {
            Ok(Some(next)) => {
                lease = next;
                end = Instant::now() + lease;
                pause = lease * 2 / 3;
            }
            Ok(None) => return,
            Err(error) if Instant::now() < end => {
                tracing::warn!(%error, "the vault's token could not be renewed");
                pause = lease / 10;
            }
            Err(error) => {
                tracing::warn!(%error, "the vault's token ran out");
                return;
            }
        }
    }
}

/// A small JSON object in wiped memory.
fn object(fields: &[(&str, &str)]) -> Zeroizing<String> {
    let length: usize = fields.iter().map(|(name, value)| name.len() + 6 * value.len() + 8).sum();
    let mut text = Zeroizing::new(String::with_capacity(length + 2));
    for (name, value) in fields {
        let separator = if text.is_empty() { "{\"" } else { ",\"" };
        text.push_str(separator);
        text.push_str(name);
        text.push_str("\":\"");
        for c in value.chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                c if c.is_control() => text.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => text.push(c),
            }
        }
        text.push('"');
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_lease_is_too_long_or_too_odd_to_count_with() {
        for (seconds, wanted) in [
            (i64::MAX, Some(LONGEST_LEASE)),
            (3600, Some(Duration::from_secs(3600))),
            (0, None),
            (-1, None),
            (i64::MIN, None),
        ] {
            let held = LiveToken::new(Secret::new("token".to_owned()), seconds, true);
            let lease = held.until.map(|_| held.lease);
            assert!(lease == wanted && held.renewable == wanted.is_some(), "{seconds}: {lease:?}");
        }
    }
}
