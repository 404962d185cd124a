//! Templates built from this host's Chromium: their contents, and the detection of changes.
#![allow(clippy::unwrap_used, reason = "in tests, helpers included, a panic is the report")]

mod common;

use common::seen::seen;
use common::{host_program, options, probe_program, scratch};
use jail::template::{BuildOptions, Difference, Flavour, Store, Template, TemplateError};
use std::fs::{self, FileTimes, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn only(store: &Store) -> Template {
    let mut list = store.list().unwrap();
    assert_eq!(list.len(), 1);
    list.remove(0)
}

/// Replaces a hard link by a copy that the test may write.
fn unlink(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let mode = fs::metadata(path).unwrap().permissions();
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, mode).unwrap();
}

fn differences(template: &Template) -> Vec<Difference> {
    match template.verify() {
        Ok(()) => Vec::new(),
        Err(error) => {
            assert_eq!(seen(error.code()), "template_altered", "{error}");
            let TemplateError::Altered { differences, .. } = error else { panic!("{error}") };
            differences
        }
    }
}

#[test]
fn every_kind_of_change_is_found() {
    type Alter = fn(&Path);
    let changed = |path: &str| Difference::Changed { path: path.to_owned() };
    let added = |path: &str| Difference::Added { path: path.to_owned() };
    let missing = |path: &str| Difference::Missing { path: path.to_owned() };
    let cases: [(&str, Alter, Difference); 11] = [
        (
            "a byte",
            |root| {
                let path = root.join("etc/passwd");
                unlink(&path);
                let mut bytes = fs::read(&path).unwrap();
                bytes[0] ^= 1;
                fs::write(&path, bytes).unwrap();
            },
            changed("root/etc/passwd"),
        ),
        (
            "a mode",
            |root| {
                unlink(&root.join("etc/group"));
                fs::set_permissions(root.join("etc/group"), Permissions::from_mode(0o555)).unwrap();
            },
            changed("root/etc/group"),
        ),
        (
            "a setuid bit",
            |root| {
                unlink(&root.join("stockade/bridge"));
                fs::set_permissions(root.join("stockade/bridge"), Permissions::from_mode(0o4555)).unwrap();
            },
            changed("root/stockade/bridge"),
        ),
        (
            "a folder's mode",
            |root| fs::set_permissions(root.join("etc"), Permissions::from_mode(0o777)).unwrap(),
            changed("root/etc"),
        ),
        (
            "a file that became a link to an equal one",
            |root| {
                fs::rename(root.join("etc/passwd"), root.parent().unwrap().parent().unwrap().join("p"))
                    .unwrap();
                symlink("/etc/passwd", root.join("etc/passwd")).unwrap();
            },
            changed("root/etc/passwd"),
        ),
        ("a new file", |root| fs::write(root.join("etc/new"), "").unwrap(), added("root/etc/new")),
        ("a new folder", |root| fs::create_dir(root.join("opt")).unwrap(), added("root/opt")),
        ("a new link", |root| symlink("/stockade/bridge", root.join("sh")).unwrap(), added("root/sh")),
        (
            "a file beside the tree",
            |root| fs::write(root.parent().unwrap().join("extra"), "").unwrap(),
            added("extra"),
        ),
        ("a lost file", |root| fs::remove_file(root.join("etc/group")).unwrap(), missing("root/etc/group")),
        ("a lost folder", |root| fs::remove_dir(root.join("proc")).unwrap(), missing("root/proc")),
    ];
    let (_folder, store) = scratch();
    assert_eq!(differences(&only(&store)), []);
    for (what, alter, expected) in cases {
        let (_folder, store) = scratch();
        let template = only(&store);
        alter(template.root());
        assert_eq!(differences(&template), [expected], "{what}");
    }
}

/// Waits until a tree is old enough to be recorded as verified.
fn record_verified(template: &Template) -> PathBuf {
    let folder = template.root().parent().unwrap();
    let stamp = folder.with_file_name(format!(".{}.verified", template.id()));
    let end = Instant::now() + Duration::from_secs(60);
    while !stamp.exists() {
        assert!(Instant::now() < end, "never recorded");
        template.verify_if_changed().unwrap();
    }
    stamp
}

#[test]
fn a_verified_template_is_read_again_once_a_file_was_changed() {
    let (_folder, store) = scratch();
    let template = only(&store);
    let path = template.root().join("etc/passwd");
    unlink(&path);
    let stamp = record_verified(&template);
    // A record of other attributes does not match, so the next check reads the files and writes its own.
    let recorded = fs::read_to_string(&stamp).unwrap();
    fs::write(&stamp, "other").unwrap();
    template.verify_if_changed().unwrap();
    assert_eq!(fs::read_to_string(&stamp).unwrap(), recorded);

    // Same length and same times; the change time reveals it.
    let times = fs::metadata(&path).unwrap();
    let times =
        FileTimes::new().set_modified(times.modified().unwrap()).set_accessed(times.accessed().unwrap());
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    file.set_times(times).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let error = template.verify_if_changed().unwrap_err();
    assert_eq!(seen(error.code()), "template_altered", "{error}");

    // A record that other users may write is ignored.
    bytes[0] ^= 1;
    file.write_all_at(&bytes, 0).unwrap();
    fs::remove_file(&stamp).unwrap();
    let stamp = record_verified(&template);
    fs::set_permissions(&stamp, Permissions::from_mode(0o666)).unwrap();
    template.verify_if_changed().unwrap();
    assert_eq!(fs::metadata(&stamp).unwrap().mode() & 0o777, 0o644);
}

#[test]
fn a_changed_link_and_a_changed_manifest_are_found() {
    let folder = tempfile::tempdir_in(common::place()).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let template = store.build(&options(Flavour::Xvfb), &mut |_| {}).unwrap();
    fs::remove_file(template.root().join("bin/sh")).unwrap();
    symlink("/stockade/chromium/chromium", template.root().join("bin/sh")).unwrap();
    assert_eq!(differences(&template), [Difference::Changed { path: "root/bin/sh".to_owned() }]);

    // Changing a file together with the manifest changes the name that the template should have.
    let path = template.root().parent().unwrap().join("manifest.json");
    let text =
        fs::read_to_string(&path).unwrap().replace("\"/stockade/bridge\"", "\"/stockade/chromium/chromium\"");
    fs::write(&path, text).unwrap();
    assert_eq!(differences(&only(&store)), [Difference::Changed { path: "manifest.json".to_owned() }]);
}

#[test]
fn the_xvfb_flavour_has_four_programs_and_a_shell_that_is_the_bridge() {
    let folder = tempfile::tempdir_in(common::place()).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let template = store.build(&options(Flavour::Xvfb), &mut |_| {}).unwrap();
    assert_eq!(template.flavour(), Flavour::Xvfb);
    let mut programs = Vec::new();
    let mut waiting = vec![template.root().to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if metadata.is_file() && metadata.mode() & 0o111 != 0 {
            programs.push(path.strip_prefix(template.root()).unwrap().to_string_lossy().into_owned());
        }
        assert_eq!(metadata.mode() & 0o6000, 0, "{path:?}");
    }
    programs.retain(|path| !path.contains("ld-linux"));
    programs.sort();
    let browser = template.browser().trim_start_matches('/').to_owned();
    assert_eq!(programs, ["stockade/bridge", &browser, "usr/bin/Xvfb", "usr/bin/xkbcomp"]);
    assert_eq!(fs::read_link(template.root().join("bin/sh")).unwrap(), Path::new("/stockade/bridge"));
    assert!(template.root().join("usr/share/X11/xkb/rules/evdev").is_file());
    template.verify().unwrap();
}

#[test]
fn building_again_gives_the_same_template_and_copies_nothing() {
    let (_folder, store) = scratch();
    let first = only(&store);
    let inode = fs::metadata(first.root()).unwrap().ino();
    let again = store.build(&options(Flavour::Headless), &mut |_| {}).unwrap();
    assert_eq!(again.id(), first.id());
    assert_eq!(fs::metadata(again.root()).unwrap().ino(), inode);
    assert_eq!(store.newest(Flavour::Headless).unwrap().id(), first.id());
    assert_eq!(seen(store.newest(Flavour::Xvfb).unwrap_err().code()), "template_missing");
}

#[test]
fn building_replaces_a_template_that_was_altered() {
    let (_folder, store) = scratch();
    fs::write(only(&store).root().join("etc/new"), "").unwrap();
    let mended = store.build(&options(Flavour::Headless), &mut |_| {}).unwrap();
    mended.verify().unwrap();
    assert_eq!(mended.id(), only(&store).id());
}

#[test]
fn builders_at_the_same_time_agree_and_clear_away_a_dead_one_but_none_at_work() {
    let folder = tempfile::tempdir_in(common::place()).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let dead = folder.path().join(".building-dead");
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("lock"), "").unwrap();
    let busy = folder.path().join(".building-busy");
    fs::create_dir(&busy).unwrap();
    let lock = fs::File::create(busy.join("lock")).unwrap();
    lock.lock().unwrap();
    let build = || store.build(&options(Flavour::Headless), &mut |_| {}).unwrap().id().to_owned();
    let ids: Vec<String> = std::thread::scope(|scope| {
        let builders = [scope.spawn(build), scope.spawn(build)];
        builders.map(|builder| builder.join().unwrap()).to_vec()
    });
    assert_eq!(ids[0], ids[1]);
    only(&store).verify().unwrap();
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, [".building-busy", ids[0].as_str()]);
}

#[test]
fn what_is_missing_is_said_with_the_command_that_mends_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("wrapper");
    fs::write(&script, "#!/bin/sh\nexec chromium\n").unwrap();
    let with = |bridge: &str, browser: &Path, flavour| BuildOptions {
        flavour,
        bridge: PathBuf::from(bridge),
        browser: Some(browser.to_owned()),
    };
    let nowhere = Path::new("/nonexistent/chromium");
    let cases = [
        (
            with(probe_program(), nowhere, Flavour::Headless),
            "chromium_missing",
            "apt-get install chromium-headless-shell",
        ),
        (with(probe_program(), nowhere, Flavour::Xvfb), "chromium_missing", "apt-get install chromium"),
        (with(probe_program(), &script, Flavour::Headless), "chromium_not_a_program", "Name the program"),
        (with("/nonexistent/bridge", nowhere, Flavour::Headless), "bridge_missing", "cargo build -p bridge"),
    ];
    let store = Store::open(&folder.path().join("store")).unwrap();
    for (options, code, hint) in cases {
        let error = store.build(&options, &mut |_| {}).unwrap_err();
        assert_eq!(seen(error.code()), code);
        assert!(error.hint().contains(hint), "{}", error.hint());
    }
    assert_eq!(fs::read_dir(folder.path().join("store")).unwrap().count(), 0);
}

#[test]
fn a_full_disk_is_called_that_and_leaves_no_half_template() {
    let script = format!("{} build /mnt/store {}; ls -A /mnt/store", host_program(), probe_program());
    let output = Command::new("bwrap")
        .args(["--dev-bind", "/", "/", "--size", "20000000", "--tmpfs", "/mnt", "sh", "-c", &script])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("refused disk_full "), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().count(), 1, "{said}");
}
