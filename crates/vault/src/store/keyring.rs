//! The desktop's keyring, through `secret-tool` of libsecret.
//!
//! A program instead of a library: it runs once at a start and at a rotation, and keeps a hundred D-Bus crates out of
//! the process that holds the secrets. The key goes through pipes, never through arguments.

use crate::error::VaultError;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use zeroize::Zeroizing;

/// Time limit. A locked keyring asks its user, who may be away.
const PATIENCE: Duration = Duration::from_secs(30);
const LARGEST: u64 = 64 * 1024;

const TOOL: &str = "secret-tool";

pub(super) async fn load(service: &str) -> Result<Zeroizing<String>, VaultError> {
    let (found, text) = run(&["lookup", "service", service, "what", "master-key"], None).await?;
    // The tool reports "not found" and "cannot ask" with the same exit status; only the first prints nothing.
    if !found || text.trim().is_empty() {
        let place = format!("the OS keyring ({service})");
        return Err(VaultError::NoMasterKey { place, reason: "there is none".to_owned() });
    }
    Ok(text)
}

pub(super) async fn store(service: &str, text: &str) -> Result<(), VaultError> {
    let label = "--label=Stockade master key";
    let (stored, _) = run(&["store", label, "service", service, "what", "master-key"], Some(text)).await?;
    if stored { Ok(()) } else { Err(VaultError::Keyring { reason: "it did not take the key".to_owned() }) }
}

async fn run(arguments: &[&str], input: Option<&str>) -> Result<(bool, Zeroizing<String>), VaultError> {
    let failed = |reason: String| VaultError::Keyring { reason };
    let mut child = Command::new(TOOL)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("{TOOL}: {error}")))?;
    let work = async {
        if let (Some(mut pipe), Some(text)) = (child.stdin.take(), input) {
            pipe.write_all(text.as_bytes()).await?;
        }
        let mut text = Zeroizing::new(String::with_capacity(4096));
        let mut words = String::new();
        if let Some(pipe) = child.stdout.take() {
            pipe.take(LARGEST).read_to_string(&mut text).await?;
        }
        if let Some(pipe) = child.stderr.take() {
            pipe.take(LARGEST).read_to_string(&mut words).await?;
        }
        Ok::<_, std::io::Error>((child.wait().await?.success(), text, words))
    };
    let done = tokio::time::timeout(PATIENCE, work)
        .await
        .map_err(|_| failed(format!("no answer within {} s", PATIENCE.as_secs())))?;
    let (success, text, words) = done.map_err(|error| failed(error.to_string()))?;
    if !success && !words.trim().is_empty() {
        return Err(failed(crate::secret_tree::printable_excerpt(words.trim())));
    }
    Ok((success, text))
}
