//! Terminal input: passwords, other secrets, and single keys.
//!
//! Reads `/dev/tty`, not standard input, so that a password is typed by the person at the terminal even in a pipeline.

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

/// The terminal in raw mode: no echo, key by key. Dropping it restores the previous mode.
pub struct RawTerminal {
    tty: File,
    before: Termios,
}

impl RawTerminal {
    pub fn open() -> Result<RawTerminal, Fault> {
        let none = |error: io::Error| {
            Fault::outside_sessions(
                ErrorCode::TerminalRequired,
                format!("there is no terminal to ask at: {error}"),
            )
            .hint("Run it in a terminal; `--help` says what it takes on standard input instead.")
        };
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty").map_err(none)?;
        let before = tcgetattr(&tty).map_err(|error| none(error.into()))?;
        let mut quiet = before.clone();
        // Ctrl-C arrives as a key, so that the mode is restored before the process ends.
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&tty, OptionalActions::Flush, &quiet).map_err(|error| none(error.into()))?;
        Ok(RawTerminal { tty, before })
    }

    pub fn write(&mut self, text: &str) -> Result<(), Fault> {
        self.tty.write_all(text.as_bytes()).map_err(|e| terminal_lost(&e))
    }

    pub fn read_key(&mut self) -> Result<u8, Fault> {
        let mut byte = [0];
        match self.tty.read(&mut byte) {
            Ok(1) => Ok(byte[0]),
            Ok(_) => Err(cancelled()),
            Err(error) => Err(terminal_lost(&error)),
        }
    }

    /// The next key, or `None` if none is pressed in this time.
    pub fn poll_key(&mut self, patience: Duration) -> Result<Option<u8>, Fault> {
        let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
        let mut watched = [PollFd::new(&self.tty, PollFlags::IN)];
        match poll(&mut watched, Some(&patience)) {
            Ok(0) | Err(Errno::INTR) => Ok(None),
            Ok(_) => self.read_key().map(Some),
            Err(error) => Err(terminal_lost(&error.into())),
        }
    }

    /// Discards keys that were pressed before the prompt was shown.
    pub fn discard_input(&mut self) -> Result<(), Fault> {
        tcflush(&self.tty, QueueSelector::IFlush).map_err(|error| terminal_lost(&error.into()))
    }

    /// Reads a line with echo.
    pub fn read_visible_line(&mut self, prompt: &str) -> Result<String, Fault> {
        self.read_line(prompt, true)
    }

    /// Reads a line without echo.
    pub fn read_hidden_line(&mut self, prompt: &str) -> Result<Zeroizing<String>, Fault> {
        self.read_line(prompt, false).map(Zeroizing::new)
    }

    /// Reads pasted text until Ctrl-D, without echo; bytes beyond `most` are dropped.
    pub fn read_paste(&mut self, prompt: &str, most: usize) -> Result<Zeroizing<Vec<u8>>, Fault> {
        self.write(prompt)?;
        let mut pasted = Zeroizing::new(Vec::with_capacity(most));
        loop {
            match self.read_key()? {
                3 | 28 => {
                    self.write("\r\n")?;
                    return Err(cancelled());
                }
                4 => break,
                byte if pasted.len() < most => pasted.push(byte),
                _ => {}
            }
        }
        self.write("\r\n")?;
        Ok(pasted)
    }

    fn read_line(&mut self, prompt: &str, shown: bool) -> Result<String, Fault> {
        self.write(prompt)?;
        // Reserved once: growing would leave copies of a secret in memory.
        let mut typed = Vec::with_capacity(LONGEST_LINE as usize);
        loop {
            match self.read_key()? {
                b'\r' | b'\n' => break,
                3 | 4 | 28 => {
                    self.write("\r\n")?;
                    return Err(cancelled());
                }
                8 | 127 => {
                    if shown && !typed.is_empty() {
                        self.write("\u{8} \u{8}")?;
                    }
                    // A whole character, not its last byte.
                    while typed.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
                }
                byte if (typed.len() as u64) < LONGEST_LINE && (byte >= 32 || !shown) => {
                    typed.push(byte);
                    if shown {
                        self.tty.write_all(&[byte]).map_err(|e| terminal_lost(&e))?;
                    }
                }
                _ => {}
            }
        }
        self.write("\r\n")?;
        String::from_utf8(typed).map_err(|_| not_utf8())
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        if let Err(error) = tcsetattr(&self.tty, OptionalActions::Flush, &self.before) {
            tracing::warn!(%error, "the terminal could not be put right; `stty sane` does it");
        }
    }
}

/// Source of passwords: the terminal, or lines of standard input.
pub enum PasswordPrompt {
    Terminal,
    Lines(io::StdinLock<'static>),
}

impl PasswordPrompt {
    pub fn new(stdin: bool) -> PasswordPrompt {
        if stdin { PasswordPrompt::Lines(io::stdin().lock()) } else { PasswordPrompt::Terminal }
    }

    pub fn ask(&mut self, prompt: &str) -> Result<Password, Fault> {
        match self {
            PasswordPrompt::Terminal => {
                let mut terminal = RawTerminal::open().map_err(name_password_flag)?;
                terminal.read_line(&format!("{prompt}: "), false).map(Password::given)
            }
            PasswordPrompt::Lines(lines) => {
                // Sized once: a vector that grows leaves copies behind.
                let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST_LINE as usize));
                lines.take(LONGEST_LINE).read_until(b'\n', &mut bytes).map_err(|e| terminal_lost(&e))?;
                let text = std::str::from_utf8(&bytes).map_err(|_| not_utf8())?;
                let text = text.strip_suffix('\n').unwrap_or(text);
                Ok(Password::given(text.strip_suffix('\r').unwrap_or(text).to_owned()))
            }
        }
    }

    /// Asks for a new password; twice on a terminal, where it is not echoed.
    pub fn ask_new(&mut self, prompt: &str) -> Result<Password, Fault> {
        let first = self.ask(prompt)?;
        first.check()?;
        if matches!(self, PasswordPrompt::Terminal) && !first.is(&self.ask("The same again")?) {
            return Err(Fault::new(ErrorCode::BadPassword, "the two entries differ").hint("Try again."));
        }
        Ok(first)
    }
}

/// Every command that asks for a password has the flag.
fn name_password_flag(fault: Fault) -> Fault {
    if fault.code == ErrorCode::TerminalRequired {
        fault.hint("Run it in a terminal, or give the password on standard input with --password-stdin.")
    } else {
        fault
    }
}

fn cancelled() -> Fault {
    Fault::new(ErrorCode::Cancelled, "nothing was done").hint("Run the command again.")
}

fn not_utf8() -> Fault {
    Fault::new(ErrorCode::BadPassword, "the input is not UTF-8 text").hint("Try again.")
}

fn terminal_lost(error: &io::Error) -> Fault {
    Fault::io(ErrorCode::OutputLost, "the terminal was closed", error).hint_if_none("Run it in a terminal.")
}
