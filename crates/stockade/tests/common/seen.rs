//! Keeps the error codes that the tests of every crate saw come out; `script/codes` holds them against the table.

use std::path::Path;

/// Notes a code that a command, a call or a crate has failed with: never one of an error that a test made up itself.
pub fn seen(code: impl ToString) -> String {
    let code = code.to_string();
    if let Some(folder) = std::env::var_os("STOCKADE_CODES_SEEN") {
        let noted = std::fs::write(Path::new(&folder).join(&code), "");
        assert!(noted.is_ok(), "{code}: {noted:?}");
    }
    code
}
