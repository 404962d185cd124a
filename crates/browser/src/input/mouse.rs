//! Dispatches mouse events: clicks, moves and drags.

use crate::{
    browser::Browser, cdp::protocol as p, deadline::Deadline, error::BrowserError,
    targeting::ActionableElement,
};
use policy::{Modifiers, MouseButton};

/// Mouse moves between two points: pages observe more than the ends.
const STEPS: u32 = 5;
/// Pixels that the pressed mouse moves to start a drag.
const NUDGE: f64 = 8.0;

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
}

impl Browser {
    /// Sends move, press and release in one batch. Between the last check and the press the page runs nothing but its
    /// hover handlers; the guard blocks a press that these divert.
    pub(super) async fn press_mouse(
        &self,
        target: &ActionableElement,
        press: MousePress,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let event = |r#type, button, buttons, click_count| p::DispatchMouse {
            r#type,
            x: target.x,
            y: target.y,
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
        self.wait_handled(sent, deadline).await
    }

    /// Presses on one element, moves to another and releases there.
    pub(super) async fn drag_mouse(
        &self,
        start: &ActionableElement,
        end: &ActionableElement,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        self.shared.lock().drag_data = None;
        self.dispatch_mouse("mouseMoved", start.x, start.y, false, deadline).await?;
        self.dispatch_mouse("mousePressed", start.x, start.y, true, deadline).await?;
        self.dispatch_mouse("mouseMoved", start.x + NUDGE, start.y + NUDGE, true, deadline).await?;
        for step in 1..=STEPS {
            let part = f64::from(step) / f64::from(STEPS);
            let (x, y) = (start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part);
            self.drag_step(x, y, deadline).await?;
        }
        let intercepted = self.shared.lock().drag_data.take();
        if let Some(data) = intercepted {
            let event = p::DispatchDrag { r#type: "drop", x: end.x, y: end.y, data: &data, modifiers: 0 };
            self.call_tab(&event, deadline).await?;
        }
        self.dispatch_mouse("mouseReleased", end.x, end.y, true, deadline).await
    }

    /// One mouse move of a drag: through the page's own code, or as a drag event once Chromium has started a drag.
    async fn drag_step(&self, x: f64, y: f64, deadline: Deadline) -> Result<(), BrowserError> {
        let intercepted = self.shared.lock().drag_data.clone();
        let Some(data) = intercepted else {
            return self.dispatch_mouse("mouseMoved", x, y, true, deadline).await;
        };
        let event = |r#type| p::DispatchDrag { r#type, x, y, data: &data, modifiers: 0 };
        self.call_tab(&event("dragEnter"), deadline).await?;
        self.call_tab(&event("dragOver"), deadline).await?;
        Ok(())
    }

    pub(super) async fn dispatch_mouse(
        &self,
        r#type: &'static str,
        x: f64,
        y: f64,
        pressed: bool,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let (button, count) = if pressed { ("left", 1) } else { ("none", 0) };
        let buttons = u32::from(pressed && r#type != "mouseReleased");
        let event = p::DispatchMouse { r#type, x, y, button, buttons, click_count: count, modifiers: 0 };
        self.call_tab(&event, deadline).await.map(|_| ())
    }
}

/// The protocol's bits for modifier keys.
pub(super) fn modifier_bits(modifiers: Modifiers) -> u32 {
    let Modifiers { alt, control, meta, shift } = modifiers;
    u32::from(alt) | u32::from(control) << 1 | u32::from(meta) << 2 | u32::from(shift) << 3
}
