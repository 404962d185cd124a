//! Screenshots: capture, and masks over what was typed and over secrets.

mod capture;
mod mask;

pub use capture::{OmittedPixels, ScreenshotImage};
pub use mask::ScreenshotMask;
