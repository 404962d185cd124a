//! The store of templates: who may write to it, what is reported, and what is removed.
#![allow(clippy::unwrap_used, reason = "in tests, helpers included, a panic is the report")]

mod common;

use common::seen::seen;
use common::{options, scratch};
use jail::template::{Flavour, Store, Template};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

const STRANGER: u32 = 61_235;

/// An empty template, this many hours old.
fn put(store: &Path, name: &str, flavour: Flavour, hours: u64) {
    fs::create_dir_all(store.join(name).join("root")).unwrap();
    fs::set_permissions(store.join(name), Permissions::from_mode(0o755)).unwrap();
    let path = store.join(name).join("manifest.json");
    let text = format!(
        r#"{{"flavour": "{flavour}", "browser": "/none", "browser_version": "{hours}", "entries": {{}}}}"#
    );
    fs::write(&path, text).unwrap();
    let built = SystemTime::now() - Duration::from_secs(hours * 3600);
    File::open(path).unwrap().set_modified(built).unwrap();
}

fn ids(templates: &[Template]) -> Vec<&str> {
    templates.iter().map(Template::id).collect()
}

#[test]
fn a_store_that_another_user_could_write_to_is_refused() {
    type Spoil = fn(&Path);
    let cases: [(&str, Spoil); 3] = [
        ("others may write", |path| fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap()),
        ("another user", |path| chown(path, Some(STRANGER), None).unwrap()),
        ("not a folder", |path| {
            let away = path.with_extension("away");
            fs::rename(path, &away).unwrap();
            symlink(away, path).unwrap();
        }),
    ];
    for (why, spoil) in cases {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("store");
        let store = Store::open(&dir).unwrap();
        put(&dir, "headless-a", Flavour::Headless, 1);
        store.newest(Flavour::Headless).unwrap();

        spoil(&dir.join("headless-a"));
        let error = store.newest(Flavour::Headless).unwrap_err();
        assert_eq!(seen(error.code()), "template_store_unsafe", "{error}");

        spoil(&dir);
        let error = Store::open(&dir).unwrap_err();
        assert_eq!(seen(error.code()), "template_store_unsafe", "{error}");
        assert!(error.to_string().contains(why), "{error}");
        assert!(error.hint().contains(dir.to_str().unwrap()), "{}", error.hint());
    }
}

#[test]
fn a_file_of_another_user_makes_a_template_an_altered_one() {
    let (_folder, store) = scratch();
    let template = store.newest(Flavour::Headless).unwrap();
    template.verify().unwrap();
    // A new file, because the others are hard links to the shared template.
    let path = template.root().join("etc/passwd");
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    template.verify().unwrap();
    lchown(&path, Some(STRANGER), None).unwrap();
    let error = template.verify().unwrap_err();
    assert_eq!(seen(error.code()), "template_altered");
    assert!(error.to_string().contains("root/etc/passwd changed"), "{error}");
}

#[test]
fn a_store_is_closed_to_writers_whatever_the_umask() {
    let script = format!("umask 000; {} build \"$0\" {}", common::host_program(), common::probe_program());
    let folder = tempfile::tempdir_in(common::place()).unwrap();
    let dir = folder.path().join("store");
    let built = std::process::Command::new("sh").args(["-c", &script]).arg(&dir).status().unwrap();
    assert!(built.success());
    let template = Store::open(&dir).unwrap().newest(Flavour::Headless).unwrap();
    for path in [&dir, template.root().parent().unwrap(), template.root()] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o755, "{path:?}");
    }
}

#[test]
fn a_template_that_cannot_be_read_is_left_out_of_the_list_and_reported_as_altered() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    for name in ["headless-fine", "headless-garbled", "headless-lost"] {
        put(folder.path(), name, Flavour::Headless, 1);
    }
    fs::write(folder.path().join("headless-garbled/manifest.json"), "{").unwrap();
    fs::remove_file(folder.path().join("headless-lost/manifest.json")).unwrap();
    fs::write(folder.path().join("a note"), "").unwrap();
    assert_eq!(ids(&store.list().unwrap()), ["headless-fine"]);
    let all = store.all().unwrap();
    let all: Vec<(&str, Option<String>)> = all
        .iter()
        .map(|(name, template)| (name.as_str(), template.as_ref().err().map(|error| seen(error.code()))))
        .collect();
    let altered = Some("template_altered".to_owned());
    assert_eq!(
        all,
        [("headless-fine", None), ("headless-garbled", altered.clone()), ("headless-lost", altered)]
    );
}

#[test]
fn what_is_built_is_the_newest_even_if_it_was_there_before() {
    let (folder, store) = scratch();
    let there = store.newest(Flavour::Headless).unwrap().id().to_owned();
    let path = folder.path().join(&there).join("manifest.json");
    // A copy, because the shared template keeps its time.
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    File::open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    put(folder.path(), "headless-later", Flavour::Headless, 1);
    assert_eq!(store.newest(Flavour::Headless).unwrap().id(), "headless-later");
    store.build(&options(Flavour::Headless), &mut |_| {}).unwrap();
    assert_eq!(store.newest(Flavour::Headless).unwrap().id(), there);
}

#[test]
fn building_keeps_the_three_newest_of_each_flavour_and_what_is_in_use() {
    let (folder, store) = scratch();
    for hours in 1..=5 {
        put(folder.path(), &format!("headless-{hours}"), Flavour::Headless, hours);
    }
    for hours in 1..=4 {
        put(folder.path(), &format!("xvfb-{hours}"), Flavour::Xvfb, hours);
    }
    let used = store.list().unwrap().into_iter().find(|template| template.id() == "headless-4").unwrap();
    let mut said = Vec::new();
    let build = |said: &mut Vec<String>| {
        store.build(&options(Flavour::Headless), &mut |step| said.push(step.to_owned())).unwrap()
    };
    let built = build(&mut said);
    let mut left: Vec<String> = store.all().unwrap().into_keys().collect();
    left.sort();
    let mut expected = [built.id(), "headless-1", "headless-2", "headless-4", "xvfb-1", "xvfb-2", "xvfb-3"];
    expected.sort();
    assert_eq!(left, expected);
    said.retain(|step| step.contains("old"));
    assert_eq!(
        said,
        [
            "removing headless-3, which is old and unused",
            "keeping headless-4, which is old but in use",
            "removing headless-5, which is old and unused",
            "removing xvfb-4, which is old and unused",
        ]
    );
    drop(used);
    build(&mut said);
    assert!(!folder.path().join("headless-4").exists());
    let staging = fs::read_dir(folder.path()).unwrap().filter_map(Result::ok);
    let staging = staging.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(staging.count(), 0, "what was removed is gone for good");
}
