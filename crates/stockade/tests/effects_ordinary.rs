//! Ordinary work in a session with `write`: at most three actions in a hundred ask.

use crate::common;
use crate::components;

use common::django::Admin;
use common::effect_agent::{AnsweringOperator, EffectAgent, EffectFixture, LIMITS, NAMES, ORIGIN, grant};
use common::effect_cases::{Expected, Step};
use common::effect_site::EffectSite;
use common::machine::{self, PATIENCE, until};
use common::{Home, Server};
use engine::approvals::{Approval, Verdict};
use serde_json::json;

/// The part of all actions that may ask, in percent.
const MOST_ASKING: usize = 3;

/// Actions of one application, and those that asked.
#[derive(Default)]
struct Tally {
    actions: usize,
    asked: Vec<String>,
    faults: Vec<String>,
}

impl Tally {
    fn join(&mut self, other: Tally) {
        self.actions += other.actions;
        self.asked.extend(other.asked);
        self.faults.extend(other.faults);
    }
}

/// An agent at work in an application, and the person who is asked.
struct Worker<'a> {
    agent: EffectAgent,
    operator: &'a AnsweringOperator,
    application: &'static str,
    origin: &'static str,
    site: Option<&'a EffectSite>,
    tally: Tally,
}

impl Worker<'_> {
    /// Does what a file of steps says.
    fn work(&mut self, steps: &str) {
        let mut already = 0;
        for line in steps.lines() {
            match line.split_once(' ') {
                Some(("@", page)) => self.agent.goto(&format!("{}{page}", self.origin)),
                Some((">", step)) => {
                    already = self.site.map_or(0, |site| site.received().len());
                    self.step(&Step::parse(step));
                }
                Some(("<", expected)) => self.expect(&Expected::parse(expected), already),
                _ => {}
            }
        }
    }

    fn step(&mut self, step: &Step) {
        let mut step = step.clone();
        if let Some(path) = step.arguments["url"].as_str().filter(|url| url.starts_with('/')) {
            step.arguments["url"] = json!(format!("{}{path}", self.origin));
        }
        if step.arguments["tab"] == "newest" {
            step.arguments["tab"] = components::newest_tab(&mut self.agent.mcp, &self.agent.session);
        }
        let before = self.operator.count_of(&self.agent.session);
        self.tally.actions += 1;
        if let Err(code) = self.agent.step(&step) {
            self.tally.faults.push(format!("{}: {}: {code}", self.application, step.text));
        }
        self.note_questions(before, &step.text);
    }

    /// Waits for a request of the step before; it may be one that a timer sends.
    fn expect(&mut self, expected: &Expected, already: usize) {
        let before = self.operator.count_of(&self.agent.session);
        let site = self.site.unwrap();
        let begun = std::time::Instant::now();
        while !site.has_received(already, |one| expected.is(one)) {
            if begun.elapsed() > std::time::Duration::from_secs(8) {
                self.tally.faults.push(format!("{}: {expected:?} did not arrive", self.application));
                break;
            }
            machine::pause(begun);
        }
        self.note_questions(before, &format!("after {} {}", expected.method, expected.target));
    }

    fn note_questions(&mut self, before: usize, what: &str) {
        let asked = self.operator.asked_by(&self.agent.session);
        for one in asked.iter().skip(before) {
            self.tally.asked.push(format!("{}: {what}: {}", self.application, describe(one)));
        }
    }
}

fn describe(approval: &Approval) -> String {
    let request = approval.card.effect.as_ref().map(|effect| {
        let fields: Vec<&str> = effect.fields.iter().map(|field| field.name.as_str()).collect();
        format!("{} {} {fields:?}", effect.method.as_str(), effect.address.as_str())
    });
    let request = request.unwrap_or_else(|| "no request".to_owned());
    format!("{} by {}: {request}", approval.kind.as_str(), approval.card.rule.as_str())
}

fn approving(home: &Home) -> AnsweringOperator {
    AnsweringOperator::start(home, Verdict::Approve { for_session: false })
}

fn office() -> Tally {
    let site = EffectSite::new();
    for (path, page) in [
        ("/todo", include_str!("effects/office/todo.html")),
        ("/request", include_str!("effects/office/request.html")),
        ("/wizard", include_str!("effects/office/wizard.html")),
        ("/profile", include_str!("effects/office/profile.html")),
        ("/mail", include_str!("effects/office/mail.html")),
        ("/cart", include_str!("effects/office/cart.html")),
    ] {
        site.page(path, page);
    }
    for (from, to) in [
        ("/requests/31/details", "/wizard"),
        ("/requests/31/costs", "/profile"),
        ("/requests/31/costs/back", "/request"),
        ("/requests/31/profile", "/request"),
        ("/checkout/address", "/cart"),
    ] {
        site.redirect(303, from, to);
    }
    let fixture = EffectFixture::start(site);
    let operator = approving(&fixture.home);
    let mut worker = Worker {
        agent: fixture.agent("write"),
        operator: &operator,
        application: "office",
        origin: ORIGIN,
        site: Some(&fixture.site),
        tally: Tally::default(),
    };
    worker.work(include_str!("effects/office.steps"));
    worker.tally
}

/// The pages that real sites are made of, on the same site.
fn widgets() -> Tally {
    let site = EffectSite::new();
    for (path, page) in components::PAGES {
        let page =
            page.replace("http://widgets.test", ORIGIN).replace("http://inner.test", "https://inner.test");
        site.page(path, &page);
    }
    let fixture = EffectFixture::start(site);
    let operator = approving(&fixture.home);
    let mut worker = Worker {
        agent: fixture.agent("write"),
        operator: &operator,
        application: "components",
        origin: ORIGIN,
        site: Some(&fixture.site),
        tally: Tally::default(),
    };
    for task in components::tasks() {
        worker.agent.goto(&format!("/{}", task.page));
        for (tool, arguments) in task.steps {
            worker.step(&Step { text: format!("{}: {tool} {arguments}", task.page), tool, arguments });
        }
        if !worker.agent.read().contains(task.said) {
            worker.tally.faults.push(format!("components: {} does not say {:?}", task.page, task.said));
        }
    }
    worker.tally
}

/// An application on plain HTTP with a login of its own.
fn plain(application: &'static str, host: &'static str, home: &Home, steps: &str) -> (Server, Tally) {
    let server = home.serve(&[]);
    let operator = approving(home);
    let origin: &'static str = Box::leak(format!("http://{host}").into_boxed_str());
    let agent = EffectAgent::with_grant(home.mcp(), &grant(home, "write", &[host]));
    let mut worker =
        Worker { agent, operator: &operator, application, origin, site: None, tally: Tally::default() };
    worker.work(steps);
    (server, worker.tally)
}

fn django() -> Tally {
    let admin = Admin::start();
    let hosts = format!("    egress:\n      hosts:\n        books.test: {}\n", admin.address);
    let home = Home::asking(&format!("{hosts}{LIMITS}"));
    home.store_credential(&json!({
        "domain": "books.test",
        "origin": "http://books.test",
        "cookies": [{"name": "sessionid", "value": admin.cookie(), "httpOnly": true, "sameSite": "Lax"}],
    }));
    let (_server, mut tally) = plain("django", "books.test", &home, include_str!("effects/django.steps"));
    // The work was done, and by the site.
    let authors = admin.ask("sorted(Author.objects.values_list('name', flat=True))");
    if authors != "['Ada Byron', 'Marie-Sophie Germain', 'Émilie du Châtelet-Lomont']" {
        tally.faults.push(format!("django: the authors are {authors}"));
    }
    let notes = admin.ask("[b.notes for b in Book.objects.filter(title='Institutions de Physique')]");
    if notes != "['Second edition']" {
        tally.faults.push(format!("django: the notes are {notes}"));
    }
    tally
}

fn shop() -> Tally {
    let home = Home::asking(LIMITS);
    home.store_credential(&json!({
        "domain": "shop.test",
        "origin": "http://shop.test",
        "cookies": [{"name": "visitor", "value": "Visitor0f31c27a95be44d1", "sameSite": "Lax"}],
    }));
    plain("shop", "shop.test", &home, include_str!("effects/shop.steps")).1
}

#[test]
fn with_write_at_most_three_in_a_hundred_ordinary_actions_ask() {
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let threads = [scope.spawn(office), scope.spawn(widgets), scope.spawn(django), scope.spawn(shop)];
        for thread in threads {
            all.join(thread.join().unwrap());
        }
    });
    println!("{} of {} ordinary actions asked:\n{}", all.asked.len(), all.actions, all.asked.join("\n"));
    assert!(all.faults.is_empty(), "{} faults:\n{}", all.faults.len(), all.faults.join("\n"));
    assert!(all.actions >= 130, "{} actions", all.actions);
    let most = all.actions * MOST_ASKING / 100;
    assert!(all.asked.len() <= most, "{} asked, {most} may:\n{}", all.asked.len(), all.asked.join("\n"));
}

/// Six fields with selects and a date.
const FORM: &str = "<!doctype html><meta charset=utf-8><title>Booking</title><h1>Guest</h1>
<form method=post action=/guests/12>
  <label>Full name <input name=name></label> <label>Town <input name=town></label>
  <label>Country <select name=country><option>Austria<option>Belgium<option>Chile</select></label>
  <label>Room <select name=room><option value=s>Single<option value=d>Double</select></label>
  <label>Arrival <input type=date name=arrival></label> <label>Notes <textarea name=notes></textarea></label>
  <button>Save</button>
</form>";

const FORM_STEPS: &str = r#"fill textbox "Full name" = Ada Lovelace
fill textbox "Town" = Malmö
select combobox "Country" = Belgium
select combobox "Room" = Double
type textbox "Arrival" = 11202026
fill textbox "Notes" = Two towels, please
click button "Save""#;

const FORM_VALUES: [(&str, &str); 6] = [
    ("name", "Ada Lovelace"),
    ("town", "Malmö"),
    ("country", "Belgium"),
    ("room", "d"),
    ("arrival", "2026-11-20"),
    ("notes", "Two towels, please"),
];

/// Fills and saves the form; what was asked on the way.
fn fill_form(access: &str) -> Vec<Approval> {
    let site = EffectSite::new();
    site.page("/guest", FORM);
    let fixture = EffectFixture::start(site);
    let operator = approving(&fixture.home);
    let mut agent = fixture.agent(access);
    agent.goto("/guest");
    for line in FORM_STEPS.lines() {
        agent.step(&Step::parse(line)).unwrap_or_else(|code| panic!("{access}: {line}: {code}"));
    }
    let saved = until("the form is saved", PATIENCE, || {
        fixture.site.received_at("POST", "/guests/12").into_iter().next()
    });
    let fields: Vec<(String, String)> =
        url::form_urlencoded::parse(&saved.body).map(|(name, value)| (name.into(), value.into())).collect();
    let expected = FORM_VALUES.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(fields, expected, "{access}");
    assert_eq!(
        fixture.site.received().iter().filter(|one| one.is_write()).count(),
        1,
        "{access}: it is sent once"
    );
    operator.asked()
}

#[test]
fn a_form_of_six_fields_is_saved_with_write_without_a_question() {
    let asked = fill_form("write");
    assert!(asked.is_empty(), "{asked:?}");
}

#[test]
fn a_form_of_six_fields_is_saved_with_read_after_one_question_that_shows_all_values() {
    let asked = fill_form("read");
    assert_eq!(asked.len(), 1, "{:?}", asked.iter().map(describe).collect::<Vec<_>>());
    let effect = asked[0].card.effect.as_ref().unwrap();
    assert_eq!((effect.method.as_str(), effect.address.as_str()), ("POST", "https://office.test/guests/12"));
    let shown: Vec<(&str, &str)> =
        effect.fields.iter().map(|field| (field.name.as_str(), field.value.as_str())).collect();
    assert_eq!(shown, FORM_VALUES);
    for (field, (_, value)) in effect.fields.iter().zip(FORM_VALUES) {
        assert_eq!((field.length, field.is_cut), (value.len() as u64, false), "{field:?}");
    }
    assert_eq!(effect.omitted_fields, 0);
    assert!(NAMES.contains(&asked[0].card.domain.as_str()), "{:?}", asked[0].card.domain);
}

#[test]
fn with_read_ordinary_effects_do_not_reach_the_server_without_a_yes() {
    let site = EffectSite::new();
    site.page("/todo", include_str!("effects/office/todo.html"));
    site.page("/cart", include_str!("effects/office/cart.html"));
    let fixture = EffectFixture::start(site);
    let operator = fixture.operator(Verdict::Deny);
    let mut agent = fixture.agent("read");
    let mut is_wanted = false;
    for line in include_str!("effects/office.steps").lines() {
        match line.split_once(' ') {
            Some(("@", page)) => {
                is_wanted = matches!(page, "/todo" | "/cart");
                if is_wanted {
                    agent.goto(page);
                }
            }
            // A step fails where it has an effect.
            Some((">", step)) if is_wanted => drop(agent.step(&Step::parse(step))),
            _ => {}
        }
    }
    assert!(operator.asked().len() >= 10, "{} questions", operator.asked().len());
    let received = fixture.site.received();
    let is_read = |text: &str| text.contains("\"query\":\"query ");
    let effects: Vec<String> =
        received.iter().filter(|one| one.is_write() && !is_read(&one.text())).map(|one| one.line()).collect();
    assert!(effects.is_empty(), "{}", effects.join("\n"));
    // Reading goes on without a question, also where it is sent as POST.
    assert!(received.iter().any(|one| one.target == "/graphql" && is_read(&one.text())), "a search arrives");
    assert!(received.iter().any(|one| one.target == "/api/tasks?show=open"), "a list arrives");
}
