//! Imports of files from other programs.

use crate::credential::Host;
use crate::import::{ImportFormat, Imported};
use jiff::Timestamp;
use redact::SameSite;

fn read(text: &str, domain: &str) -> Result<Imported, crate::Malformed> {
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    super::read(text.as_bytes(), &Host::parse(domain).unwrap(), now)
}

/// `name=value; domain; path; expires; flags` of each cookie.
fn cookies(imported: &Imported) -> Vec<String> {
    let cookies = imported.credential.cookies.iter().map(|cookie| {
        let domain = cookie.domain.as_ref().map_or("host".to_owned(), |domain| format!(".{domain}"));
        let expires = cookie.expires.map_or("session".to_owned(), |seconds| seconds.to_string());
        let same_site = cookie.same_site.map_or("-", SameSite::as_str);
        let flags =
            format!("{}{}", if cookie.secure { "S" } else { "" }, if cookie.http_only { "H" } else { "" });
        let value = cookie.value.text.expose_secret();
        format!("{}={value} {domain} {} {expires} {same_site} {flags}", cookie.name, cookie.path)
    });
    cookies.collect()
}

const STORAGE_STATE: &str = r#"{"cookies":[
 {"name":"sid","value":"v1","domain":"app.a.test","path":"/","expires":-1,"httpOnly":true,"secure":true,"sameSite":"Strict"},
 {"name":"site","value":"v2","domain":".a.test","path":"/","expires":1900000000.5,"httpOnly":false,"secure":false,
  "sameSite":"None","partitionKey":"x","_crHasCrossSiteAncestor":false},
 {"name":"old","value":"v3","domain":"app.a.test","path":"/","expires":1700000000,"httpOnly":false,"secure":false,"sameSite":"Lax"},
 {"name":"other","value":"v4","domain":"b.test","path":"/","expires":-1,"httpOnly":false,"secure":false,"sameSite":"Lax"}],
 "origins":[{"origin":"https://app.a.test","localStorage":[{"name":"token","value":"t1"}],"indexedDB":[{"name":"db"}]},
  {"origin":"https://b.test","localStorage":[{"name":"x","value":"y"}]}]}"#;

const COOKIES_TXT: &str = "# Netscape HTTP Cookie File\r\n\
# a comment\r\n\r\n\
#HttpOnly_app.a.test\tFALSE\t/\tTRUE\t0\tsid\tv1\r\n\
.a.test\tTRUE\t/x\tFALSE\t1900000000\tsite\tv2\twith a tab\r\n\
app.a.test\tFALSE\t/\tFALSE\t1700000000\told\tv3\r\n\
app.a.test\tFALSE\t/\tFALSE\t0\tempty\r\n\
b.test\tFALSE\t/\tFALSE\t0\tother\tv4\r\n";

const EXTENSION: &str = r#"[
 {"domain":"app.a.test","hostOnly":true,"httpOnly":true,"name":"sid","path":"/","sameSite":"strict","secure":true,
  "session":true,"storeId":"0","value":"v1","id":1},
 {"domain":".a.test","expirationDate":1900000000.25,"hostOnly":false,"httpOnly":false,"name":"site","path":"/",
  "sameSite":"no_restriction","secure":true,"session":false,"storeId":null,"value":"v2"},
 {"domain":"app.a.test","hostOnly":true,"name":"plain","sameSite":"unspecified","value":"v3"},
 {"domain":"b.test","hostOnly":true,"name":"other","sameSite":null,"value":"v4"}]"#;

#[test]
fn a_storage_state_gives_what_belongs_to_the_host() {
    let imported = read(STORAGE_STATE, "app.a.test").unwrap();
    assert_eq!(imported.format, ImportFormat::StorageState);
    assert_eq!(cookies(&imported), ["sid=v1 host / session Strict SH", "site=v2 .a.test / 1900000000 - "]);
    let storage = &imported.credential.local_storage;
    assert_eq!((storage[0].name.as_str(), storage[0].value.text.expose_secret()), ("token", "t1"));
    let left_out = [
        "the IndexedDB of https://app.a.test",
        "the storage of https://b.test",
        "1 cookies of other hosts",
        "1 expired cookies",
    ];
    assert_eq!(imported.left_out, left_out);
}

#[test]
fn a_cookies_txt_gives_what_belongs_to_the_host() {
    let imported = read(COOKIES_TXT, "app.a.test").unwrap();
    assert_eq!(imported.format, ImportFormat::CookiesTxt);
    let wanted = [
        "sid=v1 host / session - SH",
        "site=v2\twith a tab .a.test /x 1900000000 - ",
        "empty= host / session - ",
    ];
    assert_eq!(cookies(&imported), wanted);
    assert_eq!(imported.left_out, ["1 cookies of other hosts", "1 expired cookies"]);
}

#[test]
fn an_extensions_json_gives_what_belongs_to_the_host() {
    let wanted = [
        "sid=v1 host / session Strict SH",
        "site=v2 .a.test / 1900000000 None S",
        "plain=v3 host / session - ",
    ];
    let wrapped = format!(r#"{{"url":"https://app.a.test","cookies":{EXTENSION}}}"#);
    for text in [EXTENSION.to_owned(), wrapped, format!("\u{feff} {EXTENSION}")] {
        let imported = read(&text, "app.a.test").unwrap();
        assert_eq!(imported.format, ImportFormat::Extension);
        assert_eq!(cookies(&imported), wanted);
    }
}

#[test]
fn what_cannot_be_imported_names_its_place_and_no_value() {
    for (text, wanted) in [
        ("", "nothing in the file is for app.a.test (0 cookies in all"),
        ("{}", "cookies: a storage state has cookies and origins"),
        ("[]", "nothing in the file is for"),
        ("{\"cookies\":5}", "cookies: this must be a list"),
        ("[5]", "[0]: this must be a map"),
        (r#"[{"name":"n","value":"S3CR3T"}]"#, "[0].domain: this is missing"),
        (r#"[{"domain":"app.a.test","name":"n","value":"S3;CR3T"}]"#, "[0].value: "),
        (r#"[{"domain":"app.a.test","name":"n","value":"S3CR3T","sameSite":"odd"}]"#, "[0].sameSite: "),
        (r#"[{"domain":"http://x","name":"n","value":"S3CR3T"}]"#, "[0].domain: "),
        (
            r#"{"cookies":[{"domain":"app.a.test","name":"n","value":5}]}"#,
            "cookies[0].value: this must be a text",
        ),
        (r#"{"origins":[{"origin":"nowhere"}]}"#, "origins[0].origin: "),
        (
            r#"{"origins":[{"origin":"https://app.a.test","localStorage":[{"name":"x"}]}]}"#,
            "origins[0].localStorage[0].value: ",
        ),
        ("app.a.test FALSE / FALSE 0 n S3CR3T", "line 1: a cookie has seven fields"),
        ("# x\napp.a.test\tMAYBE\t/\tFALSE\t0\tn\tS3CR3T", "line 2.subdomains: "),
        ("app.a.test\tFALSE\t/\tFALSE\tsoon\tn\tS3CR3T", "line 1.expires: "),
        ("app.a.test\tFALSE\t/\tFALSE\tNaN\tn\tS3CR3T", "line 1.expires: "),
        ("b.test\tFALSE\t/\tFALSE\t0\tn\tS3CR3T", "nothing in the file is for app.a.test (1 cookies in all"),
    ] {
        let Err(error) = read(text, "app.a.test") else { panic!("accepted: {text}") };
        let words = error.to_string();
        assert!(words.starts_with(wanted) && !words.contains("S3CR3T"), "{text}: {words}");
    }
}
