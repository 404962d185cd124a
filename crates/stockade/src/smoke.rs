//! The smoke test: start → goto → extract → screenshot → archive, through the same gate as any agent.

use browser::{CallerId, Content, Outcome, ReplyOptions, Snapshot};
use engine::control::Control;
use engine::error::Fault;
use engine::gate::{Reply, Wish};
use engine::session::{Archived, EndReason, OpenRequest, Session};
use error_code::ErrorCode;
use policy::{Action, LoadState, Navigate, Read, ReadFormat, Scope, Screenshot, WebUrl};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// One line of the report.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    pub step: &'static str,
    pub ok: bool,
    pub ms: f64,
    pub detail: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub ok: bool,
    pub url: String,
    pub title: String,
    pub text: String,
    pub steps: Vec<Step>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

/// Runs all five steps, or up to the first that fails; `tell` hears of each as it is done.
pub async fn run(
    control: &Control,
    url: &str,
    picture: Option<&Path>,
    tell: &mut dyn FnMut(&Step),
) -> Report {
    let mut report = Report {
        ok: false,
        url: url.to_owned(),
        title: String::new(),
        text: String::new(),
        steps: Vec::new(),
        screenshot: None,
        archive: None,
        error: None,
    };
    match steps(control, url, picture, &mut report, tell).await {
        Ok(()) => report.ok = true,
        Err(fault) => report.error = Some(fault),
    }
    report
}

async fn steps(
    control: &Control,
    url: &str,
    picture: Option<&Path>,
    report: &mut Report,
    tell: &mut dyn FnMut(&Step),
) -> Result<(), Fault> {
    let scope = control.default_scope()?;
    let begun = Instant::now();
    let opened = control.gate.open(&scope, OpenRequest::default()).await;
    let detail = |session: &Arc<Session>| format!("session {}", session.id);
    let session = finish(report, tell, "start", begun, opened, detail)?;
    let done = on_page(control, &scope, &session, url, picture, report, tell).await;
    if done.is_err() {
        control.gate.sessions.end(&session, EndReason::Closed).await;
    }
    done
}

async fn on_page(
    control: &Control,
    scope: &Scope,
    session: &Arc<Session>,
    url: &str,
    picture: Option<&Path>,
    report: &mut Report,
    tell: &mut dyn FnMut(&Step),
) -> Result<(), Fault> {
    let act = async |action| {
        let viewer = ReplyOptions { caller: CallerId::new("smoke"), full: true };
        let wish = Wish::unattended(action, viewer);
        control.gate.act(scope, session.id.as_str(), wish, &CancellationToken::new()).await
    };

    let begun = Instant::now();
    let went = match WebUrl::parse(url) {
        Ok(url) => act(Action::Navigate(Navigate { url, wait_for: LoadState::Load })).await,
        Err(refusal) => Err(engine::error::bad_address(&refusal)),
    };
    let went = finish(report, tell, "goto", begun, went, |reply| match &reply.outcome {
        Outcome::Navigated { final_url, status: Some(status), .. } => format!("{status} {final_url}"),
        _ => String::new(),
    })?;
    if let Outcome::Navigated { final_url, title, .. } = went.outcome {
        report.url = final_url;
        report.title = title;
    }

    let begun = Instant::now();
    let read = act(Action::Read(Read { format: ReadFormat::Markdown, ..Read::default() })).await;
    let title = report.title.clone();
    let read = finish(report, tell, "extract", begun, read, |reply| {
        let length = text_of(reply).chars().count();
        format!("title {title:?}, {length} characters of text")
    })?;
    report.text = text_of(&read).to_owned();

    let begun = Instant::now();
    let shot = act(Action::Screenshot(Screenshot::default())).await.and_then(|reply| keep(reply, picture));
    let shot = finish(report, tell, "screenshot", begun, shot, |shot| {
        format!("{}x{} pixels", shot.width, shot.height)
    })?;

    let begun = Instant::now();
    let archived = control.gate.sessions.archive(session).await;
    let archived =
        finish(report, tell, "archive", begun, archived, |a: &Archived| format!("{} files", a.files))?;
    report.screenshot = shot.copy;
    report.archive = Some(archived.path);
    Ok(())
}

/// Notes the step, whichever way it went.
fn finish<T>(
    report: &mut Report,
    tell: &mut dyn FnMut(&Step),
    step: &'static str,
    begun: Instant,
    done: Result<T, Fault>,
    detail: impl FnOnce(&T) -> String,
) -> Result<T, Fault> {
    let ms = (begun.elapsed().as_secs_f64() * 10_000.0).round() / 10.0;
    let detail = match &done {
        Ok(value) => detail(value),
        Err(fault) => fault.code.to_string(),
    };
    let step = Step { step, ok: done.is_ok(), ms, detail };
    tell(&step);
    report.steps.push(step);
    done
}

fn text_of(reply: &Reply) -> &str {
    match &reply.outcome {
        Outcome::Read(Snapshot { content: Content::Markdown(text), .. }) => text,
        _ => "",
    }
}

struct Shot {
    width: u32,
    height: u32,
    /// Where a copy was asked for.
    copy: Option<PathBuf>,
}

fn keep(reply: Reply, picture: Option<&Path>) -> Result<Shot, Fault> {
    let Outcome::Screenshot(image) = reply.outcome else {
        return Err(Fault::new(ErrorCode::Internal, "a screenshot came to something else"));
    };
    if let Some(path) = picture {
        std::fs::write(path, &image.bytes)
            .map_err(|e| Fault::unwritable(format!("cannot write {}", path.display()), &e))?;
    }
    Ok(Shot { width: image.width, height: image.height, copy: picture.map(Path::to_path_buf) })
}
