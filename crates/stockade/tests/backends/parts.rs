//! The real servers that credentials are tested with, shared with the tests of `vault`.
#![allow(dead_code, reason = "the vault's own tests use the rest")]

#[path = "../../../vault/tests/common/bao.rs"]
pub mod bao;
#[path = "../../../vault/tests/common/postgres.rs"]
pub mod postgres;
#[path = "../../../vault/tests/common/sops.rs"]
pub mod sops;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub fn part(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/parts").join(name);
    assert!(path.exists(), "{} is missing: run script/setup test", path.display());
    path
}

pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    crate::common::machine::until(what, Duration::from_secs(60), look)
}
