//! Closed shadow roots are read, searched, clicked and typed into like open ones.

use crate::support::{Driver, reference, role, text_of, typing};
use policy::{Action, Click, ReadFormat};

const PAGE: &str =
    "<title>Closed</title><p>before</p><x-card>slotted <b>text</b></x-card><p>after</p><script>
  const root = document.querySelector('x-card').attachShadow({mode: 'closed'});
  root.innerHTML = '<h2><slot></slot></h2><button>Inside</button><input aria-label=Name><div id=deep></div>';
  root.querySelector('button').onclick = (e) => { e.target.textContent = 'Done'; };
  const open = root.querySelector('#deep').attachShadow({mode: 'open'});
  open.innerHTML = '<section></section>';
  const inner = open.firstChild.attachShadow({mode: 'closed'});
  inner.innerHTML = '<form action=/found><input name=q aria-label=Deep></form>';
</script>";

#[tokio::test]
async fn a_closed_root_is_read_in_its_place() {
    let driver = Driver::with(&[("shop.test/", PAGE)]).await;
    let expected = "- paragraph: \"before\"
- heading \"slotted text\" [level=2]
- button \"Inside\" [ref=e1]
- textbox \"Name\" [ref=e2]
- form
  - textbox \"Deep\" [ref=e3]
- paragraph: \"after\"
";
    assert_eq!(driver.goto("http://shop.test/").await, expected);
    let markdown = text_of(&driver.read(ReadFormat::Markdown).await);
    assert!(markdown.contains("## slotted text"), "{markdown}");
}

#[tokio::test]
async fn an_element_in_a_closed_root_is_clicked_and_typed_into() {
    let driver = Driver::with(&[("shop.test/", PAGE), ("shop.test/found", "<h1>Found</h1>")]).await;
    let outline = driver.goto("http://shop.test/").await;
    assert!(driver.click(reference(&outline, "\"Inside\"")).await.unwrap().contains("button \"Done\""));
    driver.act(typing(role("textbox", "Name"), "Ann", false, false)).await.unwrap();
    let outline = driver.outline().await;
    assert!(outline.contains("textbox \"Name\" [focused] [ref=e2]: \"Ann\""), "{outline}");
    driver.act(typing(role("textbox", "Deep"), "pens", false, true)).await.unwrap();
    assert_eq!(driver.browser.state().url, "http://shop.test/found?q=pens");
}

#[tokio::test]
async fn closed_roots_attached_later_are_read() {
    let late = |make: &str| {
        format!("<div id=host></div><p>a &lt; b</p><button onclick=\"{make}; this.remove()\">Make</button>")
    };
    let pages = [
        ("element", late("host.attachShadow({mode: 'closed'}).innerHTML = '<b>new</b>'"), "new"),
        ("text", late("host.attachShadow({mode: 'closed'}).textContent = 'new'"), "new"),
        (
            "declared",
            late("host.setHTMLUnsafe('<div><template shadowrootmode=closed><i>new</i></template></div>')"),
            "new",
        ),
    ];
    let served: Vec<(String, String)> =
        pages.iter().map(|(at, page, _)| (format!("shop.test/{at}"), page.clone())).collect();
    let served: Vec<(&str, &str)> = served.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    let driver = Driver::with(&served).await;
    for (at, _, expected) in &pages {
        let before = driver.goto(&format!("http://shop.test/{at}")).await;
        assert!(!before.contains("\"new\""), "{at}: {before}");
        let after = driver.click(role("button", "Make")).await.unwrap();
        assert!(after.contains(&format!("\"{expected}\"")), "{at}: {after}");
    }
}

#[tokio::test]
async fn closed_roots_in_frames_of_any_site_are_read() {
    let inner = "<div id=h></div><script>h.attachShadow({mode: 'closed'}).innerHTML = '<button onclick=\"this.textContent=`pressed`\">Press</button>'</script>";
    let pages = [
        (
            "a.test/",
            "<iframe src=/same></iframe><iframe src=http://b.test/></iframe><iframe srcdoc='<p>x'></iframe>",
        ),
        ("a.test/same", inner),
        ("b.test/", inner),
    ];
    let driver = Driver::with(&pages).await;
    let outline = driver.goto("http://a.test/").await;
    assert_eq!(outline.matches("button \"Press\"").count(), 2, "{outline}");
    for _ in 0..2 {
        driver.click(role("button", "Press")).await.unwrap();
    }
    let outline = driver.outline().await;
    assert_eq!(outline.matches("button \"pressed\"").count(), 2, "{outline}");
}

#[tokio::test]
async fn a_click_in_a_closed_root_is_blocked_when_another_element_moves_there() {
    let page = "<div id=host></div><script>
        const root = host.attachShadow({mode: 'closed'});
        root.innerHTML = `<style>button { position: fixed; left: 0; top: 0; width: 300px; height: 100px }</style>
          <button id=a>Next</button><button id=b onclick=\"fetch('/deleted')\">Delete</button>`;
        const [a, b] = root.querySelectorAll('button'); let n = 0;
        const slide = () => { n += 1; const up = n % 4 < 2;
          a.style.zIndex = up ? 2 : 1; b.style.zIndex = up ? 1 : 2; requestAnimationFrame(slide); };
        slide();
        a.addEventListener('pointerdown', () => { b.style.zIndex = 9; }, true);</script>";
    let driver = Driver::with(&[("shop.test/", page), ("shop.test/deleted", "x")]).await;
    driver.goto("http://shop.test/").await;
    for _ in 0..8 {
        driver.click(role("button", "Next")).await.ok();
    }
    assert_eq!(driver.request_count("shop.test/deleted"), 0);
}

#[tokio::test]
async fn facts_in_a_closed_root_describe_the_element_that_is_hit() {
    let page = "<div role=button aria-label=Continue id=host style='width:300px;height:100px'></div>
        <script>host.attachShadow({mode: 'closed'}).innerHTML = '<a href=/away style=\"display:block;height:100px\">Away</a>'</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let facts = driver.facts(&Action::Click(Click::on(role("button", "Continue")))).await;
    assert_eq!((facts.role.as_str(), facts.href.as_deref()), ("link", Some("http://shop.test/away")));
}

#[tokio::test]
async fn a_page_too_large_to_search_for_closed_roots_says_so() {
    let page = "<div id=host></div><script>
        host.attachShadow({mode: 'closed'}).innerHTML = '<b>inside</b>';
        const big = document.createElement('div'); big.title = 'ü'.repeat(4e6); document.body.append(big);</script><p>there";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    assert!(outline.contains("there") && !outline.contains("inside"), "{outline}");
    assert!(
        outline.contains("… not all of the page was read: it is very large, or too slow to answer"),
        "{outline}"
    );
}

#[tokio::test]
async fn closed_roots_are_found_at_any_depth() {
    let page = format!(
        "{}<i id=in></i>{}<script>
          let at = document.getElementById('in').parentNode;
          for (let i = 0; i < 30; i += 1) {{
            const root = at.attachShadow({{mode: i % 3 ? 'closed' : 'open'}});
            root.innerHTML = '<span>level ' + i + '</span>'; at = root.firstChild.appendChild(document.createElement('div'));
          }}</script>",
        "<div style='display:contents'>".repeat(500),
        "</div>".repeat(500),
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    assert!(outline.contains("level 0") && outline.contains("level 23"), "{outline}");
}

#[tokio::test]
async fn a_password_in_a_closed_root_is_secret_and_cannot_take_the_focus_of_other_fields() {
    let page = "<x-login></x-login><script>
        const root = document.querySelector('x-login').attachShadow({mode: 'closed', delegatesFocus: true});
        root.innerHTML = '<input type=password aria-label=Pin value=hunter2><input aria-label=Name>';
        const [pin, name] = root.children;
        name.addEventListener('focus', () => pin.focus());
        pin.addEventListener('input', () => fetch('/typed'));</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    assert_eq!(outline, "- textbox \"Pin\" [secret]\n- textbox \"Name\" [ref=e1]\n");
    let facts = driver.facts(&typing(role("textbox", "Pin"), "x", false, false)).await;
    assert!(facts.secret, "{facts:?}");
    let error = driver.act(typing(role("textbox", "Name"), "words", true, true)).await.unwrap_err();
    assert_eq!(error.code().to_string(), "focus_lost", "{error}");
    assert!(error.to_string().contains("textbox \"Pin\""), "{error}");
    driver.outline().await;
    assert_eq!(driver.request_count("shop.test/typed"), 0);
}
