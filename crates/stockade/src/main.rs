//! The `stockade` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The keeper forks, and so must have one thread: it is told apart before anything else is started.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "jail-keeper") {
        return jail::keeper::main();
    }
    stockade::cli::main()
}
