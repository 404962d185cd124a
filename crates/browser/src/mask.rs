//! Pictures for the record show no field's content: what an agent or a site has put there is covered while they are taken.
//!
//! By a style sheet of the inspector's, which no script of the page can find. It does not reach into shadow roots.

use crate::{
    browser::Browser,
    cdp::{CallError, Id, SessionId, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    locate::MOST_FRAMES_ASKED,
};
use std::collections::HashMap;

/// Fields that hold something. What they are called by while they are empty is the page's own.
const FIELDS: &str = ":is(input:not(:placeholder-shown, [type=submit i], [type=button i], [type=reset i], [type=image i], \
    [type=checkbox i], [type=radio i], [type=range i]), textarea:not(:placeholder-shown), \
    [contenteditable]:not([contenteditable=false i]), [contenteditable] *)";
const COVER: &str = "{ -webkit-text-fill-color: transparent !important; -webkit-text-stroke: 0 !important; \
    text-shadow: none !important; background: #333 !important; transition: none !important; animation: none !important; }";
/// Between covered and not, so that nothing fades in where a page would notice.
const STILL: &str = "{ transition: none !important; animation: none !important; }";

/// The style sheet of one frame.
#[derive(Clone, Debug)]
pub(crate) struct Cover {
    session: SessionId,
    sheet: Id,
}

impl Browser {
    /// Covers the fields of every frame; those that go meanwhile need none.
    pub(crate) async fn cover_fields(&self, deadline: Deadline) -> Result<(), BrowserError> {
        self.uncover_fields(deadline).await?;
        for (session, frames) in self.frames_by_session() {
            self.bearable(&session, &p::EnableDom {}, deadline).await?;
            self.bearable(&session, &p::EnableCss {}, deadline).await?;
            for frame_id in &frames {
                let Some(made) = self.bearable(&session, &p::CreateStyleSheet { frame_id }, deadline).await?
                else {
                    continue;
                };
                let cover = Cover { session: session.clone(), sheet: made.style_sheet_id };
                self.shared.lock().covers.push(cover.clone());
                self.restyle(&cover, &format!("{FIELDS} {COVER}"), deadline).await?;
            }
        }
        Ok(())
    }

    /// Takes all covers away, also those that a call which was broken off has left.
    pub(crate) async fn uncover_fields(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let covers = self.shared.lock().covers.clone();
        if covers.is_empty() {
            return Ok(());
        }
        for cover in &covers {
            self.restyle(cover, &format!("{FIELDS} {STILL}"), deadline).await?;
        }
        self.call_tab(&p::GetLayoutMetrics {}, deadline).await?;
        for cover in &covers {
            self.restyle(cover, "", deadline).await?;
        }
        for session in self.frames_by_session().into_keys() {
            self.bearable(&session, &p::DisableCss {}, deadline).await?;
            self.bearable(&session, &p::DisableDom {}, deadline).await?;
        }
        self.shared.lock().covers.clear();
        Ok(())
    }

    async fn restyle(&self, cover: &Cover, text: &str, deadline: Deadline) -> Result<(), BrowserError> {
        let set = p::SetStyleSheetText { style_sheet_id: &cover.sheet, text };
        self.bearable(&cover.session, &set, deadline).await.map(|_| ())
    }

    /// `None` where the frame or its document is gone.
    async fn bearable<C: crate::cdp::Command>(
        &self,
        session: &SessionId,
        command: &C,
        deadline: Deadline,
    ) -> Result<Option<C::Response>, BrowserError> {
        match self.connection.call(Some(session), command, deadline.at).await {
            Ok(answer) => Ok(Some(answer)),
            Err(CallError::Refused { .. } | CallError::Detached { .. }) => Ok(None),
            Err(error) => Err(self.explain(deadline.error(error)).await),
        }
    }

    fn frames_by_session(&self) -> HashMap<SessionId, Vec<String>> {
        let state = self.shared.lock();
        let mut found: HashMap<SessionId, Vec<String>> = HashMap::new();
        let Some(tab) = state.tab.as_ref() else { return found };
        for id in tab.frames.inside(&tab.target).into_iter().take(MOST_FRAMES_ASKED) {
            if let Some(frame) = tab.frames.get(&id) {
                found.entry(frame.session.clone()).or_default().push(id);
            }
        }
        found
    }
}
