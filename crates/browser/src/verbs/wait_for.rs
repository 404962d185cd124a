//! Waiting for a text, an element, an address, a load state or a time. Uses only what a snapshot shows.

use super::{
    ActionNote,
    read::{Links, ReadingScope},
    settle::has_reached,
};
use crate::{
    browser::Browser, deadline::Deadline, error::BrowserError, snapshot::SearchQuery, state::State,
    targeting::Purpose,
};
use policy::{Condition, Find, Pattern, Target, WaitFor};
use std::time::{Duration, Instant};

/// Interval between two checks; longer on a page that takes long to read, so that checks take a fraction of its time.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
const PAUSE_FACTOR: u32 = 4;

/// The content to wait for.
#[derive(Clone, Copy)]
enum AwaitedContent<'a> {
    Text(&'a str),
    Element(&'a Target),
}

impl Browser {
    pub(super) async fn wait_until(
        &self,
        wait: &WaitFor,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        self.begin_action();
        // The rest of the time is for reading the page.
        let limit = deadline.within(deadline.left().mul_f64(0.95));
        match &wait.condition {
            Condition::Time(time) => {
                tokio::time::sleep_until(limit.within(*time).at).await;
                if limit.left().is_zero() {
                    return Err(limit.timeout());
                }
            }
            Condition::Load(wanted) => {
                let reached = |state: &mut State| has_reached(state, *wanted).then_some(());
                self.wait(limit, reached).await?;
            }
            Condition::Url(pattern) => {
                let matches = |state: &mut State| {
                    let url = state.shown_url(state.tab.as_ref()?);
                    matches_url(pattern, &url).then_some(())
                };
                self.wait(limit, matches).await?;
            }
            Condition::Text(text) => self.wait_for_content(AwaitedContent::Text(text), true, limit).await?,
            Condition::TextGone(text) => {
                self.wait_for_content(AwaitedContent::Text(text), false, limit).await?
            }
            Condition::Element(target) => {
                self.wait_for_content(AwaitedContent::Element(target), true, limit).await?
            }
            Condition::ElementGone(target) => {
                self.wait_for_content(AwaitedContent::Element(target), false, limit).await?
            }
        }
        Ok(None)
    }

    /// Checks repeatedly until the content is present, or absent.
    async fn wait_for_content(
        &self,
        content: AwaitedContent<'_>,
        wanted: bool,
        limit: Deadline,
    ) -> Result<(), BrowserError> {
        loop {
            let begun = Instant::now();
            let present = match content {
                AwaitedContent::Text(text) => self.page_has_text(text, limit).await,
                AwaitedContent::Element(target) => self.page_has_element(target, limit).await,
            };
            match present {
                Ok(is_present) if is_present == wanted => return Ok(()),
                // A page between two documents cannot be read yet; the next check can, unless its tab is gone.
                Ok(_) | Err(BrowserError::PageScript { .. }) => {}
                Err(error) => return Err(error),
            }
            let ended = self.shared.lock().ended.clone();
            if let Some(ended) = ended {
                return Err(self.with_crash_status(ended.into()).await);
            }
            if limit.left().is_zero() {
                return Err(limit.timeout());
            }
            let pause = CHECK_INTERVAL.max(begun.elapsed() * PAUSE_FACTOR).min(limit.left());
            tokio::time::sleep(pause).await;
        }
    }

    async fn page_has_text(&self, text: &str, limit: Deadline) -> Result<bool, BrowserError> {
        let pattern = Some(Pattern::Text(text.to_owned()));
        let find = Find { pattern, limit: 1, ..Find::default() };
        let query = SearchQuery::new(&find, find.tokens.bytes())
            .map_err(|source| BrowserError::BadPattern { source })?;
        let page = self.read_page(ReadingScope::whole(Links::Omitted), limit).await?.page;
        // A plain text is found in one pass over the page, so the search is fast.
        let found = query.search(&page, 0, limit.at.into_std());
        if found.total == 0 && found.out_of_time {
            return Err(limit.timeout());
        }
        Ok(found.total > 0)
    }

    async fn page_has_element(&self, target: &Target, limit: Deadline) -> Result<bool, BrowserError> {
        let located = match target {
            Target::Ref(_) => {
                match self.element_facts(target, Purpose::See, limit.within(CHECK_INTERVAL * 2)).await {
                    Ok(found) => return Ok(found.is_some()),
                    Err(error) => Err(error),
                }
            }
            _ => self.locate_once(target, Purpose::See, limit).await.map(|_| ()),
        };
        match located {
            Ok(()) => Ok(true),
            Err(
                BrowserError::ElementNotFound { .. }
                | BrowserError::StaleRef { .. }
                | BrowserError::ElementNotVisible { .. }
                | BrowserError::NothingThere,
            ) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Matches a part of the address; a pattern with `*`, which stands for anything, matches the whole.
fn matches_url(pattern: &str, url: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    if first.len() == pattern.len() {
        return url.contains(pattern);
    }
    let Some(mut rest) = url.strip_prefix(first) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_matches_by_substring_or_by_wildcards() {
        for (pattern, url, expected) in [
            ("/orders", "http://shop.test/orders?page=2", true),
            ("/order/", "http://shop.test/orders", false),
            ("http://shop.test/*", "http://shop.test/orders", true),
            ("*/orders", "http://shop.test/orders", true),
            ("*/orders", "http://shop.test/orders/1", false),
            ("http://*.test/*/1", "http://shop.test/orders/1", true),
            ("http://*.test/*/1", "http://shop.test/orders/2", false),
            ("*", "about:blank", true),
        ] {
            assert_eq!(matches_url(pattern, url), expected, "{pattern} {url}");
        }
    }
}
