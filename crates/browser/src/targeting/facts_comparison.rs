//! Compares the facts of an element with those that were decided on.

use crate::error::BrowserError;
use policy::ElementFacts;

/// Checks that an element is still the one that was decided on. Its text and number of matches may differ.
pub(crate) fn check_unchanged(decided: &ElementFacts, now: &ElementFacts) -> Result<(), BrowserError> {
    fail_if_changed(decided, now.differs_from(decided))
}

/// The same; if a person approved it, the element must also look as it did then.
pub(crate) fn check_unchanged_visibly(
    decided: &ElementFacts,
    now: &ElementFacts,
) -> Result<(), BrowserError> {
    let looks = || now.appearance_difference(decided).filter(|_| decided.appearance.pinned);
    fail_if_changed(decided, now.differs_from(decided).or_else(looks))
}

/// The same, except for the element's position.
pub(crate) fn check_unchanged_apart_from_position(
    decided: &ElementFacts,
    now: &ElementFacts,
) -> Result<(), BrowserError> {
    let holds = || now.content_difference(decided).filter(|_| decided.appearance.pinned);
    fail_if_changed(decided, now.differs_from(decided).or_else(holds))
}

fn fail_if_changed(decided: &ElementFacts, changed: Option<&'static str>) -> Result<(), BrowserError> {
    match changed {
        Some(what) => Err(BrowserError::TargetChanged { element: decided.element.clone(), what }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Appearance, FormButton, FormFacts, Origin};

    fn button() -> ElementFacts {
        ElementFacts {
            element: "e1".into(),
            role: "button".into(),
            name: "Next".into(),
            text: "Next".into(),
            tag: "button".into(),
            origin: Origin::of("http://shop.test/"),
            input_type: None,
            editable: false,
            secret: false,
            href: None,
            form: Some(FormFacts {
                method: "post".into(),
                action: "http://shop.test/next".into(),
                ..FormFacts::default()
            }),
            matches: 1,
            appearance: Appearance::default(),
        }
    }

    #[test]
    fn an_element_that_changed_after_the_decision_is_refused() {
        let other_form = FormFacts { action: "http://evil.test/".into(), ..button().form.unwrap() };
        let other_button = FormFacts { button: Some(FormButton::default()), ..button().form.unwrap() };
        for (now, expected) in [
            (button(), None),
            (ElementFacts { text: "Next (2)".into(), matches: 3, ..button() }, None),
            (ElementFacts { element: "e2".into(), ..button() }, Some("another element is in its place")),
            (ElementFacts { name: "Delete account".into(), ..button() }, Some("its name")),
            (ElementFacts { secret: true, ..button() }, Some("its kind of field")),
            (ElementFacts { href: Some("http://evil.test/".into()), ..button() }, Some("where it leads")),
            (ElementFacts { form: Some(other_form), ..button() }, Some("where its form goes")),
            (ElementFacts { form: Some(other_button), ..button() }, Some("the button that sends its form")),
            (ElementFacts { origin: Origin::of("http://evil.test/"), ..button() }, Some("its site")),
        ] {
            let changed = match check_unchanged(&button(), &now) {
                Err(BrowserError::TargetChanged { what, .. }) => Some(what),
                _ => None,
            };
            assert_eq!(changed, expected, "{now:?}");
        }
    }

    #[test]
    fn an_approved_element_must_also_look_unchanged() {
        for (pinned, expected) in [(false, None), (true, Some("its text"))] {
            let appearance = Appearance { pinned, ..Appearance::default() };
            let decided = ElementFacts { appearance, ..button() };
            let now = ElementFacts { text: "Buy".into(), ..button() };
            let changed = match check_unchanged_visibly(&decided, &now) {
                Err(BrowserError::TargetChanged { what, .. }) => Some(what),
                _ => None,
            };
            assert_eq!(changed, expected);
        }
    }
}
