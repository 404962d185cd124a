//! The policy: how many decisions a second it makes over the default rules, on one processor.

use policy::{
    Action, Click, Decision, ElementFacts, Facts, FormFacts, LoadState, Navigate, Origin, Policy, Read,
    SessionContext, Target, TypeText, WebUrl,
};
use std::hint::black_box;
use std::time::{Duration, Instant};

const DECIDING: Duration = Duration::from_secs(2);
const PAGE: &str = "https://shop.test/cart";

fn element(role: &str, name: &str, form: bool) -> Facts {
    let form = form.then(|| FormFacts {
        method: "post".into(),
        action: "https://shop.test/cart/next".into(),
        ..FormFacts::default()
    });
    let target = ElementFacts {
        element: "e1".into(),
        role: role.into(),
        name: name.into(),
        text: name.into(),
        tag: "button".into(),
        origin: Origin::of(PAGE),
        input_type: None,
        editable: false,
        secret: false,
        href: None,
        form,
        matches: 1,
        appearance: Default::default(),
    };
    Facts { page_url: PAGE.into(), target: Some(target), ..Facts::default() }
}

/// What agents ask for, in a few languages; none of it is refused.
fn asked() -> Vec<(Action, Facts)> {
    let click = || Action::Click(Click::on(Target::Ref("e1".into())));
    let text = "Two of the blue ones, please, and one of the red ones for my sister.";
    let typing =
        TypeText { target: Target::Ref("e1".into()), text: text.into(), clear_first: true, submit: false };
    let url = WebUrl::parse("https://docs.test/guide/start?page=2").unwrap();
    vec![
        (click(), element("button", "Next", true)),
        (click(), element("button", "Delete account", false)),
        (click(), element("button", "Zahlungspflichtig bestellen", true)),
        (click(), element("button", "アカウントを削除する", false)),
        (click(), element("link", "Отправить сообщение продавцу", false)),
        (Action::Type(typing), element("textbox", "Note to the seller", true)),
        (Action::Navigate(Navigate { url, wait_for: LoadState::Load }), Facts::default()),
        (Action::Read(Read::default()), Facts::default()),
    ]
}

/// Decisions a second, with what it takes to hand the action and its facts over.
pub fn a_second() -> f64 {
    let policy = Policy::default();
    let (asked, standing) = (asked(), SessionContext::default());
    let mut decided = 0u32;
    let begun = Instant::now();
    while begun.elapsed() < DECIDING {
        for (action, facts) in &asked {
            match black_box(policy.decide(action.clone(), facts.clone(), &standing)) {
                Decision::Allow(_) | Decision::Ask(_) => decided += 1,
                Decision::Deny(denial) => panic!("{denial:?}"),
            }
        }
    }
    f64::from(decided) / begun.elapsed().as_secs_f64()
}
