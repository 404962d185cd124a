//! Choosing from lists, and checking boxes.

use super::{Told, click::Press, keyboard::Stroke};
use crate::{
    aim::{How, Problem, Purpose, gone_is},
    ask::AskError,
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    guard::{Hand, Input, Shot},
    locate::Element,
    page_text::PageText,
    script::ScriptFunction,
};
use policy::{
    ARROW_DOWN, ARROW_UP, Check, Chord, ElementFacts, LoadState, Modifiers, MouseButton, OptionFacts, Select,
    SelectOption,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct Choosing<'a> {
    prefix: &'a str,
    number: u64,
    options: Vec<Wanted<'a>>,
    /// What was decided on, one for each.
    decided: &'a [OptionFacts],
    #[serde(flatten)]
    seen: &'a Seen,
}

/// Of a list in a page with secrets: a word that finds an option tells what is written on it.
#[derive(Default, Serialize)]
struct Seen {
    /// Where there is a secret on an option.
    hidden: Vec<usize>,
    /// How many were looked at; all, if nothing is to be hidden.
    read: Option<usize>,
}

/// Options of a list whose words are looked at; what comes after them is chosen by its number.
const MOST_LABELS: usize = 5_000;

/// What the words of an agent mean in a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Meant {
    Problem { problem: Problem },
    Missing(Missing),
    Chosen { chosen: Vec<MeantOption> },
}

#[derive(Deserialize)]
struct MeantOption {
    label: String,
    value: String,
}

#[derive(Deserialize)]
struct Missing {
    missing: usize,
    disabled: bool,
    options: Vec<PageText>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Wanted<'a> {
    Label(&'a str),
    Index(usize),
}

/// What a list shows after it was chosen from.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Chosen,
    Other,
    Gone,
}

/// What has to be done to choose.
#[derive(Deserialize)]
#[serde(untagged)]
enum Way {
    Problem {
        problem: Problem,
    },
    Missing(Missing),
    Changed {
        #[serde(rename = "changed")]
        _changed: bool,
    },
    Several {
        #[serde(rename = "several")]
        _several: bool,
    },
    Done {
        #[serde(rename = "done")]
        _done: bool,
    },
    Clicks {
        /// Whether the list has to be opened first.
        opens: bool,
        clicks: Vec<String>,
    },
    Key {
        key: String,
    },
}

#[derive(Deserialize)]
struct BoxState {
    checked: Option<String>,
}

impl Browser {
    /// The options that would be chosen.
    pub(super) async fn options_meant(
        &self,
        select: &Select,
        list: &ElementFacts,
        deadline: Deadline,
    ) -> Result<Vec<OptionFacts>, BrowserError> {
        let element = self.element(&list.element)?;
        let seen = self.seen_of(&element, deadline).await?;
        let choosing = choosing(select, &element, &[], &seen);
        let meant = self.ask(&element.frame, ScriptFunction::ResolveOptions, &choosing, deadline).await;
        match meant.map_err(|error| gone_is(error, element.stale()))? {
            Meant::Chosen { chosen } => Ok(chosen
                .into_iter()
                .map(|MeantOption { label, value }| OptionFacts { label, value })
                .collect()),
            Meant::Missing(missing) => Err(missing.of(select, element.reference)),
            Meant::Problem { problem } => Err(problem.of(&element.reference, None)),
        }
    }

    async fn seen_of(&self, element: &Element, deadline: Deadline) -> Result<Seen, BrowserError> {
        let Some(mask) = self.mask() else { return Ok(Seen::default()) };
        let question = serde_json::json!({ "number": element.number, "most": MOST_LABELS });
        let labels: Result<Vec<String>, _> =
            self.ask(&element.frame, ScriptFunction::ListOptionLabels, &question, deadline).await;
        let labels = labels.map_err(|error| gone_is(error, element.stale()))?;
        let hidden = labels.iter().enumerate().filter(|(_, label)| mask(label).is_some());
        Ok(Seen { hidden: hidden.map(|(at, _)| at).collect(), read: Some(labels.len()) })
    }

    pub(super) async fn select(
        &self,
        select: &Select,
        decided: &ElementFacts,
        options: &[OptionFacts],
        deadline: Deadline,
    ) -> Result<Told, BrowserError> {
        let (element, how) = self.again(&select.target, decided, Purpose::Select, deadline).await?;
        self.start();
        // First the focus, so that none of the page's handlers sees the list while it is made ready for the key.
        let number = element.number;
        self.in_field(
            &element,
            ScriptFunction::FocusField,
            &serde_json::json!({ "number": number }),
            deadline,
        )
        .await?;
        let seen = self.seen_of(&element, deadline).await?;
        let choosing_decided = choosing(select, &element, options, &seen);
        let way = match self.way_to(&choosing_decided, &element, deadline).await? {
            Way::Clicks { opens: true, .. } => {
                let shot = by_mouse(&element, How { purpose: Purpose::Click, ..how }, Some(decided));
                self.guarded(shot, Hand::Press(Press::plain()), deadline).await?;
                // The page may have done something about it.
                self.way_to(&choosing_decided, &element, deadline).await?
            }
            way => way,
        };
        match way {
            Way::Done { .. } => {}
            Way::Key { key } => {
                let key = if key == "ArrowUp" { &ARROW_UP } else { &ARROW_DOWN };
                let stroke = Stroke::of(&Chord::from(key));
                let shot = Shot {
                    element: &element,
                    how: How { purpose: Purpose::Press, ..how },
                    input: Input::Keys,
                    decided: Some(decided),
                    repeatable: false,
                    drop: None,
                };
                if let Err(error) = self.guarded(shot, Hand::Key(&stroke), deadline).await {
                    self.put_back(&element, deadline).await?;
                    return Err(error);
                }
            }
            // It was pressed, and did not open.
            Way::Clicks { opens: true, .. } => {
                return Err(BrowserError::ElementUnchanged { element: element.reference });
            }
            Way::Clicks { clicks, .. } => self.click_options(&clicks, deadline).await?,
            Way::Problem { problem } => return Err(problem.of(&element.reference, None)),
            Way::Missing(missing) => return Err(missing.of(select, element.reference)),
            Way::Changed { .. } => {
                let what = "what would be chosen";
                return Err(BrowserError::TargetChanged { element: element.reference, what });
            }
            Way::Several { .. } => return Err(BrowserError::OneOptionOnly { element: element.reference }),
        }
        self.settle(LoadState::Load, deadline).await?;
        if !self.has_chosen(&choosing(select, &element, &[], &seen), &element, deadline).await? {
            self.put_back(&element, deadline).await?;
            return Err(BrowserError::ElementUnchanged { element: element.reference });
        }
        Ok(None)
    }

    async fn way_to(
        &self,
        choosing: &Choosing<'_>,
        element: &Element,
        deadline: Deadline,
    ) -> Result<Way, BrowserError> {
        let way = self.ask(&element.frame, ScriptFunction::PrepareSelection, choosing, deadline).await;
        way.map_err(|error| gone_is(error, element.stale()))
    }

    async fn put_back(&self, element: &Element, deadline: Deadline) -> Result<(), BrowserError> {
        match self.ask::<_, bool>(&element.frame, ScriptFunction::RestoreSelection, &(), deadline).await {
            // A page that has gone shows no list.
            Ok(_) | Err(AskError::Gone) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A page that was left has nothing to check any more, nor has a list that the page drew anew.
    async fn has_chosen(
        &self,
        choosing: &Choosing<'_>,
        element: &Element,
        deadline: Deadline,
    ) -> Result<bool, BrowserError> {
        if self.element(&element.reference).is_err() {
            return Ok(true);
        }
        match self.ask(&element.frame, ScriptFunction::CompareSelection, choosing, deadline).await {
            Ok(Choice::Chosen | Choice::Gone) | Err(AskError::Gone) => Ok(true),
            Ok(Choice::Other) => Ok(false),
            Err(AskError::Failed(error)) => Err(error),
        }
    }

    /// The first click chooses that one alone; the others are added to it.
    async fn click_options(&self, options: &[String], deadline: Deadline) -> Result<(), BrowserError> {
        for (place, reference) in options.iter().enumerate() {
            let element = self.element(reference)?;
            let shot = by_mouse(&element, How { purpose: Purpose::Click, spot: None }, None);
            let modifiers = Modifiers { control: place > 0, ..Modifiers::default() };
            let press = Press { button: MouseButton::Left, count: 1, modifiers };
            self.guarded(shot, Hand::Press(press), deadline).await?;
        }
        Ok(())
    }

    pub(super) async fn check(
        &self,
        check: &Check,
        decided: &ElementFacts,
        deadline: Deadline,
    ) -> Result<Told, BrowserError> {
        let (element, how) = self.again(&check.target, decided, Purpose::Check, deadline).await?;
        self.start();
        let wanted = if check.checked { "true" } else { "false" };
        if self.checked(&element, deadline).await?.as_deref() != Some(wanted) {
            let shot = by_mouse(&element, how, Some(decided));
            self.guarded(shot, Hand::Press(Press::plain()), deadline).await?;
            self.settle(LoadState::Load, deadline).await?;
            let now = match self.checked(&element, deadline).await {
                Err(BrowserError::StaleRef { .. }) => None,
                now => now?,
            };
            if now.is_some_and(|now| now != wanted) {
                return Err(BrowserError::ElementUnchanged { element: element.reference });
            }
        }
        Ok(None)
    }

    /// `None` for an element that is gone.
    async fn checked(&self, element: &Element, deadline: Deadline) -> Result<Option<String>, BrowserError> {
        let question = serde_json::json!({ "number": element.number });
        let state: BoxState = self
            .ask(&element.frame, ScriptFunction::ReadChecked, &question, deadline)
            .await
            .map_err(|error| gone_is(error, element.stale()))?;
        Ok(state.checked)
    }
}

fn by_mouse<'a>(element: &'a Element, how: How, decided: Option<&'a ElementFacts>) -> Shot<'a> {
    Shot { element, how, input: Input::Mouse, decided, repeatable: true, drop: None }
}

fn choosing<'a>(
    select: &'a Select,
    element: &'a Element,
    decided: &'a [OptionFacts],
    seen: &'a Seen,
) -> Choosing<'a> {
    let wanted = |option: &'a SelectOption| match option {
        SelectOption::Label(label) => Wanted::Label(label),
        SelectOption::Index(index) => Wanted::Index(*index),
    };
    let options = select.options.iter().map(wanted).collect();
    Choosing { prefix: element.prefix(), number: element.number, options, decided, seen }
}

impl Missing {
    fn of(self, select: &Select, element: String) -> BrowserError {
        let wanted = match select.options.get(self.missing) {
            Some(SelectOption::Label(label)) => format!("{label:?}"),
            Some(SelectOption::Index(index)) => format!("number {index}"),
            None => String::new(),
        };
        BrowserError::NoSuchOption { element, wanted, disabled: self.disabled, options: self.options }
    }
}
