//! The only command that Xvfb runs through a shell, for a jail without a shell.
//!
//! Xvfb compiles its keymap with `/bin/sh -c "…xkbcomp…"` and dies without it. In the template that
//! holds Xvfb, `/bin/sh` is this program: it knows that one command line, word for word, and runs
//! xkbcomp with those arguments. It interprets nothing.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// What Xvfb says for display 99, which is the display the bridge starts.
const COMMAND_LINE: &str = concat!(
    r#""/usr/bin/xkbcomp" -w 1 "-R/usr/share/X11/xkb" -xkm "-" "#,
    r#"-em1 "The XKEYBOARD keymap compiler (xkbcomp) reports:" -emp "> " "#,
    r#"-eml "Errors from xkbcomp are not fatal to the X server" "/tmp/server-99.xkm""#,
);

const PROGRAM: &str = "/usr/bin/xkbcomp";
/// The same, as a shell would have split it.
const ARGUMENTS: [&str; 12] = [
    "-w",
    "1",
    "-R/usr/share/X11/xkb",
    "-xkm",
    "-",
    "-em1",
    "The XKEYBOARD keymap compiler (xkbcomp) reports:",
    "-emp",
    "> ",
    "-eml",
    "Errors from xkbcomp are not fatal to the X server",
    "/tmp/server-99.xkm",
];

#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    #[error("this is not a shell: it runs xkbcomp for Xvfb and nothing else")]
    Refused,
    #[error("cannot run {PROGRAM}")]
    Exec { source: io::Error },
}

/// Whether the program was called by a shell's name.
pub fn called_as_shell(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new("sh"))
}

/// Becomes xkbcomp. Returns only when it could not.
pub fn run(args: impl Iterator<Item = OsString>) -> ShellError {
    if !is_the_one_command(args) {
        return ShellError::Refused;
    }
    ShellError::Exec { source: Command::new(PROGRAM).args(ARGUMENTS).exec() }
}

fn is_the_one_command(args: impl Iterator<Item = OsString>) -> bool {
    args.eq([OsString::from("-c"), OsString::from(COMMAND_LINE)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(args: &[&str], accepted: bool) {
        assert_eq!(is_the_one_command(args.iter().map(OsString::from)), accepted, "{args:?}");
    }

    #[test]
    fn only_the_one_command_line_is_accepted() {
        check(&["-c", COMMAND_LINE], true);
        check(&[], false);
        check(&["-c"], false);
        check(&[COMMAND_LINE], false);
        check(&["-c", "id"], false);
        check(&["-c", COMMAND_LINE, "x"], false);
        check(&["-c", &format!("{COMMAND_LINE}; id")], false);
        check(&["-c", &COMMAND_LINE.replace("99", "98")], false);
        check(&["-c", &COMMAND_LINE.replace("/usr/bin/xkbcomp", "/tmp/xkbcomp")], false);
    }

    #[test]
    fn the_arguments_are_those_of_the_command_line() {
        let quoted = |word: &&str| match *word {
            "-w" | "1" | "-xkm" | "-em1" | "-emp" | "-eml" => (*word).to_owned(),
            word => format!("\"{word}\""),
        };
        let line: Vec<String> = [PROGRAM].iter().chain(&ARGUMENTS).map(quoted).collect();
        assert_eq!(line.join(" "), COMMAND_LINE);
    }

    #[test]
    fn a_shell_is_known_by_its_name() {
        for (program, expected) in
            [("sh", true), ("/bin/sh", true), ("/stockade/bridge", false), ("bash", false)]
        {
            assert_eq!(called_as_shell(OsStr::new(program)), expected, "{program}");
        }
    }
}
