//! Builds the question about an action: our description of the action, and the page's text about its target.

use crate::approvals::{ApprovalCard, ApprovalKind, ApprovalScreenshot, CardFact, ElementCard, NewQuestion};
use crate::session::Session;
use browser::RedactedPageText;
use policy::{Action, ElementFacts, MouseButton, Question, WebUrl};
use redact::{Redacted, redacted};

/// Maximum length of one page text on a card.
const MAX_PAGE_TEXT: usize = 500;

/// A screenshot of the page and the position of the target element on it.
#[derive(Default)]
pub struct QuestionScreenshot {
    pub image: Option<ApprovalScreenshot>,
    pub mark: Option<[i32; 4]>,
}

/// Builds the question for a person, with secrets and typed text redacted.
pub fn new_question(session: &Session, question: &Question, screenshot: QuestionScreenshot) -> NewQuestion {
    let redact = |text: &str| session.typed_text.redact(text);
    let page = |text: &str| RedactedPageText::new(&redact(text)).shortened(MAX_PAGE_TEXT);
    let fact = |name: &'static str, value: &str| CardFact { name: name.into(), value: page(value) };
    let facts = question.facts();
    let url = match question.action() {
        Action::Navigate(go) => go.url.as_str(),
        _ => facts.page_url.as_str(),
    };
    let card = ApprovalCard {
        tool: redacted!("browser_{}", question.action().name()),
        action: describe_action(question.action()),
        risk: question.risk(),
        rule: Redacted::from_safe(question.rule()),
        description: redact(question.description()),
        because: question.evidence().iter().map(|it| fact(it.fact, &it.value)).collect(),
        url: page(url),
        domain: redact(&host(url)),
        element: facts.target.as_ref().map(|element| element_card(question.action(), element, &page)),
        input: describe_input(question).map(|text| page(&text)),
        mark: screenshot.mark,
        irreversible: question.is_irreversible(),
        for_session: match question.allowance_scope() {
            Some(scope) => scope.facts().map(|(name, value)| fact(name, value)).collect(),
            None => Vec::new(),
        },
        effect: None,
    };
    NewQuestion {
        kind: if question.domain().is_some() { ApprovalKind::Domain } else { ApprovalKind::Action },
        scope: session.scope.clone(),
        session: session.id.clone(),
        session_name: session.name.clone(),
        card,
        screenshot: screenshot.image,
        timeout: None,
    }
}

pub fn element_card(
    action: &Action,
    element: &ElementFacts,
    page: &impl Fn(&str) -> RedactedPageText,
) -> ElementCard {
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

/// The host of an address in ASCII; empty if it has none.
pub fn host(url: &str) -> String {
    WebUrl::parse(url).map(|url| url.host().to_owned()).unwrap_or_default()
}

/// Describes the chosen option, the drop target or the dialog. Never includes typed text.
fn describe_input(question: &Question) -> Option<String> {
    match question.action() {
        // The labels in the page's list, whether the agent used labels or values.
        Action::Select(_) => {
            let labels = question.facts().options.iter().map(|option| option.label.as_str());
            Some(labels.collect::<Vec<_>>().join(", "))
        }
        Action::Drag(_) => question.facts().to.as_ref().map(|to| format!("{} {}", to.role, to.name)),
        Action::Dialog(_) => question.facts().dialog.as_ref().map(|dialog| dialog.message.clone()),
        _ => None,
    }
}

/// Describes the action without any text of the page or the agent.
pub fn describe_action(action: &Action) -> Redacted {
    match action {
        Action::Navigate(_) => "go to an address".into(),
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
            redacted!("{}{}click", times, button)
        }
        Action::Type(typing) => {
            let then = if typing.submit { ", then press Enter" } else { "" };
            redacted!("type {} characters{}", typing.text.chars().count(), then)
        }
        Action::Press(press) => redacted!("press {}", press.chord.redacted()),
        Action::Select(_) => "choose from a list".into(),
        Action::Check(check) => if check.checked { "check a box" } else { "uncheck a box" }.into(),
        Action::Drag(_) => "drag onto another element".into(),
        Action::Dialog(answer) => if answer.accept { "accept a dialog" } else { "dismiss a dialog" }.into(),
        other => Redacted::literal(other.name()).transform(|name| name.replace('_', " ")),
    }
}
