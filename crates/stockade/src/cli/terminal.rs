//! The person's terminal: asking for passwords and other secrets, and single keys.
//!
//! `/dev/tty` and not standard input, so that a password is typed by whoever sits there, whatever the pipes are.

use engine::error::Fault;
use error_code::ErrorCode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcsetattr,
};
use server::operator::Password;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::time::Duration;
use zeroize::Zeroizing;

/// The longest line that is read as a password.
const LONGEST_LINE: u64 = 4096;

/// The terminal without echo, key by key; as it was when dropped.
pub struct Keys {
    tty: File,
    before: Termios,
}

impl Keys {
    pub fn open() -> Result<Keys, Fault> {
        let none = |error: io::Error| {
            Fault::new(ErrorCode::TerminalRequired, format!("there is no terminal to ask at: {error}"))
                .hint("Run it in a terminal, or give what it asks for by standard input; --help says how.")
        };
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty").map_err(none)?;
        let before = tcgetattr(&tty).map_err(|error| none(error.into()))?;
        let mut quiet = before.clone();
        // Signals stay keys, so that the terminal is put right again before anything ends.
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&tty, OptionalActions::Flush, &quiet).map_err(|error| none(error.into()))?;
        Ok(Keys { tty, before })
    }

    pub fn say(&mut self, text: &str) -> Result<(), Fault> {
        self.tty.write_all(text.as_bytes()).map_err(|e| lost(&e))
    }

    pub fn next(&mut self) -> Result<u8, Fault> {
        let mut byte = [0];
        match self.tty.read(&mut byte) {
            Ok(1) => Ok(byte[0]),
            Ok(_) => Err(gave_up()),
            Err(error) => Err(lost(&error)),
        }
    }

    /// The next key, if one comes in this time.
    pub fn next_within(&mut self, patience: Duration) -> Result<Option<u8>, Fault> {
        let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
        let mut watched = [PollFd::new(&self.tty, PollFlags::IN)];
        match poll(&mut watched, Some(&patience)) {
            Ok(0) | Err(Errno::INTR) => Ok(None),
            Ok(_) => self.next().map(Some),
            Err(error) => Err(lost(&error.into())),
        }
    }

    /// Forgets what was typed before somebody could know what it would be for.
    pub fn forget(&mut self) -> Result<(), Fault> {
        tcflush(&self.tty, QueueSelector::IFlush).map_err(|error| lost(&error.into()))
    }

    /// A line that is shown as it is typed.
    pub fn note(&mut self, prompt: &str) -> Result<String, Fault> {
        self.read_line(prompt, true)
    }

    /// A line that is not.
    pub fn hidden(&mut self, prompt: &str) -> Result<Zeroizing<String>, Fault> {
        self.read_line(prompt, false).map(Zeroizing::new)
    }

    /// Whatever is pasted until Ctrl-D, unseen; at most this many bytes, and the rest is not taken.
    pub fn paste(&mut self, prompt: &str, most: usize) -> Result<Zeroizing<Vec<u8>>, Fault> {
        self.say(prompt)?;
        let mut pasted = Zeroizing::new(Vec::with_capacity(most));
        loop {
            match self.next()? {
                3 | 28 => {
                    self.say("\r\n")?;
                    return Err(gave_up());
                }
                4 => break,
                byte if pasted.len() < most => pasted.push(byte),
                _ => {}
            }
        }
        self.say("\r\n")?;
        Ok(pasted)
    }

    fn read_line(&mut self, prompt: &str, shown: bool) -> Result<String, Fault> {
        self.say(prompt)?;
        // Reserved in one piece, so that growing leaves no copy behind.
        let mut typed = Vec::with_capacity(LONGEST_LINE as usize);
        loop {
            match self.next()? {
                b'\r' | b'\n' => break,
                3 | 4 | 28 => {
                    self.say("\r\n")?;
                    return Err(gave_up());
                }
                8 | 127 => {
                    if shown && !typed.is_empty() {
                        self.say("\u{8} \u{8}")?;
                    }
                    // A whole character, not its last byte.
                    while typed.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
                }
                byte if (typed.len() as u64) < LONGEST_LINE && (byte >= 32 || !shown) => {
                    typed.push(byte);
                    if shown {
                        self.tty.write_all(&[byte]).map_err(|e| lost(&e))?;
                    }
                }
                _ => {}
            }
        }
        self.say("\r\n")?;
        String::from_utf8(typed).map_err(|_| not_text())
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Err(error) = tcsetattr(&self.tty, OptionalActions::Flush, &self.before) {
            tracing::warn!(%error, "the terminal could not be put right; `stty sane` does it");
        }
    }
}

/// Where passwords come from: the terminal, or lines of standard input.
pub enum Asker {
    Terminal,
    Lines(io::StdinLock<'static>),
}

impl Asker {
    pub fn new(stdin: bool) -> Asker {
        if stdin { Asker::Lines(io::stdin().lock()) } else { Asker::Terminal }
    }

    pub fn ask(&mut self, prompt: &str) -> Result<Password, Fault> {
        match self {
            Asker::Terminal => Keys::open()?.read_line(&format!("{prompt}: "), false).map(Password::given),
            Asker::Lines(lines) => {
                let mut bytes = Vec::new();
                lines.take(LONGEST_LINE).read_until(b'\n', &mut bytes).map_err(|e| lost(&e))?;
                let text = String::from_utf8(bytes).map_err(|_| not_text())?;
                let text = text.strip_suffix('\n').unwrap_or(&text);
                Ok(Password::given(text.strip_suffix('\r').unwrap_or(text).to_owned()))
            }
        }
    }

    /// A new password, typed twice where nobody sees what is typed.
    pub fn ask_new(&mut self, prompt: &str) -> Result<Password, Fault> {
        let first = self.ask(prompt)?;
        first.check()?;
        if matches!(self, Asker::Terminal) && !first.is(&self.ask("The same again")?) {
            return Err(Fault::new(ErrorCode::BadPassword, "the two are not the same").hint("Try again."));
        }
        Ok(first)
    }
}

fn gave_up() -> Fault {
    Fault::new(ErrorCode::Cancelled, "nothing was done").hint("Run it again when you like.")
}

fn not_text() -> Fault {
    Fault::new(ErrorCode::BadPassword, "what was typed is no text in UTF-8").hint("Try again.")
}

fn lost(error: &io::Error) -> Fault {
    Fault::io(ErrorCode::OutputLost, "the terminal is gone", error).hint_if_none("Run it in a terminal.")
}
