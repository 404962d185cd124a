//! Judges one name: an operation, a path segment, the value of a field that names an action.

use super::terms::*;
use crate::EffectClass;

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing is changed.
    Read,
    /// The page reports to its maker.
    Telemetry,
    /// An ordinary change, said in so many words. The label of what was clicked does not lift it.
    Ordinary,
    Consequential(EffectClass),
}

/// Judges a name by itself. `context` has the words around it: the service of a method, the segments before.
pub(super) fn judge(words: &[Word], context: &[Word]) -> Option<Verdict> {
    let core: Vec<&Word> = words.iter().filter(|word| !is_filler(word)).collect();
    let all: Vec<&Word> = words.iter().collect();
    let (first, last) = (*core.first().or(words.first().as_ref())?, *core.last().or(words.last().as_ref())?);
    let any = |uses: Uses| core.iter().any(|word| word.is(uses));
    let around = |uses: Uses| any(uses) || context.iter().any(|word| word.is(uses));
    let at_ends = |uses: Uses| first.is(uses) || last.is(uses);
    let reads = is_reading(first, last, &core);
    // `getTrash` reads; `page_delete` does not, though a page is something to read.
    const READING: [&str; 12] =
        ["get", "fetch", "find", "search", "load", "count", "query", "is", "has", "can", "check", "validate"];
    if reads && (!last.is(DESTROY) || READING.contains(&first.text.as_str())) {
        return Some(Verdict::Read);
    }
    let signs_out = core.iter().any(|word| matches!(word.text.as_str(), "logout" | "signout" | "logoff"));
    if (any(DESTROY | CLOSING) || signs_out) && ends_sessions(&all, context) {
        return Some(Verdict::Consequential(EffectClass::Account));
    }
    if any(DESTROY) && (!reads || at_ends(DESTROY)) {
        return Some(destroyed(&core, context));
    }
    // `doors/front/unlock`, `alarm_disarm`.
    if at_ends(OPENS) && around(PREMISES) {
        return Some(Verdict::Consequential(EffectClass::Power));
    }
    let is_final = core.iter().any(|word| word.is(WHOLLY) && word.text != "all");
    if is_final || any(DESTROY | WEAK) && any(WHOLLY) || any(WEAK) && around(BIN) {
        return Some(Verdict::Consequential(EffectClass::Destroy));
    }
    if first.text == "empty" && core.len() > 1 && !any(ORDINARY) {
        return Some(Verdict::Consequential(EffectClass::Destroy));
    }
    // `carts/mine/complete`: what was put together is ordered.
    let is_cart = |word: &&Word| word.is(CART);
    if at_ends(EXECUTE)
        && (core.iter().any(is_cart) || context.iter().rev().take(2).any(|word| word.is(CART)))
    {
        return Some(Verdict::Consequential(EffectClass::Pay));
    }
    let executes =
        any(EXECUTE) && (any(PAY_NOUN) || context.iter().rev().take(2).any(|word| word.is(PAY_NOUN)));
    // Everybody loses a project that is archived.
    const SHARED: [&str; 9] =
        ["project", "repo", "repository", "workspace", "org", "organization", "team", "site", "tenant"];
    let is_shared = |word: Option<&Word>| word.is_some_and(|word| SHARED.contains(&word_stem(&word.text)));
    let archives = |word: &Word| word.text == "archive";
    if (archives(first) && is_shared(Some(last)) || archives(last) && is_shared(Some(first)))
        || core.len() == 1
            && archives(first)
            && context.iter().rev().take(2).any(|word| is_shared(Some(word)))
    {
        return Some(Verdict::Consequential(EffectClass::Destroy));
    }
    let is_person =
        matches!(last.text.as_str(), "user" | "users" | "member" | "members" | "account" | "login")
            || words.last().is_some_and(|word| matches!(word.text.as_str(), "user" | "users"));
    let switches = matches!(first.text.as_str(), "enable" | "activate" | "disable" | "deactivate");
    let is_account = |word: &Word| matches!(word.text.as_str(), "users" | "members" | "accounts" | "logins");
    // `linkExternalAccount`: who signs in there signs in here.
    let links = matches!(first.text.as_str(), "link" | "connect") && last.text == "account";
    if links
        || words.len() > 1 && is_person && switches
        || core.len() == 1 && switches && context.last().is_some_and(is_account)
    {
        return Some(Verdict::Consequential(EffectClass::Power));
    }
    if at_ends(ORDINARY_VERB) && !executes && !first.is(SEND | PAY | POWER) {
        return Some(Verdict::Ordinary);
    }
    if at_ends(WEAK | CANCEL | CLOSING) {
        if around(GUARD) {
            return Some(Verdict::Consequential(EffectClass::Power));
        }
        if let Some(class) = weakly_destroyed(&core, context) {
            return Some(Verdict::Consequential(class));
        }
        if any(ORDINARY) {
            return Some(Verdict::Ordinary);
        }
    }
    let class = consequence(first, last, &core, context).or_else(|| lead_class(first, &core))?;
    if any(ORDINARY) && !at_ends(PAY) {
        return Some(Verdict::Ordinary);
    }
    Some(Verdict::Consequential(class))
}

fn is_filler(word: &Word) -> bool {
    word.uses & FILLER != 0 && word.uses & !(FILLER | EXECUTE | SEND_NOUN | DOCS | READ) == 0
        || word.text.chars().all(|c| c.is_ascii_digit())
}

/// `getItem`, `items.list`, `web_search_read`, `isDeleted`.
fn is_reading(first: &Word, last: &Word, core: &[&Word]) -> bool {
    let is_verb = |word: &Word| word.is(READ) && !word.is(ORDINARY_VERB | TELEMETRY);
    let searched = last.text == "read" && core.iter().any(|word| word.is(READ));
    let alone = core.len() == 1 && last.is(READ);
    let ends = last.is(READ) && !first.is(DESTROY | SEND | PAY | POWER | MAKE | ORDINARY_VERB);
    is_verb(first) && !first.is(PAY_NOUN)
        || searched && core.len() > 1
        || alone && !last.is(ORDINARY_VERB)
        || ends
}

fn destroyed(core: &[&Word], context: &[Word]) -> Verdict {
    let any = |uses: Uses| core.iter().any(|word| word.is(uses));
    let near = context.last().is_some_and(|word| word.is(ORDINARY))
        || context.iter().rev().take(3).any(|word| word.is(ORDINARY));
    if any(GUARD) || context.last().is_some_and(|word| word.is(GUARD)) {
        return Verdict::Consequential(EffectClass::Power);
    }
    if any(ACCOUNT) {
        return Verdict::Consequential(EffectClass::Account);
    }
    if any(ORDINARY) || near {
        return Verdict::Ordinary;
    }
    // `/repos/a/b/delete`, `Account.delete`: what stands alone before the verb is what it takes away.
    let only_verb = core.iter().all(|word| word.is(DESTROY));
    let owner = context.iter().rev().find(|word| !is_filler(word) || word.text == "me");
    if only_verb && owner.is_some_and(|word| word.is(ACCOUNT) || word.text == "me") {
        return Verdict::Consequential(EffectClass::Account);
    }
    Verdict::Consequential(EffectClass::Destroy)
}

fn weakly_destroyed(core: &[&Word], context: &[Word]) -> Option<EffectClass> {
    let any = |uses: Uses| core.iter().any(|word| word.is(uses));
    let before = || context.iter().rev().take(3);
    let near = if any(CANCEL) { 1 } else { 3 };
    if any(ORDINARY) || before().take(near).any(|word| word.is(ORDINARY)) {
        return None;
    }
    let closes = any(CLOSING | CANCEL);
    let owner = context.last();
    let is_owned = owner.is_some_and(|word| word.text == "me" || word.is(ACCOUNT) && word.text != "project");
    if closes && (any(ACCOUNT) || is_owned || ends_sessions(core, context)) {
        return Some(EffectClass::Account);
    }
    // Names that are said in full: `CloseBoardForever`.
    const FINAL: [&str; 6] =
        ["forever", "permanently", "permanent", "irrevocably", "endgueltig", "definitively"];
    if core.iter().any(|word| FINAL.contains(&word.text.as_str())) {
        return Some(EffectClass::Destroy);
    }
    // What is cancelled by its id is gone, unless it is work in progress.
    let is_passing = |word: &Word| PASSING.contains(&word.text.trim_end_matches('s'));
    if any(CANCEL) && !core.iter().any(|word| is_passing(word)) && !context.iter().any(is_passing) {
        let is_named = core.len() > 1 || context.iter().any(|word| !is_filler(word));
        return is_named.then_some(EffectClass::Destroy);
    }
    let ends = core.iter().any(|word| {
        matches!(
            word.text.as_str(),
            "cancel"
                | "clear"
                | "empty"
                | "disable"
                | "freeze"
                | "hibernate"
                | "deallocate"
                | "block"
                | "discard"
                | "stop"
                | "leave"
                | "end"
        )
    });
    let is_taken = any(CANCELLED) || before().any(|word| word.is(CANCELLED));
    (ends && is_taken).then_some(EffectClass::Destroy)
}

/// Work in progress: cancelling it loses nothing that was there before.
const PASSING: [&str; 16] = [
    "edit",
    "editing",
    "upload",
    "download",
    "import",
    "search",
    "dialog",
    "timer",
    "draft",
    "change",
    "form",
    "wizard",
    "preview",
    "selection",
    "sync",
    "scan",
];

/// `sessions/revoke-all`, `logoutOtherDevices`.
fn ends_sessions(core: &[&Word], context: &[Word]) -> bool {
    let all = || core.iter().copied().chain(context.iter().rev().take(2));
    let is_session = |word: &Word| {
        matches!(word.text.trim_end_matches('s'), "session" | "device" | "logout" | "signout" | "login")
    };
    let is_each = |word: &Word| {
        matches!(
            word.text.as_str(),
            "all" | "other" | "others" | "everywhere" | "every" | "global" | "everything"
        )
    };
    all().any(is_session) && all().any(is_each)
}

/// Sending, paying and handing out power.
fn consequence(first: &Word, last: &Word, core: &[&Word], context: &[Word]) -> Option<EffectClass> {
    let any = |uses: Uses| core.iter().any(|word| word.is(uses));
    let around = |uses: Uses| any(uses) || context.iter().rev().take(2).any(|word| word.is(uses));
    let at_ends = |uses: Uses| first.is(uses) || last.is(uses);
    let makes = at_ends(MAKE);
    let is_own_code =
        any(AUTH) || core.iter().any(|word| matches!(word.text.as_str(), "code" | "otp" | "verification"));
    if at_ends(POWER) || makes && around(POWER_NOUN | GUARD) && !around(ORDINARY) {
        return Some(EffectClass::Power);
    }
    if at_ends(PAY) {
        return Some(if any(POWER_NOUN) { EffectClass::Power } else { EffectClass::Pay });
    }
    if at_ends(CHANGE | WEAK)
        && (any(POWER_NOUN | GUARD | PASSWORD) || last.is(LOGIN) || first.is(CHANGE) && any(LOGIN))
    {
        return Some(EffectClass::Power);
    }
    if at_ends(SEND) {
        return (!is_own_code).then_some(EffectClass::Send);
    }
    if (any(EXECUTE) || makes || first.text == "activate") && around(PAY_NOUN) {
        return Some(EffectClass::Pay);
    }
    if (at_ends(EXECUTE) || last.text == "download") && around(POWER_NOUN | DEAL) {
        return Some(EffectClass::Power);
    }
    if makes && around(SEND_NOUN) && !is_own_code {
        return Some(EffectClass::Send);
    }
    let submits = matches!(last.text.as_str(), "submit" | "file") || first.text == "submit";
    if submits && around(SEND_NOUN) {
        return Some(EffectClass::Send);
    }
    let is_doubled = core.iter().all(|word| word.text == first.text);
    if core.len() > 1 && !is_doubled && core.iter().all(|word| word.is(SEND_NOUN)) {
        return Some(EffectClass::Send);
    }
    None
}

/// The class of a verb that is a noun elsewhere, where it leads: `rebuildServer`, `submit_assignment`.
fn lead_class(first: &Word, core: &[&Word]) -> Option<EffectClass> {
    // `post.post` is a kind of thing.
    let is_title = core
        .last()
        .is_some_and(|last| last.is(UI_NOUN | READ | ORDINARY | GENERIC) || last.text == first.text);
    if core.len() > 1 && !is_title { led_class(first) } else { None }
}

/// The class of a word that is a verb where it leads.
pub(super) fn led_class(word: &Word) -> Option<EffectClass> {
    [
        (LEAD_PAY, EffectClass::Pay),
        (LEAD_POWER, EffectClass::Power),
        (LEAD_DESTROY, EffectClass::Destroy),
        (LEAD_SEND, EffectClass::Send),
    ]
    .into_iter()
    .find_map(|(uses, class)| word.is(uses).then_some(class))
}

/// A noun without the ending of its plural.
fn word_stem(text: &str) -> &str {
    text.strip_suffix('s').unwrap_or(text)
}

/// What a name of nouns alone says where it creates: `POST /messages`, the event `payment`.
pub(super) fn created(words: &[Word]) -> Option<EffectClass> {
    // `webhook-endpoints`, `role_assignments`, `friend-invites`: what stands before says what it is.
    const CARRIERS: [&str; 9] = [
        "level",
        "endpoint",
        "assignment",
        "binding",
        "association",
        "grant",
        "record",
        "entry",
        "credential",
    ];
    let mut named = words.iter().rev().filter(|word| !word.text.chars().all(|c| c.is_ascii_digit()));
    let mut last = named.next()?;
    if CARRIERS.contains(&word_stem(&last.text))
        && let Some(before) = named.next().filter(|word| word.is(POWER_NOUN | GUARD))
    {
        last = before;
    }
    let any = |uses: Uses| words.iter().any(|word| word.is(uses));
    if any(ORDINARY | STEP) && !any(SEND_NOUN | POWER_NOUN)
        || any(ORDINARY)
        || words.iter().any(|word| word.is(ORDINARY_VERB))
    {
        return None;
    }
    if last.is(POWER_NOUN | GUARD) {
        Some(EffectClass::Power)
    } else if last.is(PAY_NOUN) {
        Some(EffectClass::Pay)
    } else if last.is(SEND_NOUN) {
        Some(EffectClass::Send)
    } else if last.is(DESTROY_NOUN) {
        Some(EffectClass::Destroy)
    } else if last.uses & !FILLER == 0 {
        nominal(&last.text)
    } else {
        None
    }
}

/// The class of the verb that a noun is formed from: `pledges`, `confiscations`, `forfeitures`, `investments`.
fn nominal(noun: &str) -> Option<EffectClass> {
    const ENDINGS: [&str; 9] = ["ment", "ation", "ition", "ion", "al", "ure", "ance", "ence", "ship"];
    const SHORTEST: usize = 4;
    // What a shop promotes is a discount.
    const NONE: [&str; 3] = ["promotion", "elevation", "institution"];
    let singular = noun.strip_suffix('s').unwrap_or(noun);
    if NONE.contains(&singular) {
        return None;
    }
    let class = |uses: Uses| {
        [
            (PAY, EffectClass::Pay),
            (POWER, EffectClass::Power),
            (DESTROY, EffectClass::Destroy),
            (SEND, EffectClass::Send),
        ]
        .into_iter()
        .find_map(|(wanted, class)| (uses & wanted != 0).then_some(class))
        .filter(|_| uses & (ORDINARY | ORDINARY_VERB) == 0)
    };
    let by_ending = || {
        ENDINGS
            .iter()
            .filter_map(|ending| singular.strip_suffix(ending))
            .filter(|stem| stem.len() >= SHORTEST)
            .find_map(|stem| {
                let bytes = stem.as_bytes();
                let is_doubled = bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
                let bare = &stem[..stem.len() - usize::from(is_doubled)];
                class(
                    uses_of(stem)
                        | uses_of(&format!("{stem}e"))
                        | uses_of(&format!("{stem}ate"))
                        | uses_of(bare),
                )
            })
    };
    // `ships` are no dispatches, but `pledges` are paid.
    let is_only_paid = || singular != noun && uses_of(singular) & !FILLER == PAY;
    let by_plural = || is_only_paid().then_some(EffectClass::Pay);
    by_ending().or_else(by_plural)
}

/// Whether a name that reads does so for certain. A POST to `compare`, `resolve` or `page` may change something.
pub(super) fn is_certain_read(words: &[Word]) -> bool {
    const CERTAIN: [&str; 46] = [
        "get",
        "list",
        "search",
        "find",
        "query",
        "fetch",
        "lookup",
        "count",
        "validate",
        "preview",
        "suggest",
        "suggestion",
        "suggestions",
        "autocomplete",
        "typeahead",
        "facets",
        "aggregate",
        "msearch",
        "mget",
        "translate",
        "calculate",
        "calc",
        "estimate",
        "dryrun",
        "simulate",
        "exists",
        "describe",
        "introspect",
        "csrf",
        "xsrf",
        "searchread",
        "readgroup",
        "filter",
        "prefetch",
        "whoami",
        "lint",
        "availability",
        "is",
        "has",
        "can",
        "shippingrates",
        "render",
        "fields",
        "onchange",
        "token",
        "refresh",
    ];
    words.iter().any(|word| CERTAIN.contains(&word.text.as_str()) || word.is(TELEMETRY))
}
