//! A policy case: an action, facts about the page, and the expected assessment.

use crate::config::read_yaml;
use clap::Args;
use engine::error::Fault;
use error_code::ErrorCode;
use policy::{
    Action, AnswerDialog, Check, Chord, Click, DialogFacts, Drag, ElementFacts, Facts, Find, FormButton,
    FormFacts, Hover, LoadState, Navigate, OptionFacts, Origin, Press, Read, Screenshot, Scroll, Select,
    SelectOption, SessionMode, Tabs, Target, TypeText, WebUrl,
};
use serde::Deserialize;
use std::path::Path;

/// A case from a file or from flags.
#[derive(Debug, Default, Deserialize, Args)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PolicyCase {
    /// The action: navigate, click, type, press_key, select, check, ...
    #[arg(long, required_unless_present = "file")]
    action: Option<String>,
    /// The address of the page
    #[arg(long, default_value = "")]
    pub page: String,
    /// The target of a navigation
    #[arg(long)]
    url: Option<String>,
    /// Text that is typed
    #[arg(long)]
    text: Option<String>,
    /// The key that is pressed, such as Enter
    #[arg(long)]
    key: Option<String>,
    /// The option that is chosen
    #[arg(long)]
    option: Option<String>,
    /// Uncheck instead of check
    #[arg(long)]
    uncheck: bool,
    /// Dismiss the dialog instead of accepting it
    #[arg(long)]
    dismiss: bool,
    /// Press Enter after typing
    #[arg(long)]
    submit: bool,
    /// The page is the answer to a form that was sent
    #[arg(long)]
    posted: bool,
    /// Whether the session is signed in: clean or operator
    #[arg(long, default_value = "operator", value_parser = ["clean", "operator"])]
    session: String,
    #[command(flatten)]
    element: CaseElement,
    #[arg(skip)]
    to: Option<CaseElement>,
    /// The question of the dialog that waits
    #[arg(long)]
    dialog: Option<String>,
    #[arg(skip)]
    pub name: Option<String>,
    #[arg(skip)]
    pub expect: Option<ExpectedAssessment>,
}

/// The target element.
#[derive(Debug, Default, Deserialize, Args)]
#[serde(deny_unknown_fields, default)]
struct CaseElement {
    /// The element's role
    #[arg(long)]
    role: Option<String>,
    /// The element's name
    #[arg(long)]
    name: Option<String>,
    /// Its visible text, if it differs from the name
    #[arg(id = "seen", long = "seen")]
    text: Option<String>,
    /// Its tag
    #[arg(long)]
    tag: Option<String>,
    /// The origin of its frame, if it differs from the page
    #[arg(long)]
    origin: Option<String>,
    /// The type of an input
    #[arg(long)]
    input_type: Option<String>,
    /// Text can be typed into it, though it is no input
    #[arg(long)]
    editable: bool,
    /// It is a secret field
    #[arg(long)]
    secret: bool,
    /// Where a link leads
    #[arg(long)]
    href: Option<String>,
    #[command(flatten)]
    form: CaseForm,
}

#[derive(Debug, Default, Deserialize, Args)]
#[serde(deny_unknown_fields, default)]
struct CaseForm {
    /// How its form is sent: get or post
    #[arg(id = "form-method", long = "form-method")]
    method: Option<String>,
    /// The address that its form is sent to
    #[arg(id = "form-action", long = "form-action")]
    action: Option<String>,
    /// Its form takes a card
    #[arg(id = "form-payment", long = "form-payment")]
    payment: bool,
    /// The label of the button that Enter activates in its form
    #[arg(id = "form-button", long = "form-button")]
    button: Option<String>,
}

/// The expected assessment; absent fields are not compared.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ExpectedAssessment {
    pub risk: Option<String>,
    pub decision: Option<String>,
    pub rule: Option<String>,
}

/// Reads cases from a file: a list, or a list under `cases`, in YAML or JSON.
pub(super) fn read_cases(file: &Path) -> Result<Vec<PolicyCase>, Fault> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| bad_case(format!("cannot read {}: {error}", file.display())))?;
    let value = read_yaml(&text).map_err(|error| bad_case(format!("{}: {error:?}", file.display())))?;
    let list = value.get("cases").cloned().unwrap_or(value);
    let serde_json::Value::Array(items) = list else {
        return Err(bad_case(format!("{} has no list of cases", file.display())));
    };
    let one = |(at, item)| {
        serde_json::from_value(item)
            .map_err(|error| bad_case(format!("{}: case {}: {error}", file.display(), at + 1)))
    };
    items.into_iter().enumerate().map(one).collect()
}

pub(super) fn bad_case(message: String) -> Fault {
    Fault::outside_sessions(ErrorCode::BadPolicyCase, message)
        .hint("docs/policy.md describes a case; `stockade policy explain --help` lists the flags.")
}

impl PolicyCase {
    pub fn mode(&self) -> Result<SessionMode, Fault> {
        match self.session.as_str() {
            "clean" => Ok(SessionMode::Clean),
            "operator" | "" => Ok(SessionMode::SignedIn),
            other => Err(bad_case(format!("a session is clean or operator, not {other:?}"))),
        }
    }

    /// Its name, or the action and its target.
    pub fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            let on = self.url.as_deref().or(self.element.name.as_deref()).or(self.dialog.as_deref());
            format!("{} {}", self.verb(), on.unwrap_or_default())
        })
    }

    fn verb(&self) -> &str {
        let action = self.action.as_deref().unwrap_or_default();
        action.strip_prefix("browser_").unwrap_or(action)
    }

    pub fn facts(&self) -> Facts {
        let page = Origin::of(&self.page);
        let dialog = self.dialog.as_ref().map(|message| DialogFacts {
            kind: "confirm".into(),
            message: message.clone(),
            origin: page.clone(),
        });
        Facts {
            document: Default::default(),
            posted: self.posted,
            page_url: self.page.clone(),
            target: self.element.facts(&page),
            to: self.to.as_ref().and_then(|element| element.facts(&page)),
            options: self
                .option
                .iter()
                .map(|label| OptionFacts { label: label.clone(), ..Default::default() })
                .collect(),
            dialog,
        }
    }

    pub fn action(&self) -> Result<Action, Fault> {
        let target = match (&self.element.role, &self.element.name) {
            (Some(role), name) => Target::Role { role: role.clone(), name: name.clone(), index: 0 },
            (None, _) => Target::Focused,
        };
        let needs = |what: &str, value: &Option<String>| {
            value.clone().ok_or_else(|| bad_case(format!("{} needs {what}", self.verb())))
        };
        Ok(match self.verb() {
            "navigate" => {
                let url =
                    WebUrl::parse(&needs("url", &self.url)?).map_err(|error| bad_case(error.to_string()))?;
                Action::Navigate(Navigate { url, wait_for: LoadState::Load })
            }
            "click" => Action::Click(Click::on(target)),
            "type" => {
                let text = self.text.clone().unwrap_or_default();
                Action::Type(TypeText { target, text, clear_first: false, submit: self.submit })
            }
            "press_key" | "press" => {
                let chord =
                    Chord::parse(&needs("key", &self.key)?).map_err(|error| bad_case(error.to_string()))?;
                Action::Press(Press { target, chord })
            }
            "select" => {
                let options = vec![SelectOption::Label(needs("option", &self.option)?)];
                Action::Select(Select { target, options })
            }
            "check" => Action::Check(Check { target, checked: !self.uncheck }),
            "drag" => Action::Drag(Drag { from: target.clone(), to: target }),
            "dialog" => Action::Dialog(AnswerDialog { accept: !self.dismiss, text: self.text.clone() }),
            "hover" => Action::Hover(Hover { target }),
            "scroll" => Action::Scroll(Scroll::To(target)),
            "read" => Action::Read(Read::default()),
            "find" => Action::Find(Find::default()),
            "screenshot" => Action::Screenshot(Screenshot::default()),
            "back" => Action::Back,
            "forward" => Action::Forward,
            "reload" => Action::Reload,
            "tabs" => Action::Tabs(Tabs::List),
            other => return Err(bad_case(format!("there is no action {other:?} to try the policy on"))),
        })
    }
}

impl CaseElement {
    fn facts(&self, page: &Origin) -> Option<ElementFacts> {
        let is_given =
            self.role.is_some() || self.name.is_some() || self.href.is_some() || self.tag.is_some();
        let form = self.form.action.as_ref().map(|action| FormFacts {
            method: self.form.method.as_deref().unwrap_or("get").to_ascii_lowercase(),
            action: action.clone(),
            payment: self.form.payment,
            button: self.form.button.clone().map(|name| FormButton { text: name.clone(), name }),
        });
        let role = self.role.clone().unwrap_or_else(|| "generic".into());
        let tag = match role.as_str() {
            "textbox" | "searchbox" | "checkbox" | "radio" => "input",
            "combobox" => "select",
            "link" => "a",
            other => other,
        };
        let tag = self.tag.clone().unwrap_or_else(|| tag.to_owned());
        (is_given || self.secret || form.is_some()).then(|| ElementFacts {
            element: String::new(),
            name: self.name.clone().unwrap_or_default(),
            text: self.text.clone().or_else(|| self.name.clone()).unwrap_or_default(),
            tag,
            origin: self.origin.as_deref().map_or_else(|| page.clone(), Origin::of),
            input_type: self.input_type.clone(),
            editable: self.editable,
            secret: self.secret,
            href: self.href.clone(),
            form,
            matches: 1,
            appearance: Default::default(),
            role,
        })
    }
}
