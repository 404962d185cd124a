//! Django's admin: a real site with a login, on a port of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The admin on a port of its own, with a database in a folder of its own.
pub struct Admin {
    folder: tempfile::TempDir,
    pub address: SocketAddr,
    process: Child,
}

fn python(folder: &tempfile::TempDir) -> Command {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(root.join("../../target/clients/python/bin/python"));
    command
        .current_dir(root.join("tests/django"))
        .env("DJANGO_SETTINGS_MODULE", "settings")
        .env("TEST_DATABASE", folder.path().join("books.sqlite"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONPATH", ".");
    command
}

impl Admin {
    pub fn start() -> Admin {
        let folder = tempfile::tempdir().unwrap();
        let prepared = python(&folder).arg("prepare.py").output().unwrap();
        assert!(prepared.status.success(), "{prepared:?}");
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let process = python(&folder)
            .args(["-m", "django", "runserver", "--noreload", &address.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let admin = Admin { folder, address, process };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the admin did not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        admin
    }

    /// Queries the database directly.
    pub fn ask(&self, question: &str) -> String {
        let program = format!(
            "import django; django.setup()\nfrom library.models import Author, Book\nprint({question}, end='')"
        );
        let answer = python(&self.folder).args(["-c", &program]).output().unwrap();
        assert!(answer.status.success(), "{answer:?}");
        String::from_utf8(answer.stdout).unwrap()
    }
}

impl Admin {
    /// The session cookie of the admin user, signed in by the site itself.
    pub fn cookie(&self) -> String {
        self.cookies().0
    }

    /// The session cookie and the CSRF cookie.
    pub fn cookies(&self) -> (String, String) {
        let answer = self.request("GET /sign-in/ HTTP/1.0\r\nHost: books.test\r\n\r\n");
        let [session, csrf] = ["sessionid=", "csrftoken="].map(|name| {
            let cookie = answer.split(name).nth(1).unwrap_or_else(|| panic!("{answer}"));
            cookie.split(';').next().unwrap().to_owned()
        });
        (session, csrf)
    }

    /// Sends one request without a browser; returns the whole response.
    pub fn request(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
