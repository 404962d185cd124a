//! Judges what the agent acted on before a request: labels, glyphs, typed lines, keys.

use super::name::{self, Verdict};
use super::phrases;
use super::state;
use super::terms::*;
use crate::lexicon::{Meaning, Meanings, normalize};
use crate::rules::wording;
use crate::{Action, CausingAction, EffectClass, ElementFacts, Key};

/// A longer text is content, not a label.
pub(super) const LONGEST_LABEL: usize = 60;
pub(super) const CHOICES: [&str; 8] =
    ["checkbox", "radio", "switch", "option", "menuitemcheckbox", "menuitemradio", "slider", "combobox"];
pub(super) const CONTENT: [&str; 9] =
    ["row", "listitem", "cell", "gridcell", "heading", "article", "paragraph", "treeitem", "textbox"];
const DESTROYING_GLYPHS: [char; 18] =
    ['×', '✕', '✖', '✗', '✘', '❌', '🗑', '⌫', '␡', '🚮', '╳', '⨯', '🧨', '💣', '🚫', '⛔', '☠', '⏏'];
const SENDING_GLYPHS: [char; 14] =
    ['➤', '✈', '📤', '➢', '📨', '🛩', '⮞', '🛫', '📢', '📣', '📮', '📧', '✉', '📠'];
const PAYING_GLYPHS: [char; 7] = ['💳', '💸', '💵', '💶', '💷', '💴', '🪙'];
const EMPOWERING_GLYPHS: [char; 5] = ['🔑', '🗝', '👑', '🔓', '🔐'];
/// Parts of words for what happens by itself.
const AUTOMATIC: [&str; 5] = ["auto", "otomat", "авто", "自动", "자동"];
/// Words that lead to the next step of a form.
const CONTINUING: [&str; 48] = [
    "continue",
    "proceed",
    "next",
    "back",
    "go to",
    "weiter",
    "zurück",
    "suivant",
    "continuer",
    "continuar",
    "siguiente",
    "avanti",
    "continua",
    "volgende",
    "doorgaan",
    "verder",
    "dalej",
    "przejdź",
    "ileri",
    "devam",
    "tiếp",
    "další",
    "pokračovat",
    "lanjut",
    "다음",
    "계속",
    "下一步",
    "继续",
    "次へ",
    "進む",
    "далее",
    "продолжить",
    "перейти",
    "далі",
    "tovább",
    "التالي",
    "متابعة",
    "nästa",
    "fortsätt",
    "επόμενο",
    "συνέχεια",
    "הבא",
    "המשך",
    "अगला",
    "ถัดไป",
    "prosegui",
    "add payment",
    "view",
];
const INVITING: [&str; 26] = [
    "invite",
    "einladen",
    "招待",
    "邀请",
    "邀請",
    "convidar",
    "invitar",
    "inviter",
    "пригласить",
    "invita",
    "uitnodigen",
    "zaproś",
    "davet et",
    "دعوت",
    "mời",
    "pozvat",
    "undang",
    "초대",
    "запросити",
    "meghív",
    "دعوة",
    "bjud in",
    "πρόσκληση",
    "הזמן",
    "आमंत्रित",
    "เชิญ",
];
/// The class that the acted element speaks of, and its label.
pub(super) fn judge(cause: &CausingAction) -> Option<(EffectClass, String)> {
    if !cause.is_recent {
        return None;
    }
    let found = of_action(cause).into_iter().chain(cause.confirmed().and_then(of_action));
    found.max_by_key(|(class, _)| class.severity())
}

fn of_action(cause: &CausingAction) -> Option<(EffectClass, String)> {
    let facts = &cause.facts;
    let target = facts.target.as_ref();
    match &cause.action {
        Action::Click(_) => target.and_then(of_control),
        Action::Press(press) => {
            let element = target?;
            match press.chord.key {
                Key::Named(key)
                    if matches!(key.name, "Delete" | "Backspace")
                        && !element.editable
                        && element.tag != "input" =>
                {
                    Some((EffectClass::Destroy, format!("key {}", key.name)))
                }
                Key::Named(key) if key.name == "Enter" => entered(element).or_else(|| of_control(element)),
                _ if press.chord.activates() => of_control(element),
                _ => None,
            }
        }
        Action::Type(typing) if typing.submit || typing.text.contains(['\n', '\r']) => {
            target.and_then(entered)
        }
        Action::Check(check) => {
            let element = target?;
            let meanings = Meanings::of(&element.name);
            let is_power = meanings.has(Meaning::Admin) && check.checked
                || meanings.has(Meaning::Second) && !check.checked;
            // What is ticked is a setting, or something on a list such as "Renew passport".
            let is_setting = AUTOMATIC.iter().any(|part| normalize(&element.name).contains(part));
            let said = || phrases::judge(&element.name).class == Some(EffectClass::Pay);
            let pays = check.checked && is_setting && said();
            let class = if is_power { Some(EffectClass::Power) } else { pays.then_some(EffectClass::Pay) };
            class.map(|class| (class, element.name.clone()))
        }
        Action::Select(_) => facts.options.iter().find_map(|option| {
            // A single word is a value as often as a command: "Finance", "Order", "Mail".
            let is_word = option.label.split_whitespace().count() == 1;
            let class = of_text(&option.label).filter(|class| match class {
                EffectClass::Send => false,
                EffectClass::Pay => !is_word,
                _ => true,
            });
            let is_admin = Meanings::of(&option.label).has(Meaning::Admin);
            let class = class.or(is_admin.then_some(EffectClass::Power));
            class.map(|class| (class, option.label.clone()))
        }),
        Action::Drag(_) => facts.to.as_ref().and_then(|to| of_control(to).or_else(|| of_place(to))),
        Action::Dialog(answer) if answer.accept => {
            let dialog = facts.dialog.as_ref()?;
            of_meanings(&dialog.message).map(|class| (class, dialog.message.clone()))
        }
        _ => None,
    }
}

/// Whether the label of a control is little more than a word that destroys.
pub(super) fn is_plainly_destroying(cause: &CausingAction) -> bool {
    judge(cause).is_some_and(|(class, label)| {
        matches!(class, EffectClass::Destroy | EffectClass::Account) && label.split_whitespace().count() <= 3
    })
}

/// Whether what was acted on has a text rather than a label.
pub(super) fn is_long(cause: &CausingAction) -> bool {
    const MOST_WORDS: usize = 4;
    let element = cause.on_element().facts.target.as_ref();
    element.is_some_and(|element| label_of(element).split_whitespace().count() > MOST_WORDS)
}

/// Whether what was acted on has more words than a verb with its object.
pub(super) fn is_title(cause: &CausingAction) -> bool {
    let element = cause.on_element().facts.target.as_ref();
    element.is_some_and(|element| label_of(element).split_whitespace().count() > 2)
}

/// The first word of what was acted on.
pub(super) fn first_word(cause: &CausingAction) -> Option<String> {
    let element = cause.on_element().facts.target.as_ref()?;
    words(label_of(element)).into_iter().next().map(|word| word.text)
}

/// Whether what was acted on exports something.
pub(super) fn exports(cause: &CausingAction) -> bool {
    let acted = cause.on_element();
    let Some(element) = acted.facts.target.as_ref().filter(|_| cause.is_recent) else { return false };
    let meanings = Meanings::of(label_of(element));
    matches!(acted.action, Action::Click(_) | Action::Press(_)) && meanings.has(Meaning::Export)
}

/// Whether a label does something ordinary to a thing with a name: "Star Buy milk", "Details of Cancel the trip".
pub(super) fn names_content(label: &str) -> bool {
    phrases::judge(label).class.is_none()
        && words(label).first().is_some_and(|word| {
            word.text.is_ascii()
                && word.is(ORDINARY | ORDINARY_VERB | UI_NOUN)
                && !word.is(EXECUTE | MAKE | CHANGE)
        })
}

/// Whether a label leads to the till rather than paying there.
pub(super) fn is_checkout(label: &str) -> bool {
    const TILLS: [&str; 12] = [
        "checkout",
        "check out",
        "kasse",
        "kassan",
        "caja",
        "cassa",
        "caisse",
        "afrekenen",
        "结账",
        "結帳",
        "レジ",
        "kassalle",
    ];
    let text = normalize(label);
    TILLS.iter().any(|word| text.contains(word))
}

pub(super) fn label_of(element: &ElementFacts) -> &str {
    if element.name.is_empty() { &element.text } else { &element.name }
}

fn of_control(element: &ElementFacts) -> Option<(EffectClass, String)> {
    let role = element.role.as_str();
    // A cell or an item of a list with one word may be a control: what somebody wrote has more.
    let is_content = CONTENT.contains(&role) && (role == "textbox" || label_of(element).trim().contains(' '));
    if CHOICES.contains(&role) || is_content && element.href.is_none() {
        return None;
    }
    let labels = [&element.name, &element.text];
    let found = labels.into_iter().filter_map(|label| of_text(label).map(|class| (class, label.clone())));
    found.max_by_key(|(class, _)| class.severity())
}

/// What is dropped on "Published" or "Deleted" is moved to that state.
fn of_place(element: &ElementFacts) -> Option<(EffectClass, String)> {
    let label = label_of(element);
    let class = words(label).last().and_then(state::state_class)?;
    matches!(class, EffectClass::Destroy | EffectClass::Send).then(|| (class, label.to_owned()))
}

/// Enter in a field presses the button of its form; in a field for messages it sends.
fn entered(element: &ElementFacts) -> Option<(EffectClass, String)> {
    let button = element.form.as_ref().and_then(|form| form.button.as_ref());
    let pressed = button.and_then(|button| {
        let label = button.label();
        of_text(&label).map(|class| (class, label))
    });
    pressed.or_else(|| wording::is_chat(&element.name).then(|| (EffectClass::Send, element.name.clone())))
}

fn of_text(label: &str) -> Option<EffectClass> {
    let label = label.trim();
    if label.is_empty() || label.chars().count() > LONGEST_LABEL {
        return None;
    }
    if label.chars().count() <= 3 {
        if label.contains(DESTROYING_GLYPHS) {
            return Some(EffectClass::Destroy);
        }
        if label.contains(SENDING_GLYPHS) {
            return Some(EffectClass::Send);
        }
        if label.contains(PAYING_GLYPHS) {
            return Some(EffectClass::Pay);
        }
        if label.contains(EMPOWERING_GLYPHS) {
            return Some(EffectClass::Power);
        }
    }
    of_meanings(label)
}

/// The strictest of the meanings, without those that only lead to a next step.
fn of_meanings(label: &str) -> Option<EffectClass> {
    let text = normalize(label);
    let meanings = Meanings::of(label);
    let is_trivial = wording::is_trivial(label, &meanings);
    let continues = CONTINUING.iter().any(|word| text.starts_with(word));
    let found = wording::risky(&meanings).filter_map(|(rule, _)| {
        let class = match rule.name {
            "words.pay" => EffectClass::Pay,
            "words.account" => EffectClass::Account,
            "words.destroy" => EffectClass::Destroy,
            "words.send" => EffectClass::Send,
            _ => EffectClass::Power,
        };
        let is_step = continues && class == EffectClass::Pay;
        let is_minor = is_trivial && matches!(rule.name, "words.destroy" | "words.login");
        let is_own = sends_to_oneself(&text) && class == EffectClass::Send;
        (!is_step && !is_minor && !is_own).then_some(class)
    });
    let invites = INVITING.iter().any(|word| text.contains(word)).then_some(EffectClass::Power);
    let owns = text.contains("ownership").then_some(EffectClass::Power);
    if owns.is_some() {
        return owns;
    }
    let reading = phrases::judge(label);
    let said = reading.class.filter(|class| {
        let is_minor = is_trivial && matches!(class, EffectClass::Destroy | EffectClass::Power);
        let is_step = continues && *class == EffectClass::Pay;
        let is_own = sends_to_oneself(&text) && *class == EffectClass::Send;
        !is_minor && !is_step && !is_own
    });
    let named = by_name(label).filter(|class| !(is_trivial || continues && *class == EffectClass::Pay));
    let all = found.chain(invites).chain(said).chain(named);
    all.filter(|class| !(reading.cancels && *class == EffectClass::Pay)).max_by_key(|class| class.severity())
}

/// "Send me a copy", "Resend code", "Code senden".
fn sends_to_oneself(text: &str) -> bool {
    const MOST_WORDS: usize = 4;
    const CODES: [&str; 22] = [
        "code",
        "otp",
        "codigo",
        "código",
        "codice",
        "kod",
        "kód",
        "koodi",
        "код",
        "コード",
        "代码",
        "验证码",
        "驗證碼",
        "코드",
        "인증번호",
        "कोड",
        "รหัส",
        "κωδικ",
        "קוד",
        "رمز",
        "kode",
        "mã",
    ];
    let words = || text.split(|c: char| c.is_whitespace() || c == '-');
    let is_code = |word: &str| {
        CODES.iter().any(|code| if code.is_ascii() { word == *code } else { word.contains(code) })
    };
    text.starts_with("send me ")
        || words().count() <= MOST_WORDS
            && words().any(is_code)
            && !words().any(|word| word == "review" || word == "promo")
}

/// What a short label says when it is read like the name of an operation: "Make a donation", "Set IAM policy".
fn by_name(label: &str) -> Option<EffectClass> {
    const MOST_WORDS: usize = 5;
    // These open a form or a page more often than they do something.
    const OPENING: [&str; 6] = ["open", "new", "add", "start", "build", "register"];
    let found = words(label);
    let (first, last) = (found.first()?, found.last()?);
    if let Some(class) = led(&found) {
        return Some(class);
    }
    if let [one] = &found[..]
        && one.is(PAY)
        && !one.is(ORDINARY_VERB | PAY_NOUN)
    {
        return Some(EffectClass::Pay);
    }
    let acts = DESTROY | PAY | POWER | MAKE | CHANGE | EXECUTE | CANCEL | CLOSING;
    let resets_key = first.is(WEAK) && last.is(POWER_NOUN | GUARD | PASSWORD);
    let is_verb = first.is(acts) || last.is(acts) || resets_key;
    if found.len() < 2 || found.len() > MOST_WORDS || !is_verb {
        return None;
    }
    let opens = OPENING.contains(&first.text.as_str());
    match name::judge(&found, &[]) {
        Some(Verdict::Consequential(class)) if opens && class != EffectClass::Power => None,
        // "New message" opens a form; "Complete merge" sends.
        Some(Verdict::Consequential(EffectClass::Send)) => {
            last.is(SEND).then_some(EffectClass::Send).filter(|_| !last.is(SEND_NOUN))
        }
        Some(Verdict::Consequential(class)) => Some(class),
        _ => None,
    }
}

/// "Book a table", "Report this post", "Restart": a verb that leads, and no title such as "Order history".
fn led(found: &[Word]) -> Option<EffectClass> {
    const MOST_WORDS: usize = 8;
    // "Order by name", "Reject all".
    const AFTER: [&str; 8] = ["by", "me", "in", "up", "out", "and", "all", "of"];
    let is_lead_in = |word: &&Word| matches!(word.text.as_str(), "yes" | "confirm" | "please" | "now" | "ok");
    let said: Vec<&Word> = found.iter().skip_while(is_lead_in).collect();
    let (first, last) = (said.first()?, said.last()?);
    // Forms of every kind are submitted; phrases say which of them reach people.
    let class = name::led_class(first)?;
    // "Subscribe to this thread" is no plan.
    const FOLLOWED: [&str; 6] = ["topic", "thread", "issue", "discussion", "feed", "post"];
    if first.text == "subscribe" && FOLLOWED.contains(&last.text.as_str()) {
        return None;
    }
    // Forms of every kind are submitted: "Submit", "Submit changes"; but "Submit grade".
    if first.text == "submit" {
        let is_form = said.len() == 1
            || last.is(UI_NOUN
                | ORDINARY
                | ORDINARY_VERB
                | READ
                | STEP
                | KNOWN
                | LOGIN
                | PASSWORD
                | CHANGE
                | MAKE);
        let is_whole = said.get(1).is_some_and(|word| word.text == "all");
        return (!is_form || is_whole).then_some(class);
    }
    let is_title =
        last.is(UI_NOUN | ORDINARY) || said.get(1).is_some_and(|it| AFTER.contains(&it.text.as_str()));
    // One word may be the name of a page or a field.
    const OF_VERBS: [&str; 9] = ["ate", "ize", "ise", "ibe", "uce", "ose", "ify", "ute", "are"];
    let is_verb = OF_VERBS.iter().any(|ending| first.text.ends_with(ending)) && first.text.len() > 6;
    let is_alone =
        said.len() == 1 && (class == EffectClass::Send && !is_verb || first.is(SEND_NOUN | POWER_NOUN));
    (!is_alone && !is_title && said.len() <= MOST_WORDS).then_some(class)
}
