//! Parses the page script's snapshot of one frame: a JSON header, then a line per node, without the nodes that the
//! previous reply had.
//!
//! Fields of a line are separated by tabs: depth, role (empty for text), name, then fields that begin with a letter.
//! A compromised renderer sends what it likes, so every field is validated.

use super::{
    node::{DeferredPart, MAX_DEPTH, Node, NodeStates},
    partial::DeferredRanges,
    text_redactor::MAX_LABEL,
};
use crate::{
    cdp::Id,
    text::{TextCutter, cut},
};
use serde::Deserialize;
use std::sync::Arc;

/// The script sends no more nodes per frame, and counts the rest. A reply with more is rejected.
/// A node takes 20 times the memory of its shortest line, so the number has a limit of its own.
pub(crate) const MAX_NODES: usize = 120_000;
/// The longest ARIA role is `menuitemcheckbox`.
const MAX_ROLE_BYTES: usize = 32;
/// The largest count of a part that was not read.
const MAX_DEFERRED: usize = 1_000_000;
/// A page with a longer state is read anew each time.
const MAX_STATE_BYTES: usize = 64 << 10;
/// Total bytes of names up to which a reply is kept as a baseline. The script has the same limit.
const MAX_BASELINE_BYTES: usize = 4_000_000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameReplyError {
    #[error("the head of a snapshot")]
    Header(#[from] serde_json::Error),
    #[error("more than {MAX_NODES} nodes")]
    TooMany,
    #[error("a line without a depth")]
    Depth,
}

/// The script's reply: the frame, or nothing if it is too large to be read without collecting garbage first.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct FrameReply(Option<ReplyBody>);

#[derive(Debug)]
struct ReplyBody {
    header: ReplyHeader,
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct ReplyHeader {
    #[serde(rename = "left")]
    omitted_nodes: usize,
    complete: bool,
    title: String,
    status: Option<u16>,
    serial: u64,
    /// Number of leading and trailing nodes that are taken over from the previous reply.
    from: usize,
    to: usize,
    escaped: bool,
    still: bool,
    #[serde(default)]
    animating: bool,
    #[serde(default)]
    state: Option<String>,
    /// Where the parts that earlier replies deferred begin and end, in turns, by the serials of those replies.
    #[serde(default)]
    parts: Option<Vec<(u64, Vec<usize>)>>,
}

/// A reply that the next one may be a diff against.
#[derive(Clone, Debug)]
pub(crate) struct FrameBaseline {
    /// The execution context of the script, and whether links were included.
    pub world: Id,
    pub links: bool,
    pub serial: u64,
    nodes: Vec<Arc<Node>>,
}

/// One complete frame.
#[derive(Clone, Debug)]
pub(crate) struct FrameSnapshot {
    pub nodes: Vec<Arc<Node>>,
    /// Nodes beyond the limits of the script.
    pub omitted_nodes: usize,
    pub complete: bool,
    pub title: String,
    pub status: Option<u16>,
    /// Whether no element was added or removed since nodes were last counted.
    pub still: bool,
    /// Whether something is unseen while animations run that end soon.
    pub animating: bool,
    /// What the script says about the page besides the nodes: a later reading with another state may differ. None if the
    /// page may change without notice.
    pub state: Option<String>,
    /// The serial of this reply, if it deferred parts of the page.
    pub partial: Option<u64>,
    /// The parts that earlier replies deferred, as ranges of these nodes; None if the script was not asked for them.
    pub parts: Option<Vec<DeferredRanges>>,
    /// Bytes of the reply that it was read for; the whole page is enough for any.
    pub shows: Option<usize>,
    serial: u64,
}

impl TryFrom<String> for FrameReply {
    type Error = FrameReplyError;

    fn try_from(text: String) -> Result<FrameReply, FrameReplyError> {
        if text == "large" {
            return Ok(FrameReply(None));
        }
        let (header, lines) = text.split_once('\n').unwrap_or((&text, ""));
        let header: ReplyHeader = serde_json::from_str(header)?;
        let mut nodes = Vec::new();
        for line in lines.split('\n').filter(|line| !line.is_empty()) {
            if nodes.len() == MAX_NODES {
                return Err(FrameReplyError::TooMany);
            }
            nodes.push(parse_node(line, header.escaped)?);
        }
        Ok(FrameReply(Some(ReplyBody { header, nodes })))
    }
}

impl FrameReply {
    pub fn is_too_large(&self) -> bool {
        self.0.is_none()
    }

    /// Sanitizes what a frame says: visible characters only, and refs to its own elements only.
    /// In a session with secrets, texts are neither masked nor cut yet: what is masked may grow until they are shown.
    /// None if the reply is a diff against a baseline that does not exist.
    pub fn into_snapshot(
        self,
        prefix: &str,
        baseline: Option<&FrameBaseline>,
        text: &TextCutter,
    ) -> Option<FrameSnapshot> {
        let ReplyBody { header, nodes: changed } = self.0?;
        let before = baseline.map(|baseline| baseline.nodes.as_slice()).unwrap_or_default();
        let kept = header.from.checked_add(header.to).filter(|kept| *kept <= before.len())?;
        if kept.saturating_add(changed.len()) > MAX_NODES {
            return None;
        }
        let mut nodes = Vec::with_capacity(kept + changed.len());
        nodes.extend_from_slice(&before[..header.from]);
        nodes.extend(changed.into_iter().map(|node| Arc::new(node.sanitized(prefix, text))));
        nodes.extend_from_slice(&before[before.len() - header.to..]);
        let ReplyHeader {
            omitted_nodes,
            complete,
            title,
            status,
            serial,
            still,
            animating,
            state,
            parts,
            ..
        } = header;
        let partial = nodes.iter().any(|node: &Arc<Node>| node.deferred.is_some()).then_some(serial);
        let ranges = |(reading, ends): (u64, Vec<usize>)| {
            let end = nodes.len();
            let parts = ends.chunks_exact(2).map(|ends| ends[0].min(end)..ends[1].min(end)).collect();
            DeferredRanges { reading, parts }
        };
        let parts = parts.map(|parts| parts.into_iter().map(ranges).collect());
        Some(FrameSnapshot {
            nodes,
            omitted_nodes,
            complete,
            title: text.unmasked_line(&title),
            status,
            still,
            animating,
            state: state.filter(|state| state.len() <= MAX_STATE_BYTES),
            partial,
            parts,
            shows: None,
            serial,
        })
    }
}

impl FrameSnapshot {
    /// Whether it holds all that a reply of this many bytes needs; None needs the whole page.
    pub fn is_enough_for(&self, shows: Option<usize>) -> bool {
        self.partial.is_none() || shows.is_some_and(|bytes| self.shows.is_some_and(|read| bytes <= read))
    }

    /// The baseline for the next reply of that script; none if it is too large to keep.
    pub fn baseline(&self, world: Id, links: bool) -> Option<FrameBaseline> {
        let bytes: usize = self.nodes.iter().map(|node| node.name.len()).sum();
        let baseline = || FrameBaseline { world, links, serial: self.serial, nodes: self.nodes.clone() };
        (bytes <= MAX_BASELINE_BYTES).then(baseline)
    }
}

impl Node {
    fn sanitized(mut self, prefix: &str, text: &TextCutter) -> Node {
        if self.role.len() > MAX_ROLE_BYTES || !self.role.bytes().all(|b| b.is_ascii_lowercase()) {
            self.role = "generic".to_owned();
        }
        self.name = if self.role == "text" {
            text.unmasked_lines(&self.name)
        } else {
            text.unmasked_line(&self.name)
        };
        self.value = self.value.as_deref().map(|value| text.unmasked_lines(value));
        self.href = self.href.as_deref().map(|href| text.unmasked_line(href));
        self.visible_label = self.visible_label.as_deref().map(|label| match text.redactor() {
            Some(_) => text.unmasked_line(label),
            None => text.redact_and_cut(label, MAX_LABEL),
        });
        self.reference.take_if(|reference| !is_ref_of(reference, prefix));
        self
    }
}

fn is_ref_of(reference: &str, prefix: &str) -> bool {
    let number = reference.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('e'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn parse_node(line: &str, escaped: bool) -> Result<Node, FrameReplyError> {
    let decode = |text: &str| if escaped { unescape(text) } else { text.to_owned() };
    let mut fields = line.split('\t');
    let depth = fields.next().and_then(|depth| depth.parse::<usize>().ok()).ok_or(FrameReplyError::Depth)?;
    let role = fields.next().filter(|role| !role.is_empty()).unwrap_or("text");
    let name = fields.next().map(decode).unwrap_or_default();
    let mut node = Node { depth: depth.min(MAX_DEPTH), role: role.to_owned(), name, ..Node::default() };
    for field in fields {
        let Some((kind, rest)) = field.split_at_checked(1) else { continue };
        match kind {
            "e" => node.reference = Some(rest.to_owned()),
            "v" => node.value = Some(decode(rest)),
            "w" => node.visible_label = Some(decode(rest)),
            "u" => node.href = Some(decode(rest)),
            "f" => node.frame = Some(rest.to_owned()),
            "b" => node.element_box = parse_box(rest),
            "s" => node.states.set(rest),
            "p" => node.deferred = parse_deferred_part(rest).map(Box::new),
            // A field of a later version.
            _ => {}
        }
    }
    Ok(node)
}

fn parse_box(sides: &str) -> Option<[i32; 4]> {
    let sides: Vec<i32> = sides.split(',').map(|side| side.parse().ok()).collect::<Option<_>>()?;
    sides.try_into().ok()
}

fn parse_deferred_part(counts: &str) -> Option<DeferredPart> {
    let mut counts =
        counts.split(',').map(|count| count.parse().ok().map(|count: usize| count.min(MAX_DEFERRED)));
    let mut next = || counts.next().flatten();
    Some(DeferredPart { siblings: next()?, lines: next()?, actionable: next()? })
}

impl NodeStates {
    fn set(&mut self, state: &str) {
        let Some((key, value)) = state.split_once('=') else { return };
        let set = value == "true";
        match key {
            "level" => self.level = value.parse().ok(),
            // One of three words of the script.
            "checked" => self.checked = Some(cut(value, MAX_ROLE_BYTES)),
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
fn unescape(text: &str) -> String {
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

    fn reply(from: usize, to: usize, lines: &str) -> Result<FrameReply, FrameReplyError> {
        let header = format!(
            r#"{{"left":1,"complete":true,"title":"T","status":null,"serial":7,"from":{from},"to":{to},"escaped":true,"still":true}}"#
        );
        FrameReply::try_from(format!("{header}\n{lines}"))
    }

    /// A frame from lines with spaces instead of tabs.
    pub fn frame(lines: &[&str]) -> FrameSnapshot {
        reply(0, 0, &lines.join("\n").replace(' ', "\t"))
            .unwrap()
            .into_snapshot("", None, &TextCutter::default())
            .unwrap()
    }

    fn world() -> Id {
        serde_json::from_str(r#""w""#).unwrap()
    }

    fn names(frame: &FrameSnapshot) -> Vec<&str> {
        frame.nodes.iter().map(|node| node.name.as_str()).collect()
    }

    #[test]
    fn a_frame_reply_is_reduced_to_visible_text_and_own_refs() {
        let lines =
            "0\tli-nk\ta b~200b\tv~202ex\tef2e3\n0\tbutton\t\tee3\n0\tbutton\t\tef2e3]\n0\tbutton\t\tef21e3";
        let snapshot = reply(0, 0, lines).unwrap().into_snapshot("f2", None, &TextCutter::default()).unwrap();
        let first = &snapshot.nodes[0];
        assert_eq!((first.role.as_str(), first.name.as_str()), ("generic", "a b"));
        assert_eq!(first.value.as_deref(), Some("x"));
        let refs: Vec<_> = snapshot.nodes.iter().map(|node| node.reference.as_deref()).collect();
        assert_eq!(refs, [Some("f2e3"), None, None, None]);
    }

    #[test]
    fn every_field_of_a_node_is_parsed() {
        let line = "3\tcheckbox\tMilk ~007e ~d83d~de00!\tee4\tvone\twtwo\tuhttp://a.test/\tfF\tb-3,4,50,6\tschecked=mixed\tslevel=2\tsexpanded=false\tsdisabled=true\tsnovel=true\tp3,40,5\tznew";
        let snapshot = reply(0, 0, line).unwrap().into_snapshot("", None, &TextCutter::default()).unwrap();
        let states = NodeStates {
            checked: Some("mixed".into()),
            level: Some(2),
            expanded: Some(false),
            disabled: true,
            ..NodeStates::default()
        };
        let node = Node {
            depth: 3,
            role: "checkbox".into(),
            name: "Milk ~ 😀!".into(),
            value: Some("one".into()),
            reference: Some("e4".into()),
            href: Some("http://a.test/".into()),
            visible_label: Some("two".into()),
            frame: Some("F".into()),
            element_box: Some([-3, 4, 50, 6]),
            states,
            deferred: Some(Box::new(DeferredPart { siblings: 3, lines: 40, actionable: 5 })),
        };
        assert_eq!(*snapshot.nodes[0], node);
    }

    #[test]
    fn a_reply_extends_its_baseline() {
        let first = frame(&["0 heading One", "0  two", "0  three", "0 link Four"]);
        let baseline = first.baseline(world(), false).unwrap();
        assert_eq!(baseline.serial, 7);
        let second = reply(1, 1, "0\t\tnew")
            .unwrap()
            .into_snapshot("", Some(&baseline), &TextCutter::default())
            .unwrap();
        assert_eq!(names(&second), ["One", "new", "Four"]);
        assert!(
            Arc::ptr_eq(&first.nodes[0], &second.nodes[0]) && Arc::ptr_eq(&first.nodes[3], &second.nodes[2])
        );
        let same =
            reply(4, 0, "").unwrap().into_snapshot("", Some(&baseline), &TextCutter::default()).unwrap();
        assert_eq!(names(&same), names(&first));
    }

    #[test]
    fn a_reply_without_its_baseline_is_none() {
        let baseline = frame(&["0  one"]).baseline(world(), false);
        for (from, to) in [(1, 1), (2, 0), (0, 2), (usize::MAX, 1)] {
            assert!(
                reply(from, to, "")
                    .unwrap()
                    .into_snapshot("", baseline.as_ref(), &TextCutter::default())
                    .is_none(),
                "{from} {to}"
            );
        }
        assert!(reply(1, 0, "").unwrap().into_snapshot("", None, &TextCutter::default()).is_none());
    }

    #[test]
    fn more_nodes_than_the_limit_are_rejected() {
        let lines = |nodes: usize| vec!["0\t\tx"; nodes].join("\n");
        assert_eq!(
            reply(0, 0, &lines(MAX_NODES))
                .unwrap()
                .into_snapshot("", None, &TextCutter::default())
                .unwrap()
                .nodes
                .len(),
            MAX_NODES
        );
        assert!(matches!(reply(0, 0, &lines(MAX_NODES + 1)), Err(FrameReplyError::TooMany)));
    }

    #[test]
    fn a_malformed_reply_is_an_error() {
        assert!(matches!(FrameReply::try_from("{}".to_owned()), Err(FrameReplyError::Header(_))));
        assert!(matches!(reply(0, 0, "x\tlink"), Err(FrameReplyError::Depth)));
        assert!(FrameReply::try_from("large".to_owned()).unwrap().is_too_large());
    }

    #[test]
    fn malformed_escapes_lose_no_text_around_them() {
        for (text, plain) in [
            ("a~00e9b", "aéb"),
            ("~", "\u{fffd}"),
            ("~zzzzb", "\u{fffd}b"),
            ("~d83d", "\u{fffd}"),
            ("é~00e9", "éé"),
        ] {
            assert_eq!(unescape(text), plain);
        }
    }
}
