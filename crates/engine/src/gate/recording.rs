//! Screenshots for the record: the page before an action, with the target marked, and after it. Typed text is masked in
//! every stored screenshot.

use super::{Gate, execute::ReplyDetails};
use crate::error::Fault;
use crate::session::{RecordMode, Session, StoredImage, Turn};
use audit::{Event, EventKind, StoredScreenshot};
use browser::{Outcome, RecordableScreenshot, TimeLimit};
use error_code::ErrorCode;
use policy::{Action, ElementFacts, Facts, Screenshot};
use redact::Redacted;
use std::time::Duration;

/// Time limit of one screenshot; without one by then, the record has none.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// The screenshots that belong to one action.
pub(super) enum ScreenshotPlan {
    None,
    /// Audit recording of an action that may change the page.
    BeforeAndAfter,
    /// The agent's own screenshot.
    Requested {
        shot: Screenshot,
        target: Option<Box<ElementFacts>>,
    },
}

impl ScreenshotPlan {
    pub fn new(session: &Session, action: &Action, facts: &Facts) -> ScreenshotPlan {
        let changes_page = !action.only_reads() && !matches!(action, Action::Tabs(_));
        match action {
            _ if session.record == RecordMode::Audit && changes_page => ScreenshotPlan::BeforeAndAfter,
            Action::Screenshot(shot) => {
                ScreenshotPlan::Requested { shot: shot.clone(), target: facts.target.clone().map(Box::new) }
            }
            _ => ScreenshotPlan::None,
        }
    }

    /// Whether the page before the action is captured. An empty tab is not.
    pub fn includes_before(&self, facts: &Facts) -> bool {
        matches!(self, ScreenshotPlan::BeforeAndAfter)
            && !matches!(facts.page_url.as_str(), "" | "about:blank")
    }
}

/// A stored image as the audit log names it.
fn describe(stored: &StoredImage, size: [u32; 2], mark: Option<[i32; 4]>) -> StoredScreenshot {
    StoredScreenshot { path: stored.recorded_path.clone(), sha256: stored.sha256.clone(), size, mark }
}

impl Gate {
    /// Takes and stores a screenshot. A page that cannot be captured, or that shows a sealed secret, is noted in the log;
    /// only a failed write is an error.
    pub(super) async fn capture(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        target: Option<&ElementFacts>,
    ) -> Result<Option<StoredScreenshot>, Fault> {
        if session.secrets.is_page_withheld() {
            self.note_missing(session, &ErrorCode::SecretWithheld);
            return Ok(None);
        }
        let format = self.sessions.picture_format();
        let mask = session.typed_text.screenshot_mask();
        let limit = TimeLimit::new(TIMEOUT);
        let taken = turn.active.link.browser.recording_screenshot(target, format, &mask, limit).await;
        match taken {
            Ok(taken) => {
                let stored = session.store_image(&taken.image.bytes, taken.image.format)?;
                let size = [taken.image.width, taken.image.height];
                Ok(Some(describe(&stored, size, taken.mark)))
            }
            Err(error) => {
                self.note_missing(session, &error.code());
                Ok(None)
            }
        }
    }

    /// Captures the page after an action. Never fails, because the outcome is recorded in any case.
    pub(super) async fn capture_if_alive(
        &self,
        session: &Session,
        turn: &Turn<'_>,
    ) -> Option<StoredScreenshot> {
        if session.ended().is_some() || !turn.active.link.is_alive() {
            return None;
        }
        self.capture(session, turn, None).await.unwrap_or_else(|fault| {
            self.note_missing(session, &fault.code);
            None
        })
    }

    /// Stores the screenshot that an agent took and masks secrets in the agent's own copy.
    pub(super) async fn process_screenshot(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        outcome: Outcome,
        shot: &Screenshot,
        target: Option<&ElementFacts>,
        details: &mut ReplyDetails,
    ) -> Result<(Outcome, Option<StoredScreenshot>), Fault> {
        let stored = self.store_screenshot(session, turn, &outcome, shot, target, details).await?;
        if session.secrets.is_empty() {
            return Ok((outcome, stored));
        }
        // The agent does not get an image in which a secret may be visible.
        let (mask, limit) = (session.secrets.screenshot_mask(), TimeLimit::new(TIMEOUT));
        let masked = turn.active.link.browser.recordable_screenshot(shot, target, &mask, limit).await;
        match masked.map_err(|error| Fault::of_browser(&error, &|text| session.redact(text)))? {
            RecordableScreenshot::AsTaken => Ok((outcome, stored)),
            RecordableScreenshot::Covered(image) => Ok((Outcome::Screenshot(image), stored)),
        }
    }

    /// Stores a masked copy of the screenshot that an agent took, unless recording is off. If masking fails, the log
    /// has the reason why there is none.
    async fn store_screenshot(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        outcome: &Outcome,
        shot: &Screenshot,
        target: Option<&ElementFacts>,
        details: &mut ReplyDetails,
    ) -> Result<Option<StoredScreenshot>, Fault> {
        let Outcome::Screenshot(taken) = outcome else { return Ok(None) };
        if session.record == RecordMode::Off {
            return Ok(None);
        }
        if session.secrets.is_page_withheld() {
            self.note_missing(session, &ErrorCode::SecretWithheld);
            return Ok(None);
        }
        let mask = session.typed_text.screenshot_mask();
        let limit = TimeLimit::new(TIMEOUT);
        let masked = match turn.active.link.browser.recordable_screenshot(shot, target, &mask, limit).await {
            Ok(RecordableScreenshot::AsTaken) => taken.clone(),
            Ok(RecordableScreenshot::Covered(image)) => image,
            Err(error) => {
                self.note_missing(session, &error.code());
                return Ok(None);
            }
        };
        let stored = session.store_image(&masked.bytes, masked.format)?;
        let described = describe(&stored, [masked.width, masked.height], None);
        details.image = Some(stored);
        Ok(Some(described))
    }

    fn note_missing(&self, session: &Session, code: &ErrorCode) {
        let about = session.event_subject();
        if !self.log.note(&Event::new(EventKind::RecordingFailed, about).result(Redacted::from_safe(code))) {
            tracing::warn!(session = %session.id, %code, "a picture is missing, and the log does not say so");
        }
    }
}
