//! The `stockade` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The keeper forks, so it needs a process with one thread: it runs before anything else starts.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "jail-keeper") {
        return jail::keeper::main();
    }
    stockade::cli::main()
}
