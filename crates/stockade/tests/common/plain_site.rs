//! A site over plain HTTP. Its pages are a secure context under names below `.localhost`.

use axum::Router;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Runs until it is dropped.
pub struct PlainSite {
    pub address: SocketAddr,
    runtime: Option<Runtime>,
}

impl PlainSite {
    pub fn serve(router: Router) -> PlainSite {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, router).await });
        PlainSite { address, runtime: Some(runtime) }
    }
}

impl Drop for PlainSite {
    fn drop(&mut self) {
        // It may be dropped in another runtime, which does not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
