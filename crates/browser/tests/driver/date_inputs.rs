//! Date and time inputs: typed in one format, whatever the page's locale does with the input.

use crate::support::{Driver, role, typing};

const FIELDS: [(&str, &str, &str); 11] = [
    ("date", "2026-11-06", "2026-11-06"),
    ("date", "1999-02-28", "1999-02-28"),
    ("date", "2028-02-29", "2028-02-29"),
    ("time", "13:45", "13:45"),
    ("time", "00:05", "00:05"),
    ("datetime-local", "2026-11-16T23:01", "2026-11-16T23:01"),
    ("datetime-local", "2026-12-31 07:30", "2026-12-31T07:30"),
    ("month", "2026-11", "2026-11"),
    ("month", "2027-02", "2027-02"),
    ("week", "2026-W07", "2026-W07"),
    ("week", "2026-W53", "2026-W53"),
];

#[tokio::test]
async fn a_date_or_time_is_set_by_keys_in_every_field_order() {
    for language in ["en-US", "en-GB", "de", "ja", "fr", "sv", "ko", "hu"] {
        let fields = ["date", "time", "datetime-local", "month", "week"];
        let page: String =
            fields.iter().map(|kind| format!("<input type={kind} aria-label={kind}>")).collect();
        let page = format!(
            "<html lang={language}>{page}<script>let fake = 0; addEventListener('input', (e) => {{ fake += !e.isTrusted; }}, true);
             window.value = (kind) => `${{document.querySelector(`[type=${{kind}}]`).value}} ${{fake}}`;</script>"
        );
        let driver = Driver::with(&[("shop.test/", &page)]).await;
        driver.goto("http://shop.test/").await;
        for (kind, text, expected) in FIELDS {
            let done = driver.after(typing(role("textbox", kind), text, true, false)).await;
            let value = driver.value(&format!("value('{kind}')")).await;
            assert_eq!(value, format!("{expected} 0"), "{language} {kind} {text}: {:?}", done.err());
        }
        driver.after(typing(role("textbox", "date"), "", true, false)).await.unwrap();
        assert_eq!(driver.value("value('date')").await, " 0", "{language}: emptied");
    }
}

#[tokio::test]
async fn seconds_are_set_where_the_input_has_them() {
    let page = "<input type=time step=1 aria-label=Exact value=10:00:00><script>window.value = () => document.querySelector('input').value</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    for (text, expected) in [("13:45:09", "13:45:09"), ("07:08", "07:08:00")] {
        driver.after(typing(role("textbox", "Exact"), text, true, false)).await.unwrap();
        let value = driver.value("value()").await;
        assert!(value == expected || format!("{value}:00") == expected, "{text}: {value}");
    }
}

#[tokio::test]
async fn an_error_for_an_invalid_date_names_the_format() {
    let page = "<input type=date aria-label=Day value=2020-01-01><input type=date aria-label=Fixed value=2020-01-01 onchange='this.value = \"2020-01-01\"'>
        <script>window.value = () => document.querySelector('input').value</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    for text in ["16/11/2026", "tomorrow", "2026-11", "20261116"] {
        assert_eq!(
            driver.code(typing(role("textbox", "Day"), text, true, false)).await,
            "bad_date",
            "{text}"
        );
        assert_eq!(driver.value("value()").await, "2020-01-01", "{text}");
    }
    for text in ["11/16/2026", "11162026"] {
        driver.after(typing(role("textbox", "Day"), text, true, false)).await.unwrap();
        assert_eq!(driver.value("value()").await, "2026-11-16", "{text}: as the field shows it");
    }
    let stubborn = driver.code(typing(role("textbox", "Fixed"), "2026-11-16", true, false)).await;
    assert_eq!(stubborn, "element_unchanged");
}

#[tokio::test]
async fn a_nonexistent_date_or_time_is_refused_before_any_key() {
    let held = [
        ("date", "2026-05-05"),
        ("time", "10:00"),
        ("datetime-local", "2026-05-05T10:00"),
        ("month", "2026-05"),
        ("week", "2025-W07"),
    ];
    let fields: String = held
        .iter()
        .map(|(kind, value)| format!("<input type={kind} aria-label={kind} value={value}>"))
        .collect();
    let page = format!(
        "{fields}<script>let keys = 0; addEventListener('keydown', () => {{ keys += 1; }}, true);
         window.value = () => [...document.querySelectorAll('input')].map((el) => el.value).join(' ') + ` ${{keys}}`;</script>"
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    driver.goto("http://shop.test/").await;
    let before = driver.value("value()").await;
    for (kind, text) in [
        ("date", "2026-02-31"),
        ("date", "2026-02-29"),
        ("date", "2026-13-01"),
        ("date", "2/31/2026"),
        ("date", "02312026"),
        ("time", "25:61"),
        ("time", "24:00"),
        ("time", "10:00:60"),
        ("datetime-local", "2026-06-31T10:00"),
        ("datetime-local", "2026-06-30T10:60"),
        ("month", "2026-13"),
        ("week", "2025-W53"),
        ("week", "2025-W00"),
    ] {
        let code = driver.code(typing(role("textbox", kind), text, true, false)).await;
        assert_eq!(code, "bad_date", "{kind} {text}");
        assert_eq!(driver.value("value()").await, before, "{kind} {text}");
    }
}
