//! A program that goes on, and what it shows meanwhile: on a pipe, or on a terminal of its own.

use super::machine::{self, PATIENCE, Process};
use super::{Home, PROGRAM};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a key has to show its effect before it is pressed again. Longer than the program ignores keys after a
/// question appears.
const EFFECT: Duration = Duration::from_secs(2);

pub struct RunningProgram {
    pub child: Child,
    text: Arc<Mutex<String>>,
    reading: JoinHandle<()>,
}

impl RunningProgram {
    pub fn on_a_pipe(mut command: Command) -> RunningProgram {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let text = Arc::new(Mutex::new(String::new()));
        let (mut output, keep) = (child.stdout.take().unwrap(), text.clone());
        let reading = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                keep.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        RunningProgram { child, text, reading }
    }

    /// Keys go in by [`RunningProgram::press`].
    pub fn on_a_terminal(home: &Home, arguments: &[&str]) -> RunningProgram {
        RunningProgram::on_a_pipe(terminal_command(home, arguments))
    }

    pub fn so_far(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    pub fn until(&self, text: &str) {
        machine::until(text, PATIENCE, || self.so_far().contains(text).then_some(()));
    }

    pub fn press(&mut self, keys: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Presses a key, again and again, until the terminal shows `text`. The program ignores keys for a moment after a
    /// question appears, and the end of that moment cannot be seen from outside.
    pub fn press_until(&mut self, key: &str, text: &str) {
        let mut pressed: Option<Instant> = None;
        machine::until(text, PATIENCE, || {
            if pressed.is_none_or(|at| at.elapsed() > EFFECT) {
                self.press(key);
                pressed = Some(Instant::now());
            }
            self.so_far().contains(text).then_some(())
        });
    }

    /// Tells the program to stop, not the terminal around it; all that it has shown.
    pub fn stop(self) -> String {
        let RunningProgram { mut child, text, reading } = self;
        let is_it = |process: &Process| process.arguments.first().is_some_and(|name| name == PROGRAM);
        let program = machine::family(child.id()).into_iter().find(is_it);
        machine::signal(program.unwrap().pid, "TERM");
        child.wait().unwrap();
        reading.join().unwrap();
        text.lock().unwrap().clone()
    }
}

/// Runs the program on a terminal of its own, which shows at once what is written to it.
fn terminal_command(home: &Home, arguments: &[&str]) -> Command {
    let plain = home.command(arguments);
    let words: Vec<_> = std::iter::once(plain.get_program()).chain(plain.get_args()).collect();
    let line = words.join(std::ffi::OsStr::new(" "));
    let mut command = Command::new("script");
    command.arg("-qfec").arg(line).arg("/dev/null");
    command.envs(plain.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command
}

/// A program on a terminal of its own, which gets input once it shows the prompt for it.
pub struct Terminal {
    child: Child,
    said: String,
}

impl Terminal {
    pub fn start(home: &Home, arguments: &str) -> Terminal {
        let words: Vec<&str> = arguments.split(' ').chain(["--no-color"]).collect();
        let mut command = terminal_command(home, &words);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        Terminal { child, said: String::new() }
    }

    /// Waits for a prompt; then types.
    pub fn answer(&mut self, prompt: &str, typed: &str) {
        let output = self.child.stdout.as_mut().unwrap();
        let begun = self.said.len();
        while !self.said[begun..].contains(prompt) {
            let mut bytes = [0; 256];
            let count = output.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "it ended before it said {prompt}: {}", self.said);
            self.said.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        self.child.stdin.as_mut().unwrap().write_all(typed.as_bytes()).unwrap();
    }

    pub fn end(mut self) -> String {
        self.child.stdout.take().unwrap().read_to_string(&mut self.said).unwrap();
        self.child.wait().unwrap();
        self.said
    }
}
