//! Selecting options of a list, native or drawn by the page.

use super::{ActionNote, click::repeatable_click};
use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    input::{GuardedInput, InputGesture, InputKind, KeyStroke, MousePress},
    page::ScriptCallError,
    script::ScriptFunction,
    targeting::{Element, Purpose, TargetProblem, TargetUse, gone_as},
    text::{Limit, PageText, TextCutter},
};
use policy::{
    ARROW_DOWN, ARROW_UP, Chord, ElementFacts, LoadState, Modifiers, MouseButton, OptionFacts, Select,
    SelectOption,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct SelectRequest<'a> {
    prefix: &'a str,
    number: u64,
    options: Vec<OptionSelector<'a>>,
    /// The options that were permitted, one for each selector.
    decided: &'a [OptionFacts],
    #[serde(flatten)]
    masked: &'a MaskedLabels,
}

/// Options whose labels hold secrets. They cannot be selected by label: a match would confirm a guess.
#[derive(Default, Serialize)]
struct MaskedLabels {
    /// Indexes of options with a secret in their label.
    hidden: Vec<usize>,
    /// Number of labels that were checked; none if nothing has to be masked.
    read: Option<usize>,
}

/// What is shown of the label or the value of an option, as the page script has it.
const MAX_LABEL: Limit = Limit::Units(300);
/// Labels that are checked in one list; later options are selected by index.
const MAX_LABELS: usize = 5_000;

/// The options that the action's selectors match.
#[derive(Deserialize)]
#[serde(untagged)]
enum MatchedOptions {
    Problem { problem: TargetProblem },
    Unmatched(UnmatchedOption),
    Chosen { chosen: Vec<MatchedOption> },
}

#[derive(Deserialize)]
struct MatchedOption {
    label: String,
    value: String,
}

#[derive(Deserialize)]
struct UnmatchedOption {
    missing: usize,
    disabled: bool,
    options: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum OptionSelector<'a> {
    Label(&'a str),
    Index(usize),
}

/// What the list has selected after the action.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum SelectionState {
    Chosen,
    Other,
    Gone,
}

/// The next step towards the selection.
#[derive(Deserialize)]
#[serde(untagged)]
enum SelectStep {
    Problem {
        problem: TargetProblem,
    },
    Unmatched(UnmatchedOption),
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

impl Browser {
    /// The options that the action would select.
    pub(super) async fn match_options(
        &self,
        select: &Select,
        list: &ElementFacts,
        deadline: Deadline,
    ) -> Result<Vec<OptionFacts>, BrowserError> {
        let element = self.element(&list.element)?;
        let masked = self.masked_labels(&element, deadline).await?;
        let matched = self.unmasked_options(select, &element, &masked, deadline).await?;
        Ok(shown_options(&matched, &self.text_cutter()))
    }

    /// The same as the page has them, to be compared in the page.
    async fn unmasked_options(
        &self,
        select: &Select,
        element: &Element,
        masked: &MaskedLabels,
        deadline: Deadline,
    ) -> Result<Vec<OptionFacts>, BrowserError> {
        let request = select_request(select, element, &[], masked);
        let matched =
            self.call_script(&element.frame, ScriptFunction::ResolveOptions, &request, deadline).await;
        match matched.map_err(|error| gone_as(error, element.stale()))? {
            MatchedOptions::Chosen { chosen } => Ok(chosen
                .into_iter()
                .map(|MatchedOption { label, value }| OptionFacts { label, value })
                .collect()),
            MatchedOptions::Unmatched(unmatched) => {
                Err(unmatched.into_error(select, element.reference.clone(), &self.text_cutter()))
            }
            MatchedOptions::Problem { problem } => Err(problem.into_error(&element.reference, None)),
        }
    }

    async fn masked_labels(
        &self,
        element: &Element,
        deadline: Deadline,
    ) -> Result<MaskedLabels, BrowserError> {
        let text = self.text_cutter();
        let Some(redactor) = text.redactor() else { return Ok(MaskedLabels::default()) };
        let argument = serde_json::json!({ "number": element.number, "most": MAX_LABELS });
        let labels: Result<Vec<String>, _> =
            self.call_script(&element.frame, ScriptFunction::ListOptionLabels, &argument, deadline).await;
        let labels = labels.map_err(|error| gone_as(error, element.stale()))?;
        let hidden = labels.iter().enumerate().filter(|(_, label)| redactor.mask(label).is_some());
        Ok(MaskedLabels { hidden: hidden.map(|(at, _)| at).collect(), read: Some(labels.len()) })
    }

    pub(super) async fn select(
        &self,
        select: &Select,
        decided: &ElementFacts,
        options: &[OptionFacts],
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        let (element, target_use) = self.relocate(&select.target, decided, Purpose::Select, deadline).await?;
        self.begin_action();
        // Focus first, so that no handler of the page sees the list while it is prepared for the key.
        let number = element.number;
        self.call_on_field(
            &element,
            ScriptFunction::FocusField,
            &serde_json::json!({ "number": number }),
            deadline,
        )
        .await?;
        let masked = self.masked_labels(&element, deadline).await?;
        let changed = || BrowserError::TargetChanged {
            element: element.reference.clone(),
            what: "what would be chosen",
        };
        let text = self.text_cutter();
        let mut unmasked = Vec::new();
        // What was decided on is masked and cut; the page compares what it was before.
        if text.redactor().is_some() {
            unmasked = self.unmasked_options(select, &element, &masked, deadline).await?;
            if shown_options(&unmasked, &text) != options {
                return Err(changed());
            }
        }
        let permitted = if text.redactor().is_some() { &unmasked } else { options };
        let permitted_request = select_request(select, &element, permitted, &masked);
        let step = match self.next_select_step(&permitted_request, &element, deadline).await? {
            SelectStep::Clicks { opens: true, .. } => {
                let input = repeatable_click(
                    &element,
                    TargetUse { purpose: Purpose::Click, ..target_use },
                    Some(decided),
                );
                self.send_guarded(input, InputGesture::Click(MousePress::single()), deadline).await?;
                // The click may have changed the list.
                self.next_select_step(&permitted_request, &element, deadline).await?
            }
            step => step,
        };
        match step {
            SelectStep::Done { .. } => {}
            SelectStep::Key { key } => {
                let key = if key == "ArrowUp" { &ARROW_UP } else { &ARROW_DOWN };
                let stroke = KeyStroke::from_chord(&Chord::from(key));
                let input = GuardedInput {
                    element: &element,
                    target_use: TargetUse { purpose: Purpose::Press, ..target_use },
                    kind: InputKind::Keys,
                    decided: Some(decided),
                    repeatable: false,
                    drop: None,
                };
                if let Err(error) = self.send_guarded(input, InputGesture::Key(&stroke), deadline).await {
                    self.restore_list(&element, deadline).await?;
                    return Err(error);
                }
            }
            // It was clicked and did not open.
            SelectStep::Clicks { opens: true, .. } => {
                return Err(BrowserError::ElementUnchanged { element: element.reference });
            }
            SelectStep::Clicks { clicks, .. } => self.click_options(&clicks, deadline).await?,
            SelectStep::Problem { problem } => return Err(problem.into_error(&element.reference, None)),
            SelectStep::Unmatched(unmatched) => {
                return Err(unmatched.into_error(select, element.reference, &text));
            }
            SelectStep::Changed { .. } => return Err(changed()),
            SelectStep::Several { .. } => {
                return Err(BrowserError::OneOptionOnly { element: element.reference });
            }
        }
        self.settle(LoadState::Load, deadline).await?;
        if !self.has_selection(&select_request(select, &element, &[], &masked), &element, deadline).await? {
            self.restore_list(&element, deadline).await?;
            return Err(BrowserError::ElementUnchanged { element: element.reference });
        }
        Ok(None)
    }

    async fn next_select_step(
        &self,
        request: &SelectRequest<'_>,
        element: &Element,
        deadline: Deadline,
    ) -> Result<SelectStep, BrowserError> {
        let step =
            self.call_script(&element.frame, ScriptFunction::PrepareSelection, request, deadline).await;
        step.map_err(|error| gone_as(error, element.stale()))
    }

    async fn restore_list(&self, element: &Element, deadline: Deadline) -> Result<(), BrowserError> {
        match self
            .call_script::<_, bool>(&element.frame, ScriptFunction::RestoreSelection, &(), deadline)
            .await
        {
            // A page that is gone shows no list.
            Ok(_) | Err(ScriptCallError::Gone) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// True if the list has the selection. Also true if the page or the list was replaced: there is nothing left to
    /// check.
    async fn has_selection(
        &self,
        request: &SelectRequest<'_>,
        element: &Element,
        deadline: Deadline,
    ) -> Result<bool, BrowserError> {
        if self.element(&element.reference).is_err() {
            return Ok(true);
        }
        match self.call_script(&element.frame, ScriptFunction::CompareSelection, request, deadline).await {
            Ok(SelectionState::Chosen | SelectionState::Gone) | Err(ScriptCallError::Gone) => Ok(true),
            Ok(SelectionState::Other) => Ok(false),
            Err(ScriptCallError::Failed(error)) => Err(error),
        }
    }

    /// The first click selects that option alone; the others are added with Control.
    async fn click_options(&self, options: &[String], deadline: Deadline) -> Result<(), BrowserError> {
        for (place, reference) in options.iter().enumerate() {
            let element = self.element(reference)?;
            let input = repeatable_click(&element, TargetUse { purpose: Purpose::Click, point: None }, None);
            let modifiers = Modifiers { control: place > 0, ..Modifiers::default() };
            let press = MousePress { button: MouseButton::Left, count: 1, modifiers };
            self.send_guarded(input, InputGesture::Click(press), deadline).await?;
        }
        Ok(())
    }
}

fn select_request<'a>(
    select: &'a Select,
    element: &'a Element,
    decided: &'a [OptionFacts],
    masked: &'a MaskedLabels,
) -> SelectRequest<'a> {
    let selector = |option: &'a SelectOption| match option {
        SelectOption::Label(label) => OptionSelector::Label(label),
        SelectOption::Index(index) => OptionSelector::Index(*index),
    };
    let options = select.options.iter().map(selector).collect();
    SelectRequest { prefix: element.prefix(), number: element.number, options, decided, masked }
}

fn shown_options(options: &[OptionFacts], text: &TextCutter) -> Vec<OptionFacts> {
    let shown = |option: &OptionFacts| OptionFacts {
        label: text.redact_and_cut(&option.label, MAX_LABEL),
        value: text.redact_and_cut(&option.value, MAX_LABEL),
    };
    // Without secrets they are as the page compares them.
    if text.redactor().is_none() { options.to_vec() } else { options.iter().map(shown).collect() }
}

impl UnmatchedOption {
    fn into_error(self, select: &Select, element: String, text: &TextCutter) -> BrowserError {
        let wanted = match select.options.get(self.missing) {
            Some(SelectOption::Label(label)) => format!("{label:?}"),
            Some(SelectOption::Index(index)) => format!("number {index}"),
            None => String::new(),
        };
        let shown = |label: &String| PageText::new(&text.redact_and_cut(label, MAX_LABEL));
        let options = self.options.iter().map(shown).collect();
        BrowserError::NoSuchOption { element, wanted, disabled: self.disabled, options }
    }
}
