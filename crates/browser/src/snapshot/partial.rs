//! Pages of which only what the reply shows was read: filling in the rest later, without changing what was shown.

use super::{
    cursor::Span,
    node::{Node, Page},
};
use std::{ops::Range, sync::Arc};

/// Where a later reading of the same document has the parts that an earlier one deferred.
#[derive(Clone, Debug)]
pub(crate) struct DeferredRanges {
    /// The serial of the script's reply that deferred them.
    pub reading: u64,
    pub parts: Vec<Range<usize>>,
}

/// Where the nodes of a partial page are in the completed one: the index of each part in the former, and its size in the
/// latter.
#[derive(Clone, Debug, Default)]
pub(super) struct PartSizes(Vec<(usize, usize)>);

impl PartSizes {
    fn position(&self, at: usize) -> usize {
        let before = self.0.iter().take_while(|(part, _)| *part < at);
        before.fold(at, |position, (_, size)| position + size - 1)
    }

    pub fn translate(&self, span: Span) -> Span {
        match span {
            Span::Nodes { first, end } => {
                Span::Nodes { first: self.position(first), end: self.position(end) }
            }
            Span::Text { node, from } => Span::Text { node: self.position(node), from },
        }
    }
}

impl Page {
    /// The page with the parts that were deferred; what was read is as it was. None if they were deferred by another
    /// reading, or cannot be told apart.
    pub(super) fn completed(
        &self,
        later: &[Arc<Node>],
        ranges: &[DeferredRanges],
    ) -> Option<(Page, PartSizes)> {
        let ranges = ranges.iter().find(|ranges| self.partial == Some(ranges.reading))?;
        let deferred = self.nodes.iter().filter(|node| node.deferred.is_some()).count();
        if deferred != ranges.parts.len() {
            return None;
        }
        let mut nodes = Vec::with_capacity(later.len());
        let mut sizes = Vec::with_capacity(deferred);
        let mut parts = ranges.parts.iter();
        for (at, node) in self.nodes.iter().enumerate() {
            if node.deferred.is_none() {
                nodes.push(Arc::clone(node));
                continue;
            }
            let part = later.get(parts.next()?.clone())?;
            sizes.push((at, part.len()));
            nodes.extend_from_slice(part);
        }
        let page = Page { nodes, partial: None, title: self.title.clone(), parts: None, ..*self };
        Some((page, PartSizes(sizes)))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::node::DeferredPart, super::node::tests::page, *};

    fn partial() -> Page {
        let mut page = page("0 main\n1 row\n1 heading B\n1 row\n0 text end");
        for at in [1, 3] {
            let part = DeferredPart { siblings: 3, lines: 7, actionable: 2 };
            Arc::make_mut(&mut page.nodes[at]).deferred = Some(Box::new(part));
        }
        page.partial = Some(5);
        page
    }

    fn complete(later: &Page, parts: &[Range<usize>]) -> Option<(Page, PartSizes)> {
        partial().completed(&later.nodes, &[DeferredRanges { reading: 5, parts: parts.to_vec() }])
    }

    #[test]
    fn parts_are_filled_in_and_what_was_read_is_kept() {
        let later = page("0 main\n1 row 1\n1 row 2\n1 heading C\n1 text new\n1 row 3\n0 text end");
        let (page, sizes) = complete(&later, &[1..3, 5..6]).unwrap();
        let names: Vec<_> = page.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["", "1", "2", "B", "3", "end"]);
        assert_eq!(page.partial, None);
        for (first, end, expected) in [(1, 2, (1, 3)), (2, 4, (3, 5)), (0, 5, (0, 6)), (3, 4, (4, 5))] {
            let (first, end) = match sizes.translate(Span::Nodes { first, end }) {
                Span::Nodes { first, end } => (first, end),
                other => panic!("{other:?}"),
            };
            assert_eq!((first, end), expected);
        }
        assert_eq!(sizes.translate(Span::Text { node: 4, from: 2 }), Span::Text { node: 5, from: 2 });
    }

    #[test]
    fn a_part_that_is_gone_is_empty() {
        let (page, sizes) = complete(&page("0 main\n1 row 1"), &[1..2, 2..2]).unwrap();
        assert_eq!(page.nodes.len(), 4);
        assert_eq!(sizes.translate(Span::Nodes { first: 3, end: 4 }), Span::Nodes { first: 3, end: 3 });
    }

    #[test]
    fn other_readings_and_places_that_do_not_exist_complete_nothing() {
        let later = page("0 main\n1 row 1");
        assert!(complete(&later, &[0..1, 1..2, 2..2]).is_none());
        assert!(complete(&later, &[1..2, 2..9]).is_none());
        let other = DeferredRanges { reading: 6, parts: vec![0..1, 1..2] };
        assert!(partial().completed(&later.nodes, &[other]).is_none());
    }
}
