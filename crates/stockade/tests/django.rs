//! A real site with a login: an agent works in Django's admin, and the database confirms the results.

use crate::common;

use common::django::Admin;
use common::grant_issuer::GrantIssuer;
use common::{Home, Mcp};
use serde_json::{Value, json};

struct Agent {
    mcp: Mcp,
    session: String,
}

impl Agent {
    fn act(&mut self, tool: &str, arguments: Value) -> Value {
        let mut arguments = arguments;
        arguments["session_id"] = json!(self.session);
        self.mcp.ok(tool, arguments)
    }

    fn click(&mut self, role: &str, name: &str) -> Value {
        self.act("browser_click", json!({"role": role, "name": name}))
    }

    fn fill(&mut self, name: &str, text: &str) {
        self.act("browser_type", json!({"role": "textbox", "name": name, "text": text, "clear_first": true}));
    }

    fn select(&mut self, name: &str, option: &str) {
        self.act("browser_select", json!({"role": "combobox", "name": name, "options": [option]}));
    }

    fn outline(&mut self) -> String {
        self.act("browser_read", json!({}))["snapshot"].as_str().unwrap().to_owned()
    }

    fn newest_tab(&mut self) -> Value {
        let tabs = self.act("browser_tabs", json!({"action": "list"}));
        tabs["tabs"].as_array().unwrap().last().unwrap()["tab"].clone()
    }
}

#[test]
fn an_agent_keeps_the_books_of_a_real_admin_and_the_database_agrees() {
    let admin = Admin::start();
    let home = Home::new(&format!(
        "    max_actions_per_session: 1000\n    egress:\n      hosts:\n        books.test: {}\n",
        admin.address
    ));
    let mut mcp = home.mcp();
    let session = mcp.open();
    // The test fetches the cookie itself, so no password is typed.
    mcp.goto(&session, "http://books.test/sign-in/");
    let mut agent = Agent { mcp, session };

    // Adds a book, and its author in a popup on the way.
    agent.click("link", "Books");
    agent.click("link", "Add book");
    agent.fill("Title:", "Sketch of the Engine");
    agent.click("link", "Add another author");
    let popup = agent.newest_tab();
    agent.act("browser_tabs", json!({"action": "switch", "tab": popup}));
    agent.fill("Name:", "Luigi Menabrea");
    agent.click("button", "Save");
    agent.act("browser_wait_for", json!({"role": "textbox", "name": "Title:"}));
    agent.select("Genre:", "Essay");
    agent.fill("Published:", "1843-09-01");
    agent.act("browser_check", json!({"role": "checkbox", "name": "In print"}));
    agent.fill("Notes:", "With notes\nby the translator");
    agent.click("button", "Save");
    assert!(agent.outline().contains("was added successfully"));
    let added = admin.ask(
        "[(b.author.name, b.genre, str(b.published), b.in_print, b.notes.replace(chr(13), '')) for b in Book.objects.filter(title='Sketch of the Engine')]",
    );
    assert_eq!(added, "[('Luigi Menabrea', 'essay', '1843-09-01', True, 'With notes\\nby the translator')]");

    // Edits it.
    agent.click("link", "Sketch of the Engine");
    agent.fill("Title:", "Sketch of the Analytical Engine");
    agent.act("browser_check", json!({"role": "checkbox", "name": "In print", "checked": false}));
    agent.click("button", "Save and continue editing");
    assert_eq!(
        admin.ask("list(Book.objects.filter(genre='essay').values_list('title', 'in_print'))"),
        "[('Sketch of the Analytical Engine', False)]"
    );

    // Filters and searches.
    agent.click("link", "Books");
    agent.click("link", "Poems");
    let poems = agent.outline();
    assert!(poems.contains("5 books") && !poems.contains("Novel 1"), "{poems}");
    agent.act("browser_type", json!({"role": "textbox", "name": "Search", "text": "Poem 3", "submit": true}));
    let found = agent.outline();
    assert!(found.contains("Poem 3") && !found.contains("Poem 4"), "{found}");

    // Selects many and deletes them.
    agent.act("browser_navigate", json!({"url": "http://books.test/admin/library/book/?genre__exact=poems"}));
    agent.act(
        "browser_check",
        json!({"role": "checkbox", "name": "Select all objects on this page for an action"}),
    );
    agent.select("Action:", "Delete selected books");
    agent.click("button", "Go");
    let asked = agent.outline();
    assert!(asked.contains("Are you sure") && asked.contains("Poem 5"), "{asked}");
    agent.click("button", "Yes, I’m sure");
    assert_eq!(
        admin.ask("sorted(Book.objects.values_list('title', flat=True))"),
        "['Novel 1', 'Sketch of the Analytical Engine']"
    );
}

#[test]
fn the_admin_works_with_its_session_and_csrf_cookies_sealed() {
    let admin = Admin::start();
    let home = Home::new(&format!("    egress:\n      hosts:\n        books.test: {}\n", admin.address));
    let (session, csrf) = admin.cookies();
    // The site checks the CSRF token: the session cookie alone changes nothing.
    let unchecked = admin.request(&format!(
        "POST /rename/ HTTP/1.0\r\nHost: books.test\r\nCookie: sessionid={session}\r\nContent-Length: 0\r\n\r\n"
    ));
    assert!(unchecked.starts_with("HTTP/1.1 403 "), "{unchecked}");
    home.store_credential(&json!({
        "domain": "books.test",
        "origin": "http://books.test",
        "cookies": [
            {"name": "sessionid", "value": session, "httpOnly": true, "sameSite": "Lax"},
            {"name": "csrftoken", "value": &csrf, "sameSite": "Lax"},
        ],
    }));
    let mut mcp = home.mcp();
    let grant = GrantIssuer::of(&home).token(&["books.test"]);
    let opened = mcp.ok("browser_open_session", json!({"credential_mode": "operator", "grant": grant}));
    let mut agent = Agent { mcp, session: opened["session_id"].as_str().unwrap().to_owned() };

    // With the form, whose hidden token belongs to the sealed cookie.
    agent.act("browser_navigate", json!({"url": "http://books.test/admin/library/author/"}));
    agent.click("link", "Ada Byron");
    agent.fill("Name:", "Ada Lovelace");
    agent.click("button", "Save");
    assert!(agent.outline().contains("was changed successfully"));
    assert_eq!(admin.ask("[a.name for a in Author.objects.all()]"), "['Ada Lovelace']");

    // With a script that copies the visible cookie, a placeholder, into a header.
    agent.act("browser_navigate", json!({"url": "http://books.test/rename/"}));
    agent.act("browser_wait_for", json!({"text": "answer 200"}));
    assert_eq!(admin.ask("[a.name for a in Author.objects.all()]"), "['Ada King']");
    let seen = admin.ask("Book.objects.first().notes");
    assert!(seen.contains("csrftoken=") && !seen.contains(&csrf), "{seen}");
}
