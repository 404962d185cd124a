//! Sends signed heads to targets out of reach of whoever can change the log: a file, syslog, a webhook.
//!
//! Only the newest head is queued, so memory is bounded and no action waits. The first failure of a target and its
//! recovery are recorded as events.

use crate::post::post;
use crate::settings::Anchor as AnchorSettings;
use audit::{Event, EventKind, EventSubject, Head, Log};
use redact::Redacted;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Time limit of one target.
const TIMEOUT: Duration = Duration::from_secs(5);
/// A longer file loses its older half; the newest heads cover the older ones.
const LONGEST_FILE: u64 = 1024 * 1024;
const LONGEST_READ: u64 = 16 * 1024 * 1024;
const SYSLOG: &str = "/dev/log";
/// Facility 13, log audit; severity 5, notice.
const PRIORITY: u8 = 13 * 8 + 5;

#[derive(Clone, Debug, PartialEq, Eq)]
enum AnchorTarget {
    File(PathBuf),
    Syslog(PathBuf),
    Webhook(url::Url),
}

/// The background task that anchors the heads of one log.
pub struct Anchors {
    task: JoinHandle<()>,
    stop: watch::Sender<bool>,
}

impl Anchors {
    /// Starts the task if the settings name a target.
    pub fn start(settings: &AnchorSettings, log: &Log) -> Option<Anchors> {
        let mut targets = Vec::new();
        targets.extend(settings.file.as_ref().map(|path| AnchorTarget::File(PathBuf::from(path))));
        targets.extend(settings.syslog.then(|| AnchorTarget::Syslog(PathBuf::from(SYSLOG))));
        targets.extend(settings.webhook.as_ref().and_then(|url| url.parse().ok()).map(AnchorTarget::Webhook));
        if targets.is_empty() {
            return None;
        }
        let heads = log.heads()?;
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(run(targets, settings.interval.duration(), heads, log.clone(), stopped));
        Some(Anchors { task, stop })
    }

    /// Anchors the last head and ends, in bounded time.
    pub async fn finish(self) {
        self.stop.send_replace(true);
        let most = TIMEOUT * 4;
        if tokio::time::timeout(most, self.task).await.is_err() {
            tracing::warn!("the last head was not anchored in time");
        }
    }
}

async fn run(
    targets: Vec<AnchorTarget>,
    interval: Duration,
    mut heads: watch::Receiver<Head>,
    log: Log,
    mut stopped: watch::Receiver<bool>,
) {
    let mut targets: Vec<(AnchorTarget, bool)> = targets.into_iter().map(|target| (target, true)).collect();
    let mut anchored = 0;
    loop {
        // Read before the head, so that a head written before the stop is anchored too.
        let stopping = *stopped.borrow();
        let head = heads.borrow_and_update().clone();
        if head.seq > anchored {
            for (target, healthy) in &mut targets {
                let sent = send(target, &head).await;
                note(&log, target, healthy, sent);
            }
            anchored = head.seq;
        }
        if stopping {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            _ = stopped.changed() => {}
        }
    }
}

/// Records the first failure of a target, and its recovery.
fn note(log: &Log, target: &AnchorTarget, healthy: &mut bool, sent: io::Result<()>) {
    let event = match (&sent, *healthy) {
        (Err(error), true) => {
            tracing::warn!(%error, anchor = %target.name(), "a head could not be anchored");
            let detail = Redacted::outside_sessions(format!("{}: {error}", target.name()));
            Event::new(EventKind::AnchorFailed, EventSubject::stockade()).detail(detail)
        }
        (Ok(()), false) => Event::new(EventKind::AnchorRestored, EventSubject::stockade())
            .detail(Redacted::outside_sessions(target.name())),
        _ => return,
    };
    *healthy = sent.is_ok();
    if !log.note(&event) {
        tracing::warn!("that is not on record either");
    }
}

impl AnchorTarget {
    fn name(&self) -> String {
        match self {
            AnchorTarget::File(path) => format!("file {}", path.display()),
            AnchorTarget::Syslog(_) => "syslog".to_owned(),
            // The path and query may be a capability.
            AnchorTarget::Webhook(url) => format!("webhook at {}", url.host_str().unwrap_or_default()),
        }
    }
}

async fn send(target: &AnchorTarget, head: &Head) -> io::Result<()> {
    let text = serde_json::to_string(head)?;
    let sending = async {
        match target.clone() {
            AnchorTarget::File(path) => blocking(move || append(&path, &text)).await,
            AnchorTarget::Syslog(path) => blocking(move || send_syslog(&path, &text)).await,
            AnchorTarget::Webhook(url) => post(&url, &[], text).await,
        }
    };
    tokio::time::timeout(TIMEOUT, sending).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

async fn blocking(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    let open = || OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let mut file = open()?;
    if file.metadata()?.len() > LONGEST_FILE {
        let all = std::fs::read(path)?;
        let half = &all[all.len() / 2..];
        let from = half.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let partial = path.with_extension("partial");
        std::fs::write(&partial, &half[from..])?;
        std::fs::rename(&partial, path)?;
        file = open()?;
    }
    file.write_all(format!("{text}\n").as_bytes())?;
    file.sync_data()
}

fn send_syslog(path: &Path, text: &str) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(TIMEOUT))?;
    socket.send_to(format!("<{PRIORITY}>stockade: audit head {text}").as_bytes(), path).map(|_| ())
}

/// Reads the heads in an anchor file. Ignores lines without a head and heads with a bad signature.
pub fn read_anchors(path: &Path) -> io::Result<Vec<Head>> {
    let mut file = BufReader::new(std::fs::File::open(path)?.take(LONGEST_READ));
    let lines = file.by_ref().lines().collect::<io::Result<Vec<String>>>()?;
    // The newest heads matter most and are at the end.
    if file.into_inner().limit() == 0 {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 16 MiB; give its last lines"));
    }
    // Syslog adds a prefix to each line.
    let heads = lines.iter().filter_map(|line| serde_json::from_str::<Head>(&line[line.find('{')?..]).ok());
    Ok(heads.filter(Head::is_genuine).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Seconds;
    use audit::{Key, LogOptions};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn log(folder: &Path) -> Log {
        let key = Key::load_or_create(&folder.join("key")).unwrap();
        let options = LogOptions { key, segment_bytes: 1 << 20, most_bytes: 1 << 30 };
        Log::open(&folder.join("audit"), "i1", options).unwrap().0
    }

    fn settings(file: Option<&Path>, webhook: Option<String>) -> AnchorSettings {
        let file = file.map(|path| path.to_string_lossy().into_owned());
        AnchorSettings { file, syslog: false, webhook, interval: Seconds(1) }
    }

    #[tokio::test]
    async fn the_last_head_is_written_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path());
        let file = folder.path().join("anchor");
        let anchors = Anchors::start(&settings(Some(&file), None), &log).unwrap();
        log.append(&Event::new(EventKind::Refused, EventSubject::stockade())).await.unwrap();
        anchors.finish().await;
        let heads = read_anchors(&file).unwrap();
        assert_eq!(heads.last().unwrap().seq, 2);
        let report = audit::verify(log.folder(), None, &heads).unwrap();
        assert!(report.ok() && report.anchors == heads.len(), "{report:?}");
        assert!(Anchors::start(&settings(None, None), &log).is_none());
    }

    #[tokio::test]
    async fn a_failing_target_is_recorded_once_and_blocks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path());
        let nowhere = folder.path().join("missing/anchor");
        let anchors = Anchors::start(&settings(Some(&nowhere), None), &log).unwrap();
        for _ in 0..3 {
            log.append(&Event::new(EventKind::Refused, EventSubject::stockade())).await.unwrap();
        }
        anchors.finish().await;
        log.append(&Event::new(EventKind::Refused, EventSubject::stockade())).await.unwrap();
        let filter = audit::EventFilter { action: Some("anchor_failed".into()), ..Default::default() };
        assert_eq!(audit::read_last(&folder.path().join("audit"), &filter, 10).unwrap().len(), 1);
    }

    #[tokio::test]
    async fn syslog_and_a_webhook_get_the_head() {
        let folder = tempfile::tempdir().unwrap();
        let head = log(folder.path()).heads().unwrap().borrow().clone();
        let socket = UnixDatagram::bind(folder.path().join("log")).unwrap();
        send(&AnchorTarget::Syslog(folder.path().join("log")), &head).await.unwrap();
        let mut buffer = [0; 4096];
        let length = socket.recv(&mut buffer).unwrap();
        let datagram = String::from_utf8(buffer[..length].to_vec()).unwrap();
        assert!(datagram.starts_with("<109>stockade: audit head {"), "{datagram}");
        std::fs::write(folder.path().join("messages"), datagram).unwrap();
        assert_eq!(read_anchors(&folder.path().join("messages")).unwrap(), std::slice::from_ref(&head));

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: url::Url = format!("http://{}/heads?x=1", listener.local_addr().unwrap()).parse().unwrap();
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).await.unwrap();
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            String::from_utf8_lossy(&buffer[..length]).into_owned()
        });
        send(&AnchorTarget::Webhook(url), &head).await.unwrap();
        assert!(served.await.unwrap().starts_with("POST /heads?x=1 HTTP/1.1"));
    }
}
