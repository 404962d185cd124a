//! A page that changes what a person was asked about, between question and answer: nothing is done to anything else.

use crate::common;

use common::machine::{PATIENCE, until};
use common::operator::Operator;
use common::site::Site;
use common::{Home, Mcp};
use serde_json::json;

/// Runs the change of a page once the test signals, and says so in the heading.
const CHANGER: &str = "<script>new Worker('/_wait.js').onmessage = () => { \
    const heading = document.querySelector('h1'); heading.onmouseover(); heading.textContent = 'Changed'; }</script>";

/// Has the page change while the question waits: the agent cannot act meanwhile, but the page can.
fn change_page(mcp: &mut Mcp, site: &Site, is_changed: impl Fn() -> bool) {
    site.signal();
    until("the page has changed", PATIENCE, || {
        let read = mcp.ok("browser_read", json!({}));
        let is_shown = read["snapshot"].as_str().is_some_and(|text| text.contains("Changed"));
        (is_shown || is_changed()).then_some(())
    });
}

/// What the page does to the button when the test signals, and how the page differs from the plain one.
struct ButtonChange {
    name: &'static str,
    page: &'static str,
    change: &'static str,
}

const FORM: &str = "<form method=post action=/right><input type=hidden name=amount value=1>\
    <button id=it aria-label='Delete item'>Delete item</button></form>";
const LINK: &str = "<a id=it href=/right>Delete item</a>";
const FRAME: &str = "<iframe id=frame src=/frame width=400 height=200></iframe>";
const SHADOW: &str = "<div id=host></div><script>\
    const root = host.attachShadow({mode: 'open'});\
    const draw = () => { root.innerHTML = '<form method=post action=/right><button>Delete item</button></form>'; };\
    draw();</script>";
const CLOSED: &str = "<div id=host></div><script>\
    const root = host.attachShadow({mode: 'closed'});\
    const draw = () => { root.innerHTML = '<form method=post action=/right><button>Delete item</button></form>'; };\
    draw();</script>";

const WAYS: [ButtonChange; 20] = [
    ButtonChange { name: "text", page: FORM, change: "it.textContent = 'Buy everything'" },
    ButtonChange { name: "role", page: FORM, change: "it.setAttribute('role', 'link')" },
    ButtonChange { name: "label", page: FORM, change: "it.setAttribute('aria-label', 'Delete all items')" },
    ButtonChange { name: "form target", page: FORM, change: "document.forms[0].action = '/wrong'" },
    ButtonChange { name: "form method", page: FORM, change: "document.forms[0].method = 'get'" },
    ButtonChange { name: "formaction", page: FORM, change: "it.setAttribute('formaction', '/wrong')" },
    ButtonChange { name: "hidden field", page: FORM, change: "document.forms[0].amount.value = '1000000'" },
    ButtonChange {
        name: "another form",
        page: FORM,
        change: "document.body.insertAdjacentHTML('beforeend', '<form method=post action=/wrong id=f2></form>'); it.setAttribute('form', 'f2')",
    },
    ButtonChange { name: "position", page: FORM, change: "it.style.marginLeft = '200px'" },
    ButtonChange { name: "size", page: FORM, change: "it.style.padding = '60px'" },
    ButtonChange {
        name: "overlay",
        page: FORM,
        change: "document.body.insertAdjacentHTML('beforeend', '<button style=\"position:fixed;inset:0\" onclick=\"fetch(\\'/wrong\\')\">Delete item!</button>')",
    },
    ButtonChange { name: "removed", page: FORM, change: "it.remove()" },
    ButtonChange { name: "swapped for its twin", page: FORM, change: "it.outerHTML = it.outerHTML" },
    ButtonChange { name: "disabled", page: FORM, change: "it.disabled = true" },
    ButtonChange { name: "href", page: LINK, change: "it.href = '/wrong'" },
    ButtonChange { name: "frame navigation", page: FRAME, change: "frame.src = '/twin'" },
    ButtonChange { name: "redirect", page: FORM, change: "location.replace('/same')" },
    ButtonChange { name: "shadow swap", page: SHADOW, change: "draw()" },
    ButtonChange { name: "closed shadow swap", page: CLOSED, change: "draw()" },
    ButtonChange { name: "address", page: FORM, change: "history.pushState(null, '', '/elsewhere')" },
];

fn page_of(way: &ButtonChange) -> String {
    let change = way.change.replace('&', "&amp;").replace('"', "&quot;");
    format!("<title>{}</title><h1 onmouseover=\"{change}\">Plain</h1>{}{CHANGER}", way.name, way.page)
}

#[test]
fn a_button_that_changes_between_question_and_answer_is_never_pressed() {
    let frame = "<form method=post action=/right><button>Delete item</button></form>";
    let twin = "<form method=post action=/wrong><button>Delete item</button></form>";
    let pages: Vec<(String, String)> =
        WAYS.iter().enumerate().map(|(n, way)| (format!("/{n}"), page_of(way))).collect();
    let mut served: Vec<(&str, &str)> =
        pages.iter().map(|(path, page)| (path.as_str(), page.as_str())).collect();
    let same = format!("<title>Same</title><h1>Plain</h1>{FORM}");
    served.extend([
        ("/frame", frame),
        ("/twin", twin),
        ("/same", same.as_str()),
        ("/right", "done"),
        ("/wrong", "wrong"),
    ]);
    let site = Site::serve(&served);
    let setting = site.setting(&["item.test"]);
    let home = Home::asking(&format!(
        "{setting}    max_actions_per_session: 1000\n    session_timeout: 900\n    hitl:\n      approvals_per_minute: 60\n      \
         failures_before_pause: 0\n"
    ));
    let mut mcp = home.mcp();
    let done = |site: &Site| {
        let wanted = ["POST /right", "GET /right", "POST /wrong", "GET /wrong"];
        site.requests().into_iter().filter(|one| wanted.contains(&one.as_str())).collect::<Vec<_>>()
    };
    let mut operator = None;
    for (n, way) in WAYS.iter().enumerate() {
        let role = if way.page == LINK { "link" } else { "button" };
        let click = json!({"name": "browser_click", "arguments": {"role": role, "name": "Delete item"}});
        for changes in [true, false] {
            mcp.ok("browser_navigate", json!({"url": format!("http://item.test/{n}")}));
            let operator = operator.get_or_insert_with(|| Operator::of(&home));
            let before = done(&site);
            let call = mcp.begin("tools/call", click.clone());
            let asked = operator.next();
            if changes {
                let sets_out = match way.name {
                    "frame navigation" => Some("GET /twin"),
                    "redirect" => Some("GET /same"),
                    _ => None,
                };
                let has_set_out = || sets_out.is_some_and(|it| site.requests().iter().any(|one| one == it));
                change_page(&mut mcp, &site, has_set_out);
                until(way.name, PATIENCE, || (sets_out.is_none() || has_set_out()).then_some(()));
            }
            operator.approves(&asked.id);
            let answer = mcp.answer_to(call);
            if changes {
                assert_eq!(answer["error"]["code"], "approval_void", "{}: {answer}", way.name);
                assert_eq!(done(&site), before, "{}", way.name);
            } else {
                assert!(answer["error"].is_null(), "{}: {answer}", way.name);
                assert_eq!(done(&site).len(), before.len() + 1, "{}", way.name);
                assert!(done(&site).last().unwrap().ends_with("/right"), "{}", way.name);
            }
        }
    }
    assert!(home.audit_log().contains(r#""result":"approval_void""#));
}

#[test]
fn approved_keys_go_to_the_element_that_had_focus_or_nowhere() {
    let page = "<h1 onmouseover=\"other.focus()\">Plain</h1><form method=post action=/right><button id=it>Delete item</button></form>\
        <form method=post action=/wrong><button id=other>Delete item</button></form>";
    let field = "<h1 onmouseover=\"document.forms[0].action = '/wrong'\">Plain</h1><form action=/right>\
        <input aria-label='Configuration'></form>";
    let button = "<h1 onmouseover=\"it.textContent = 'Delete account'\">Plain</h1><form method=post action=/right>\
        <input aria-label='Full name'><button id=it>Delete item</button></form>";
    let [page, field, button] = [page, field, button].map(|page| format!("{page}{CHANGER}"));
    let site = Site::serve(&[
        ("/keys", &page),
        ("/type", &field),
        ("/button", &button),
        ("/right", "done"),
        ("/wrong", "wrong"),
    ]);
    let home =
        Home::asking(&format!("{}    hitl:\n      approvals_per_minute: 60\n", site.setting(&["item.test"])));
    let mut mcp = home.mcp();
    let enter = json!({"name": "browser_press_key", "arguments": {"key": "Enter"}});
    let typed = json!({"name": "browser_type", "arguments": {"role": "textbox", "name": "Configuration", "text": "x", "submit": true}});
    let mut operator = None;
    for (path, call) in [("keys", enter.clone()), ("type", typed), ("button", enter)] {
        for changes in [true, false] {
            mcp.ok("browser_navigate", json!({"url": format!("http://item.test/{path}")}));
            let operator = operator.get_or_insert_with(|| Operator::of(&home));
            mcp.ok("browser_press_key", json!({"key": "Tab"}));
            let before = site.requests().len();
            let call = mcp.begin("tools/call", call.clone());
            let asked = operator.next();
            let sent_by = asked.card.element.and_then(|element| element.form_button);
            assert_eq!(sent_by.as_ref().map(|it| it.as_str()), (path == "button").then_some("Delete item"));
            if changes {
                change_page(&mut mcp, &site, || false);
            }
            operator.approves(&asked.id);
            let answer = mcp.answer_to(call);
            let done = site.requests().split_off(before);
            if changes {
                assert_eq!(answer["error"]["code"], "approval_void", "{path}: {answer}");
                assert_eq!(done, Vec::<String>::new(), "{path}");
            } else {
                assert!(answer["error"].is_null(), "{path}: {answer}");
                assert!(done[0].ends_with(" /right"), "{path}: {done:?}");
            }
        }
    }
}

#[test]
fn an_approved_option_is_chosen_by_its_label_or_not_at_all() {
    let page = "<h1 onmouseover=\"list.append(list.options[1])\">Plain</h1>\
        <select id=list aria-label=Role onchange=\"fetch('/' + this.value)\">\
        <option value=reader>Reader<option value=right>Owner<option value=wrong>Guest</select>";
    let page = format!("{page}{CHANGER}");
    let site = Site::serve(&[("/", &page), ("/right", "done"), ("/wrong", "wrong")]);
    let home =
        Home::asking(&format!("{}    hitl:\n      approvals_per_minute: 60\n", site.setting(&["item.test"])));
    let mut mcp = home.mcp();
    let choose = json!({"name": "browser_select", "arguments": {"role": "combobox", "name": "Role", "option_index": 1}});
    let mut operator = None;
    for changes in [true, false] {
        mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
        let operator = operator.get_or_insert_with(|| Operator::of(&home));
        let before = site.requests().len();
        let call = mcp.begin("tools/call", choose.clone());
        let asked = operator.next();
        assert_eq!(asked.card.rule, "select.admin");
        assert_eq!(asked.card.input.as_ref().map(|it| it.as_str()), Some("Owner"));
        if changes {
            change_page(&mut mcp, &site, || false);
        }
        operator.approves(&asked.id);
        let answer = mcp.answer_to(call);
        let done = site.requests().split_off(before);
        if changes {
            assert_eq!(answer["error"]["code"], "approval_void", "{answer}");
            assert_eq!(done, Vec::<String>::new());
        } else {
            assert!(answer["error"].is_null(), "{answer}");
            assert_eq!(done, ["GET /right"]);
        }
    }
    assert!(home.audit_log().contains(r#""input_value":"\"Owner\"""#), "{}", home.audit_log());
}
