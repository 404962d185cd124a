//! `browser_screenshot`: an image of the page.

use super::super::server::Call;
use super::super::tool_reply::{ErrorReply, ToolReply};
use super::target::TargetArguments;
use super::{bad_arguments, base64, describe, page, timeout};
use browser::Outcome;
use engine::error::Fault;
use policy::{Action, ActionKind, ImageFormat, Screenshot};
use redact::{Redacted, RedactedFields, redacted};
use rmcp::model::{ContentBlock, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const NAME: &str = "browser_screenshot";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ScreenshotArguments {
    /// The session's id or name; over stdio it may be left out
    #[serde(default)]
    session_id: Option<String>,
    #[serde(flatten)]
    target: TargetArguments,
    /// The whole page instead of the visible part
    #[serde(default)]
    full_page: bool,
    /// "png" (default), "jpeg" or "webp"
    #[serde(default)]
    format: Option<ImageFormatArgument>,
    /// Also put the screenshot into the structured reply as base64; the image itself is always in the reply
    #[serde(default)]
    include_base64: bool,
    /// How long it may take, at most 120; 30 if left out
    #[serde(default)]
    timeout_seconds: Option<f64>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Format")]
enum ImageFormatArgument {
    Png,
    Jpeg,
    Webp,
}

#[derive(Serialize, JsonSchema, RedactedFields)]
pub struct ScreenshotReply {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<Redacted>,
    /// Fetch the kept screenshot by this, as the resource stockade://screenshots/ID or at /v1/screenshots/ID; fields and
    /// what was typed are covered in it, and not in the image of this reply
    #[serde(skip_serializing_if = "Option::is_none")]
    screenshot_id: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_base64: Option<EncodedImage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    /// What of a very large page is not in the screenshot
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_off: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    captured_at: Option<Redacted>,
    /// The file on the machine that runs Stockade, until the session closes
    #[serde(skip_serializing_if = "Option::is_none")]
    persisted_path: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actions_left: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorReply>,
}

/// A picture in base64. It was masked when it was taken.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
struct EncodedImage(String);

impl RedactedFields for EncodedImage {}

pub fn tool() -> Tool {
    describe::<ScreenshotArguments, ScreenshotReply>(
        NAME,
        "Take a screenshot",
        "Take a screenshot of the page, or of one element named as for browser_click. Snapshots are cheaper and name what can be acted on; use a screenshot \
when layout, colours or images matter.",
        ActionKind::Screenshot.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: ScreenshotArguments) -> Result<ToolReply, Fault> {
    let target = arguments.target.optional(NAME)?;
    if target.is_some() && arguments.full_page {
        return Err(bad_arguments(NAME, "take an element or the full page, not both"));
    }
    let timeout = timeout(NAME, arguments.timeout_seconds)?;
    let session = call.session(arguments.session_id).await?;
    let format = match arguments.format {
        None => call.control.screenshot_format,
        Some(ImageFormatArgument::Png) => ImageFormat::Png,
        Some(ImageFormatArgument::Jpeg) => ImageFormat::Jpeg,
        Some(ImageFormatArgument::Webp) => ImageFormat::Webp,
    };
    let action = Action::Screenshot(Screenshot { full_page: arguments.full_page, target, format });
    let reply = call.act(&session, action, timeout, false).await?;
    let image = match reply.outcome {
        Outcome::Screenshot(image) => image,
        other => return Err(page::unexpected_outcome(other)),
    };
    let encoded = base64(&image.bytes);
    let text = redacted!("Session {} · {}x{} pixels", reply.session.id, image.width, image.height);
    let captured_at = reply.image.as_ref().map_or_else(jiff::Timestamp::now, |stored| stored.captured_at);
    let fields = ScreenshotReply {
        success: true,
        session_id: Some(Redacted::from_safe(&reply.session.id)),
        screenshot_id: reply.image.as_ref().map(|stored| stored.id.clone()),
        image_base64: arguments.include_base64.then(|| EncodedImage(encoded.clone())),
        mime_type: Some(format.mime().into()),
        width: Some(image.width),
        height: Some(image.height),
        cut_off: image.omitted.map(|o| {
            redacted!(
                "{} pixels at the right and {} at the bottom are not in the screenshot",
                o.right,
                o.bottom
            )
        }),
        captured_at: Some(Redacted::from_safe(captured_at)),
        persisted_path: reply
            .image
            .map(|stored| Redacted::outside_sessions(stored.path.display().to_string())),
        actions_left: Some(reply.actions_left),
        error: None,
    };
    Ok(ToolReply::new(text, &fields)?.with_image(ContentBlock::image(encoded, format.mime())))
}
