//! The proxy on a real socket, between a raw client and real servers on loopback.

mod bounds;
mod caps;
mod effects;
mod forbidden;
mod forwarding;
mod refusals;
mod sealed;
#[path = "../../../stockade/tests/common/seen.rs"]
mod seen;
mod upstream;

use crate::resolve::{Resolver, tests::table};
use crate::server::serve_with;
use crate::{Egress, EgressFailure, EgressOutcome, HostMap, LedgerEntry, Options, Rules};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;

/// A proxy for which `shop.test` is a server of this test, and DNS is a table.
struct Proxy {
    egress: Egress,
    folder: tempfile::TempDir,
}

impl Proxy {
    fn new(shop: SocketAddr, options: Options) -> Proxy {
        Proxy::asking(table(), shop, options)
    }

    /// The same with another name server.
    fn asking(resolver: Resolver, shop: SocketAddr, options: Options) -> Proxy {
        let hosts = HostMap::parse([("shop.test", shop.to_string())]).unwrap();
        Proxy::ruled(Rules::new(hosts), resolver, options)
    }

    /// The same with other rules.
    fn ruled(rules: Rules, resolver: Resolver, options: Options) -> Proxy {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("egress")).unwrap();
        let egress = serve_with(listener, Arc::new(rules), options, None, resolver);
        Proxy { egress, folder }
    }

    async fn dial(&self) -> std::io::Result<UnixStream> {
        UnixStream::connect(self.folder.path().join("egress")).await
    }

    /// Sends some bytes and reads whatever comes until the proxy closes.
    async fn say(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut client = self.dial().await.unwrap();
        client.write_all(bytes.as_ref()).await.unwrap();
        rest(&mut client).await
    }

    /// Opens a tunnel to the shop.
    async fn tunnel(&self) -> UnixStream {
        let mut client = self.dial().await.unwrap();
        client.write_all(b"CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test:443\r\n\r\n").await.unwrap();
        let head = head(&mut client).await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        client
    }

    /// What the gate explains a failed navigation with.
    fn problem(&self, host: &str) -> EgressFailure {
        let problem = self.egress.last_failure(host).unwrap();
        seen::seen(problem.code());
        problem
    }

    fn entries(&self) -> Vec<LedgerEntry> {
        let entries = self.egress.ledger().entries;
        for entry in &entries {
            if let EgressOutcome::Refused(reason) | EgressOutcome::Failed(reason) = entry.verdict {
                seen::seen(reason.code());
            }
        }
        entries
    }

    /// Waits until a connection's end has been put on record.
    async fn until(&self, what: impl Fn(&[LedgerEntry]) -> bool) -> Vec<LedgerEntry> {
        loop {
            let entries = self.entries();
            if what(&entries) {
                return entries;
            }
            tokio::task::yield_now().await;
        }
    }
}

/// A server on loopback that treats every connection the same way, and counts them.
struct Site {
    address: SocketAddr,
    visits: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

impl Site {
    async fn new<F>(handle: impl Fn(TcpStream) -> F + Send + 'static) -> Site
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let visits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&visits);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                open.spawn(handle(stream));
            }
        });
        Site { address, visits, _task: task }
    }

    /// Gives every request the same answer and closes.
    async fn answering(answer: &'static str) -> Site {
        Site::new(move |mut stream| async move {
            head(&mut stream).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
        })
        .await
    }

    /// Sends back what it is sent.
    async fn echoing() -> Site {
        Site::new(|mut stream| async move {
            let (mut from, mut to) = stream.split();
            let copied = tokio::io::copy(&mut from, &mut to).await;
            assert!(copied.is_ok());
        })
        .await
    }

    fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }
}

/// Reads up to the empty line, and no further.
async fn head(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

/// Reads to the end; a connection that was reset has ended too.
async fn rest(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(1..) = stream.read(&mut buffer).await.inspect(|n| bytes.extend_from_slice(&buffer[..*n])) {}
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A plain request for the shop's front page, with what a browser puts in it.
const GET: &str = "GET http://shop.test/a?b=c HTTP/1.1\r\nHost: shop.test\r\nProxy-Connection: keep-alive\r\n\
                   User-Agent: Test\r\nX-Odd-CASE: 1\r\nAccept: */*\r\n\r\n";
