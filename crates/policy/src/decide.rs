//! The decision on an action: total, deterministic, and with the name of its rule.

use crate::assess::endpoints;
use crate::settings::DomainLimits;
use crate::{
    Action, Assessment, DecisionKind, DomainPattern, Endpoint, Facts, Origin, Permit, Policy, Question,
    Refusal, Risk, RiskResponse, RuleName, SessionContext, SessionMode, builtin_rules,
};
use error_code::ErrorCode;

#[derive(Debug)]
pub enum Decision {
    Allow(Permit),
    /// An operator decides.
    Ask(Question),
    Deny(Denial),
}

/// Why an action was refused, in words for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub rule: RuleName,
    pub risk: Risk,
    pub code: ErrorCode,
    pub message: String,
    pub hint: &'static str,
}

impl Policy {
    /// Decides by what was found in the page (`facts`), not by how the agent named it.
    ///
    /// The only maker of a [`Permit`] and of a [`Question`].
    pub fn decide(&self, action: Action, facts: Facts, session: &SessionContext) -> Decision {
        let domains = DomainLimits::of_session(&self.settings, session);
        let mut assessed = self.assess_within(domains, &action, &facts, session.mode);
        let mut domain = None;
        if assessed.refusal == Some(Refusal::BlockedDomain) {
            let asking = self.ask_for_domain(&action, &facts, session.mode, &assessed);
            let Some((asked, added)) = asking else {
                return Decision::Deny(refused(Refusal::BlockedDomain, assessed.rule, assessed.risk));
            };
            (assessed, domain) = (asked, Some(added));
        }
        if domain.is_none() && self.is_left_to_effects(&action, &facts, session, &assessed) {
            assessed.decision = DecisionKind::Allow;
        }
        let Assessment { risk, decision, rule, description, evidence, refusal } = assessed;
        if let Some(refusal) = refusal {
            return Decision::Deny(refused(refusal, rule, risk));
        }
        match decision {
            DecisionKind::Allow => Decision::Allow(Permit::new(action, facts, rule, risk)),
            DecisionKind::Ask => {
                Decision::Ask(Question { action, facts, rule, risk, description, evidence, domain })
            }
            DecisionKind::Deny => Decision::Deny(not_allowed(rule, risk, &description)),
        }
    }

    /// Whether the requests that an action may cause are decided on instead: all of its origins are intercepted. Refusals,
    /// denials, operators' own rules and navigation to sensitive or new domains stay.
    fn is_left_to_effects(
        &self,
        action: &Action,
        facts: &Facts,
        session: &SessionContext,
        found: &Assessment,
    ) -> bool {
        const STAYS: [&str; 7] = [
            "navigate.new-domain",
            "navigate.sensitive-domain",
            "navigate.sensitive-name",
            "click.link-new-domain",
            "click.link-sensitive-domain",
            "domain.blocked",
            "upload",
        ];
        let is_builtin = builtin_rules().iter().any(|rule| rule.name == found.rule.as_str());
        let is_denied = self.settings.responses.of(found.risk) == RiskResponse::Deny;
        if session.intercepted.is_empty() || found.refusal.is_some() || is_denied || !is_builtin {
            return false;
        }
        let is_home =
            matches!(action, Action::Navigate(_)) && found.rule.as_str() == "navigate.sensitive-name";
        if STAYS.contains(&found.rule.as_str()) && !is_home {
            return false;
        }
        let acted = facts.target.iter().chain(&facts.to).map(|element| &element.origin);
        let mut acted = acted.chain(facts.dialog.iter().map(|dialog| &dialog.origin));
        let is_intercepted = |endpoint: &Option<Endpoint>| {
            let known = |origin: &Origin| Endpoint::of(origin.as_str()) == *endpoint;
            endpoint.is_some() && session.intercepted.iter().any(known)
        };
        let endpoints = endpoints(action, facts);
        !endpoints.is_empty()
            && endpoints.iter().all(is_intercepted)
            && acted.all(|origin| session.intercepted.contains(origin))
    }

    /// For an action that leads to a blocked domain: one question for the domain and the action together. `None` if
    /// nobody can be asked, or the host cannot be added to a list.
    fn ask_for_domain(
        &self,
        action: &Action,
        facts: &Facts,
        mode: SessionMode,
        blocked: &Assessment,
    ) -> Option<(Assessment, DomainPattern)> {
        let host = blocked.evidence.iter().find(|it| it.fact == "domain")?;
        let domain = DomainPattern::parse(&host.value).filter(|_| self.settings.asks)?;
        let mut unlimited = self.assess_within(DomainLimits::NONE, action, facts, mode);
        if unlimited.decision != DecisionKind::Deny {
            unlimited.decision = DecisionKind::Ask;
            unlimited.risk = unlimited.risk.max(blocked.risk);
            unlimited.rule = blocked.rule.clone();
            unlimited.description = blocked.description.clone();
            unlimited.evidence.splice(0..0, blocked.evidence.iter().cloned());
        }
        Some((unlimited, domain))
    }
}

/// What the settings deny, or would ask about where nobody is asked.
fn not_allowed(rule: RuleName, risk: Risk, description: &str) -> Denial {
    let message = format!(
        "the operator's settings deny an action that {description} (risk {}, rule {rule})",
        risk.as_str()
    );
    let hint = "Do not try another way. Tell the person that this step needs them.";
    Denial { rule, risk, code: ErrorCode::DeniedByPolicy, message, hint }
}

/// What is refused whatever the settings are.
fn refused(refusal: Refusal, rule: RuleName, risk: Risk) -> Denial {
    let (message, hint) = match refusal {
        Refusal::Clipboard => (
            "copying, cutting and pasting are refused: they could reveal the content of hidden fields",
            "Type the text instead.",
        ),
        Refusal::SecretField | Refusal::SecretName => (
            "typing into a password or other secret field is never allowed",
            "Do not try another way. Ask the person to store this login, so that the session opens signed in.",
        ),
        Refusal::Upload => (
            "choosing a file is refused: nothing is uploaded from this machine",
            "Do not try another way. Tell the person that this step needs a file.",
        ),
        Refusal::BlockedDomain => (
            "this leads to a domain that is not on the allowlist, or away from the sites of a signed-in session",
            "Do not try another way. Only the operator can add the domain, to security.browser.domain_allowlist or egress.allow.",
        ),
        Refusal::Credential => (
            "the text looks like a key, a token or a card number; agents never type these",
            "Do not try another way. Ask the operator to store this credential, so that the session opens with it.",
        ),
    };
    Denial { rule, risk, code: refusal.code(), message: message.to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Appearance, Chord, Click, Drag, ElementFacts, Find, Navigate, Press, Read, RiskResponses, Select,
        Settings, Target, TypeText, WebUrl,
    };

    fn field(secret: bool) -> ElementFacts {
        ElementFacts {
            element: "e1".into(),
            role: "textbox".into(),
            name: "Password".into(),
            text: String::new(),
            tag: "input".into(),
            origin: Origin::of("http://shop.test/"),
            input_type: Some("password".into()),
            editable: true,
            secret,
            href: None,
            form: None,
            matches: 1,
            appearance: Appearance::default(),
        }
    }

    fn on(target: ElementFacts) -> Facts {
        Facts { page_url: "http://shop.test/login".into(), target: Some(target), ..Facts::default() }
    }

    fn typing() -> Action {
        let target = Target::Role { role: "textbox".into(), name: None, index: 0 };
        Action::Type(TypeText { target, text: "hunter2".into(), clear_first: false, submit: false })
    }

    fn press(chord: &str) -> Action {
        Action::Press(Press { target: Target::Focused, chord: Chord::parse(chord).unwrap() })
    }

    fn check(action: Action, facts: Facts, expected: Result<&str, &str>) {
        let asked = format!("{action:?}");
        let decided = match Policy::default().decide(action, facts, &SessionContext::default()) {
            Decision::Allow(permit) => Ok(permit.rule().to_string()),
            Decision::Ask(question) => Ok(format!("ask {}", question.rule())),
            Decision::Deny(denial) => Err(denial.rule.to_string()),
        };
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(decided, expected, "{asked}");
    }

    #[test]
    fn a_secret_field_is_neither_written_nor_dragged() {
        let drag = || Action::Drag(Drag { from: Target::Focused, to: Target::Focused });
        let select = Action::Select(Select { target: Target::Focused, options: Vec::new() });
        check(typing(), on(field(true)), Err("type.secret-field"));
        check(typing(), on(field(false)), Err("type.secret-name"));
        check(press("x"), on(field(true)), Err("press.secret-field"));
        check(press("Backspace"), on(field(true)), Err("press.secret-field"));
        check(press("Tab"), on(field(true)), Ok("press.move"));
        check(press("x"), on(field(false)), Err("type.secret-name"));
        check(select, on(field(true)), Err("select.secret-field"));
        check(drag(), on(field(true)), Err("drag.secret-field"));
        check(drag(), Facts { to: Some(field(true)), ..on(field(false)) }, Err("drag.secret-field"));
        check(drag(), Facts { to: Some(field(false)), ..on(field(false)) }, Ok("drag.move"));
    }

    #[test]
    fn clipboard_keys_and_file_inputs_are_refused() {
        check(press("Control+c"), on(field(false)), Err("press.clipboard"));
        check(press("Shift+Insert"), Facts::default(), Err("press.clipboard"));
        let file = || ElementFacts { input_type: Some("file".into()), ..field(false) };
        check(Action::Click(Click::on(Target::Focused)), on(file()), Err("upload"));
        check(press("Enter"), on(file()), Err("upload"));
    }

    #[test]
    fn clicking_a_secret_field_and_reading_are_allowed() {
        check(Action::Click(Click::on(Target::Ref("e1".into()))), on(field(true)), Ok("click.field"));
        check(Action::Read(Read::default()), Facts::default(), Ok("look"));
        check(Action::Find(Find::default()), Facts::default(), Ok("look"));
    }

    fn delete() -> (Action, Facts) {
        let button = ElementFacts {
            role: "button".into(),
            name: "Delete".into(),
            tag: "button".into(),
            ..field(false)
        };
        (Action::Click(Click::on(Target::Focused)), on(ElementFacts { input_type: None, ..button }))
    }

    #[test]
    fn asking_becomes_denying_where_nobody_is_asked() {
        for (high, asks, expected) in [
            (RiskResponse::Ask, true, "ask"),
            (RiskResponse::Ask, false, "denied_by_policy"),
            (RiskResponse::Deny, true, "denied_by_policy"),
            (RiskResponse::Allow, false, "allow"),
        ] {
            let responses = RiskResponses { high, ..RiskResponses::default() };
            let policy = Policy::new(Settings { responses, asks, ..Settings::default() });
            let (action, facts) = delete();
            let decided = match policy.decide(action, facts, &SessionContext::default()) {
                Decision::Allow(_) => "allow",
                Decision::Ask(_) => "ask",
                Decision::Deny(denial) => denial.code.name(),
            };
            assert_eq!(decided, expected, "{high:?} {asks}");
        }
    }

    #[test]
    fn on_an_intercepted_origin_words_and_forms_are_noted_and_refusals_stay() {
        let session = SessionContext {
            mode: SessionMode::SignedIn,
            intercepted: vec![Origin::of("http://shop.test/")],
            ..SessionContext::default()
        };
        let decided = |action: Action, facts: Facts, settings: Settings| match Policy::new(settings)
            .decide(action, facts, &session)
        {
            Decision::Allow(_) => "allow",
            Decision::Ask(_) => "ask",
            Decision::Deny(denial) => denial.code.name(),
        };
        let page = |facts: Facts| Facts { page_url: "http://shop.test/x".into(), ..facts };
        let linked = |href: &str| {
            let (action, mut facts) = delete();
            facts.target.as_mut().unwrap().href = Some(href.to_owned());
            (action, page(facts))
        };
        let (action, facts) = delete();
        assert_eq!(decided(action.clone(), page(facts.clone()), Settings::default()), "allow");
        let alone = Settings { asks: false, ..Settings::default() };
        assert_eq!(decided(action.clone(), page(facts.clone()), alone), "allow");
        let responses = RiskResponses { high: RiskResponse::Deny, ..RiskResponses::default() };
        let strict = Settings { responses, ..Settings::default() };
        assert_eq!(decided(action.clone(), page(facts.clone()), strict), "denied_by_policy");
        let mut framed = facts;
        framed.target.as_mut().unwrap().origin = Origin::of("http://ads.test/");
        assert_eq!(decided(action, page(framed), Settings::default()), "ask");
        let (action, facts) = linked("http://news.test/");
        assert_eq!(decided(action, facts, Settings::default()), "ask");
        let (action, facts) = linked("http://shop.test/items/3/delete");
        assert_eq!(decided(action, facts, Settings::default()), "allow");
        assert_eq!(decided(typing(), page(on(field(true))), Settings::default()), "secret_field");
        assert_eq!(
            decided(press("Control+c"), page(on(field(false))), Settings::default()),
            "clipboard_refused"
        );
        let go = |url: &str| {
            Action::Navigate(Navigate { url: WebUrl::parse(url).unwrap(), wait_for: Default::default() })
        };
        assert_eq!(decided(go("http://news.test/"), page(Facts::default()), Settings::default()), "ask");
        assert_eq!(
            decided(go("http://shop.test/items/3/delete"), page(Facts::default()), Settings::default()),
            "allow"
        );
    }

    #[test]
    fn a_domain_off_the_allowlist_is_asked_for_until_the_session_has_it() {
        let allowlist = Some(vec![DomainPattern::parse("shop.test").unwrap()]);
        let go = |url: &str| {
            let (url, wait_for) = (WebUrl::parse(url).unwrap(), Default::default());
            Action::Navigate(Navigate { url, wait_for })
        };
        let added = |domain: &str| SessionContext {
            domains: DomainPattern::parse(domain).into_iter().collect(),
            ..SessionContext::default()
        };
        for (url, asks, session, expected) in [
            ("http://shop.test/", true, SessionContext::default(), "allow"),
            ("http://news.test/", true, SessionContext::default(), "ask news.test high"),
            ("http://news.test/", true, added("news.test"), "allow"),
            ("http://news.test/", true, added("other.test"), "ask news.test high"),
            ("http://news.test/", false, SessionContext::default(), "blocked_domain"),
            ("http://[::1]/", true, SessionContext::default(), "blocked_domain"),
            ("http://news.test/admin/", true, added("news.test"), "ask - high"),
        ] {
            let policy = Policy::new(Settings { allowlist: allowlist.clone(), asks, ..Settings::default() });
            let decided = match policy.decide(go(url), Facts::default(), &session) {
                Decision::Allow(_) => "allow".to_owned(),
                Decision::Ask(question) => {
                    let domain = question.domain().map_or("-", DomainPattern::as_str);
                    format!("ask {domain} {}", question.risk().as_str())
                }
                Decision::Deny(denial) => denial.code.to_string(),
            };
            assert_eq!(decided, expected, "{url} {session:?}");
        }
    }

    #[test]
    fn every_way_to_follow_a_link_or_send_a_form_obeys_the_allowlist() {
        let target = || Target::Ref("e1".into());
        let element = |role: &str, tag: &str, href: Option<&str>, action: Option<&str>| {
            let form = action.map(|action| crate::FormFacts {
                method: "post".into(),
                action: action.into(),
                ..Default::default()
            });
            let (role, tag, href) = (role.into(), tag.into(), href.map(str::to_owned));
            ElementFacts { role, tag, href, form, name: "x".into(), input_type: None, ..field(false) }
        };
        let away = Some("http://news.test/x");
        let link = || element("link", "a", away, None);
        let list = || element("combobox", "select", None, away);
        let tick = || element("checkbox", "input", None, away);
        let select = Action::Select(Select { target: target(), options: Vec::new() });
        let check = || Action::Check(crate::Check { target: target(), checked: true });
        let drag = || Action::Drag(Drag { from: target(), to: target() });
        let click = || Action::Click(Click::on(target()));
        let here = || on(element("generic", "div", None, None));
        for (action, facts) in [
            (select, on(list())),
            (check(), on(tick())),
            (check(), on(link())),
            (click(), on(tick())),
            (click(), on(link())),
            (drag(), on(link())),
            (drag(), Facts { to: Some(link()), ..here() }),
            (drag(), Facts { to: Some(element("button", "button", None, away)), ..here() }),
            (press("End"), on(list())),
            (press("b"), on(list())),
            (press("Control+Enter"), on(link())),
            (press("Control+Space"), on(element("button", "button", None, away))),
        ] {
            let allowlist = Some(vec![DomainPattern::parse("shop.test").unwrap()]);
            let policy = Policy::new(Settings { allowlist, ..Settings::default() });
            let asked = format!("{action:?} {facts:?}");
            let Decision::Ask(question) = policy.decide(action, facts, &SessionContext::default()) else {
                panic!("done unasked: {asked}");
            };
            assert_eq!(question.domain().map(DomainPattern::as_str), Some("news.test"), "{asked}");
        }
    }

    #[test]
    fn every_list_of_a_session_has_to_have_what_is_visited() {
        let patterns = |names: &[&str]| names.iter().filter_map(|name| DomainPattern::parse(name)).collect();
        let session = |added: &[&str]| SessionContext {
            domains: patterns(added),
            allowlists: vec![
                patterns(&["*.shop.test", "news.test"]),
                patterns(&["a.shop.test", "other.test"]),
            ],
            ..SessionContext::default()
        };
        for (url, added, expected) in [
            ("https://a.shop.test/", &[][..], "allow"),
            ("https://a.shop.test:8443/", &[], "ask https://a.shop.test:8443"),
            ("https://b.shop.test/", &[], "ask b.shop.test"),
            ("https://other.test/", &[], "ask other.test"),
            ("https://other.test/", &["other.test"], "allow"),
            ("https://a.shop.test:8443/", &["https://a.shop.test:8443"], "allow"),
            ("http://[fe80::1]/", &[], "blocked_domain"),
        ] {
            let (address, wait_for) = (WebUrl::parse(url).unwrap(), Default::default());
            let go = Action::Navigate(Navigate { url: address, wait_for });
            let decided = match Policy::default().decide(go, Facts::default(), &session(added)) {
                Decision::Allow(_) => "allow".to_owned(),
                Decision::Ask(question) => format!("ask {}", question.domain().unwrap()),
                Decision::Deny(denial) => denial.code.to_string(),
            };
            assert_eq!(decided, expected, "{url} {added:?}");
        }
    }

    #[test]
    fn a_signed_in_session_needs_approval_to_leave_its_sites() {
        let patterns = |names: &[&str]| names.iter().filter_map(|name| DomainPattern::parse(name)).collect();
        let home = |domains: &[&str]| SessionContext {
            mode: crate::SessionMode::SignedIn,
            home: Some(patterns(&["shop.test", "*.shop.test"])),
            domains: patterns(domains),
            ..SessionContext::default()
        };
        for (url, allowlist, session, expected) in [
            ("http://shop.test/", None, home(&[]), "allow"),
            ("http://www.shop.test/", None, home(&[]), "allow"),
            ("http://news.test/", None, home(&[]), "ask"),
            ("http://news.test/", None, home(&["news.test"]), "allow"),
            ("http://shop.test/admin/", None, home(&[]), "ask"),
            ("http://shop.test:8081/", None, home(&[]), "ask"),
            ("https://shop.test:80/", None, home(&[]), "ask"),
            ("http://shop.test:8081/", None, home(&["http://shop.test:8081"]), "allow"),
            ("http://shop.test:8081/", None, home(&["https://shop.test:8081"]), "ask"),
            ("http://news.test/", Some("news.test"), home(&[]), "ask"),
            ("http://shop.test/", Some("news.test"), home(&[]), "ask"),
            ("http://news.test/", None, SessionContext::default(), "allow"),
        ] {
            let allowlist = allowlist.map(|one| patterns(&[one]));
            let policy = Policy::new(Settings { allowlist, ..Settings::default() });
            let (address, wait_for) = (WebUrl::parse(url).unwrap(), Default::default());
            let go = Action::Navigate(Navigate { url: address, wait_for });
            let decided = match policy.decide(go, Facts::default(), &session) {
                Decision::Allow(_) => "allow",
                Decision::Ask(_) => "ask",
                Decision::Deny(denial) => denial.code.name(),
            };
            assert_eq!(decided, expected, "{url} {session:?}");
        }
    }
}
