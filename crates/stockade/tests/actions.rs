//! Every tool on a page, over MCP alone: what it does, what its reply says, and how it refuses.

use crate::common;

use common::site::Site;
use common::{Home, Mcp};
use serde_json::{Value, json};

const FORM: &str = "<title>Form</title><main><h1>Form</h1>
<label>Name <input id=name></label>
<label>Colour <select id=colour><option>Red<option>Green<option>Blue</select></label>
<label>Sizes <select id=sizes multiple><option>S<option>M<option>L</select></label>
<label><input type=checkbox id=news> News</label>
<button id=save>Save</button><button>Save</button>
<p id=log>nothing yet</p><p id=hint hidden>A hint</p>
<div id=card draggable=true role=listitem aria-label=Card style='width:80px;height:40px'>card</div>
<div id=done role=listitem aria-label=Done style='width:80px;height:80px'>done</div>
<div style='height:3000px'></div><p id=below>The end</p>
<script>
const log = text => document.getElementById('log').textContent = text;
const on = (id, event, line) => document.getElementById(id).addEventListener(event, e => log(line(e)));
on('name', 'input', e => 'typed ' + e.target.value);
on('name', 'keydown', e => 'key ' + e.key);
on('colour', 'change', e => 'chose ' + e.target.value);
on('sizes', 'change', e => 'chose ' + [...e.target.selectedOptions].map(o => o.textContent).join('+'));
on('news', 'change', e => 'news ' + e.target.checked);
on('save', 'click', e => `saved ${e.detail} ${e.shiftKey}`);
on('save', 'contextmenu', e => 'menu');
on('save', 'mouseover', e => (document.getElementById('hint').hidden = false, 'over'));
on('card', 'dragstart', e => (e.dataTransfer.setData('text/plain', 'card'), 'lifted'));
document.getElementById('done').addEventListener('dragover', e => e.preventDefault());
on('done', 'drop', e => 'dropped ' + e.dataTransfer.getData('text/plain'));
addEventListener('scroll', () => log('scrolled'));
</script></main>";

const ASKS: &str =
    "<title>Asks</title><button onclick=\"this.textContent = confirm('Sure?') ? 'Yes' : 'No'\">Ask</button>
<button onclick=\"document.title = prompt('Who?') ?? 'nobody'\">Name</button>
<button onclick=\"alert('Hello')\">Greet</button>
<a href=/form target=_blank>Open</a><a href=/file>Fetch</a>
<button onclick=\"document.createElement('input').type = 'file'\">Nothing</button>
<input type=file aria-label=Photo>";

const LATE: &str = "<title>Late</title><p id=p>Loading</p><script>
setTimeout(() => { p.textContent = 'Ready'; history.pushState(0, '', '/late/done'); }, 700);</script>";

const LONG: &str = "<p>A paragraph of some words, one of very many on this page.</p>";

fn start(settings: &str) -> (Home, Mcp, String, Site) {
    let site = Site::serve(&[("/form", FORM), ("/asks", ASKS), ("/late", LATE), ("/long", &LONG.repeat(40))]);
    let home = Home::new(&format!("{settings}{}", site.setting(&["a.test"])));
    let mut mcp = home.mcp();
    let session = mcp.open();
    (home, mcp, session, site)
}

/// Makes one call on the session. Returns the reply with the whole page.
fn ok(mcp: &mut Mcp, session: &str, tool: &str, mut arguments: Value) -> Value {
    arguments["session_id"] = json!(session);
    let looks = ["browser_read", "browser_find", "browser_screenshot", "browser_tabs", "browser_read_dom"];
    if !looks.contains(&tool) {
        arguments["full"] = json!(true);
    }
    mcp.ok(tool, arguments)
}

fn code(mcp: &mut Mcp, session: &str, tool: &str, mut arguments: Value) -> String {
    arguments["session_id"] = json!(session);
    mcp.code(tool, arguments)
}

fn log_line(page: &Value) -> String {
    let snapshot = page["snapshot"].as_str().unwrap_or_else(|| panic!("{page}"));
    snapshot.to_owned()
}

#[test]
fn every_tool_does_its_work_and_shows_the_page_after_it() {
    let (_home, mut mcp, session, _site) = start("    max_actions_per_session: 200\n");
    mcp.goto(&session, "http://a.test/form");
    let field = json!({"role": "textbox", "name": "Name"});
    let with = |base: &Value, more: Value| {
        let mut all = base.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    for (tool, arguments, shown) in [
        ("browser_type", with(&field, json!({"text": "Ada"})), "typed Ada"),
        ("browser_type", json!({"text": "!"}), "typed Ada!"),
        ("browser_type", with(&field, json!({"text": "Eve", "clear_first": true})), "typed Eve"),
        ("browser_press_key", json!({"key": "Escape"}), "key Escape"),
        ("browser_press_key", json!({"selector": "#name", "key": "Shift+End"}), "key End"),
        ("browser_select", json!({"role": "combobox", "name": "Colour", "option": "Blue"}), "chose Blue"),
        ("browser_select", json!({"selector": "#colour", "option_index": 1}), "chose Green"),
        ("browser_select", json!({"selector": "#sizes", "options": ["S", "L"]}), "chose S+L"),
        ("browser_check", json!({"role": "checkbox", "name": "News"}), "news true"),
        ("browser_check", json!({"selector": "#news", "checked": false}), "news false"),
        ("browser_hover", json!({"selector": "#save"}), "A hint"),
        ("browser_click", json!({"role": "button", "name": "Save"}), "saved 1 false"),
        (
            "browser_click",
            json!({"visible_text": "Save", "count": 2, "modifiers": ["Shift"]}),
            "saved 2 true",
        ),
        ("browser_click", json!({"selector": "#save", "button": "right"}), "menu"),
        (
            "browser_drag",
            json!({"role": "listitem", "name": "Card", "to": {"role": "listitem", "name": "Done"}}),
            "dropped card",
        ),
        ("browser_scroll", json!({"direction": "down", "amount": 200}), "scrolled"),
        ("browser_scroll", json!({"selector": "#below"}), "The end"),
        ("browser_wait_for", json!({"text": "the END"}), "The end"),
        ("browser_reload", json!({}), "option \"Red\" [selected]"),
    ] {
        let page = ok(&mut mcp, &session, tool, arguments.clone());
        assert!(log_line(&page).contains(shown), "{tool} {arguments}: {shown:?} in {page:#}");
        assert_eq!(page["session_id"], session.as_str());
    }
    mcp.goto(&session, "http://a.test/asks");
    let back = ok(&mut mcp, &session, "browser_back", json!({}));
    assert_eq!((&back["title"], &back["navigated"]), (&json!("Form"), &json!(true)));
    assert_eq!(ok(&mut mcp, &session, "browser_forward", json!({}))["title"], "Asks");
    assert_eq!(code(&mut mcp, &session, "browser_forward", json!({})), "no_history");
}

#[test]
fn every_way_to_name_an_element_reaches_the_same_element() {
    let (_home, mut mcp, session, _site) = start("");
    for target in [
        json!({"ref": ""}),
        json!({"role": "button", "name": "Save"}),
        json!({"role": "BUTTON", "name": "Save", "index": 0}),
        json!({"selector": "main > button", "index": 0}),
        json!({"visible_text": "Save"}),
    ] {
        let page = mcp.goto(&session, "http://a.test/form");
        let mut target = target;
        if target.get("ref").is_some() {
            let outline = page["snapshot"].as_str().unwrap();
            let line = outline.lines().find(|line| line.contains("button \"Save\"")).unwrap();
            target["ref"] = json!(line.split_once("[ref=").unwrap().1.split_once(']').unwrap().0);
        }
        let page = ok(&mut mcp, &session, "browser_click", target.clone());
        assert!(log_line(&page).contains("saved"), "{target}: {page:#}");
    }
    let several = ok(&mut mcp, &session, "browser_click", json!({"role": "button", "name": "Save"}));
    let notes = several["notes"].to_string();
    assert!(notes.contains("2 elements matched, and the first was used"), "{notes}");
    assert!(notes.contains("index 0 to 1"), "{notes}");
    let second = json!({"role": "button", "name": "Save", "index": 1});
    let notes = ok(&mut mcp, &session, "browser_click", second)["notes"].to_string();
    assert!(notes.contains("2 elements matched, and the one at index 1 was used"), "{notes}");
    let shot = ok(&mut mcp, &session, "browser_screenshot", json!({"selector": "#save"}));
    assert!(shot["width"].as_u64() < Some(400), "a picture of a button: {shot}");
}

#[test]
fn dialogs_tabs_and_refusals_are_reported_and_end() {
    let (_home, mut mcp, session, _site) = start("");
    mcp.goto(&session, "http://a.test/asks");
    let button = |name: &str| json!({"role": "button", "name": name});

    let asked = ok(&mut mcp, &session, "browser_click", button("Ask"));
    assert_eq!(asked["dialog"], json!({"type": "confirm", "message": "Sure?"}), "{asked}");
    assert!(asked.get("snapshot").is_none(), "{asked}");
    for (tool, arguments) in [
        ("browser_read", json!({})),
        ("browser_find", json!({"text": "x"})),
        ("browser_screenshot", json!({})),
        ("browser_click", button("Name")),
    ] {
        assert_eq!(code(&mut mcp, &session, tool, arguments), "dialog_open", "{tool}");
    }
    let answered = ok(&mut mcp, &session, "browser_dialog", json!({"accept": true}));
    assert!(log_line(&answered).contains("button \"Yes\""), "{answered}");
    assert_eq!(code(&mut mcp, &session, "browser_dialog", json!({"accept": true})), "no_dialog");

    ok(&mut mcp, &session, "browser_click", button("Name"));
    let named = ok(&mut mcp, &session, "browser_dialog", json!({"accept": true, "text": "Ada"}));
    assert_eq!(named["title"], "Ada", "{named}");
    let greeted = ok(&mut mcp, &session, "browser_click", button("Greet"));
    assert_eq!(greeted["incidents"], json!(["dialog_answered"]), "{greeted}");
    assert!(greeted["notes"].to_string().contains("Hello"), "{greeted}");

    let opened = ok(&mut mcp, &session, "browser_click", json!({"role": "link", "name": "Open"}));
    let tab = opened["opened_tabs"][0].as_str().unwrap_or_else(|| panic!("{opened:#}")).to_owned();
    let tabs = ok(&mut mcp, &session, "browser_tabs", json!({}));
    assert_eq!(tabs["tabs"].as_array().unwrap().len(), 2, "{tabs}");
    assert_ne!(tabs["current"], tab.as_str());
    let switched = ok(&mut mcp, &session, "browser_tabs", json!({"action": "switch", "tab": tab}));
    assert_eq!(switched["current"], tab.as_str());
    assert_eq!(ok(&mut mcp, &session, "browser_wait_for", json!({"text": "Form"}))["title"], "Form");
    let closed = ok(&mut mcp, &session, "browser_tabs", json!({"action": "close", "tab": tab}));
    assert_eq!(closed["tabs"].as_array().unwrap().len(), 1, "{closed}");
    assert_eq!(
        code(&mut mcp, &session, "browser_tabs", json!({"action": "switch", "tab": tab})),
        "no_such_tab"
    );
    assert_eq!(
        ok(&mut mcp, &session, "browser_tabs", json!({"action": "new"}))["tabs"].as_array().unwrap().len(),
        2
    );
    mcp.goto(&session, "http://a.test/asks");

    let photo = json!({"selector": "input"});
    assert_eq!(code(&mut mcp, &session, "browser_click", photo), "upload_refused");
    assert_eq!(
        code(&mut mcp, &session, "browser_press_key", json!({"key": "Control+V"})),
        "clipboard_refused"
    );
}

#[test]
fn waiting_ends_when_the_condition_holds_or_at_the_timeout() {
    let (_home, mut mcp, session, _site) = start("");
    for wanted in [
        json!({"text": "Ready"}),
        json!({"text_gone": "Loading"}),
        json!({"visible_text": "Ready"}),
        json!({"visible_text": "Loading", "gone": true}),
        json!({"url": "/late/done"}),
        json!({"seconds": 1.5}),
    ] {
        mcp.goto(&session, "http://a.test/late");
        let page = ok(&mut mcp, &session, "browser_wait_for", wanted.clone());
        assert!(log_line(&page).contains("Ready"), "{wanted}: {page:#}");
    }
    ok(&mut mcp, &session, "browser_wait_for", json!({"load_state": "networkidle"}));
    for (seconds, written) in [(1.0, "1"), (1.5, "1.5")] {
        let wanted = json!({"text": "never", "timeout_seconds": seconds});
        let expected = format!("browser_action_timeout:wait_for:{written}s");
        assert_eq!(code(&mut mcp, &session, "browser_wait_for", wanted), expected);
    }
    assert!(log_line(&ok(&mut mcp, &session, "browser_read", json!({}))).contains("Ready"));
}

#[test]
fn a_picture_after_an_action_is_an_action_of_its_own() {
    let (home, mut mcp, session, _site) = start("");
    let wanted = json!({"url": "http://a.test/form", "after_screenshot": true});
    let page = ok(&mut mcp, &session, "browser_navigate", wanted);
    assert_eq!(page["actions_left"], 98, "{page}");
    let id = page["after_screenshot"].as_str().unwrap_or_else(|| panic!("{page}"));
    let picture = mcp.request("resources/read", json!({"uri": format!("stockade://screenshots/{id}")}));
    assert!(picture["result"]["contents"][0]["blob"].is_string(), "{picture}");
    let log = home.audit_log();
    assert!(log.contains("\"action\":\"screenshot\""), "{log}");
    mcp.goto(&session, "http://a.test/asks");
    let asks = json!({"role": "button", "name": "Ask", "after_screenshot": true});
    let asked = ok(&mut mcp, &session, "browser_click", asks);
    assert!(
        asked["after_screenshot"].is_null() && asked["notes"].to_string().contains("dialog_open"),
        "{asked}"
    );
}

#[test]
fn typed_text_is_not_recorded_and_chosen_options_are() {
    let (home, mut mcp, session, _site) = start("");
    mcp.goto(&session, "http://a.test/form");
    ok(&mut mcp, &session, "browser_type", json!({"selector": "#name", "text": "zebra"}));
    ok(&mut mcp, &session, "browser_press_key", json!({"key": "q"}));
    ok(&mut mcp, &session, "browser_select", json!({"selector": "#colour", "option": "Blue"}));
    mcp.goto(&session, "http://a.test/asks");
    ok(&mut mcp, &session, "browser_click", json!({"role": "button", "name": "Name"}));
    ok(&mut mcp, &session, "browser_dialog", json!({"accept": true, "text": "giraffe"}));
    let log = home.audit_log();
    assert!(!log.contains("zebra") && !log.contains("giraffe"), "{log}");
    for text in ["[5 characters]", "[1 characters]", "\\\"Blue\\\"", "accept [7 characters]", "prompt dialog"]
    {
        assert!(log.contains(text), "{text} in {log}");
    }
}

#[test]
fn html_is_read_only_where_the_operator_allows_it() {
    let (_home, mut mcp, session, _site) = start("");
    let listed =
        |mcp: &mut Mcp| mcp.request("tools/list", json!({})).to_string().contains("browser_read_dom");
    assert!(!listed(&mut mcp));
    assert_eq!(code(&mut mcp, &session, "browser_read_dom", json!({})), "read_dom_disabled");

    let (_home, mut mcp, session, _site) = start("    read_dom: true\n");
    assert!(listed(&mut mcp));
    mcp.goto(&session, "http://a.test/form");
    let dom = ok(&mut mcp, &session, "browser_read_dom", json!({}));
    let html = dom["html"].as_str().unwrap();
    assert!(html.contains("<h1>Form</h1>") && !html.contains("addEventListener"), "{html}");
    assert!(dom["truncated_to"].is_null(), "{dom}");
    mcp.goto(&session, "http://a.test/long");
    let cut = ok(&mut mcp, &session, "browser_read_dom", json!({"max_tokens": 250}));
    let html = cut["html"].as_str().unwrap();
    assert_eq!(cut["truncated_to"], html.len(), "{cut}");
    assert!(html.len() <= 1_000);
}
