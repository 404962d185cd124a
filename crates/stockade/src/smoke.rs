//! The smoke test: start → goto → extract → screenshot → archive, through the gate, as an agent would.

use browser::{CallerId, Content, Outcome, ReplyOptions, Snapshot};
use engine::control::Control;
use engine::error::Fault;
use engine::gate::{ActionRequest, Reply};
use engine::session::{Archived, EndReason, OpenRequest, Session};
use error_code::ErrorCode;
use policy::{Action, LoadState, Navigate, Read, ReadFormat, Scope, Screenshot, WebUrl};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// One step of the report.
#[derive(Clone, Debug, Serialize)]
pub struct SmokeStep {
    pub step: &'static str,
    pub ok: bool,
    pub ms: f64,
    pub detail: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct SmokeReport {
    pub ok: bool,
    pub url: String,
    pub title: String,
    pub text: String,
    pub steps: Vec<SmokeStep>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

/// Runs all five steps, or up to the first that fails. Calls `report_step` after each.
pub async fn run(
    control: &Control,
    url: &str,
    picture: Option<&Path>,
    report_step: &mut dyn FnMut(&SmokeStep),
) -> SmokeReport {
    let mut report = SmokeReport {
        ok: false,
        url: url.to_owned(),
        title: String::new(),
        text: String::new(),
        steps: Vec::new(),
        screenshot: None,
        archive: None,
        error: None,
    };
    match run_steps(control, url, picture, &mut report, report_step).await {
        Ok(()) => report.ok = true,
        Err(fault) => report.error = Some(fault),
    }
    report
}

async fn run_steps(
    control: &Control,
    url: &str,
    picture: Option<&Path>,
    report: &mut SmokeReport,
    report_step: &mut dyn FnMut(&SmokeStep),
) -> Result<(), Fault> {
    let scope = control.default_scope()?;
    let begun = Instant::now();
    let opened = control.gate.open(&scope, OpenRequest::default()).await;
    let detail = |session: &Arc<Session>| format!("session {}", session.id);
    let session = record_step(report, report_step, "start", begun, opened, detail)?;
    let done = run_page_steps(control, &scope, &session, url, picture, report, report_step).await;
    if done.is_err() {
        control.gate.sessions.end(&session, EndReason::Closed).await;
    }
    done
}

async fn run_page_steps(
    control: &Control,
    scope: &Scope,
    session: &Arc<Session>,
    url: &str,
    picture: Option<&Path>,
    report: &mut SmokeReport,
    report_step: &mut dyn FnMut(&SmokeStep),
) -> Result<(), Fault> {
    let act = async |action| {
        let reply_options = ReplyOptions { caller: CallerId::new("smoke"), full: true };
        let request = ActionRequest::unattended(action, reply_options);
        control.gate.act(scope, session.id.as_str(), request, &CancellationToken::new()).await
    };

    let begun = Instant::now();
    let went = match WebUrl::parse(url) {
        Ok(url) => act(Action::Navigate(Navigate { url, wait_for: LoadState::Load })).await,
        Err(refusal) => Err(engine::error::bad_address(&refusal)),
    };
    let went = record_step(report, report_step, "goto", begun, went, |reply| match &reply.outcome {
        Outcome::Navigated { final_url, status: Some(status), .. } => format!("{status} {final_url}"),
        _ => String::new(),
    })?;
    if let Outcome::Navigated { final_url, title, .. } = went.outcome {
        report.url = final_url.into_string();
        report.title = title.into_string();
    }

    let begun = Instant::now();
    let read = act(Action::Read(Read { format: ReadFormat::Markdown, ..Read::default() })).await;
    let title = report.title.clone();
    let read = record_step(report, report_step, "extract", begun, read, |reply| {
        let length = text_of(reply).chars().count();
        format!("title {title:?}, {length} characters of text")
    })?;
    report.text = text_of(&read).to_owned();

    let begun = Instant::now();
    let shot = act(Action::Screenshot(Screenshot::default()))
        .await
        .and_then(|reply| save_screenshot(reply, picture));
    let shot = record_step(report, report_step, "screenshot", begun, shot, |shot| {
        format!("{}x{} pixels", shot.width, shot.height)
    })?;

    let begun = Instant::now();
    let archived = control.gate.sessions.archive(session).await;
    let archived = record_step(report, report_step, "archive", begun, archived, |a: &Archived| {
        format!("{} files", a.files)
    })?;
    report.screenshot = shot.copy;
    report.archive = Some(PathBuf::from(archived.path.as_str()));
    Ok(())
}

/// Adds a step to the report, done or failed.
fn record_step<T>(
    report: &mut SmokeReport,
    report_step: &mut dyn FnMut(&SmokeStep),
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
    let step = SmokeStep { step, ok: done.is_ok(), ms, detail };
    report_step(&step);
    report.steps.push(step);
    done
}

fn text_of(reply: &Reply) -> &str {
    match &reply.outcome {
        Outcome::Read(Snapshot { content: Content::Markdown(text), .. }) => text,
        _ => "",
    }
}

struct SavedScreenshot {
    width: u32,
    height: u32,
    /// The path of the copy, if one was requested.
    copy: Option<PathBuf>,
}

fn save_screenshot(reply: Reply, picture: Option<&Path>) -> Result<SavedScreenshot, Fault> {
    let Outcome::Screenshot(image) = reply.outcome else {
        return Err(Fault::new(ErrorCode::Internal, "a screenshot came to something else"));
    };
    if let Some(path) = picture {
        std::fs::write(path, &image.bytes)
            .map_err(|e| Fault::unwritable(format!("cannot write {}", path.display()), &e))?;
    }
    Ok(SavedScreenshot { width: image.width, height: image.height, copy: picture.map(Path::to_path_buf) })
}
