//! Files made by the real sops in all its modes, and files that were changed afterwards.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::sops::Sops;
use common::{CANARY, TestGrants, assert_same, code, id};
use redact::Secret;
use std::path::PathBuf;
use vault::{ConsumedGrant, Issuer, SopsBackend, SopsKeys, Vault};

struct SopsFixture {
    sops: Sops,
    consumed: ConsumedGrant,
}

impl SopsFixture {
    async fn new() -> SopsFixture {
        let consumed = TestGrants::new().consume_new("default", &["github.com"], Issuer::Operator).await;
        SopsFixture { sops: Sops::new(), consumed }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.sops.folder.path().join("credentials").join(name)
    }

    fn vault(&self, keys: SopsKeys) -> Vault {
        Vault::Sops(SopsBackend::new(&self.file("").to_string_lossy(), keys))
    }

    fn keys(&self) -> PathBuf {
        self.sops.folder.path().join("keys.txt")
    }

    async fn read(&self, name: &str) -> Result<vault::Credential, vault::VaultError> {
        self.vault(SopsKeys::File(self.keys())).open_for_grant(&self.consumed, &id(name)).await
    }
}

/// A file as a person writes it: comments, numbers, several styles of strings.
const BY_HAND: &str = r#"# my login
domain: github.com
cookies:
  # the one that counts
  - name: user_session
    value: c4n4ry-value-of-a-cookie
    domain: .github.com
    expires: 1935689600
    httpOnly: true
    secure: true
    sameSite: Lax
  - {name: second, value: "", path: /}
localStorage:
  multi: |
    line one
    line two
  yes_text: "yes"
  number_text: "5"
  theme:
    value: dark
    secret: false
headers: {Authorization: "Bearer ghp_0123456789"}
last_refreshed_at: 2026-05-11T09:30:00Z
"#;

const THE_SAME: &str = r#"{"domain":"github.com","cookies":[{"name":"user_session",
"value":"c4n4ry-value-of-a-cookie","domain":".github.com","expires":1935689600,"httpOnly":true,"secure":true,
"sameSite":"Lax"},{"name":"second","value":"","path":"/"}],"localStorage":{"multi":"line one\nline two\n",
"yes_text":"yes","number_text":"5","theme":{"value":"dark","secret":false}},
"headers":{"Authorization":"Bearer ghp_0123456789"}}"#;

#[tokio::test]
async fn files_are_read_whatever_rule_says_that_all_is_encrypted() {
    let fixture = SopsFixture::new().await;
    for (number, arguments) in [
        &[][..],
        &["--encrypted-regex", "^[a-z]"],
        &["--unencrypted-regex", "^note$"],
        &["--unencrypted-suffix", "_open"],
    ]
    .into_iter()
    .enumerate()
    {
        for (name, text) in
            [(format!("by-hand-{number}.yaml"), BY_HAND), (format!("json-{number}.json"), THE_SAME)]
        {
            fixture.sops.encrypt(&fixture.file(&name), text, arguments);
            let stored = std::fs::read_to_string(fixture.file(&name)).unwrap();
            assert!(!stored.contains(CANARY), "{name}: {stored}");
            let stem = name.rsplit_once('.').unwrap().0;
            let found =
                fixture.read(stem).await.unwrap_or_else(|error| panic!("{name} {arguments:?}: {error}"));
            assert_same(&found, THE_SAME);
        }
    }
}

/// The MAC of sops does not cover names: an unencrypted value can be renamed, and sops itself accepts it.
#[tokio::test]
async fn a_file_with_an_open_value_is_refused() {
    let fixture = SopsFixture::new().await;
    for (number, (rule, field)) in [
        (&["--encrypted-regex", "^(value|Authorization|multi)$"][..], "domain"),
        (&["--unencrypted-regex", "^secure$"], "cookies[0].secure"),
        (&["--unencrypted-suffix", "expires"], "cookies[0].expires"),
        (&["--encrypted-suffix", "value"], "domain"),
        (&["--unencrypted-suffix", "Storage"], "localStorage.multi"),
    ]
    .into_iter()
    .enumerate()
    {
        for (extension, text) in [("yaml", BY_HAND), ("json", THE_SAME)] {
            let name = format!("open-{extension}-{number}");
            fixture.sops.encrypt(&fixture.file(&format!("{name}.{extension}")), text, rule);
            let error = common::fault(fixture.read(&name).await);
            assert!(error.to_string().starts_with(&format!("{field} in ")), "{rule:?}: {error}");
            assert_eq!(code::<()>(Err(error)), "sops_not_sealed", "{rule:?}");
        }
    }
    fixture.sops.encrypt(
        &fixture.file("renamed.yaml"),
        BY_HAND,
        &["--unencrypted-regex", "^(secure|secret)$"],
    );
    let good = std::fs::read_to_string(fixture.file("renamed.yaml")).unwrap();
    let renamed = good.replace("secret: false", "secure: false").replace("secure: true", "secret: true");
    assert_ne!(good, renamed);
    std::fs::write(fixture.file("renamed.yaml"), renamed).unwrap();
    assert!(fixture.sops.opens(&fixture.file("renamed.yaml")), "sops has learned to see it");
    assert_eq!(code(fixture.read("renamed").await), "sops_not_sealed");
}

#[tokio::test]
async fn a_key_opens_among_others_and_no_other_does() {
    let fixture = SopsFixture::new().await;
    let stranger = Sops::new();
    fixture.sops.encrypt(&fixture.file("ours.yaml"), BY_HAND, &[]);
    stranger.encrypt(&fixture.file("theirs.yaml"), BY_HAND, &[]);
    let both = format!("{},{}", stranger.recipient, fixture.sops.recipient);
    fixture.sops.encrypt(&fixture.file("both.yaml"), BY_HAND, &["--age", &both]);
    for name in ["ours", "both"] {
        assert_same(&fixture.read(name).await.unwrap(), THE_SAME);
    }
    assert_eq!(code(fixture.read("theirs").await), "sops_no_key");
    let text = std::fs::read_to_string(fixture.keys()).unwrap();
    let vault = fixture.vault(SopsKeys::Text(Secret::new(text)));
    assert!(vault.open_for_grant(&fixture.consumed, &id("ours")).await.is_ok());
    for text in ["", "# nothing", "no key at all", "AGE-SECRET-KEY-1QQQ"] {
        let vault = fixture.vault(SopsKeys::Text(Secret::new(text.to_owned())));
        assert_eq!(
            code(vault.open_for_grant(&fixture.consumed, &id("ours")).await),
            "credential_settings",
            "{text}"
        );
    }
    std::fs::remove_file(fixture.keys()).unwrap();
    assert_eq!(code(fixture.read("ours").await), "sops_unreadable");
}

#[tokio::test]
async fn a_file_that_was_changed_without_sops_is_refused_as_sops_refuses_it() {
    let fixture = SopsFixture::new().await;
    fixture.sops.encrypt(&fixture.file("good.yaml"), BY_HAND, &[]);
    let good = std::fs::read_to_string(fixture.file("good.yaml")).unwrap();
    let sealed = |name: &str| {
        let line = good.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        line.split_once("ENC[").map(|(_, rest)| format!("ENC[{rest}")).unwrap()
    };
    let (value, authorization) = (sealed("value: ENC"), sealed("Authorization: ENC"));
    let (domain, flag) = (sealed("domain: ENC"), sealed("httpOnly: ENC"));
    let last_modified = good.lines().find(|line| line.contains("lastmodified")).unwrap();
    let path = good.lines().find(|line| line.trim_start().starts_with("path: ENC")).unwrap();
    let changes = [
        ("another name", good.replace("secure: ENC", "secret: ENC"), "sops_altered"),
        ("a field less", good.replace(&format!("{path}\n"), ""), "sops_altered"),
        ("a value moved to another place", good.replace(&authorization, &value), "sops_altered"),
        ("a broken value", good.replace(&value, &value.replacen("data:", "data:AAAA", 1)), "sops_altered"),
        (
            "another time",
            good.replace(last_modified, "    lastmodified: \"2020-01-01T00:00:00Z\""),
            "sops_altered",
        ),
        ("another domain", good.replace(&domain, "evil.test"), "sops_not_sealed"),
        ("an open value", good.replace(&value, "open"), "sops_not_sealed"),
        ("an open flag", good.replace(&flag, "false"), "sops_not_sealed"),
        ("half a seal", good.replace(&value, "ENC[AES256_GCM,data:"), "sops_malformed"),
        ("no MAC", good.replace("    mac: ", "    cam: "), "sops_malformed"),
        ("no metadata", good.replace("\nsops:", "\nspos:"), "sops_malformed"),
        ("no YAML", format!("{good}\n]]]: ["), "sops_malformed"),
        ("not encrypted", BY_HAND.to_owned(), "sops_malformed"),
        ("an alias", format!("one: &a {value}\ntwo: *a\n{good}"), "sops_unsupported"),
        ("a tag", good.replace("secure: ENC", "secure: !!binary ENC"), "sops_unsupported"),
        ("two documents", format!("{good}---\n{good}"), "sops_unsupported"),
    ];
    for (what, text, wanted) in changes {
        assert_ne!(text, good, "{what}: nothing was changed");
        std::fs::write(fixture.file("changed.yaml"), &text).unwrap();
        assert_eq!(code(fixture.read("changed").await), wanted, "{what}");
        // sops refuses every file that we call altered.
        assert!(wanted != "sops_altered" || !fixture.sops.opens(&fixture.file("changed.yaml")), "{what}");
    }
    assert!(fixture.sops.opens(&fixture.file("good.yaml")) && fixture.read("good").await.is_ok());
}

#[tokio::test]
async fn what_sops_can_and_we_do_not_is_said() {
    let fixture = SopsFixture::new().await;
    fixture.sops.encrypt(
        &fixture.file("some.yaml"),
        BY_HAND,
        &["--mac-only-encrypted", "--encrypted-regex", "^value$"],
    );
    assert_eq!(code(fixture.read("some").await), "sops_unsupported");
    let groups = format!(
        "creation_rules:\n  - shamir_threshold: 2\n    key_groups:\n      - age: [{0}]\n      - age: [{1}]\n",
        fixture.sops.recipient,
        Sops::new().recipient
    );
    let clear = fixture.sops.folder.path().join("groups.yaml");
    std::fs::write(&clear, BY_HAND).unwrap();
    let rules = fixture.sops.folder.path().join("rules.yaml");
    std::fs::write(&rules, groups).unwrap();
    let made = std::process::Command::new(common::part("sops"))
        .arg("--config")
        .arg(&rules)
        .args(["--encrypt", "--output"])
        .arg(fixture.file("groups.yaml"))
        .arg(&clear)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert_eq!(code(fixture.read("groups").await), "sops_unsupported");
}
