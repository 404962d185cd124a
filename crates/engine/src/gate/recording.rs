//! Pictures for the record: what a page showed before an action, with its target marked, and after it. No picture is kept
//! in which what was typed is not covered.

use super::{Gate, stations::Found};
use crate::error::Fault;
use crate::session::{RecordMode, Session, Stored, Turn};
use audit::{Event, EventKind, EventSubject, StoredScreenshot};
use browser::{Outcome, RecordableScreenshot, TimeLimit};
use policy::{Action, ElementFacts, Screenshot};
use std::time::Duration;

/// A page that cannot be pictured in this time is recorded without.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Whether an action is pictured: what only looks leaves the page as it was.
pub fn is_pictured(session: &Session, action: &Action) -> bool {
    session.record == RecordMode::Audit && !action.only_reads() && !matches!(action, Action::Tabs(_))
}

/// A kept picture as the log tells of it.
pub fn told(session: &Session, stored: &Stored, size: [u32; 2], mark: Option<[i32; 4]>) -> StoredScreenshot {
    let folder = if session.record == RecordMode::Audit { "recordings" } else { "transient" };
    let parts: Vec<_> = stored.path.iter().map(|part| part.to_string_lossy()).collect();
    let from = parts.iter().rposition(|part| part == folder).unwrap_or(0);
    let path = parts[from..].join("/");
    StoredScreenshot { path, sha256: stored.sha256.clone(), size, mark }
}

impl Gate {
    /// Takes and keeps one. A page that cannot be pictured is noted and no error; a disk that takes no picture is.
    pub(super) async fn picture(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        target: Option<&ElementFacts>,
    ) -> Result<Option<StoredScreenshot>, Fault> {
        let format = self.sessions.picture_format();
        let cover = session.veil.cover();
        let limit = TimeLimit::new(PATIENCE);
        let taken = turn.runtime.link.browser.recording_screenshot(target, format, &cover, limit).await;
        match taken {
            Ok(taken) => {
                let stored = session.store_image(&taken.image.bytes, taken.image.format)?;
                let size = [taken.image.width, taken.image.height];
                Ok(Some(told(session, &stored, size, taken.mark)))
            }
            Err(error) => {
                self.not_pictured(session, &error.code().to_string());
                Ok(None)
            }
        }
    }

    /// The page after an action; whatever happens, the outcome is recorded.
    pub(super) async fn picture_after(&self, session: &Session, turn: &Turn<'_>) -> Option<StoredScreenshot> {
        if session.ended().is_some() || !turn.runtime.link.is_alive() {
            return None;
        }
        self.picture(session, turn, None).await.unwrap_or_else(|fault| {
            self.not_pictured(session, &fault.code.to_string());
            None
        })
    }

    /// The picture that an agent took, as it may have it, and what is kept of it.
    pub(super) async fn pictures(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        outcome: Outcome,
        shot: &Screenshot,
        target: Option<&ElementFacts>,
        found: &mut Found,
    ) -> Result<(Outcome, Option<StoredScreenshot>), Fault> {
        let kept = self.keep_image(session, turn, &outcome, shot, target, found).await?;
        if session.secrets.is_empty() {
            return Ok((outcome, kept));
        }
        // One in which a secret may be seen is not handed out.
        let (cover, limit) = (session.secrets.cover(), TimeLimit::new(PATIENCE));
        match turn.runtime.link.browser.recordable_screenshot(shot, target, &cover, limit).await? {
            RecordableScreenshot::AsTaken => Ok((outcome, kept)),
            RecordableScreenshot::Covered(image) => Ok((Outcome::Screenshot(image), kept)),
        }
    }

    /// Keeps the picture that an agent took, if pictures are kept. The agent has its own: what is kept is covered, and
    /// if that fails, the log says why there is none.
    async fn keep_image(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        outcome: &Outcome,
        shot: &Screenshot,
        target: Option<&ElementFacts>,
        found: &mut Found,
    ) -> Result<Option<StoredScreenshot>, Fault> {
        let Outcome::Screenshot(taken) = outcome else { return Ok(None) };
        if session.record == RecordMode::Off {
            return Ok(None);
        }
        let cover = session.veil.cover();
        let limit = TimeLimit::new(PATIENCE);
        let kept = match turn.runtime.link.browser.recordable_screenshot(shot, target, &cover, limit).await {
            Ok(RecordableScreenshot::AsTaken) => taken.clone(),
            Ok(RecordableScreenshot::Covered(image)) => image,
            Err(error) => {
                self.not_pictured(session, &error.code().to_string());
                return Ok(None);
            }
        };
        let stored = session.store_image(&kept.bytes, kept.format)?;
        let picture = told(session, &stored, [kept.width, kept.height], None);
        found.image = Some(stored);
        Ok(Some(picture))
    }

    fn not_pictured(&self, session: &Session, code: &str) {
        let about = EventSubject::session(&session.scope, &session.id, Some(session.browser_id.as_str()));
        if !self.log.note(&Event::new(EventKind::RecordingFailed, about).result(code)) {
            tracing::warn!(session = %session.id, code, "a picture is missing, and the log does not say so");
        }
    }
}
