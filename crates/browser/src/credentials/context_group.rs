//! Browsing context groups: which tabs can reach one another, and whose documents they have shown.
//!
//! A page can cause requests in any tab of its group: it can navigate them, frame them and post forms to them. Chromium
//! does not say which page a request comes from, so a header is added only in a group that has never shown a document
//! of another origin. A group that has stays mixed; the driver opens a tab in a new group instead.

use policy::Origin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone)]
pub(crate) struct BrowsingContextGroup(Arc<Mutex<GroupOrigins>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum GroupOrigins {
    /// No document has loaded yet.
    #[default]
    None,
    Single(Origin),
    Mixed,
}

impl BrowsingContextGroup {
    /// The group of a tab that the driver opened, and that no page can reach.
    pub fn isolated() -> BrowsingContextGroup {
        BrowsingContextGroup::with(GroupOrigins::None)
    }

    /// The group of a tab whose history is unknown.
    pub fn mixed() -> BrowsingContextGroup {
        BrowsingContextGroup::with(GroupOrigins::Mixed)
    }

    /// The group of a popup that a page of this group opened. A popup without access to its opener gets a group of its
    /// own with the same origins: the page has chosen where it goes.
    pub fn for_popup(&self, can_access_opener: bool) -> BrowsingContextGroup {
        if can_access_opener { self.clone() } else { BrowsingContextGroup::with(self.origins().clone()) }
    }

    /// A document of this URL loads, or is about to.
    pub fn add_document(&self, url: &str) {
        let origin = Origin::of(url);
        let is_web = |text: &str| text.starts_with("http:") || text.starts_with("https:");
        let mut origins = self.origins();
        *origins = match (&*origins, is_web(origin.as_str())) {
            (GroupOrigins::None, true) => GroupOrigins::Single(origin),
            (GroupOrigins::Single(known), true) if *known == origin => return,
            (_, true) => GroupOrigins::Mixed,
            // A URL that Chromium accepts and our parser does not.
            (_, false) if is_web(url) => GroupOrigins::Mixed,
            // about:, data: and blob: documents belong to the document that made them.
            (_, false) => return,
        };
    }

    /// A document loaded unobserved: treat it as cross-origin.
    pub fn mark_mixed(&self) {
        *self.origins() = GroupOrigins::Mixed;
    }

    /// Whether every document so far was of this origin.
    pub fn is_exclusive_to(&self, origin: &Origin) -> bool {
        match &*self.origins() {
            GroupOrigins::None => true,
            GroupOrigins::Single(known) => known == origin,
            GroupOrigins::Mixed => false,
        }
    }

    fn with(origins: GroupOrigins) -> BrowsingContextGroup {
        BrowsingContextGroup(Arc::new(Mutex::new(origins)))
    }

    fn origins(&self) -> MutexGuard<'_, GroupOrigins> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_exclusive_to_an_origin_until_a_document_of_another_loads() {
        for (documents, exclusive) in [
            (&[] as &[&str], true),
            (&["https://own.test/"], true),
            (&["https://own.test/", "https://own.test:443/b?c#d", "about:blank", "about:srcdoc"], true),
            (&["blob:https://own.test/1", "data:text/html,x", "chrome-error://chromewebdata/"], true),
            (&["https://own.test/", "https://other.test/"], false),
            (&["https://own.test/", "http://own.test/"], false),
            (&["https://own.test/", "https://own.test:444/"], false),
            (&["https://own.test/", "https://sub.own.test/"], false),
            (&["https://other.test/", "https://own.test/"], false),
            (&["https://own.test/", "blob:https://other.test/1"], false),
            (&["https://own.test/", "https://[not an address/"], false),
        ] {
            let group = BrowsingContextGroup::isolated();
            for url in documents {
                group.add_document(url);
            }
            assert_eq!(group.is_exclusive_to(&Origin::of("https://own.test/")), exclusive, "{documents:?}");
        }
        assert!(!BrowsingContextGroup::mixed().is_exclusive_to(&Origin::of("https://own.test/")));
    }

    #[test]
    fn a_popup_shares_its_openers_group_if_it_can_access_it_and_copies_it_otherwise() {
        let own = Origin::of("https://own.test/");
        for (before, reaches, later, opener_is_exclusive, popup_is_exclusive) in [
            ("https://own.test/", true, "https://own.test/a", true, true),
            ("https://own.test/", true, "https://other.test/", false, false),
            ("https://own.test/", false, "https://own.test/a", true, true),
            ("https://own.test/", false, "https://other.test/", true, false),
            ("https://other.test/", true, "https://own.test/", false, false),
            ("https://other.test/", false, "https://own.test/", false, false),
        ] {
            let opener = BrowsingContextGroup::isolated();
            opener.add_document(before);
            let popup = opener.for_popup(reaches);
            popup.add_document(later);
            let both = (opener.is_exclusive_to(&own), popup.is_exclusive_to(&own));
            assert_eq!(both, (opener_is_exclusive, popup_is_exclusive), "{before} {reaches} {later}");
        }
    }
}
