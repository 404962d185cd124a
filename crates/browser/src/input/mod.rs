//! Input to the page: mouse and key events, guarded so that they reach the permitted element or nothing.

mod guard;
mod keyboard;
mod mouse;

pub(crate) use guard::{GuardedInput, InputGesture, InputKind};
pub(crate) use keyboard::KeyStroke;
pub(crate) use mouse::MousePress;
