//! Clicking: real mouse events on the permitted element.

use super::ActionNote;
use crate::{
    aim::{Aim, How, Purpose},
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    guard::{Hand, Input, Shot},
    locate::Element,
};
use policy::{Click, ElementFacts, LoadState, Modifiers, MouseButton};

/// Button, number of clicks and modifiers of a mouse click.
#[derive(Clone, Copy)]
pub(crate) struct MousePress {
    pub button: MouseButton,
    pub count: u8,
    pub modifiers: Modifiers,
}

impl MousePress {
    /// One click with the left button.
    pub fn single() -> MousePress {
        MousePress { button: MouseButton::Left, count: 1, modifiers: Modifiers::default() }
    }

    fn from_click(click: &Click) -> MousePress {
        MousePress { button: click.button, count: click.count, modifiers: click.modifiers }
    }
}

impl Browser {
    pub(super) async fn click(
        &self,
        click: &Click,
        decided: &ElementFacts,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        let (element, how) = self.relocate(&click.target, decided, Purpose::Click, deadline).await?;
        self.begin_action();
        let repeatable = click.count == 1;
        let shot = Shot {
            element: &element,
            how,
            input: Input::Mouse,
            decided: Some(decided),
            repeatable,
            drop: None,
        };
        self.guarded(shot, Hand::Press(MousePress::from_click(click)), deadline).await?;
        self.settle(LoadState::Load, deadline).await?;
        Ok(None)
    }

    /// Sends move, press and release in one batch. Between the last check and the press the page runs nothing but its
    /// hover handlers; the guard blocks a press that these divert.
    pub(crate) async fn press_mouse(
        &self,
        aim: &Aim,
        press: MousePress,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let event = |r#type, button, buttons, click_count| p::DispatchMouse {
            r#type,
            x: aim.x,
            y: aim.y,
            button,
            buttons,
            click_count,
            modifiers: modifier_bits(press.modifiers),
        };
        let (button, bit) = match press.button {
            MouseButton::Left => ("left", 1),
            MouseButton::Right => ("right", 2),
            MouseButton::Middle => ("middle", 4),
        };
        let mut events = vec![event("mouseMoved", "none", 0, 0)];
        for count in 1..=u32::from(press.count) {
            events.push(event("mousePressed", button, bit, count));
            events.push(event("mouseReleased", button, 0, count));
        }
        let mut sent = Vec::new();
        for event in &events {
            sent.push(self.send_tab(event, deadline).await?);
        }
        self.handled(sent, deadline).await
    }
}

/// A guarded click that may be sent again when the guard blocked it.
pub(super) fn mouse_shot<'a>(element: &'a Element, how: How, decided: Option<&'a ElementFacts>) -> Shot<'a> {
    Shot { element, how, input: Input::Mouse, decided, repeatable: true, drop: None }
}

/// The protocol's bits for modifier keys.
pub(super) fn modifier_bits(modifiers: Modifiers) -> u32 {
    let Modifiers { alt, control, meta, shift } = modifiers;
    u32::from(alt) | u32::from(control) << 1 | u32::from(meta) << 2 | u32::from(shift) << 3
}
