//! Content that the script once took for something else: `tsc` found these cases.

use crate::support::Driver;
use policy::Target;

#[tokio::test]
async fn text_is_found_on_a_page_with_generated_content() {
    let page = "<style>p::before { content: 'Note: ' }</style><p>hello world</p>
                <button onclick=\"document.title = 'clicked'\">Send it</button>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    driver.click(Target::Text { text: "Send it".into(), index: 0 }).await.unwrap();
    assert_eq!(driver.value("document.title").await, "clicked");
}

#[tokio::test]
async fn svg_elements_that_are_named_like_controls_do_not_stop_a_read() {
    let page = "<h1>Shop</h1><svg xmlns=http://www.w3.org/2000/svg></svg><script>
        for (const tag of ['input', 'option', 'table', 'select', 'textarea', 'button', 'slot', 'details', 'label']) {
          const odd = document.createElementNS('http://www.w3.org/2000/svg', tag);
          odd.textContent = 'odd';
          document.querySelector('svg').append(odd);
        }</script><p>after it</p>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let outline = driver.outline().await;
    assert!(outline.contains("heading \"Shop\"") && outline.contains("after it"), "{outline}");
}

#[tokio::test]
async fn values_are_whole_and_an_editor_has_its_lines() {
    let long = "v".repeat(700);
    let page = format!(
        "<input aria-label=Long value='{long} END'><input type=color aria-label=Color value='#ff0000'>
         <div contenteditable aria-label=Editor>one<br>two<div>three</div><p>four
           words <b>bold</b></p><div><br></div><div>last</div></div>
         <div contenteditable aria-label=Plain style='white-space: pre-wrap'>a
  b</div>"
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    for expected in [
        &format!("\"{long} END\""),
        "button \"Color\" [ref=e2]: \"#ff0000\"",
        r#""one\ntwo\nthree\nfour words bold\n\nlast""#,
        r#""a\n  b""#,
    ] {
        assert!(outline.contains(expected), "{expected}: {outline}");
    }
}
