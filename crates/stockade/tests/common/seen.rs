//! Records the error codes that tests of every crate have seen; `script/codes` compares them with the table.

use std::path::Path;

/// Records the code of a real failure; never that of an error value that a test constructed.
pub fn seen(code: impl ToString) -> String {
    let code = code.to_string();
    if let Some(folder) = std::env::var_os("STOCKADE_CODES_SEEN") {
        let noted = std::fs::write(Path::new(&folder).join(&code), "");
        assert!(noted.is_ok(), "{code}: {noted:?}");
    }
    code
}
