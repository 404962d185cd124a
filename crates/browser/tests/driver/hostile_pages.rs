//! Pages that try to block the session, or to divert the agent's click or text.

use crate::support::{Driver, FREEZE, click, navigate, role, typing};
use policy::{Action, Click, LoadState};

const VICTIM: (&str, &str) = (
    "victim.test/",
    "<body style='margin:0' onclick=\"fetch('/clicked')\" onkeydown=\"fetch('/key')\">
       <form action=/submitted><input type=password aria-label=Pin autofocus oninput=\"fetch('/typed')\"
         style='width:300px;height:100px'></form>",
);

/// Events that reached the victim without being intended for it.
fn stray_events(driver: &Driver) -> Vec<&'static str> {
    let places = ["victim.test/clicked", "victim.test/key", "victim.test/typed", "victim.test/submitted"];
    places.into_iter().filter(|place| driver.request_count(place) > 0).collect()
}

#[tokio::test]
async fn a_click_on_an_element_never_lands_in_a_frame_inside_it() {
    let frame =
        "<iframe src=http://victim.test/ width=300 height=100 style=\"border:0;display:block\"></iframe>";
    let plain = format!("<div role=button aria-label=Continue style='width:300px'>{frame}</div>");
    let closed = format!(
        "<div role=button aria-label=Continue id=host style='width:300px'></div>
         <script>host.attachShadow({{mode: 'closed'}}).innerHTML = '{frame}'</script>"
    );
    let open = closed.replace("closed", "open");
    let object = plain.replace("<iframe src", "<object data").replace("iframe>", "object>");
    let pages = [
        ("shop.test/plain", plain.as_str()),
        ("shop.test/open", &open),
        ("shop.test/closed", &closed),
        ("shop.test/object", &object),
        VICTIM,
    ];
    let driver = Driver::with(&pages).await;
    for path in ["plain", "open", "closed", "object"] {
        driver.goto(&format!("http://shop.test/{path}")).await;
        let action = Action::Click(Click::on(role("button", "Continue")));
        let error = driver.browser.resolve(&action).await.unwrap_err();
        assert_eq!(error.code().to_string(), "element_covered", "{path}: {error}");
        assert_eq!(driver.browser.state().url, format!("http://shop.test/{path}"));
    }
    assert_eq!(stray_events(&driver), [] as [&str; 0]);
}

#[tokio::test]
async fn a_click_is_blocked_when_a_frame_moves_under_it() {
    // Covered half of the time: a check that finds the button free says little about the click after it.
    let sliding = |frame: &str, more: &str| {
        format!(
            "<style>iframe {{ position: fixed; left: 0; width: 300px; height: 100px; border: 0 }}
          button {{ position: fixed; left: 0; top: 0; width: 300px; height: 100px }}</style>
        <button>Continue</button>{frame}
        <script>const frame = document.querySelector('iframe'); let n = 0;
          const slide = () => {{ n += 1; frame.style.top = n % 4 < 2 ? '0px' : '300px'; {more} requestAnimationFrame(slide); }};
          slide();</script>"
        )
    };
    let plain = "<iframe src=http://victim.test/></iframe>";
    let pages = [
        ("shop.test/plain", sliding(plain, "")),
        // A document that is new at the moment of the click.
        ("shop.test/new", sliding(plain, "if (n % 6 === 0) frame.src = 'http://victim.test/?' + n;")),
        // Scripts of the victim do not run, and its form can be submitted.
        (
            "shop.test/mute",
            sliding("<iframe src=http://form.test/ sandbox='allow-forms allow-same-origin'></iframe>", ""),
        ),
        // All listeners of the document were removed.
        ("shop.test/rewritten", sliding("<iframe src=http://rewritten.test/></iframe>", "")),
    ];
    let form = "<body style='margin:0'><form action=http://victim.test/submitted><button style='width:300px;height:100px'>Pay</button></form>";
    let rewritten = format!(
        "<script>onload = () => {{ document.open(); document.write(`{form}`); document.close(); }}</script>"
    );
    let mut served: Vec<(&str, &str)> = pages.iter().map(|(at, page)| (*at, page.as_str())).collect();
    served.extend([VICTIM, ("form.test/", form), ("rewritten.test/", rewritten.as_str())]);
    let driver = Driver::with(&served).await;
    for (path, _) in &pages {
        driver.goto(&format!("http://{path}")).await;
        for _ in 0..8 {
            driver.act_within(4, click(role("button", "Continue"))).await.ok();
        }
        assert_eq!(stray_events(&driver), [] as [&str; 0], "{path}");
    }
}

#[tokio::test]
async fn a_hung_frame_does_not_block_the_page_around_it() {
    let spinning = format!("<script>setTimeout(() => {{ {FREEZE} }}, 300)</script>");
    let pages = [
        (
            "shop.test/",
            "<iframe src=http://spin.test/></iframe><iframe src=http://hang.test/></iframe>
           <button onclick=\"this.textContent = 'Clicked'\">Click</button><input aria-label=Name>",
        ),
        ("spin.test/", &spinning),
        // It is there first, and then goes where no answer comes from.
        (
            "hang.test/",
            "<p>there</p><script>onload = () => setTimeout(() => { location = '/never'; }, 50)</script>",
        ),
        ("hang.test/never", "HANG"),
    ];
    let driver = Driver::with(&pages).await;
    driver.act(navigate("http://shop.test/", LoadState::DomContentLoaded)).await.unwrap();
    driver.wait_for_requests("spin.test/frozen", 1).await;
    driver.wait_for_requests("hang.test/never", 1).await;
    driver.after(typing(role("textbox", "Name"), "text", false, false)).await.unwrap();
    assert!(driver.click(role("button", "Click")).await.unwrap().contains("Clicked"));
}

#[tokio::test]
async fn a_harmless_element_in_a_closed_root_is_clicked_through_its_host() {
    let page = "<div role=button aria-label=Continue id=host></div>
        <script>const root = host.attachShadow({mode: 'closed'});
          root.innerHTML = '<button>inner</button>';
          host.onclick = () => { host.setAttribute('aria-label', 'Done'); };</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    assert!(driver.click(role("button", "Continue")).await.unwrap().contains("\"Done\""));
}

#[tokio::test]
async fn typed_text_and_enter_reach_only_the_intended_field() {
    let steal = "document.querySelector('iframe').contentWindow.focus()";
    let field = |on: &str, how: &str| {
        format!(
            "<input aria-label=Name {on}=\"{how}\"><iframe src=http://victim.test/ width=400 height=200></iframe>"
        )
    };
    let pages = [
        ("shop.test/focus", field("onfocus", &format!("setTimeout(() => {steal})"))),
        ("shop.test/now", field("onfocus", steal)),
        ("shop.test/beforeinput", field("onbeforeinput", steal)),
        ("shop.test/input", field("oninput", &format!("setTimeout(() => {steal})"))),
        ("shop.test/keydown", field("onkeydown", steal)),
    ];
    let mut served: Vec<(&str, &str)> = pages.iter().map(|(at, page)| (*at, page.as_str())).collect();
    served.push(VICTIM);
    let driver = Driver::with(&served).await;
    for (path, _) in &pages {
        driver.goto(&format!("http://{path}")).await;
        // Whether the text arrives is up to the page; it must not arrive elsewhere.
        driver.act(typing(role("textbox", "Name"), "secret words", true, true)).await.ok();
        driver.outline().await;
        assert_eq!(stray_events(&driver), [] as [&str; 0], "{path}");
    }
}

#[tokio::test]
async fn circular_name_references_terminate() {
    let nested = |open: &str| {
        let close = "</div>".repeat(2000 * open.matches("<div").count());
        format!("{}x{close}", open.repeat(2000))
    };
    let fields = nested("<div role=textbox style='display:contents'>");
    let lists = nested(
        "<div role=listbox style='display:contents'><div role=option aria-selected=true style='display:contents'>",
    );
    let page = format!(
        "<div id=a role=textbox aria-labelledby=b>one</div><div id=b><div aria-labelledby=a>two</div></div>
         <label for=d>L1 <input id=c></label><label for=c>L2 <input id=d></label>
         <img id=i aria-labelledby=i src=x alt=Itself><div role=list aria-owns=o2 id=o1></div><div role=list aria-owns=o1 id=o2></div>
         <button>B{fields}</button><label>N<input type=checkbox>{lists}</label><h1>End</h1>"
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    assert!(outline.contains("img \"Itself\""), "{outline}");
    let facts = driver.facts(&Action::Click(Click::on(role("heading", "End")))).await;
    assert_eq!(facts.name, "End");
}
