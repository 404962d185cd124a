//! Files made by the real sops.

use super::part;
use age::secrecy::ExposeSecret;
use std::path::Path;
use std::process::Command;

pub struct Sops {
    pub folder: tempfile::TempDir,
    pub recipient: String,
}

impl Sops {
    /// A folder with an age key in `keys.txt`.
    pub fn new() -> Sops {
        let folder = tempfile::tempdir().unwrap();
        let identity = age::x25519::Identity::generate();
        let text = format!("# a comment\n\n{}\n", identity.to_string().expose_secret());
        std::fs::write(folder.path().join("keys.txt"), text).unwrap();
        Sops { recipient: identity.to_public().to_string(), folder }
    }

    /// Encrypts a text into a file, with further arguments to sops.
    pub fn encrypt(&self, file: &Path, text: &str, arguments: &[&str]) {
        let extension = file.extension().unwrap().to_str().unwrap();
        let clear = self.folder.path().join(format!("clear.{extension}"));
        std::fs::write(&clear, text).unwrap();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let done = Command::new(part("sops"))
            .args(["--encrypt", "--age", &self.recipient])
            .args(arguments)
            .arg("--output")
            .arg(file)
            .arg(&clear)
            .env("HOME", self.folder.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        std::fs::remove_file(clear).unwrap();
    }

    /// Whether sops itself opens a file.
    pub fn opens(&self, file: &Path) -> bool {
        let mut command = Command::new(part("sops"));
        command.arg("--decrypt").arg(file).env("SOPS_AGE_KEY_FILE", self.folder.path().join("keys.txt"));
        command.env("HOME", self.folder.path()).output().unwrap().status.success()
    }
}
