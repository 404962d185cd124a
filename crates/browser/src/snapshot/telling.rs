//! Parses the page script's snapshot of one frame: a JSON header, then a line per node, without the nodes that the
//! previous reply had.
//!
//! Fields of a line are separated by tabs: depth, role (empty for text), name, then fields that begin with a letter.
//! A compromised renderer sends what it likes, so every field is validated.

use super::node::{DEEPEST, Node, States};
use crate::{
    cdp::Id,
    text::{cut, seen},
};
use serde::Deserialize;
use std::sync::Arc;

/// The script sends no more nodes per frame, and counts the rest. A reply with more is rejected.
/// A node takes 20 times the memory of its shortest line, so the number has a limit of its own.
pub(crate) const MOST_NODES: usize = 120_000;
/// The longest ARIA role is `menuitemcheckbox`.
const LONGEST_ROLE: usize = 32;
/// Limit of the visible label in bytes, so that the smallest reply has room for it.
const MOST_SHOWN: usize = 80;
/// Total bytes of names up to which a reply is kept as a baseline. The script has the same limit.
const MOST_KEPT: usize = 4_000_000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadTelling {
    #[error("the head of a snapshot")]
    Head(#[from] serde_json::Error),
    #[error("more than {MOST_NODES} nodes")]
    TooMany,
    #[error("a line without a depth")]
    Depth,
}

/// The script's reply: the frame, or nothing if it is too large to be read without collecting garbage first.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct FrameAnswer(Option<Telling>);

#[derive(Debug)]
struct Telling {
    head: Head,
    between: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Head {
    left: usize,
    complete: bool,
    title: String,
    status: Option<u16>,
    serial: u64,
    /// Number of leading and trailing nodes that are taken over from the previous reply.
    from: usize,
    to: usize,
    escaped: bool,
    still: bool,
}

/// A reply that the next one may be a diff against.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// The execution context of the script, and whether links were included.
    pub world: Id,
    pub links: bool,
    pub serial: u64,
    nodes: Vec<Arc<Node>>,
}

/// One complete frame.
#[derive(Debug)]
pub(crate) struct FrameSnapshot {
    pub nodes: Vec<Arc<Node>>,
    pub left: usize,
    pub complete: bool,
    pub title: String,
    pub status: Option<u16>,
    /// Whether no element was added or removed since nodes were last counted.
    pub still: bool,
    serial: u64,
}

impl TryFrom<String> for FrameAnswer {
    type Error = BadTelling;

    fn try_from(text: String) -> Result<FrameAnswer, BadTelling> {
        if text == "large" {
            return Ok(FrameAnswer(None));
        }
        let (head, lines) = text.split_once('\n').unwrap_or((&text, ""));
        let head: Head = serde_json::from_str(head)?;
        let mut between = Vec::new();
        for line in lines.split('\n').filter(|line| !line.is_empty()) {
            if between.len() == MOST_NODES {
                return Err(BadTelling::TooMany);
            }
            between.push(node(line, head.escaped)?);
        }
        Ok(FrameAnswer(Some(Telling { head, between })))
    }
}

impl FrameAnswer {
    pub fn is_too_large(&self) -> bool {
        self.0.is_none()
    }

    /// Sanitizes what a frame says: visible characters only, and refs to its own elements only.
    /// None if the reply is a diff against a baseline that does not exist.
    pub fn into_snapshot(self, prefix: &str, told: Option<&Told>) -> Option<FrameSnapshot> {
        let Telling { head, between } = self.0?;
        let before = told.map(|told| told.nodes.as_slice()).unwrap_or_default();
        let kept = head.from.checked_add(head.to).filter(|kept| *kept <= before.len())?;
        if kept.saturating_add(between.len()) > MOST_NODES {
            return None;
        }
        let mut nodes = Vec::with_capacity(kept + between.len());
        nodes.extend_from_slice(&before[..head.from]);
        nodes.extend(between.into_iter().map(|node| Arc::new(node.believed(prefix))));
        nodes.extend_from_slice(&before[before.len() - head.to..]);
        let Head { left, complete, title, status, serial, still, .. } = head;
        Some(FrameSnapshot { nodes, left, complete, title: seen(&title), status, still, serial })
    }
}

impl FrameSnapshot {
    /// The baseline for the next reply of that script; none if it is too large to keep.
    pub fn told(&self, world: Id, links: bool) -> Option<Told> {
        let bytes: usize = self.nodes.iter().map(|node| node.name.len()).sum();
        let told = || Told { world, links, serial: self.serial, nodes: self.nodes.clone() };
        (bytes <= MOST_KEPT).then(told)
    }
}

impl Node {
    fn believed(mut self, prefix: &str) -> Node {
        if self.role.len() > LONGEST_ROLE || !self.role.bytes().all(|b| b.is_ascii_lowercase()) {
            self.role = "generic".to_owned();
        }
        self.name = seen(&self.name);
        self.value = self.value.as_deref().map(seen);
        self.href = self.href.as_deref().map(seen);
        self.shows = self.shows.as_deref().map(|shows| cut(shows, MOST_SHOWN));
        self.reference.take_if(|reference| !is_ref_of(reference, prefix));
        self
    }
}

fn is_ref_of(reference: &str, prefix: &str) -> bool {
    let number = reference.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('e'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn node(line: &str, escaped: bool) -> Result<Node, BadTelling> {
    let words = |text: &str| if escaped { unescaped(text) } else { text.to_owned() };
    let mut parts = line.split('\t');
    let depth = parts.next().and_then(|depth| depth.parse::<usize>().ok()).ok_or(BadTelling::Depth)?;
    let role = parts.next().filter(|role| !role.is_empty()).unwrap_or("text");
    let name = parts.next().map(words).unwrap_or_default();
    let mut node = Node { depth: depth.min(DEEPEST), role: role.to_owned(), name, ..Node::default() };
    for part in parts {
        let Some((kind, rest)) = part.split_at_checked(1) else { continue };
        match kind {
            "e" => node.reference = Some(rest.to_owned()),
            "v" => node.value = Some(words(rest)),
            "w" => node.shows = Some(words(rest)),
            "u" => node.href = Some(words(rest)),
            "f" => node.frame = Some(rest.to_owned()),
            "s" => node.states.take(rest),
            // A field of a later version.
            _ => {}
        }
    }
    Ok(node)
}

impl States {
    fn take(&mut self, state: &str) {
        let Some((key, value)) = state.split_once('=') else { return };
        let set = value == "true";
        match key {
            "level" => self.level = value.parse().ok(),
            "checked" => self.checked = Some(cut(value, LONGEST_ROLE)),
            "expanded" => self.expanded = Some(set),
            "pressed" => self.pressed = set,
            "selected" => self.selected = set,
            "disabled" => self.disabled = set,
            "required" => self.required = set,
            "readonly" => self.readonly = set,
            "invalid" => self.invalid = set,
            "current" => self.current = set,
            "multiline" => self.multiline = set,
            "focused" => self.focused = set,
            "secret" => self.secret = set,
            "unseen" => self.unseen = set,
            "hidden" => self.hidden = set,
            _ => {}
        }
    }
}

/// Decodes `~` and four hexadecimal digits for each UTF-16 unit that is not plain ASCII.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('~');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    let mut units: Vec<u16> = Vec::new();
    for part in parts {
        let (unit, rest) = part.split_at_checked(4).unwrap_or((part, ""));
        units.push(u16::from_str_radix(unit, 16).unwrap_or(0xfffd));
        if !rest.is_empty() {
            plain.push_str(&String::from_utf16_lossy(&units));
            units.clear();
            plain.push_str(rest);
        }
    }
    plain.push_str(&String::from_utf16_lossy(&units));
    plain
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn answer(from: usize, to: usize, lines: &str) -> Result<FrameAnswer, BadTelling> {
        let head = format!(
            r#"{{"left":1,"complete":true,"title":"T","status":null,"serial":7,"from":{from},"to":{to},"escaped":true,"still":true}}"#
        );
        FrameAnswer::try_from(format!("{head}\n{lines}"))
    }

    /// A frame from lines with spaces instead of tabs.
    pub fn frame(lines: &[&str]) -> FrameSnapshot {
        answer(0, 0, &lines.join("\n").replace(' ', "\t")).unwrap().into_snapshot("", None).unwrap()
    }

    fn world() -> Id {
        serde_json::from_str(r#""w""#).unwrap()
    }

    fn names(frame: &FrameSnapshot) -> Vec<&str> {
        frame.nodes.iter().map(|node| node.name.as_str()).collect()
    }

    #[test]
    fn a_frame_tells_of_itself_in_words_that_can_be_seen() {
        let lines =
            "0\tli-nk\ta b~200b\tv~202ex\tef2e3\n0\tbutton\t\tee3\n0\tbutton\t\tef2e3]\n0\tbutton\t\tef21e3";
        let told = answer(0, 0, lines).unwrap().into_snapshot("f2", None).unwrap();
        let first = &told.nodes[0];
        assert_eq!((first.role.as_str(), first.name.as_str()), ("generic", "a b"));
        assert_eq!(first.value.as_deref(), Some("x"));
        let refs: Vec<_> = told.nodes.iter().map(|node| node.reference.as_deref()).collect();
        assert_eq!(refs, [Some("f2e3"), None, None, None]);
    }

    #[test]
    fn every_part_of_a_node_comes_through() {
        let line = "3\tcheckbox\tMilk ~007e ~d83d~de00!\tee4\tvone\twtwo\tuhttp://a.test/\tfF\tschecked=mixed\tslevel=2\tsexpanded=false\tsdisabled=true\tsnovel=true\tznew";
        let told = answer(0, 0, line).unwrap().into_snapshot("", None).unwrap();
        let states = States {
            checked: Some("mixed".into()),
            level: Some(2),
            expanded: Some(false),
            disabled: true,
            ..States::default()
        };
        let node = Node {
            depth: 3,
            role: "checkbox".into(),
            name: "Milk ~ 😀!".into(),
            value: Some("one".into()),
            reference: Some("e4".into()),
            href: Some("http://a.test/".into()),
            shows: Some("two".into()),
            frame: Some("F".into()),
            states,
        };
        assert_eq!(*told.nodes[0], node);
    }

    #[test]
    fn an_answer_builds_on_the_one_before() {
        let first = frame(&["0 heading One", "0  two", "0  three", "0 link Four"]);
        let told = first.told(world(), false).unwrap();
        assert_eq!(told.serial, 7);
        let second = answer(1, 1, "0\t\tnew").unwrap().into_snapshot("", Some(&told)).unwrap();
        assert_eq!(names(&second), ["One", "new", "Four"]);
        assert!(
            Arc::ptr_eq(&first.nodes[0], &second.nodes[0]) && Arc::ptr_eq(&first.nodes[3], &second.nodes[2])
        );
        let same = answer(4, 0, "").unwrap().into_snapshot("", Some(&told)).unwrap();
        assert_eq!(names(&same), names(&first));
    }

    #[test]
    fn an_answer_that_builds_on_nothing_is_none() {
        let told = frame(&["0  one"]).told(world(), false);
        for (from, to) in [(1, 1), (2, 0), (0, 2), (usize::MAX, 1)] {
            assert!(answer(from, to, "").unwrap().into_snapshot("", told.as_ref()).is_none(), "{from} {to}");
        }
        assert!(answer(1, 0, "").unwrap().into_snapshot("", None).is_none());
    }

    #[test]
    fn more_nodes_than_the_script_sends_are_refused() {
        let lines = |nodes: usize| vec!["0\t\tx"; nodes].join("\n");
        assert_eq!(
            answer(0, 0, &lines(MOST_NODES)).unwrap().into_snapshot("", None).unwrap().nodes.len(),
            MOST_NODES
        );
        assert!(matches!(answer(0, 0, &lines(MOST_NODES + 1)), Err(BadTelling::TooMany)));
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        assert!(matches!(FrameAnswer::try_from("{}".to_owned()), Err(BadTelling::Head(_))));
        assert!(matches!(answer(0, 0, "x\tlink"), Err(BadTelling::Depth)));
        assert!(FrameAnswer::try_from("large".to_owned()).unwrap().is_too_large());
    }

    #[test]
    fn odd_escapes_lose_nothing_around_them() {
        for (text, plain) in [
            ("a~00e9b", "aéb"),
            ("~", "\u{fffd}"),
            ("~zzzzb", "\u{fffd}b"),
            ("~d83d", "\u{fffd}"),
            ("é~00e9", "éé"),
        ] {
            assert_eq!(unescaped(text), plain);
        }
    }
}
