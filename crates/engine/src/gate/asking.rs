//! What a person is shown of an action: in our words what it does, in the page's what it is done to.

use super::Redactor;
use crate::approvals::{ApprovalPicture, Ask, Card, ElementCard, Kind, Said};
use crate::session::Session;
use browser::PageText;
use policy::{Action, ElementFacts, MouseButton, Question, WebUrl};

/// The most that is shown of one text of a page.
const LONGEST: usize = 500;

/// A picture of the page, and where the element is on it.
#[derive(Default)]
pub struct Shown {
    pub picture: Option<ApprovalPicture>,
    pub mark: Option<[i32; 4]>,
}

/// The question as it is put to people. What was typed into the session is in none of it.
pub fn ask(session: &Session, question: &Question, shown: Shown) -> Ask {
    let redactor = Redactor::for_session(session);
    let page = |text: &str| PageText::new(&session.veil.text(&redactor.text(text))).shortened(LONGEST);
    let said = |what: &str, words: &str| Said { what: what.to_owned(), words: page(words) };
    let facts = question.facts();
    let url = match question.action() {
        Action::Navigate(go) => go.url.as_str(),
        _ => facts.page_url.as_str(),
    };
    let card = Card {
        tool: format!("browser_{}", question.action().name()),
        action: in_words(question.action()),
        risk: question.risk(),
        rule: question.rule().to_string(),
        description: question.description().to_owned(),
        because: question.evidence().iter().map(|it| said(it.fact, &it.value)).collect(),
        url: page(url),
        domain: session.veil.text(&redactor.text(&host(url))),
        element: facts.target.as_ref().map(|element| element_card(question.action(), element, &page)),
        input: put_in(question).map(|text| page(&text)),
        mark: shown.mark,
        irreversible: question.is_irreversible(),
        for_session: match question.allowance_scope() {
            Some(scope) => scope.facts().map(|(what, value)| said(what, value)).collect(),
            None => Vec::new(),
        },
    };
    Ask {
        kind: if question.domain().is_some() { Kind::Domain } else { Kind::Action },
        scope: session.scope.clone(),
        session: session.id.clone(),
        session_name: session.name.clone(),
        card,
        picture: shown.picture,
        patience: None,
    }
}

fn element_card(action: &Action, element: &ElementFacts, page: &impl Fn(&str) -> PageText) -> ElementCard {
    ElementCard {
        role: page(&element.role),
        name: page(&element.name),
        text: page(&element.text),
        origin: page(element.origin.as_str()),
        form_target: element.form.as_ref().map(|form| page(&format!("{} {}", form.method, form.action))),
        form_button: element
            .form
            .as_ref()
            .and_then(|form| form.button.as_ref())
            .filter(|_| matches!(action, Action::Type(_) | Action::Press(_)))
            .map(|button| page(&button.label())),
        href: element.href.as_deref().map(page),
    }
}

/// The host of an address, as it is looked up; empty for an address without one.
pub fn host(url: &str) -> String {
    WebUrl::parse(url).map(|url| url.host().to_owned()).unwrap_or_default()
}

/// What is chosen, dropped on or answered. What is typed is not told.
fn put_in(question: &Question) -> Option<String> {
    match question.action() {
        // As the page's list has them, whichever way the agent named them.
        Action::Select(_) => {
            let labels = question.facts().options.iter().map(|option| option.label.as_str());
            Some(labels.collect::<Vec<_>>().join(", "))
        }
        Action::Drag(_) => question.facts().to.as_ref().map(|to| format!("{} {}", to.role, to.name)),
        Action::Dialog(_) => question.facts().dialog.as_ref().map(|dialog| dialog.message.clone()),
        _ => None,
    }
}

/// What will be done, without a word of the page's or the agent's.
fn in_words(action: &Action) -> String {
    match action {
        Action::Navigate(_) => "go to an address".to_owned(),
        Action::Click(click) => {
            let button = match click.button {
                MouseButton::Left => "",
                MouseButton::Middle => "middle ",
                MouseButton::Right => "right ",
            };
            let times = match click.count {
                2 => "double ",
                3 => "triple ",
                _ => "",
            };
            format!("{times}{button}click")
        }
        Action::Type(typing) => {
            let then = if typing.submit { ", then press Enter" } else { "" };
            format!("type {} characters{then}", typing.text.chars().count())
        }
        Action::Press(press) => format!("press {}", press.chord.redacted()),
        Action::Select(_) => "choose from a list".to_owned(),
        Action::Check(check) => if check.checked { "check a box" } else { "uncheck a box" }.to_owned(),
        Action::Drag(_) => "drag onto another element".to_owned(),
        Action::Dialog(answer) => {
            if answer.accept { "say yes to a dialog" } else { "say no to a dialog" }.to_owned()
        }
        other => other.name().replace('_', " "),
    }
}
