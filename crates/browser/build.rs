//! Bundles the script that runs inside pages, and declares the functions that Rust may call in it.
//!
//! Needs no Node: see `src/script/bundle.rs` for the module syntax that is understood.
#![allow(clippy::print_stdout, reason = "Cargo reads a build script's instructions from its output")]

#[path = "src/script/bundle.rs"]
mod bundle;

use std::{collections::BTreeSet, env, error::Error, fs, path::Path};

const ENTRY: &str = "main.js";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/script");
    println!("cargo::rerun-if-changed=build.rs");
    let folder = Path::new("src/script");
    let read = |name: &str| fs::read_to_string(folder.join(name));
    let bundle = bundle::bundle(ENTRY, &read)?;
    let mut unused = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".js") && !bundle.modules.contains(&name) {
            unused.insert(name);
        }
    }
    if !unused.is_empty() {
        return Err(format!("no module imports {unused:?} of {}", folder.display()).into());
    }
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("script.js"), &bundle.source)?;
    fs::write(Path::new(&out).join("script_function.rs"), bundle::declare_functions(&bundle.functions))?;
    Ok(())
}
