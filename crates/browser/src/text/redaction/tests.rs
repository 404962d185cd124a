//! A secret that straddles a limit is masked whole, and no beginning of it is left.

use super::*;

const SECRET: &str = "sk-live-4f9c2a7e81d35b60";
const MASK: &str = "[redacted]";

/// Finds the secret as a whole.
fn cutter() -> TextCutter {
    TextCutter::new(Arc::new(|text: &str| text.contains(SECRET).then(|| text.replace(SECRET, MASK))))
}

/// Fails if a text has three characters of the secret or more.
fn check_clean(text: &str, of: &str) {
    let left = (0..=SECRET.len() - 3).find(|from| text.contains(&SECRET[*from..from + 3]));
    let end = &text[cut_at(text, text.len().saturating_sub(60))..];
    assert!(left.is_none(), "{of}: a part of the secret is left in …{end:?}");
}

fn padded(before: usize) -> String {
    format!("{}{SECRET}{}", "#".repeat(before), "#".repeat(100))
}

#[test]
fn a_secret_is_masked_whole_wherever_the_limit_is() {
    let cutter = cutter();
    for limit in [80, 300, 2000] {
        for before in limit - SECRET.len() - 2..limit + 2 {
            for kind in [Limit::Units(limit), Limit::Bytes(limit)] {
                let shown = cutter.redact_and_cut(&padded(before), kind);
                check_clean(&shown, &format!("{kind:?} at {before}"));
                assert!(shown.len() <= limit + '…'.len_utf8(), "{kind:?} at {before}");
            }
            let url = format!("http://shop.test/{}", padded(before - 17));
            let shown = cutter.redact_and_cut_url(&url, limit);
            check_clean(&shown, &format!("{limit} of a URL at {before}"));
            assert!(shown.len() <= limit && shown.starts_with("http://shop.test/#"), "{shown}");
        }
    }
}

#[test]
fn the_end_of_a_text_that_the_script_cut_is_not_shown() {
    let cutter = cutter();
    let mark = cutter.mark.to_string();
    let secrets = format!("{SECRET} ").repeat(500);
    for left in 0..SECRET.len() {
        let begun = &SECRET[..left];
        for (text, expected) in [
            // Masking shrinks it so far that its end would be shown.
            (format!("{secrets}{begun}{mark}"), format!("{MASK} ")),
            (format!("Go {SECRET}{begun}{mark}"), format!("Go {MASK}")),
            (format!("{}{begun}{mark}", " ".repeat(3)), String::new()),
            (format!("{}{begun}{mark} and more", "a".repeat(400)), "a".repeat(144)),
        ] {
            for limit in [Limit::Units(8000), Limit::None] {
                let shown = cutter.redact_and_cut(&text, limit);
                check_clean(&shown, &format!("{left} left"));
                assert!(shown.ends_with('…') && shown.starts_with(&expected), "{left}: {shown:?}");
            }
        }
    }
    // A page does not know the mark.
    let forged = format!("Delete{}", "\u{fdd2}".repeat(32));
    assert_eq!(cutter.redact_and_cut(&forged, Limit::Units(300)), "Delete");
}

#[test]
fn the_end_of_a_text_that_was_cut_while_it_was_decoded_is_not_shown() {
    let cutter = cutter();
    for left in 1..SECRET.len() {
        // Invisible characters take all the bytes that are kept.
        let hidden = "\u{200b}".repeat((MAX_DECODED_TEXT - left) / 3);
        let text = format!("{hidden}{}", &SECRET[..left]);
        check_clean(&cutter.redact_and_cut(&text, Limit::Bytes(512)), &format!("{left} left"));
        // Masking shrinks it so far that its end would be shown.
        let url = format!("data:,{}{}", "#".repeat(left), format!("{SECRET},").repeat(1000));
        let shown = cutter.redact_and_cut_url(&url[..MAX_DECODED_TEXT], MAX_URL);
        check_clean(&shown, &format!("{left} before"));
    }
}

#[test]
fn a_url_keeps_its_origin() {
    let cutter = cutter();
    for (url, shown) in [
        (format!("https://shop.test/?key={SECRET}#a"), format!("https://shop.test/?key={MASK}#a")),
        (format!("https://{SECRET}.shop.test/a?b"), format!("https://{SECRET}.shop.test/")),
        (format!("data:text/plain,{SECRET}"), format!("data:text/plain,{MASK}")),
        ("https://shop.test/a".to_owned(), "https://shop.test/a".to_owned()),
        ("not a url".to_owned(), "not a url".to_owned()),
    ] {
        assert_eq!(cutter.redact_and_cut_url(&url, 300), shown);
    }
}

#[test]
fn html_is_masked_before_its_attributes_and_its_end_are_cut() {
    let cutter = cutter();
    for before in 280..302 {
        let html = format!("<a title=\"{}\" href=\"x\">{}</a>", padded(before), "text ".repeat(30));
        let (shown, _) = cutter.redact_and_cut_html(&html, 300, 4_000);
        check_clean(&shown, &format!("an attribute at {before}"));
        assert!(shown.contains("…\" href=\"x\">text"), "{shown}");
        let html = format!("<p>{}</p>", padded(before));
        let (shown, is_cut) = cutter.redact_and_cut_html(&html, 300, 300);
        check_clean(&shown, &format!("HTML at {before}"));
        assert!(is_cut && shown.len() <= 300 && shown.ends_with('…'), "{shown}");
    }
    let plain = "<a title=\"A\">text</a>";
    assert_eq!(cutter.redact_and_cut_html(plain, 300, 300), (plain.to_owned(), false));
}

#[test]
fn a_session_without_secrets_only_cuts() {
    let cutter = TextCutter::default();
    assert!(cutter.script_limits().is_none());
    assert_eq!(cutter.redact_and_cut(&"a".repeat(9), Limit::Units(8)), format!("{}…", "a".repeat(8)));
    assert_eq!(cutter.redact_and_cut("aä", Limit::Bytes(2)), "a");
    // As the script cut it.
    assert_eq!(cutter.redact_and_cut("😀😀…", Limit::Units(4)), "😀😀…");
}
