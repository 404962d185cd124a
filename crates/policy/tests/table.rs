//! Actions on resolved elements, in many languages, each with its risk, decision and rule.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use policy::{
    Action, AnswerDialog, Appearance, Check, Chord, Click, DialogFacts, DomainPattern, Drag, ElementFacts,
    Facts, Find, FormButton, FormFacts, Hover, LoadState, Navigate, OptionFacts, Origin, Policy, Press, Read,
    RiskResponse, Screenshot, Scroll, Select, SelectOption, SessionMode, Settings, Tabs, Target, TypeText,
    WebUrl,
};

/// `action | element or address | facts | risk decision rule`; the head of the file explains the columns.
const TABLE: &str = include_str!("actions.table");

fn settings() -> Settings {
    let domains = |list: &[&str]| list.iter().map(|text| DomainPattern::parse(text).unwrap()).collect();
    Settings {
        trusted: domains(&["github.com", "stackoverflow.com", "*.trusted.test", "admin.trusted.test"]),
        ..Settings::default()
    }
}

struct Case<'a> {
    action: &'a str,
    on: &'a str,
    facts: &'a str,
    expected: &'a str,
}

impl<'a> Case<'a> {
    fn read(line: &'a str) -> Case<'a> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [action, on, facts, expected] = cells[..] else { panic!("four cells: {line}") };
        Case { action, on, facts, expected }
    }

    fn fact(&self, name: &str) -> Option<&'a str> {
        self.facts.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// A fact in several words, `button="Delete account"`.
    fn quoted(&self, name: &str) -> Option<&'a str> {
        let (_, rest) = self.facts.split_once(&format!("{name}=\""))?;
        rest.split('"').next()
    }

    fn is(&self, word: &str) -> bool {
        self.facts.split_whitespace().any(|given| given == word)
    }

    fn page(&self) -> &'a str {
        self.fact("page").unwrap_or("https://app.test/")
    }

    /// `button "Delete"`, with ` / "visible text"` if that differs.
    fn element(&self, written: &str) -> Option<ElementFacts> {
        let (role, rest) = written.split_once(' ').unwrap_or((written, "\"\""));
        let mut quoted = rest.split('"').skip(1).step_by(2);
        let name = quoted.next()?.to_owned();
        let text = quoted.next().map_or_else(|| name.clone(), str::to_owned);
        let tag = match role {
            "textbox" | "searchbox" | "checkbox" | "radio" => "input",
            "combobox" => "select",
            "link" => "a",
            other => other,
        };
        let form = self.fact("post").map(|action| ("post", action));
        let form = form.or_else(|| self.fact("get").map(|action| ("get", action)));
        Some(ElementFacts {
            element: "e1".into(),
            role: role.into(),
            name,
            text,
            tag: self.fact("tag").unwrap_or(tag).into(),
            origin: Origin::of(self.fact("frame").unwrap_or(self.page())),
            input_type: self.fact("type").map(str::to_owned),
            editable: self.is("editable"),
            secret: self.is("secret"),
            href: self.fact("href").map(str::to_owned),
            form: form.map(|(method, action)| FormFacts {
                method: method.into(),
                action: action.into(),
                payment: self.is("payment"),
                button: self.quoted("button").map(|name| FormButton { name: name.into(), text: name.into() }),
            }),
            matches: 1,
            appearance: Appearance::default(),
        })
    }

    fn facts(&self) -> Facts {
        let page_url = self.page().replace("none", "");
        let mut facts = Facts { page_url, posted: self.is("posted"), ..Facts::default() };
        let (verb, what) = self.verb();
        match verb {
            "navigate" | "read" | "find" | "screenshot" | "back" | "reload" | "tabs" => {}
            "accept" | "dismiss" => {
                let message = self.on.trim_matches('"').to_owned();
                let origin = Origin::of(self.page());
                facts.dialog = Some(DialogFacts { kind: "confirm".into(), message, origin });
            }
            "drag" => {
                let (from, to) = self.on.split_once(" → ").unwrap();
                (facts.target, facts.to) = (self.element(from), self.element(to));
            }
            _ => facts.target = self.element(self.on),
        }
        if verb == "select" {
            let label = self.quoted("option").unwrap_or(what);
            facts.options = vec![OptionFacts { label: label.into(), value: String::new() }];
        }
        facts
    }

    /// The verb and its argument: `press Enter`, `select Owner`.
    fn verb(&self) -> (&'a str, &'a str) {
        self.action.split_once(' ').unwrap_or((self.action, ""))
    }

    fn action(&self) -> Action {
        let target = Target::Ref("e1".into());
        let (verb, what) = self.verb();
        match verb {
            "navigate" => {
                Action::Navigate(Navigate { url: WebUrl::parse(self.on).unwrap(), wait_for: LoadState::Load })
            }
            "click" => Action::Click(Click::on(target)),
            "type" | "enter" => Action::Type(TypeText {
                target,
                text: if what.is_empty() { "some text".into() } else { what.replace("⏎", "\n") },
                clear_first: false,
                submit: verb == "enter",
            }),
            "press" => Action::Press(Press { target, chord: Chord::parse(what).unwrap() }),
            "select" => {
                let number =
                    what.strip_prefix('#').map(|number| SelectOption::Index(number.parse().unwrap()));
                let options = vec![number.unwrap_or_else(|| SelectOption::Label(what.into()))];
                Action::Select(Select { target, options })
            }
            "check" | "uncheck" => Action::Check(Check { target, checked: verb == "check" }),
            "drag" => Action::Drag(Drag { from: target.clone(), to: target }),
            "accept" | "dismiss" => Action::Dialog(AnswerDialog { accept: verb == "accept", text: None }),
            "hover" => Action::Hover(Hover { target }),
            "scroll" => Action::Scroll(Scroll::To(target)),
            "read" => Action::Read(Read::default()),
            "find" => Action::Find(Find::default()),
            "screenshot" => Action::Screenshot(Screenshot::default()),
            "back" => Action::Back,
            "reload" => Action::Reload,
            "tabs" => Action::Tabs(Tabs::List),
            other => panic!("no action {other}"),
        }
    }
}

fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

#[test]
fn every_action_of_the_table_is_decided_as_the_table_says() {
    let policy = Policy::new(settings());
    let mut wrong = Vec::new();
    for line in lines() {
        let case = Case::read(line);
        let mode = if case.is("clean") { SessionMode::Clean } else { SessionMode::SignedIn };
        let assessed = policy.assess(&case.action(), &case.facts(), mode);
        let found = format!("{} {} {}", assessed.risk.as_str(), assessed.decision.as_str(), assessed.rule);
        if found != case.expected {
            wrong.push(format!("{line}\n    decided {found}, by {:?}", assessed.evidence));
        }
        assert!(!assessed.description.is_empty(), "{line}");
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), lines().count(), wrong.join("\n"));
}

#[test]
fn the_table_has_a_case_for_every_rule() {
    assert!(lines().count() >= 300, "{} lines", lines().count());
    // A domain is blocked by a setting, which the other tests set. Effects have a table of their own.
    let is_here = |name: &str| name != "domain.blocked" && !name.starts_with("effect.");
    for rule in policy::builtin_rules().iter().filter(|rule| is_here(rule.name)) {
        let shown = lines().any(|line| line.ends_with(&format!(" {}", rule.name)));
        assert!(shown, "{} has no line in the table", rule.name);
    }
}

#[test]
fn the_same_input_has_the_same_assessment() {
    let policy = Policy::new(settings());
    for line in lines() {
        let case = Case::read(line);
        let ask = || policy.assess(&case.action(), &case.facts(), SessionMode::SignedIn);
        assert_eq!(ask(), ask(), "{line}");
    }
}

#[test]
fn medium_risks_in_clean_sessions_follow_the_setting_for_new_domains() {
    let lines = [
        ("navigate | https://github.com/x | page=https://a.test/ clean |", ["allow", "allow", "allow"]),
        ("navigate | https://new.test/ | page=https://a.test/ clean |", ["allow", "ask", "deny"]),
        ("type | textbox \"Full name\" | clean |", ["allow", "ask", "deny"]),
        ("type | textbox \"Full name\" | page=https://github.com/x clean |", ["allow", "allow", "allow"]),
        ("type | textbox \"Full name\" | page=https://admin.trusted.test/ clean |", ["ask", "ask", "ask"]),
        ("type | textbox \"Search\" | clean |", ["allow", "allow", "allow"]),
        ("click | button \"Delete\" | clean |", ["ask", "ask", "ask"]),
    ];
    for (at, response) in [RiskResponse::Allow, RiskResponse::Ask, RiskResponse::Deny].into_iter().enumerate()
    {
        let policy = Policy::new(Settings { medium_on_new_domain: response, ..settings() });
        for (line, expected) in lines {
            let case = Case::read(line);
            let assessed = policy.assess(&case.action(), &case.facts(), SessionMode::Clean);
            assert_eq!(assessed.decision.as_str(), expected[at], "{line} {response:?}");
        }
    }
}
