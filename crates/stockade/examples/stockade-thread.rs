//! The `stockade` program on the thread runtime, for the session suite. Not part of the product.

use std::process::ExitCode;
use std::sync::Arc;
use testkit::runtime::ThreadOptions;

fn main() -> ExitCode {
    stockade::cli::main_on(|options| Arc::new(ThreadOptions(options)))
}
