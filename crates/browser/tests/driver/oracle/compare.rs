//! The rule by which a snapshot agrees with Chromium's accessibility tree.
//!
//! Every node that Chromium does not ignore and that belongs to an element of the page is one comparison: role and
//! name must be equal. The text that a node holds itself, outside of any node below it, is one comparison more. A
//! node that only the snapshot has is a disagreement too. docs/snapshots-roles.md says the same for readers, with
//! each kind of disagreement that is left and its reason.

use super::{
    reading::{AxNode, Frame, OurNode},
    states::compare_states,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Chromium's roles for text; a snapshot joins it to the text of its block. List markers are not included.
const TEXT: &[&str] = &["InlineTextBox", "LineBreak", "ListMarker", "StaticText"];

/// Without a name these only group or style text, which is compared where it stands; a snapshot omits them.
const NOT_SHOWN: &[&str] = &[
    "Abbr",
    "DescriptionList",
    "DescriptionListDetail",
    "Figcaption",
    "LabelText",
    "LayoutTable",
    "Legend",
    "Ruby",
    "RubyAnnotation",
    "Section",
    "SectionFooter",
    "SectionHeader",
    "SvgRoot",
    "deletion",
    "emphasis",
    "generic",
    "insertion",
    "mark",
    "none",
    "sectionfooter",
    "sectionheader",
    "strong",
    "subscript",
    "superscript",
    "time",
];

/// Named by their content at best, and without meaning: layout tables and the parts of a formula.
const NEVER_SHOWN: &[&str] =
    &["LayoutTableCell", "LayoutTableRow", "MathMLIdentifier", "MathMLNumber", "MathMLOperator", "MathMLSup"];

/// Chromium's names for roles that have others in WAI-ARIA, or for which the snapshot has a plainer word.
const SAME: &[(&str, &str)] = &[
    ("Abbr", "abbr"),
    ("Audio", "audio"),
    ("Canvas", "canvas"),
    ("ColorWell", "button"),
    ("Date", "textbox"),
    ("DateTime", "textbox"),
    ("DisclosureTriangle", "button"),
    ("DisclosureTriangleGrouped", "button"),
    ("EmbeddedObject", "object"),
    ("Iframe", "iframe"),
    ("InputTime", "textbox"),
    ("LayoutTable", "generic"),
    ("MathMLMath", "math"),
    ("PluginObject", "object"),
    ("Pre", "code"),
    ("SvgRoot", "img"),
    ("Video", "video"),
    ("doc-backlink", "link"),
    ("doc-noteref", "link"),
    ("editable", "textbox"),
    ("image", "img"),
];

/// Nodes that have a name or value: their inner text is not repeated.
const TOLD_BY_NAME: &[&str] = &[
    "button",
    "checkbox",
    "columnheader",
    "combobox",
    "heading",
    "img",
    "link",
    "listbox",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "meter",
    "option",
    "progressbar",
    "radio",
    "rowheader",
    "scrollbar",
    "searchbox",
    "separator",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
    "tooltip",
    "treeitem",
];

/// Named by their content, which is listed below them: that content, joined, must be the name.
const TOLD_BELOW: &[&str] = &["cell", "gridcell", "math", "row", "term"];

/// Compared by value where others are compared by name.
const VALUED: &[&str] = &["combobox", "listbox", "searchbox", "slider", "spinbutton", "textbox"];

/// The bullets of lists with `list-style: none`.
const MARKERS: &[&str] = &["•", "◦", "▪"];

/// As the script cuts names.
const LONGEST_NAME: usize = 300;

#[derive(Default)]
pub struct Report {
    pub compared: usize,
    pub agreed: usize,
    /// Nodes with a mark that says that a person does not see them so.
    pub marked: Vec<String>,
    /// Examples by kind.
    pub kinds: BTreeMap<String, Vec<String>>,
}

impl Report {
    pub fn add(&mut self, other: Report) {
        self.compared += other.compared;
        self.agreed += other.agreed;
        self.marked.extend(other.marked);
        for (kind, examples) in other.kinds {
            self.kinds.entry(kind).or_default().extend(examples);
        }
    }

    pub fn share(&self) -> f64 {
        self.agreed as f64 / self.compared.max(1) as f64
    }

    /// The kinds of disagreement, most frequent first, with a few examples each.
    pub fn worst(&self, examples: usize) -> String {
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(_, found)| std::cmp::Reverse(found.len()));
        let lines = kinds.iter().map(|(kind, found)| {
            let shown: String =
                found.iter().take(examples).map(|example| format!("      {example}\n")).collect();
            format!("   {} x {kind}\n{shown}", found.len())
        });
        lines.collect()
    }

    pub fn agree(&mut self) {
        self.compared += 1;
        self.agreed += 1;
    }

    pub fn disagree(&mut self, kind: String, example: String) {
        self.compared += 1;
        self.kinds.entry(kind).or_default().push(example);
    }
}

pub fn compare(frame: &Frame) -> Report {
    let mut report = Report { marked: frame.ours.iter().filter_map(marked).collect(), ..Report::default() };
    let ours: HashMap<i64, &OurNode> = frame.ours.iter().filter_map(|node| Some((node.dom?, node))).collect();
    let by_id: HashMap<&str, &AxNode> =
        frame.chromium.iter().map(|node| (node.node_id.as_str(), node)).collect();
    let contents = contents(&frame.ours);
    let mut compared = HashSet::new();
    for node in &frame.chromium {
        let Some(tag) = node.dom.and_then(|dom| frame.tags.get(&dom)) else { continue };
        let dom = node.dom.unwrap_or_default();
        if node.ignored || TEXT.contains(&node.role()) {
            continue;
        }
        let our = ours.get(&dom);
        if !is_shown(node) {
            if our.is_some_and(|our| our.role == "generic") {
                compared.insert(dom);
            }
            continue;
        }
        if !compared.insert(dom) {
            continue;
        }
        let role = role_of(node);
        let in_a_name = plain(node.name()).is_empty()
            && !TOLD_BY_NAME.contains(&role)
            && is_told_by_name_of(node, &by_id);
        match our {
            _ if in_a_name => {}
            Some(our)
                if our.role == role
                    && TOLD_BELOW.contains(&role)
                    && our.name.is_empty()
                    && !node.name().is_empty() =>
            {
                let (their, our) = (squeezed(node.name()), squeezed(&contents[&dom]));
                if frame.is_same(dom, &their, &our) {
                    report.agree();
                } else {
                    let (their, our) = around_difference(&their, &our);
                    report.disagree(format!("content of {role}"), format!("{tag} {their:?} read as {our:?}"));
                }
            }
            _ => compare_node(frame, node, our.copied(), tag, &mut report),
        }
        if let Some(our) = our.filter(|our| our.role == role) {
            compare_states(node, our, tag, &mut report);
        }
    }
    // A clickable control under aria-hidden is included and marked; Chromium omits it.
    for our in frame.ours.iter().filter(|our| our.role != "text" && !our.states.contains_key("hidden")) {
        let Some(dom) = our.dom else { continue };
        // Chromium leaves out what is empty or only groups; a snapshot has it if it can be acted on.
        if our.reference.is_some() && matches!(our.role.as_str(), "generic" | "icon") {
            continue;
        }
        if compared.insert(dom) {
            let kind = format!("{} that Chromium does not have", our.role);
            report.disagree(kind, format!("{} {:?}", frame.tags[&dom], our.name));
        }
    }
    compare_text(frame, &by_id, &mut report);
    report
}

fn marked(our: &OurNode) -> Option<String> {
    let mark = ["unseen", "hidden"].into_iter().find(|mark| our.states.contains_key(*mark));
    let mark = mark.or_else(|| our.visible_label.is_some().then_some("shows"))?;
    Some(format!("{} {:?} {mark}", our.role, our.name))
}

/// The text below each node, in one line; a name stands for the text inside.
fn contents(ours: &[OurNode]) -> HashMap<i64, String> {
    let mut all = HashMap::new();
    for (at, node) in ours.iter().enumerate().filter(|(_, node)| TOLD_BELOW.contains(&node.role.as_str())) {
        let mut content = String::new();
        let mut inside_name = usize::MAX;
        for below in ours[at + 1..].iter().take_while(|below| below.depth > node.depth) {
            if below.depth > inside_name {
                continue;
            }
            let by_name = below.role == "text" || TOLD_BY_NAME.contains(&below.role.as_str());
            inside_name = if by_name && below.role != "text" { below.depth } else { usize::MAX };
            if VALUED.contains(&below.role.as_str()) {
                content.push_str(below.value.as_deref().unwrap_or_default());
            } else if by_name {
                content.push_str(&below.name);
            }
        }
        all.extend(node.dom.map(|dom| (dom, content)));
    }
    all
}

fn is_told_by_name_of(node: &AxNode, by_id: &HashMap<&str, &AxNode>) -> bool {
    let mut at = node;
    while let Some(parent) = at.parent_id.as_deref().and_then(|id| by_id.get(id)) {
        at = parent;
        if !at.ignored && is_shown(at) && TOLD_BY_NAME.contains(&role_of(at)) {
            return true;
        }
    }
    false
}

impl Frame {
    /// A snapshot has text as it is written, Chromium as a style changes its case.
    fn is_same(&self, dom: i64, their: &str, our: &str) -> bool {
        their == our || (self.recased.contains(&dom) && their.to_lowercase() == our.to_lowercase())
    }
}

fn compare_node(frame: &Frame, node: &AxNode, our: Option<&OurNode>, tag: &str, report: &mut Report) {
    let role = role_of(node);
    let name = plain(node.name());
    match our {
        None => report.disagree(format!("{role} missing"), format!("{tag} {name:?}")),
        Some(our) if our.role != role => {
            report.disagree(format!("{role} read as {}", our.role), format!("{tag} {name:?}"));
        }
        Some(our) if !frame.is_same(node.dom.unwrap_or_default(), &name, &plain(&our.name)) => {
            report.disagree(format!("name of {role}"), format!("{tag} {name:?} read as {:?}", our.name));
        }
        Some(_) => report.agree(),
    }
}

/// Text by the element that shows it; positions of lines and spaces are not compared.
fn compare_text(frame: &Frame, by_id: &HashMap<&str, &AxNode>, report: &mut Report) {
    let mut theirs: BTreeMap<i64, String> = BTreeMap::new();
    let unnamed: HashSet<i64> =
        frame.chromium.iter().filter(|node| !is_shown(node)).filter_map(|node| node.dom).collect();
    for node in frame.chromium.iter().filter(|node| node.role() == "StaticText" && !node.ignored) {
        if node.dom.is_some_and(|dom| frame.internal.contains(&dom)) {
            continue;
        }
        if node.dom.is_none() && MARKERS.contains(&node.name().trim()) {
            continue;
        }
        let mut owner = None;
        let mut hidden = false;
        let mut at = node;
        while let Some(parent) = at.parent_id.as_deref().and_then(|id| by_id.get(id)) {
            at = parent;
            hidden |= at.role() == "ListMarker"
                || (!at.ignored && is_shown(at) && TOLD_BY_NAME.contains(&role_of(at)));
            if owner.is_none() && !at.ignored && is_shown(at) {
                owner = Some(at.dom.filter(|dom| frame.tags.contains_key(dom)).unwrap_or_default());
            }
        }
        if !hidden {
            theirs.entry(owner.unwrap_or_default()).or_default().push_str(node.name());
        }
    }
    let mut ours: BTreeMap<i64, String> = BTreeMap::new();
    let mut open: Vec<&OurNode> = Vec::new();
    for (at, node) in frame.ours.iter().enumerate() {
        open.truncate(node.depth.min(open.len()));
        // An actionable element without a role has its text as its name; in Chromium's tree it is text.
        let nameless = node.role == "generic" && node.dom.is_some_and(|dom| unnamed.contains(&dom));
        let holds_more = frame.ours.get(at + 1).is_some_and(|next| next.depth > node.depth);
        if node.role == "text" || (nameless && !holds_more) {
            let owner = open.iter().rev().find(|owner| owner.dom.is_none_or(|dom| !unnamed.contains(&dom)));
            let owner = owner.and_then(|owner| owner.dom).unwrap_or_default();
            ours.entry(owner).or_default().push_str(&node.name);
        }
        if node.role != "text" {
            open.push(node);
        }
    }
    let by_name: HashSet<i64> = frame
        .ours
        .iter()
        .filter(|node| TOLD_BY_NAME.contains(&node.role.as_str()))
        .filter_map(|node| node.dom)
        .collect();
    ours.retain(|owner, _| !by_name.contains(owner));
    let owners: HashSet<i64> = theirs.keys().chain(ours.keys()).copied().collect();
    for owner in owners {
        let (their, our) = (
            squeezed(theirs.get(&owner).map_or("", String::as_str)),
            squeezed(ours.get(&owner).map_or("", String::as_str)),
        );
        // The document itself has no element.
        if frame.is_same(owner, &their, &our)
            || (owner == 0 && !frame.recased.is_empty() && their.to_lowercase() == our.to_lowercase())
        {
            report.agree();
        } else {
            let tag = frame.tags.get(&owner).map_or("the document", String::as_str);
            let (their, our) = around_difference(&their, &our);
            report.disagree("text".to_owned(), format!("{tag} {their:?} read as {our:?}"));
        }
    }
}

fn is_shown(node: &AxNode) -> bool {
    !(TEXT.contains(&node.role())
        || NEVER_SHOWN.contains(&node.role())
        || (NOT_SHOWN.contains(&node.role()) && plain(node.name()).is_empty()))
}

pub fn role_of(node: &AxNode) -> &str {
    let role = node.role();
    SAME.iter().find(|(theirs, _)| *theirs == role).map_or(role, |(_, ours)| ours)
}

fn plain(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = one_line.chars().take(LONGEST_NAME).collect();
    cut.trim_end_matches('…').trim().to_owned()
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).map(upright).collect()
}

/// Chromium reports the letters of a formula in the italic that they are drawn in.
fn upright(c: char) -> char {
    let plain = match u32::from(c) {
        italic @ 0x1D434..=0x1D44D => italic - 0x1D434 + u32::from('A'),
        italic @ 0x1D44E..=0x1D467 => italic - 0x1D44E + u32::from('a'),
        _ => return c,
    };
    char::from_u32(plain).unwrap_or(c)
}

fn around_difference(a: &str, b: &str) -> (String, String) {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| text.chars().skip(same.saturating_sub(10)).take(60).collect();
    (part(a), part(b))
}
