//! Screenshots for the agent, and masked ones for the recording.

use crate::{
    browser::Browser,
    deadline::{Deadline, TimeLimit},
    error::BrowserError,
    screenshot::{ScreenshotImage, ScreenshotMask},
    targeting::{ActionabilityCheck, Purpose, TargetUse},
};
use policy::{ElementFacts, ImageFormat, Screenshot};

/// A screenshot for the recording, with the box of the element that an action is about to hit.
#[derive(Clone, Debug)]
pub struct MarkedScreenshot {
    pub image: ScreenshotImage,
    /// Left, top, width and height, in pixels of the image.
    pub mark: Option<[i32; 4]>,
}

/// The form in which an agent's screenshot may be recorded.
#[derive(Clone, Debug)]
pub enum RecordableScreenshot {
    /// Nothing has to be masked.
    AsTaken,
    Covered(ScreenshotImage),
}

impl Browser {
    pub(super) async fn screenshot(
        &self,
        wanted: &Screenshot,
        target: Option<&ElementFacts>,
        deadline: Deadline,
    ) -> Result<ScreenshotImage, BrowserError> {
        if let Some(tab) = &mut self.shared.lock().tab {
            tab.commits_at_screenshot = Some(tab.commits);
        }
        let area = self.capture_area(wanted, target, deadline).await?;
        self.capture(&area, wanted.format, deadline).await
    }

    /// Captures the tab for the recording, with fields and the given texts masked. Like `resolve`, it only observes.
    pub async fn recording_screenshot(
        &self,
        target: Option<&ElementFacts>,
        format: ImageFormat,
        mask: &ScreenshotMask,
        limit: TimeLimit,
    ) -> Result<MarkedScreenshot, BrowserError> {
        let _turn = self.turn.lock().await;
        let deadline = Deadline::of(limit, "picture");
        self.check_no_dialog()?;
        let mark = match target {
            // Keys may go to an element that is not visible; the screenshot is useful without its box.
            Some(target) => self.element_mark(target, deadline).await.ok(),
            None => None,
        };
        let request = Screenshot { format, ..Screenshot::default() };
        match self.masked_screenshot(&request, None, mask, false, deadline).await? {
            Some(image) => Ok(MarkedScreenshot { image, mark }),
            None => Err(BrowserError::TabClosed),
        }
    }

    /// The screenshot that the agent has just taken, as it may be recorded: captured again with masks, if anything
    /// has to be masked. The agent knows what it typed and gets its own unmasked.
    pub async fn recordable_screenshot(
        &self,
        taken: &Screenshot,
        target: Option<&ElementFacts>,
        mask: &ScreenshotMask,
        limit: TimeLimit,
    ) -> Result<RecordableScreenshot, BrowserError> {
        let _turn = self.turn.lock().await;
        let deadline = Deadline::of(limit, "picture");
        self.check_no_dialog()?;
        Ok(self
            .masked_screenshot(taken, target, mask, true, deadline)
            .await?
            .map_or(RecordableScreenshot::AsTaken, RecordableScreenshot::Covered))
    }

    async fn element_mark(
        &self,
        target: &ElementFacts,
        deadline: Deadline,
    ) -> Result<[i32; 4], BrowserError> {
        let element = self.element(&target.element)?;
        let check = ActionabilityCheck {
            target_use: TargetUse { purpose: Purpose::See, point: None },
            steady: false,
            arm: None,
        };
        let actionable = self.wait_actionable(&element, check, deadline).await?;
        Ok(actionable.element_box.in_tab(actionable.x, actionable.y))
    }
}
