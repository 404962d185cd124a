//! Clicking: a real mouse, on the element that was decided on.

use super::{After, Viewer, unchanged};
use crate::{
    browser::Browser, cdp::protocol as p, deadline::Deadline, error::BrowserError, guard::Input,
    locate::Purpose,
};
use policy::{ElementFacts, LoadState};
use std::time::Duration;

impl Browser {
    pub(super) async fn click(
        &self,
        decided: &ElementFacts,
        viewer: &Viewer,
        deadline: Deadline,
    ) -> Result<After, BrowserError> {
        let element = self.element(&decided.element)?;
        let aim = self.aim(&element, Purpose::Click, deadline).await?;
        unchanged(decided, &aim.facts)?;
        let mouse = |r#type, x, y, button, buttons, click_count| p::DispatchMouse {
            r#type,
            x,
            y,
            button,
            buttons,
            click_count,
        };
        self.call_tab(&mouse("mouseMoved", aim.x, aim.y, "none", 0, 0), deadline).await?;
        // Hovering may have moved it, or put something else in its place.
        let aim = self.look(&element, Purpose::Click, Duration::ZERO, deadline).await?;
        unchanged(decided, &aim.facts)?;
        let commits = self.start();
        let press = mouse("mousePressed", aim.x, aim.y, "left", 1, 1);
        let release = mouse("mouseReleased", aim.x, aim.y, "left", 0, 1);
        let send = async {
            tokio::try_join!(self.call_tab(&press, deadline), self.call_tab(&release, deadline)).map(|_| ())
        };
        self.guarded(&element, Input::Mouse, deadline, send).await?;
        self.settle(LoadState::Load, deadline).await?;
        self.after(commits, viewer, deadline).await
    }
}
