//! JavaScript dialogs: an open dialog blocks the page, never the session.

use super::ActionNote;
use crate::{
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    state::{Incident, State},
    text::PageText,
};
use policy::{AnswerDialog, DialogFacts, LoadState, Origin};
use redact::RedactedFields;
use std::time::Duration;

/// A handled dialog closes at once; otherwise the page hangs for another reason.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// An open dialog that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, RedactedFields)]
pub struct PendingDialog<P = PageText> {
    /// `confirm` or `prompt`; `alert` where a page opened too many of them.
    pub kind: &'static str,
    pub message: P,
}

impl PendingDialog {
    pub(crate) fn into_error(self) -> BrowserError {
        BrowserError::DialogOpen { kind: self.kind, message: self.message }
    }
}

impl Browser {
    /// Fails while a dialog is open: its page answers nothing and cannot be captured.
    pub(super) fn check_no_dialog(&self) -> Result<(), BrowserError> {
        self.pending_dialog().map_or(Ok(()), |dialog| Err(dialog.into_error()))
    }

    pub(crate) fn pending_dialog(&self) -> Option<PendingDialog> {
        self.shared.lock().pending_dialog()
    }

    /// Completes when the page opens a dialog.
    pub(crate) async fn wait_for_dialog(&self) -> PendingDialog {
        self.shared.until(|state| state.pending_dialog()).await
    }

    /// The facts to decide on; fails when no dialog is open.
    pub(super) fn dialog_facts(&self) -> Result<DialogFacts, BrowserError> {
        let state = self.shared.lock();
        let dialog = state.tab.as_ref().and_then(|tab| tab.dialog.as_ref()).ok_or(BrowserError::NoDialog)?;
        Ok(DialogFacts {
            kind: dialog.kind.to_owned(),
            message: dialog.message.as_str().to_owned(),
            origin: Origin::of(&dialog.url),
        })
    }

    /// Answers the dialog that was decided on, and no other that replaced it.
    pub(super) async fn answer_dialog(
        &self,
        answer: &AnswerDialog,
        decided: Option<DialogFacts>,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        if Some(self.dialog_facts()?) != decided {
            let what = "the page asks something else now";
            return Err(BrowserError::TargetChanged { element: "the dialog".to_owned(), what });
        }
        self.begin_action();
        self.close_dialog(answer.accept, answer.text.as_deref(), deadline).await?;
        self.disarm_all(deadline).await?;
        self.settle(LoadState::Load, deadline).await?;
        Ok(None)
    }

    /// Dismisses an open dialog, so that the page can be left.
    pub(super) async fn dismiss_dialog(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let Some(PendingDialog { kind, message }) = self.pending_dialog() else { return Ok(()) };
        self.close_dialog(false, None, deadline).await?;
        let dismissed = Incident::Dialog { kind, message, accepted: false };
        self.shared.lock().incidents.add(dismissed);
        Ok(())
    }

    async fn close_dialog(
        &self,
        accept: bool,
        prompt_text: Option<&str>,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let dialog = self.shared.lock().tab.as_mut().and_then(|tab| tab.dialog.take());
        let dialog = dialog.ok_or(BrowserError::NoDialog)?;
        let prompt_text = prompt_text.or(accept.then_some(dialog.default_prompt.as_str()));
        let handle = p::HandleDialog { accept, prompt_text };
        match self.call(Some(&dialog.session), &handle, deadline.within(CLOSE_TIMEOUT)).await {
            // The page closed it by itself.
            Ok(_) | Err(BrowserError::Protocol { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl State {
    fn pending_dialog(&self) -> Option<PendingDialog> {
        let dialog = self.tab.as_ref()?.dialog.as_ref()?;
        Some(PendingDialog { kind: dialog.kind, message: dialog.message.clone() })
    }
}
