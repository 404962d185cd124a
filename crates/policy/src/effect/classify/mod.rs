//! What an effect does: reads, writes, destroys, pays, reaches people or hands out power.
//!
//! Words decide, by where they stand: verbs of the address and of operations, names of fields, the label of the element
//! that was acted on. What somebody typed is never judged: a to-do "Delete old files" is an ordinary write.

mod access;
mod address;
mod code;
mod dispatch;
mod fields;
mod get;
mod get_cause;
mod label;
mod message;
mod name;
mod path;
mod payment;
mod people;
mod phrases;
mod state;
mod terms;
mod tone;
mod unknown;
mod verb;

pub(super) use terms::is_id;

use super::{BodyKind, Effect, EffectTransport, RequestHead};
use crate::{Action, ActionClass, CausingAction, Evidence, Risk};
use name::Verdict;
use path::Path;
use terms::{FILLER, SEND_NOUN, Word, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectClass {
    /// Changes nothing: a query, a search, a preview.
    Read,
    /// An ordinary change.
    Write,
    /// A command, or a request after a command or a yes, that is on no list.
    Unknown,
    Destroy,
    Send,
    Pay,
    /// Hands out or takes power: keys, tokens, invitations, permissions, logins, exports.
    Power,
    /// Takes an account or a whole store of things away.
    Account,
}

impl EffectClass {
    pub const ALL: [EffectClass; 8] = [
        EffectClass::Read,
        EffectClass::Write,
        EffectClass::Unknown,
        EffectClass::Destroy,
        EffectClass::Send,
        EffectClass::Pay,
        EffectClass::Power,
        EffectClass::Account,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            EffectClass::Read => "read",
            EffectClass::Write => "write",
            EffectClass::Unknown => "unknown",
            EffectClass::Destroy => "destroy",
            EffectClass::Send => "send",
            EffectClass::Pay => "pay",
            EffectClass::Power => "power",
            EffectClass::Account => "account",
        }
    }

    pub fn risk(self) -> Risk {
        match self {
            EffectClass::Read => Risk::Low,
            EffectClass::Write => Risk::Medium,
            EffectClass::Unknown | EffectClass::Destroy | EffectClass::Send => Risk::High,
            EffectClass::Pay | EffectClass::Power | EffectClass::Account => Risk::Critical,
        }
    }

    /// Which of two classes counts, where a request is of both.
    fn severity(self) -> u8 {
        match self {
            EffectClass::Read => 0,
            EffectClass::Write => 1,
            EffectClass::Unknown => 2,
            EffectClass::Send => 3,
            EffectClass::Destroy => 4,
            EffectClass::Power => 5,
            EffectClass::Pay => 6,
            EffectClass::Account => 7,
        }
    }
}

/// Whether a request has to be decided on, by its head alone.
pub(super) fn concerns(head: &RequestHead<'_>, cause: Option<&CausingAction>) -> bool {
    match (head.transport, head.method) {
        (EffectTransport::WebSocket, _) => {
            cause.is_some_and(|cause| cause.action.class() == ActionClass::Acts)
        }
        (EffectTransport::Http, "GET" | "HEAD") => get::judge(head, cause).is_some(),
        (EffectTransport::Http, "OPTIONS" | "TRACE" | "CONNECT") => false,
        (EffectTransport::Http, _) => true,
    }
}

/// Whether a field of this name says what a request does.
pub(super) fn names_operation(name: &str) -> bool {
    fields::is_operation_name(name) || fields::is_destroying_name(name)
}

/// The values of the fields that name an operation, each once.
pub(super) fn operation_values(effect: &Effect) -> Vec<String> {
    const LONGEST: usize = 60;
    let (_, query) = path::split(&effect.request.url);
    let in_query = super::decode::pairs(query).map(|(name, value)| (name.into_owned(), value.into_owned()));
    let in_body = effect.fields.iter().map(|field| (field.name.clone(), field.value.clone()));
    let named = in_query
        .chain(in_body)
        .filter(|(name, value)| fields::is_operation_name(name) && value.len() <= LONGEST);
    let values: std::collections::BTreeSet<String> = named.map(|(_, value)| value).collect();
    values.into_iter().collect()
}

/// The class of an effect, and the facts that it rests on.
pub(super) fn classify(effect: &Effect, cause: Option<&CausingAction>) -> (EffectClass, Vec<Evidence>) {
    let head = effect.request.head();
    match (head.transport, head.method) {
        (EffectTransport::WebSocket, _) => message::judge(effect, cause),
        (_, "GET" | "HEAD") => match get::judge(&head, cause) {
            Some((class, word)) => (class, vec![Evidence::new("address", &word)]),
            None => (EffectClass::Read, Vec::new()),
        },
        (_, "OPTIONS" | "TRACE" | "CONNECT" | "PROPFIND" | "REPORT" | "SEARCH" | "QUERY") => {
            (EffectClass::Read, Vec::new())
        }
        _ => request(effect, cause),
    }
}

/// A request that is not a GET.
fn request(effect: &Effect, cause: Option<&CausingAction>) -> (EffectClass, Vec<Evidence>) {
    let path = Path::of(&effect.request.url);
    let mut signals = Signals::default();
    let operations: Vec<&str> =
        effect.operations.iter().chain(&path.operations).map(String::as_str).collect();
    let base = if operations.is_empty() {
        let method = if effect.request.method == "PURGE" { "DELETE" } else { effect.request.method.as_str() };
        let found = address::judge(&path, method).filter(|found| !is_incidental(effect, &path, found, cause));
        let draft =
            matches!(found, Some((Verdict::Consequential(EffectClass::Send), _))) && fields::is_draft(effect);
        match found {
            Some((Verdict::Consequential(_), _)) if draft => Some(Verdict::Ordinary),
            // Flash cards are reviewed, too.
            Some((Verdict::Consequential(EffectClass::Send), word))
                if word == "review" && fields::is_numeric(effect) =>
            {
                None
            }
            Some((Verdict::Consequential(EffectClass::Pay), word))
                if word == "order" && fields::sorts(effect) =>
            {
                Some(Verdict::Ordinary)
            }
            Some((Verdict::Consequential(class), word)) if !is_checkout_step(effect, &path, class, cause) => {
                signals.add(class, "address", &word);
                Some(Verdict::Consequential(class))
            }
            Some((Verdict::Consequential(_), _)) => None,
            Some((Verdict::Read, _)) => {
                Some(Verdict::Read).filter(|_| method == "POST" && path.is_certain_read())
            }
            Some((verdict, _)) => Some(verdict),
            None => None,
        }
    } else {
        judge_operations(effect, &operations, &mut signals)
    };
    // A form that is sent to a page called "list" is no read by that; one that is sent to a search is.
    let is_page =
        base == Some(Verdict::Read) && effect.request.destination == "document" && operations.is_empty();
    let base = base.filter(|_| {
        !is_page || path.named().next().is_some_and(|(last, _)| last.any(terms::ORDINARY) || is_lookup(last))
    });
    let refreshes =
        effect.fields.iter().any(|field| field.name == "grant_type" && field.value == "refresh_token");
    let base = if base.is_none() && operations.is_empty() && fields::is_beacon(effect) {
        Some(Verdict::Telemetry)
    } else {
        base
    };
    // A form that leads to another page is no beacon.
    let leads_on = matches!(effect.request.destination.as_str(), "document" | "iframe" | "frame");
    let is_report = base == Some(Verdict::Telemetry) && !leads_on && !fields::commands(effect);
    if is_report || refreshes {
        return (EffectClass::Read, Vec::new());
    }
    let is_known_read = base == Some(Verdict::Read) && !operations.is_empty();
    if !is_known_read {
        judge_query(effect, &path, &mut signals);
        if let Some((class, name)) = fields::judge(effect, &path, base) {
            signals.add(class, "field", &name);
        }
        let parameters = effect.fields.iter().map(|field| (&*field.name, &*field.value));
        let dispatched = || dispatch::judge(&path, parameters).filter(|_| operations.is_empty());
        if let Some((class, name)) = dispatch::of_text(effect).or_else(dispatched) {
            signals.add(class, "field", &name);
        }
    }
    if signals.best == Some(EffectClass::Send) && fields::previews(effect) {
        return (EffectClass::Write, Vec::new());
    }
    let said_reading = base == Some(Verdict::Read) || signals.reads;
    if signals.best.is_none() && said_reading {
        return (EffectClass::Read, Vec::new());
    }
    let base = base.or(signals.is_ordinary.then_some(Verdict::Ordinary));
    let is_undecided = base.is_none() && signals.best.is_none() && !path.any(terms::ORDINARY);
    if let Some((class, label)) = cause.and_then(label::judge) {
        let lifts = match base {
            Some(Verdict::Ordinary) => {
                // The address says what is subscribed to.
                let follows = class == EffectClass::Pay && path.segments.last().is_some_and(follows_thread);
                let leads_on = follows || path.any(terms::ORDINARY) && label::is_checkout(&label);
                is_lifted(class, &path, &operations, signals.is_ordinary)
                    && !label::names_content(&label)
                    && !path.any(terms::AUTH)
                    && !leads_on
            }
            _ => true,
        };
        if lifts || signals.best.is_some() {
            signals.add(class, "label", &label);
        }
    } else if is_undecided && let Some((class, label)) = unknown::judge(effect, &path, &operations, cause) {
        signals.add(class, "label", &label);
    }
    signals.finish()
}

/// Whether an address names a page or a thing rather than what is done: it has no verb, and a form of a server-side framework
/// is sent back to its page, or a box was ticked.
fn is_incidental(
    effect: &Effect,
    path: &Path,
    found: &(Verdict, String),
    cause: Option<&CausingAction>,
) -> bool {
    const VERBS: terms::Uses =
        terms::DESTROY | terms::SEND | terms::PAY | terms::POWER | terms::CANCEL | terms::CLOSING;
    if found.1 == "visibility" {
        // What is hidden here is a layer or a column.
        const SHOWN: [&str; 5] = ["hidden", "visible", "show", "shown", "collapsed"];
        return !effect.fields.is_empty()
            && effect.fields.iter().all(|field| SHOWN.contains(&fields::last_part(&field.name)));
    }
    let (Verdict::Consequential(EffectClass::Send | EffectClass::Pay), _) = found else { return false };
    let has_verb = path.named().next().is_none_or(|(last, _)| last.any(VERBS));
    let is_postback =
        || effect.fields.iter().any(|field| matches!(&*field.name, "__VIEWSTATE" | "javax.faces.ViewState"));
    let is_choice =
        || cause.is_some_and(|it| it.is_recent && matches!(it.action, Action::Check(_) | Action::Select(_)));
    !has_verb && (is_postback() || is_choice())
}

fn follows_thread(segment: &path::Segment) -> bool {
    matches!(&segment.words[..], [word] if word.text == "subscribe")
}

/// Whether a label of this class counts although the request names ordinary work. A cart line is removed with "Remove";
/// what is moved or archived after "Delete" is not.
fn is_lifted(class: EffectClass, path: &Path, operations: &[&str], is_said_ordinary: bool) -> bool {
    // A step of a form is no thing that comes and goes.
    let step = if class == EffectClass::Destroy { 0 } else { terms::STEP };
    let incidental = terms::ORDINARY | terms::LIGHT | terms::NESTED | step;
    let names_incidental = || operations.iter().flat_map(|name| words(name)).any(|word| word.is(incidental));
    let is_severe = matches!(class, EffectClass::Pay | EffectClass::Account);
    is_severe || !is_said_ordinary && !path.any(incidental) && !names_incidental()
}

fn is_lookup(segment: &path::Segment) -> bool {
    const LOOKUPS: [&str; 8] =
        ["search", "find", "query", "preview", "lookup", "validate", "suggest", "calculate"];
    segment.words.iter().any(|word| LOOKUPS.contains(&word.text.as_str()))
}

/// The steps of a checkout may all go to one address. Without payment and with an address it is a step.
fn is_checkout_step(effect: &Effect, path: &Path, class: EffectClass, cause: Option<&CausingAction>) -> bool {
    const PLACES: [&str; 8] =
        ["street", "address", "city", "zip", "postcode", "postal", "country", "shipping"];
    let is_checkout = path
        .named()
        .next()
        .is_some_and(|(last, _)| last.words.iter().any(|word| word.text.starts_with("checkout")));
    let has_place = || {
        effect
            .fields
            .iter()
            .any(|field| PLACES.iter().any(|part| field.name.to_ascii_lowercase().contains(part)))
    };
    let says_pay = || cause.and_then(label::judge).is_some_and(|(class, _)| class == EffectClass::Pay);
    class == EffectClass::Pay && is_checkout && has_place() && !says_pay()
}

fn judge_query(effect: &Effect, path: &Path, signals: &mut Signals) {
    let (_, query) = path::split(&effect.request.url);
    for (name, value) in super::decode::pairs(query).take(60) {
        match fields::judge_operation(&name, &value) {
            Some(Verdict::Consequential(class)) => signals.add(class, "query", &name),
            Some(Verdict::Read) if fields::is_strict_name(&name) => signals.reads = true,
            Some(Verdict::Ordinary) => signals.is_ordinary = true,
            _ if fields::is_destroying_name(&name)
                && fields::is_truthy(&value)
                && !path.any(terms::ORDINARY) =>
            {
                signals.add(EffectClass::Destroy, "query", &name);
            }
            _ => {}
        }
    }
    for field in effect
        .fields
        .iter()
        .filter(|field| fields::is_strict_name(&field.name) && !field.name.contains(['.', '[']))
    {
        let verdict = fields::judge_operation(&field.name, &field.value);
        signals.reads |= verdict == Some(Verdict::Read);
        signals.is_ordinary |= verdict == Some(Verdict::Ordinary);
    }
}

/// Judges operations that a body or a path names. A request is a read if all of them are.
fn judge_operations(effect: &Effect, operations: &[&str], signals: &mut Signals) -> Option<Verdict> {
    let (mut all_read, mut any_ordinary) = (true, false);
    for operation in operations {
        match judge_operation(effect, operation) {
            Some(Verdict::Read | Verdict::Telemetry) => {}
            Some(Verdict::Consequential(class)) => {
                all_read = false;
                signals.add(class, "operation", operation);
            }
            Some(Verdict::Ordinary) => (all_read, any_ordinary) = (false, true),
            None => all_read = false,
        }
    }
    if all_read {
        Some(Verdict::Read)
    } else if any_ordinary && signals.best.is_none() {
        Some(Verdict::Ordinary)
    } else {
        None
    }
}

fn judge_operation(effect: &Effect, operation: &str) -> Option<Verdict> {
    if let Some((kind, name)) = operation.split_once(' ') {
        match kind {
            "query" | "subscription" => return Some(Verdict::Read),
            "mutation" => {
                let found = words(name);
                let verdict =
                    name::judge(&found, &[]).or_else(|| name::created(&found).map(Verdict::Consequential));
                // A mutation is no read, whatever its name says.
                return verdict.filter(|verdict| *verdict != Verdict::Read);
            }
            "DELETE" => return Some(Verdict::Consequential(EffectClass::Destroy)),
            "GET" | "HEAD" => return Some(Verdict::Read),
            "POST" | "PUT" | "PATCH" => {
                let (path, _) = path::split(name);
                let path = Path::of(if path.is_empty() { name } else { path });
                return address::judge(&path, kind)
                    .map(|(verdict, _)| verdict)
                    .filter(|verdict| *verdict != Verdict::Read || path.is_certain_read());
            }
            "SEND" => return judge_dotted(name),
            _ => {}
        }
    }
    let is_query = effect.body == BodyKind::GraphQl && operation.ends_with("Query");
    if is_query { Some(Verdict::Read) } else { judge_dotted(operation) }
}

/// `item.delete`, `pkg.Service/Method`, `/app/chat.sendMessage`: the last part is judged, with the others around it.
fn judge_dotted(operation: &str) -> Option<Verdict> {
    let (service, method) = operation.rsplit_once(['/', '.', ':']).unwrap_or(("", operation));
    let (method, service) = (words(method), words(service));
    let verdict = name::judge(&method, &service)
        .filter(|verdict| *verdict != Verdict::Read || name::is_certain_read(&method));
    let is_noun = |word: &Word| word.is(SEND_NOUN | FILLER);
    let noun =
        || (!method.is_empty() && method.iter().all(is_noun)).then(|| name::created(&method)).flatten();
    let joined: Vec<Word> = service.iter().chain(&method).cloned().collect();
    let posted = || {
        let is_post = method.first().is_some_and(|word| word.text == "post")
            || method.last().is_some_and(|word| word.text == "post");
        (is_post && joined.len() > 1 && joined.iter().any(|word| word.is(SEND_NOUN)))
            .then_some(EffectClass::Send)
    };
    let led =
        || method.first().filter(|_| method.len() == 1 && !service.is_empty()).and_then(name::led_class);
    verdict.or_else(|| noun().or_else(posted).or_else(led).map(Verdict::Consequential))
}

/// The strictest class so far and what speaks for it.
#[derive(Default)]
struct Signals {
    best: Option<EffectClass>,
    evidence: Vec<Evidence>,
    /// A field names an operation that reads.
    reads: bool,
    /// A field names an operation that is ordinary.
    is_ordinary: bool,
}

impl Signals {
    fn add(&mut self, class: EffectClass, fact: &'static str, value: &str) {
        const MOST: usize = 8;
        if self.evidence.len() < MOST {
            self.evidence.push(Evidence::new(fact, value));
        }
        if self.best.is_none_or(|best| class.severity() > best.severity()) {
            self.best = Some(class);
        }
    }

    fn finish(self) -> (EffectClass, Vec<Evidence>) {
        (self.best.unwrap_or(EffectClass::Write), self.evidence)
    }
}
