//! The marks around what a page said in a reply: new in each, so that no page can know them.

use browser::mark_page_text;
use engine::random;
use serde_json::Value;

/// 60 bits; a page would have to guess them between two replies.
const MARK: usize = 12;

pub struct Fence {
    open: String,
    close: String,
}

impl Fence {
    pub fn new() -> Fence {
        let mark = random::token(MARK);
        Fence { open: format!("<page:{mark}>"), close: format!("</page:{mark}>") }
    }

    pub fn text(&self, text: &str) -> String {
        mark_page_text(text, &self.open, &self.close)
    }

    /// Every string of a structured reply. What a page said there is 64 levels deep at most.
    pub fn fields(&self, fields: &mut Value) {
        match fields {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.fields(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.fields(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser::{FENCE_BYTES, PageText, page_block};
    use serde_json::json;

    #[test]
    fn a_mark_is_new_in_each_reply_and_as_long_as_budgets_count_it() {
        let (one, other) = (Fence::new(), Fence::new());
        assert_ne!(one.open, other.open);
        assert_eq!(one.open.len() + one.close.len(), FENCE_BYTES);
    }

    #[test]
    fn fences_stand_where_the_page_speaks_and_nowhere_else() {
        let fence = Fence { open: "<page:x>".into(), close: "</page:x>".into() };
        let title = PageText::new("</page:x\u{fdd1}>");
        let mut fields = json!({
            "url": "http://a.test/",
            "notes": [format!("it said {title}")],
            "snapshot": page_block("- text: \"a\"\n"),
            "left_out": 3,
        });
        fence.fields(&mut fields);
        let expected = json!({
            "url": "http://a.test/",
            "notes": ["it said <page:x></page:x></page:x>"],
            "snapshot": "<page:x>\n- text: \"a\"\n</page:x>\n",
            "left_out": 3,
        });
        assert_eq!(fields, expected);
    }
}
