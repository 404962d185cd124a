//! Tests of the state folder on real folders.

use super::*;
use crate::error::Fault;
use error_code::ErrorCode;
use std::fs::Permissions;
use std::io::{Read, Write};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_new_folder_is_closed_to_everyone_else() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("a/b/state");
    State::open(&folder).unwrap();
    assert_eq!(mode(&folder), 0o700);
}

#[test]
fn a_folder_of_ours_that_others_can_enter_is_closed_to_them() {
    let root = tempfile::tempdir().unwrap();
    std::fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
    State::open(root.path()).unwrap();
    assert_eq!(mode(root.path()), 0o700);
}

#[test]
fn a_folder_of_somebody_else_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let us = rustix::process::geteuid();
    // Root can give a folder away; anyone else finds one that is not theirs in the root folder.
    let theirs = if us.is_root() {
        std::os::unix::fs::chown(root.path(), Some(65534), None).unwrap();
        root.path()
    } else {
        Path::new("/")
    };
    let before = mode(theirs);
    let fault = Fault::from(State::open(theirs).unwrap_err());
    assert_eq!(fault.code, ErrorCode::StateNotOurs);
    assert_eq!(mode(theirs), before);
}

#[test]
fn a_file_in_the_place_of_the_folder_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    std::fs::write(&file, "").unwrap();
    let fault = Fault::from(State::open(&file).unwrap_err());
    assert_eq!(fault.code, ErrorCode::StateUnusable);
    assert!(!fault.hint.is_empty());
}

#[test]
fn a_second_control_plane_gets_the_pid_of_the_lock_holder() {
    let root = tempfile::tempdir().unwrap();
    let first = State::open(root.path()).unwrap();
    let second = State::open(root.path()).unwrap();
    let lock = first.lock().unwrap();
    assert_eq!(mode(&root.path().join("serve.lock")), 0o600);

    let fault = Fault::from(second.lock().unwrap_err());
    assert_eq!(fault.code, ErrorCode::StateLocked);
    assert!(fault.message.contains(&format!("process {}", std::process::id())), "{}", fault.message);
    assert!(fault.hint.contains("--state"));

    drop(lock);
    second.lock().unwrap();
}

#[test]
fn a_link_in_the_place_of_the_lock_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("target");
    std::fs::write(&target, "precious").unwrap();
    std::os::unix::fs::symlink(&target, root.path().join("serve.lock")).unwrap();
    let state = State::open(root.path()).unwrap();
    assert_eq!(state.lock().unwrap_err().code(), ErrorCode::StateUnusable);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
}

#[test]
fn a_running_control_plane_is_joined_however_long_the_path() {
    let root = tempfile::tempdir().unwrap();
    let deep = root.path().join("d".repeat(200)).join("e".repeat(200));
    for folder in [root.path().join("short"), deep] {
        let state = State::open(&folder).unwrap();
        assert!(state.join().unwrap().is_none(), "nobody serves yet");

        let lock = state.lock().unwrap();
        let listener = lock.listen().unwrap();
        let mut client = State::open(&folder).unwrap().join().unwrap().expect("somebody serves");
        client.write_all(b"hello").unwrap();
        drop(client);
        let mut heard = String::new();
        listener.accept().unwrap().0.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "hello");

        drop(listener);
        drop(lock);
        assert!(!folder.join("control.sock").exists());
    }
}

#[test]
fn a_socket_that_a_killed_control_plane_left_is_nobody_and_is_replaced() {
    let root = tempfile::tempdir().unwrap();
    let state = State::open(root.path()).unwrap();
    drop(std::os::unix::net::UnixListener::bind(root.path().join("control.sock")).unwrap());
    assert!(state.join().unwrap().is_none());
    let lock = state.lock().unwrap();
    let _listener = lock.listen().unwrap();
    assert!(state.join().unwrap().is_some());
}
