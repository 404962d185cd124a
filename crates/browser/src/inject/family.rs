//! Which tabs can reach one another, and whose documents have been in them.
//!
//! A page can have a request made in any tab of its family: it can navigate them, frame them and post forms to them.
//! Chromium does not say which page a request comes from, so a header is added only in a family that has never held
//! a document of another origin. A family does not recover from one; the driver opens a tab of a new one instead.

use policy::Origin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone)]
pub(crate) struct Family(Arc<Mutex<Company>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Company {
    /// No document has come yet.
    #[default]
    Nobody,
    Only(Origin),
    Mixed,
}

impl Family {
    /// Of a tab that the driver opened, and that no page can reach.
    pub fn new() -> Family {
        Family::with(Company::Nobody)
    }

    /// Of a tab whose past is not known.
    pub fn mixed() -> Family {
        Family::with(Company::Mixed)
    }

    /// Of a tab that a page of this family opened. Where neither can reach the other, what comes to the one is nothing
    /// to the other; but the page has chosen where the new one goes.
    pub fn of_popup(&self, reaches_opener: bool) -> Family {
        if reaches_opener { self.clone() } else { Family::with(self.company().clone()) }
    }

    /// A document of this address is about to come, or has come.
    pub fn joined_by(&self, url: &str) {
        let origin = Origin::of(url);
        let is_web = |text: &str| text.starts_with("http:") || text.starts_with("https:");
        let mut company = self.company();
        *company = match (&*company, is_web(origin.as_str())) {
            (Company::Nobody, true) => Company::Only(origin),
            (Company::Only(known), true) if *known == origin => return,
            (_, true) => Company::Mixed,
            // An address that Chromium takes and we do not understand.
            (_, false) if is_web(url) => Company::Mixed,
            // Empty, written and made-up documents belong to the one that made them.
            (_, false) => return,
        };
    }

    /// What came could not be seen.
    pub fn mix(&self) {
        *self.company() = Company::Mixed;
    }

    /// Whether all documents there have been are of this origin.
    pub fn is_home_of(&self, origin: &Origin) -> bool {
        match &*self.company() {
            Company::Nobody => true,
            Company::Only(known) => known == origin,
            Company::Mixed => false,
        }
    }

    fn with(company: Company) -> Family {
        Family(Arc::new(Mutex::new(company)))
    }

    fn company(&self) -> MutexGuard<'_, Company> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_home_to_an_origin_until_a_document_of_another_comes() {
        for (documents, home) in [
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
            let family = Family::new();
            for url in documents {
                family.joined_by(url);
            }
            assert_eq!(family.is_home_of(&Origin::of("https://own.test/")), home, "{documents:?}");
        }
        assert!(!Family::mixed().is_home_of(&Origin::of("https://own.test/")));
    }

    #[test]
    fn a_popup_shares_its_openers_fate_if_it_can_reach_it_and_its_past_if_it_cannot() {
        let own = Origin::of("https://own.test/");
        for (before, reaches, later, opener_is_home, popup_is_home) in [
            ("https://own.test/", true, "https://own.test/a", true, true),
            ("https://own.test/", true, "https://other.test/", false, false),
            ("https://own.test/", false, "https://own.test/a", true, true),
            ("https://own.test/", false, "https://other.test/", true, false),
            ("https://other.test/", true, "https://own.test/", false, false),
            ("https://other.test/", false, "https://own.test/", false, false),
        ] {
            let opener = Family::new();
            opener.joined_by(before);
            let popup = opener.of_popup(reaches);
            popup.joined_by(later);
            let homes = (opener.is_home_of(&own), popup.is_home_of(&own));
            assert_eq!(homes, (opener_is_home, popup_is_home), "{before} {reaches} {later}");
        }
    }
}
