//! Screenshots: capture, and masks over what was typed and over secrets.

mod capture;
mod mask;
mod paint;

pub use capture::{OmittedPixels, ScreenshotImage};
pub use mask::ScreenshotMask;
