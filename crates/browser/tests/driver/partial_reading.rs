//! Reading a long page in parts: folds, cursors, subtrees and find.

use crate::support::{Driver, reference, role, text_of};
use browser::{BrowserError, Content, Outcome, SearchResult, Snapshot};
use policy::{Action, Click, Find, Part, Pattern, Read, ReadFormat, Target, TokenBudget};
use std::collections::{HashSet, VecDeque};

async fn read(driver: &Driver, read: Read) -> Result<Snapshot, BrowserError> {
    match driver.act(Action::Read(read)).await? {
        Outcome::Read(snapshot) => Ok(snapshot),
        other => panic!("{other:?}"),
    }
}

async fn open(driver: &Driver, cursor: &str) -> Result<String, BrowserError> {
    let part = Part::Cursor(cursor.to_owned());
    read(driver, Read { part, ..Read::default() }).await.map(|snapshot| text_of(&snapshot))
}

async fn find(driver: &Driver, find: Find) -> Result<SearchResult, BrowserError> {
    match driver.act(Action::Find(Find { limit: 20, ..find })).await? {
        Outcome::Found(found) => Ok(found),
        other => panic!("{other:?}"),
    }
}

fn text(text: &str) -> Option<Pattern> {
    Some(Pattern::Text(text.to_owned()))
}

fn cursors(outline: &str) -> Vec<String> {
    let folds = outline.lines().filter(|line| line.trim_start().starts_with("- … "));
    folds.map(|line| line.split_once("cursor=").unwrap().1.trim_end_matches(']').to_owned()).collect()
}

/// Everything that a page and its folds show.
async fn read_all(driver: &Driver, first: String, tokens: u32) -> String {
    let tokens = TokenBudget::new(tokens).unwrap();
    let mut all = String::new();
    let mut open = VecDeque::from(cursors(&first));
    all.push_str(&first);
    while let Some(cursor) = open.pop_front() {
        let part = Part::Cursor(cursor);
        let outline = text_of(&read(driver, Read { part, tokens, ..Read::default() }).await.unwrap());
        assert!(TokenBudget::count(&outline) <= tokens.bytes() / 4, "{}", outline.len());
        open.extend(cursors(&outline));
        all.push_str(&outline);
    }
    all
}

fn table(rows: usize) -> String {
    let rows: String = (0..rows)
        .map(|n| {
            format!("<tr><td>Order {n}</td><td>{} EUR</td><td><a href=/{n}>Open {n}</a></td></tr>", n * 7)
        })
        .collect();
    format!(
        "<title>Orders</title><nav><a href=/>Home</a></nav><main><h1>Orders</h1><table>{rows}</table>
         <form aria-label=Payment><input aria-label=Amount><button>Pay all</button></form></main>"
    )
}

#[tokio::test]
async fn a_table_of_5000_rows_is_one_small_reply_and_every_row_can_be_reached() {
    let driver = Driver::with(&[("shop.test/", &table(5_000))]).await;
    let first = driver.goto("http://shop.test/").await;
    assert!(TokenBudget::count(&first) <= 6_000 && first.len() > 20_000, "{}", first.len());
    for shown in ["link \"Home\"", "heading \"Orders\"", "cell: \"Order 0\"\n", "button \"Pay all\""] {
        assert!(first.contains(shown), "{shown} in {first}");
    }
    assert!(first.contains(" more rows (") && cursors(&first).len() == 1, "{first}");

    let all = read_all(&driver, first, 20_000).await;
    let links: Vec<_> = all.lines().filter(|line| line.contains("- link \"Open ")).collect();
    let different: HashSet<_> = links.iter().map(|line| line.split_once("[ref=").unwrap().1).collect();
    assert_eq!((links.len(), different.len()), (5_000, 5_000));
}

#[tokio::test]
async fn a_cursor_opens_its_own_snapshot_until_that_is_dropped() {
    let page =
        table(1_000) + "<script>setTimeout(() => document.querySelector('table').remove(), 0)</script>";
    let driver = Driver::with(&[("shop.test/", &table(1_000)), ("shop.test/other", &page)]).await;
    let first = driver.goto("http://shop.test/").await;
    let cursor = cursors(&first).remove(0);
    let before = open(&driver, &cursor).await.unwrap();
    assert!(before.starts_with("In main > table:\n- row\n"), "{before}");
    driver.goto("http://shop.test/other").await;
    assert_eq!(open(&driver, &cursor).await.unwrap(), before, "the page moved on, the snapshot did not");
    for _ in 0..5 {
        driver.goto("http://shop.test/").await;
    }
    let unknown = [cursor.as_str(), "c999.0-1", "c1.0-99999999", "e5", "c1.5-", "\u{202e}c1.0-1"];
    for cursor in unknown {
        let error = open(&driver, cursor).await.unwrap_err();
        assert_eq!((error.code().name(), error.retryable()), ("stale_cursor", false), "{cursor}: {error}");
        assert!(error.hint().contains("Read the page again"), "{}", error.hint());
    }
}

#[tokio::test]
async fn what_a_first_reply_does_not_show_is_read_before_an_action_changes_it() {
    let page = table(1_000)
        + "<button onclick=\"document.body.append('Noted')\">Note</button>
           <button onclick=\"document.querySelector('table').remove()\">Remove</button>";
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    let first = driver.goto("http://shop.test/").await;
    assert!(first.contains("… about ") && first.contains("button \"Remove\""), "{first}");
    let note = Action::Click(Click::on(role("button", "Note")));
    let facts = driver.browser.resolve(&note).await.unwrap();
    let noted = match driver.act_for("test", false, note, facts).await.unwrap() {
        Outcome::Acted(after) => after.snapshot.unwrap().content,
        other => panic!("{other:?}"),
    };
    let Content::Changes { text, .. } = noted else { panic!("no delta: {noted:?}") };
    assert!(text.contains("+ - text: \"Noted\"") && text.len() < 500, "{text}");
    let removed = driver.click(role("button", "Remove")).await.unwrap();
    assert!(!removed.contains("Order 1\""), "{removed}");
    let all = read_all(&driver, first, 20_000).await;
    let rows = (0..1_000).filter(|n| all.contains(&format!("cell: \"Order {n}\"\n"))).count();
    assert_eq!(rows, 1_000, "the page moved on, the snapshot did not");
    let again = text_of(&driver.read(ReadFormat::Outline).await);
    assert!(!again.contains("Order 1\"") && !again.contains("about"), "{again}");
}

#[tokio::test]
async fn a_long_page_with_frames_and_a_shadow_tree_is_read_in_part_and_completed() {
    let page = format!(
        "<iframe src=/inner></iframe><div id=host></div>
         <script>host.attachShadow({{ mode: 'open' }}).innerHTML = '<p>in a shadow tree'</script>{}
         <iframe src=/inner></iframe>",
        table(1_000)
    );
    let driver = Driver::with(&[("shop.test/", &page), ("shop.test/inner", "<p>in a frame")]).await;
    // A second reading knows that there is a shadow tree.
    driver.goto("http://shop.test/").await;
    let first = text_of(&driver.read(ReadFormat::Outline).await);
    for shown in ["in a frame", "in a shadow tree", "cell: \"Order 0\"\n", "… about "] {
        assert!(first.contains(shown), "{shown} in {first}");
    }
    let all = read_all(&driver, first, 20_000).await;
    let rows = (0..1_000).filter(|n| all.contains(&format!("cell: \"Order {n}\"\n"))).count();
    assert_eq!((rows, all.matches("in a frame").count()), (1_000, 2));
}

#[tokio::test]
async fn a_long_listing_is_read_in_part_and_completed() {
    let words: String = (0..6_000).map(|n| format!("<span class=w>word{n}.</span>\n")).collect();
    let page = format!("<h1>Source</h1><pre><code>{words}</code></pre><p>The end");
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    let first = driver.goto("http://shop.test/").await;
    assert!(first.contains("word0.\\nword1.") && first.contains("… about "), "{first}");
    assert!(!first.contains("word5999."), "{first}");
    let all = read_all(&driver, first, 20_000).await;
    let missing: Vec<_> = (0..6_000).filter(|n| !all.contains(&format!("word{n}."))).collect();
    assert!(missing.is_empty() && all.contains("The end"), "{missing:?}");
}

#[tokio::test]
async fn tricks_are_marked_in_what_is_shown_of_a_long_page() {
    let rows: String =
        (0..2_000).map(|n| format!("<p class=row>Row {n} <a href=/{n}>open</a></p>")).collect();
    let page = format!(
        "<style>.lid {{ position: absolute; left: 0; top: 0; width: 600px; height: 60px; background: #fff }}
         .pale {{ color: #fefefe }} .off {{ position: absolute; left: -9999px }}</style>
         <p>covered words</p><div class=lid>lid</div><p class=pale>pale words</p><p class=off>far words</p>{rows}"
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    let first = driver.goto("http://shop.test/").await;
    assert!(first.contains("… about "), "{first}");
    for words in ["covered", "pale", "far"] {
        assert!(first.contains(&format!("text [unseen]: \"{words} words\"")), "{words}: {first}");
    }
    assert!(first.contains("\"Row 0\"") && !first.contains("[unseen]: \"Row"), "{first}");
}

#[tokio::test]
async fn a_ref_as_root_shows_only_its_subtree() {
    let page = "<h1>Top</h1><ul tabindex=0 aria-label=Cart><li>one<li><button>Remove</button></ul><p>End";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    let Target::Ref(cart) = reference(&outline, "list \"Cart\"") else { panic!("no ref") };
    for (format, expected) in [
        (ReadFormat::Outline, "- listitem: \"one\"\n"),
        (ReadFormat::Markdown, "- one\n"),
        (ReadFormat::Tree, "role: \"text\", name: Some(\"one\")"),
    ] {
        let part = Part::Root(cart.clone());
        let shown = text_of(&read(&driver, Read { format, part, ..Read::default() }).await.unwrap());
        assert!(shown.contains(expected) && shown.contains("Remove"), "{format:?}: {shown}");
        assert!(!shown.contains("Top") && !shown.contains("End"), "{format:?}: {shown}");
    }
    let one_level = Read { part: Part::Root(cart), max_depth: Some(1), ..Read::default() };
    let shown = text_of(&read(&driver, one_level).await.unwrap());
    assert!(shown.contains("  - … 2 more listitems (4 lines), 1 actionable [open: cursor="), "{shown}");
    let gone = Read { part: Part::Root("e999".into()), ..Read::default() };
    assert_eq!(read(&driver, gone).await.unwrap_err().code().to_string(), "stale_ref");
}

#[tokio::test]
async fn folded_elements_can_be_found_opened_and_clicked() {
    let driver =
        Driver::with(&[("shop.test/", &table(5_000)), ("shop.test/4321", "<h1>Order 4321</h1>")]).await;
    let first = driver.goto("http://shop.test/").await;
    assert!(!first.contains("4321"));
    let found = find(&driver, Find { pattern: text("ORDER 4321"), ..Find::default() }).await.unwrap();
    assert_eq!((found.total, found.matches[0].role.as_str()), (1, "cell"), "{found:?}");
    assert_eq!(found.matches[0].path, "main > table > row");
    let row = open(&driver, &found.matches[0].cursor).await.unwrap();
    assert!(row.contains("- cell: \"30247 EUR\"\n") && row.lines().count() < 10, "{row}");
    let after = driver.click(reference(&row, "Open 4321")).await.unwrap();
    assert!(after.contains("heading \"Order 4321\""), "{after}");

    driver.goto("http://shop.test/").await;
    let links = Find { pattern: Some(Pattern::Regex("^Open 49[0-9]{2}$".into())), ..Find::default() };
    let links = Find { role: Some("link".into()), ..links };
    let found = find(&driver, links.clone()).await.unwrap();
    assert_eq!((found.total, found.matches.len(), found.next_offset), (100, 20, Some(20)));
    assert!(found.matches.iter().all(|one| one.reference.is_some()));
    assert!(found.text.ends_with("… 80 more of 100 matches [go on: offset=20]\n"), "{}", found.text);
    let last = find(&driver, Find { offset: 90, ..links }).await.unwrap();
    assert_eq!((last.matches.len(), last.matches[9].excerpt.as_str()), (10, "Open 4999"));
    let bad = Find { pattern: Some(Pattern::Regex("(".into())), ..Find::default() };
    assert_eq!(find(&driver, bad).await.unwrap_err().code().to_string(), "bad_arguments");
}

#[tokio::test]
async fn a_secret_cannot_be_found() {
    let page =
        "<input type=password aria-label=Pass value=hunter2><input autocomplete=cc-number value=hunter2>
        <input type=hidden value=hunter2><div hidden>hunter2</div><input aria-label=Open value=visible>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    for pattern in [Pattern::Text("hunter".into()), Pattern::Regex("h.nt|•|r2$".into())] {
        let found = find(&driver, Find { pattern: Some(pattern), ..Find::default() }).await.unwrap();
        assert_eq!((found.total, found.text.as_str()), (0, "Nothing on the page matches.\n"));
    }
    let found = find(&driver, Find { pattern: text("visible"), ..Find::default() }).await.unwrap();
    assert_eq!((found.total, found.matches[0].role.as_str()), (1, "textbox"));
}

/// Built like a page of a long manual: nested sections, definition lists, code, tables, links everywhere.
fn manual() -> String {
    let mut page =
        String::from("<title>Manual</title><nav><a href=/prev>Prev</a><a href=/next>Next</a></nav><main>");
    for chapter in 0..12 {
        page.push_str(&format!("<section><h2>Chapter {chapter}</h2>"));
        for section in 0..20 {
            page.push_str(&format!("<section><h3>Section {chapter}.{section}</h3><dl>"));
            for item in 0..8 {
                page.push_str(&format!(
                    "<dt><code>setting_{chapter}_{section}_{item}</code></dt><dd><p>Sets what <a href=/{item}>the \
                     server</a> does {}. Default: <b>{item}</b>.</p></dd>",
                    "when it is busy and nobody looks ".repeat(item)
                ));
            }
            page.push_str("</dl></section>");
        }
        page.push_str("</section>");
    }
    page.push_str(&format!("<p>{}the very end</p></main>", "long words ".repeat(5_000)));
    page
}

#[tokio::test]
async fn a_long_manual_is_read_in_parts_without_loss() {
    let driver = Driver::with(&[("docs.test/", &manual())]).await;
    let first = driver.goto("http://docs.test/").await;
    assert!(TokenBudget::count(&first) <= 6_000, "{}", first.len());
    for chapter in 0..12 {
        assert!(first.contains(&format!("heading \"Chapter {chapter}\"")), "chapter {chapter} in {first}");
    }
    let all = read_all(&driver, first, 10_000).await;
    for chapter in 0..12 {
        for section in 0..20 {
            let setting = format!("setting_{chapter}_{section}_7");
            assert_eq!(all.matches(&setting).count(), 1, "{setting}");
        }
    }
    assert!(all.contains("the very end"));
    assert_eq!(all.matches("long words").count() + all.matches("long \"\n").count(), 5_000);
    for format in [ReadFormat::Markdown, ReadFormat::Tree] {
        let shown = text_of(&read(&driver, Read { format, ..Read::default() }).await.unwrap());
        assert!(shown.contains("Chapter 11") && shown.contains("actionable"), "{format:?}: {shown}");
    }
    let link = driver.click(role("link", "Next")).await.unwrap();
    assert!(link.contains("nothing"), "{link}");
}

#[tokio::test]
async fn line_breaks_are_kept_where_a_style_draws_them() {
    let page = "<style>.chat { white-space: pre-wrap } .lines { white-space: pre-line } .one { white-space: nowrap } .not * { white-space: normal }</style>
<p class=chat>one\n  two</p><p class=lines>three\nfour</p><p class=one>five\nsix</p><p class='chat not'>seven\n<b>eight\nnine</b></p><pre style='white-space: normal'>ten\neleven</pre>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    let expected = [
        r#"- paragraph: "one\n  two""#,
        r#"- paragraph: "three\nfour""#,
        r#"- paragraph: "five six""#,
        r#"- paragraph: "seven\neight nine""#,
        r#"- code: "ten eleven""#,
        "",
    ];
    assert_eq!(outline, expected.join("\n"));
}

#[tokio::test]
async fn line_breaks_of_preformatted_text_are_kept_in_every_format() {
    let page = "<pre>if x:\n    <b>y</b>()\n\n\tz\n</pre><p>two\n   words</p>\
                <textarea aria-label=Note>one\n  two\n\nfour \u{200b}</textarea><pre>plain</pre>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    let expected = [
        r#"- code: "if x:\n    y()\n\n    z""#,
        r#"- paragraph: "two words""#,
        r#"- textbox "Note" [multiline] [ref=e1]: "one\n  two\n\nfour ""#,
        r#"- code: "plain""#,
        "",
    ];
    assert_eq!(outline, expected.join("\n"));
    let markdown = text_of(&driver.read(ReadFormat::Markdown).await);
    let expected = [
        "    if x:",
        "        y()",
        "",
        "        z",
        "two words [textbox: Note = one\\n  two\\n\\nfour ] plain",
        "",
    ];
    assert_eq!(markdown, expected.join("\n"));
    let browser::Content::Tree(tree) = driver.read(ReadFormat::Tree).await.content else { panic!() };
    let tree = &tree.snapshot.children;
    assert_eq!(tree[0].children[0].name.as_deref(), Some("if x:\n    y()\n\n    z"));
    assert_eq!(tree[2].value.as_deref(), Some("one\n  two\n\nfour "));
    // A text that goes over two lines is found as one.
    let found = find(&driver, Find { pattern: text("one   two"), ..Find::default() }).await.unwrap();
    assert_eq!(found.total, 1, "{}", found.text);
}

#[tokio::test]
async fn a_long_text_area_is_read_to_its_end_by_cursors() {
    let lines: String = (0..900).map(|n| format!("line-number-{n}\n")).collect();
    let page = format!("<textarea aria-label=Note>{lines}</textarea><button>After</button>");
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    driver.goto("http://shop.test/").await;
    let tokens = TokenBudget::new(1000).unwrap();
    let first = text_of(&read(&driver, Read { tokens, ..Read::default() }).await.unwrap());
    assert!(!first.contains("number-899") && !cursors(&first).is_empty(), "{first}");
    let all = read_all(&driver, first, 1000).await;
    for n in 0..900 {
        assert!(all.contains(&format!("number-{n}\\n")), "{n} of {all}");
    }
    assert!(all.contains("button \"After\""), "{all}");
}
