//! Groups the events of a session: an intent and its outcome are one step, all others are notes.

use audit::LogEntry;
use serde_json::Value;

pub enum ReplayItem {
    Step(Box<ReplayStep>),
    Note(ReplayNote),
}

/// One action with its outcome.
#[derive(Default)]
pub struct ReplayStep {
    pub time: String,
    pub action: String,
    pub target: String,
    pub input: String,
    pub title: String,
    pub url: String,
    pub decision: String,
    pub rule: String,
    pub risk: String,
    pub result: String,
    pub took: Option<u64>,
    pub before: Option<ReplayImage>,
    pub after: Option<ReplayImage>,
}

pub struct ReplayImage {
    /// The file's name in the recording.
    pub name: String,
    pub sha256: String,
    pub size: Option<[u32; 2]>,
    pub mark: Option<[i32; 4]>,
}

pub struct ReplayNote {
    pub time: String,
    pub what: String,
    pub text: String,
}

pub fn steps(events: &[LogEntry]) -> Vec<ReplayItem> {
    let mut items = Vec::new();
    // Index of each intent until its outcome.
    let mut open: Vec<(String, usize)> = Vec::new();
    for entry in events {
        match entry.get("event_type") {
            "intent" => {
                open.push((entry.get("correlation_id").to_owned(), items.len()));
                items.push(ReplayItem::Step(Box::new(step_from_intent(entry))));
            }
            "refused" | "not_performed" => items.push(ReplayItem::Step(Box::new(step_from_intent(entry)))),
            "outcome" => {
                let found = open.iter().position(|(id, _)| id == entry.get("correlation_id"));
                if let Some((_, at)) = found.map(|found| open.remove(found))
                    && let Some(ReplayItem::Step(step)) = items.get_mut(at)
                {
                    apply_outcome(step, entry);
                }
            }
            // The table of what left has them.
            "egress" => {}
            kind => items.push(ReplayItem::Note(note(kind, entry))),
        }
    }
    items
}

fn step_from_intent(entry: &LogEntry) -> ReplayStep {
    let get = |key| entry.get(key).to_owned();
    ReplayStep {
        time: time_of_day(entry.get("timestamp")),
        action: get("action").replace('_', " "),
        target: get("target_element"),
        input: get("input_value"),
        url: get("url"),
        decision: get("decision"),
        rule: get("rule"),
        risk: get("risk"),
        result: get("result"),
        before: entry.fields.get("screenshot_before").and_then(picture),
        ..ReplayStep::default()
    }
}

fn apply_outcome(step: &mut ReplayStep, outcome: &LogEntry) {
    let get = |key| outcome.get(key).to_owned();
    (step.result, step.title) = (get("result"), get("title"));
    if !outcome.get("url").is_empty() {
        step.url = get("url");
    }
    step.took = outcome.fields.get("duration_ms").and_then(Value::as_u64);
    let path = outcome.get("screenshot_path");
    if !path.is_empty() {
        let (name, sha256) = (name_of(path), get("screenshot_sha256"));
        step.after = Some(ReplayImage { name, sha256, size: None, mark: None });
    }
}

fn picture(value: &Value) -> Option<ReplayImage> {
    let numbers =
        |key: &str| value[key].as_array().map(|list| list.iter().filter_map(Value::as_i64).collect());
    let size: Option<Vec<i64>> = numbers("size");
    let mark: Option<Vec<i64>> = numbers("mark");
    let whole = |number: &i64| u32::try_from(*number).ok();
    Some(ReplayImage {
        name: name_of(value["path"].as_str()?),
        sha256: value["sha256"].as_str().unwrap_or_default().to_owned(),
        size: size
            .and_then(|size| <[i64; 2]>::try_from(size).ok())
            .and_then(|[across, down]| Some([whole(&across)?, whole(&down)?])),
        mark: mark.and_then(|mark| <[i64; 4]>::try_from(mark).ok()).and_then(|mark| {
            let mark: Result<Vec<i32>, _> = mark.into_iter().map(i32::try_from).collect();
            mark.ok()?.try_into().ok()
        }),
    })
}

fn name_of(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn note(kind: &str, entry: &LogEntry) -> ReplayNote {
    let count = entry.fields.get("count").map(|count| format!("{count}×")).unwrap_or_default();
    let get = |key| entry.get(key);
    // Approval events name the operator and the target.
    let parts = [get("result"), &count, get("decided_by"), get("detail"), get("target_element"), get("url")];
    let text: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    ReplayNote {
        time: time_of_day(entry.get("timestamp")),
        what: kind.replace('_', " "),
        text: text.join(" · "),
    }
}

/// The time of day, to the second.
pub fn time_of_day(timestamp: &str) -> String {
    timestamp.get(11..19).unwrap_or_default().to_owned()
}

/// Day and time, to the second.
pub fn date_and_time(timestamp: &str) -> String {
    format!("{} {}", timestamp.get(..10).unwrap_or_default(), time_of_day(timestamp)).trim().to_owned()
}
