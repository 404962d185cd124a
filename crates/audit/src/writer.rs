//! The thread that owns the file: it writes what is waiting in one go, syncs once, then answers everyone.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use tokio::sync::oneshot;

/// Lines that may wait for the disk; a caller beyond that waits for a place.
const WAITING: usize = 1024;
/// Lines written under one sync.
const GROUP: usize = 256;

pub type Answer = Result<(), Arc<io::Error>>;

pub struct Line {
    pub text: String,
    pub durable: oneshot::Sender<Answer>,
}

pub fn spawn(file: File) -> io::Result<SyncSender<Line>> {
    let (lines, waiting) = sync_channel(WAITING);
    std::thread::Builder::new().name("audit".into()).spawn(move || run(file, &waiting))?;
    Ok(lines)
}

fn run(mut file: File, waiting: &Receiver<Line>) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(GROUP - 1));
        let answer = write(&mut file, &group).map_err(Arc::new);
        for line in group {
            // A caller that was cancelled does not wait for its answer; the line stands all the same.
            drop(line.durable.send(answer.clone()));
        }
    }
}

/// All lines or none: half a line would spoil the one after it.
fn write(file: &mut File, group: &[Line]) -> io::Result<()> {
    let before = file.metadata()?.len();
    let text: String = group.iter().map(|line| line.text.as_str()).collect();
    let Err(failed) = file.write_all(text.as_bytes()).and_then(|()| file.sync_data()) else { return Ok(()) };
    match file.set_len(before) {
        Ok(()) => Err(failed),
        Err(cut) => Err(io::Error::new(failed.kind(), format!("{failed}; taking the half line back: {cut}"))),
    }
}
