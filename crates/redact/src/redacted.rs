//! Text that is proven to be free of secrets.

#[cfg(test)]
mod tests;

use crate::redacted_fields::RedactedFields;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};

/// A text that has been through a [`Redactor`](crate::Redactor), or that cannot hold a secret.
///
/// Replies, audit events, approval cards, webhook bodies, recordings, titles and errors are made of it alone. Its field is
/// private and it has no `From<String>` and no `Deserialize`, so a text that nobody redacted does not compile:
///
/// ```compile_fail
/// let page_title = String::from("from a page");
/// let title: redact::Redacted = page_title.into();
/// ```
///
/// ```compile_fail
/// let title = redact::Redacted(std::borrow::Cow::Owned(String::from("from a page")));
/// ```
///
/// ```compile_fail
/// let page_title = String::from("from a page");
/// let title = redact::Redacted::literal(&page_title);
/// ```
///
/// ```compile_fail
/// let page_title = String::from("from a page");
/// let line = redact::redacted!("the title is {}", page_title);
/// ```
///
/// ```compile_fail
/// let page_title = String::from("from a page");
/// let line = redact::redacted!("the title is {page_title}");
/// ```
///
/// ```compile_fail
/// let page_title = String::from("from a page");
/// let line = redact::redacted!("the title is {}", page_title.as_str());
/// ```
///
/// ```compile_fail
/// let title: redact::Redacted = serde_json::from_str("\"from a page\"").unwrap();
/// ```
///
/// What does compile:
///
/// ```
/// use redact::{Redacted, Redactor, Secret, redacted};
/// let redactor = Redactor::new(&[Secret::new("hunter2-hunter2".to_owned())]);
/// let title = redactor.redact("Welcome, hunter2-hunter2");
/// assert_eq!(redacted!("{}: {} items", title, 3), "Welcome, [redacted]: 3 items");
/// ```
///
/// Masking comes before cutting: a secret that is cut in two is found in neither half. So every method here that shortens
/// a text takes one that is masked already.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Redacted(Cow<'static, str>);

/// What can stand in a [`Redacted`] as it is, because no text of a page or a site fits into it: numbers, truth values, ids
/// that this program makes, names that an operator or the caller itself chose.
///
/// Who implements it for a type promises that. A test keeps the list of files that do, by `SafeText for` or
/// [`declare_safe_text!`](crate::declare_safe_text). Text of a page or a site goes through a redactor instead.
pub trait SafeText: fmt::Display {}

/// Declares that no text of a page, a site or an agent fits into these types, so that they go out as they are: ids that
/// this program makes, and names that an operator chose. A test keeps the list of places.
#[macro_export]
macro_rules! declare_safe_text {
    ($($type:ty),* $(,)?) => { $(
        impl $crate::SafeText for $type {}
        impl $crate::RedactedFields for $type {}
    )* };
}

macro_rules! safe {
    ($($type:ty)*) => { $(impl SafeText for $type {})* };
}

safe! {
    bool u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 Redacted
    jiff::Timestamp error_code::ErrorCode
}

/// Text of this program.
impl SafeText for &'static str {}

impl<T: SafeText> SafeText for &T {}

impl RedactedFields for Redacted {}

impl Redacted {
    /// For the redactor, which masked it.
    pub(crate) fn masked(text: String) -> Redacted {
        Redacted(Cow::Owned(text))
    }

    /// Text of this program.
    pub const fn literal(text: &'static str) -> Redacted {
        Redacted(Cow::Borrowed(text))
    }

    /// Text that no session reaches: a path, an error of the operating system, a setting, an argument that the caller sent
    /// itself. No credential and no page has a part in it, so there is nothing to mask.
    ///
    /// Never for what a page or a site said. A test keeps the gate and the driver, where such text passes, free of it.
    pub fn outside_sessions(text: impl Into<String>) -> Redacted {
        Redacted(Cow::Owned(text.into()))
    }

    /// A value that is made of redacted text, as JSON.
    pub fn json(value: &(impl Serialize + RedactedFields)) -> Result<Redacted, serde_json::Error> {
        serde_json::to_string(value).map(|text| Redacted(Cow::Owned(text)))
    }

    /// A number, or an id that this program made.
    pub fn from_safe(value: impl SafeText) -> Redacted {
        Redacted(Cow::Owned(value.to_string()))
    }

    /// The template with each `{}` replaced by a part, in order. [`redacted!`](crate::redacted) checks their number when
    /// it is compiled; here, a hole without a part stays as it is, and a part without a hole is left out.
    pub fn fill(template: &'static str, parts: &[&dyn SafeText]) -> Redacted {
        let mut pieces = template.split("{}");
        let mut text = pieces.next().unwrap_or_default().to_owned();
        let mut parts = parts.iter();
        for piece in pieces {
            match parts.next() {
                Some(part) => text.push_str(&part.to_string()),
                None => text.push_str("{}"),
            }
            text.push_str(piece);
        }
        Redacted(Cow::Owned(text))
    }

    /// The parts one after the other.
    pub fn concat(parts: impl IntoIterator<Item = Redacted>) -> Redacted {
        Redacted::join(parts, "")
    }

    /// The parts with a text of this program between them.
    pub fn join(parts: impl IntoIterator<Item = Redacted>, separator: &'static str) -> Redacted {
        let mut parts = parts.into_iter();
        let Some(mut text) = parts.next().map(Redacted::into_string) else { return Redacted::default() };
        for part in parts {
            text.push_str(separator);
            text.push_str(&part.0);
        }
        Redacted(Cow::Owned(text))
    }

    /// Adds to its end.
    pub fn push(&mut self, part: impl SafeText) {
        self.0.to_mut().push_str(&part.to_string());
    }

    /// Adds a text of this program to its end.
    pub fn push_literal(&mut self, text: &'static str) {
        self.0.to_mut().push_str(text);
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0.into_owned()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// With these ranges of bytes masked as well: for what another search finds in a text that is redacted already.
    /// Ranges that overlap become one; a range that ends inside a character takes the whole of it.
    #[must_use]
    pub fn mask_ranges(
        &self,
        ranges: impl IntoIterator<Item = Range<usize>>,
        mask: &'static str,
    ) -> Redacted {
        let mut ranges: Vec<Range<usize>> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        ranges.sort_by_key(|range| range.start);
        let mut text = String::with_capacity(self.0.len());
        let mut from = 0;
        for range in ranges {
            let start = floor_boundary(&self.0, range.start);
            let end = ceil_boundary(&self.0, range.end);
            if start >= from {
                text.push_str(&self.0[from..start]);
                text.push_str(mask);
            }
            from = from.max(end);
        }
        text.push_str(&self.0[from..]);
        Redacted(Cow::Owned(text))
    }

    /// With every occurrence of the text masked as well.
    #[must_use]
    pub fn mask_text(&self, wanted: &str, mask: &'static str) -> Redacted {
        let found = self.0.match_indices(wanted).map(|(at, found)| at..at + found.len());
        self.mask_ranges(found.collect::<Vec<_>>(), mask)
    }

    /// A part of it, by bytes; `None` if it ends inside a character or beyond the end.
    pub fn get(&self, range: Range<usize>) -> Option<Redacted> {
        self.0.get(range).map(|part| Redacted(Cow::Owned(part.to_owned())))
    }

    /// At most so many characters, and the text of this program where some are left out.
    #[must_use]
    pub fn truncate_chars(&self, most: usize, ellipsis: &'static str) -> Redacted {
        match self.0.char_indices().nth(most) {
            None => self.clone(),
            Some((end, _)) => Redacted(Cow::Owned(format!("{}{ellipsis}", &self.0[..end]))),
        }
    }

    /// At most so many bytes of whole characters, and the text of this program where some are left out.
    #[must_use]
    pub fn truncate_bytes(&self, most: usize, ellipsis: &'static str) -> Redacted {
        if self.0.len() <= most {
            return self.clone();
        }
        Redacted(Cow::Owned(format!("{}{ellipsis}", &self.0[..floor_boundary(&self.0, most)])))
    }

    #[must_use]
    pub fn trim(&self) -> Redacted {
        Redacted(Cow::Owned(self.0.trim().to_owned()))
    }

    /// In one line: each run of white space becomes a space.
    #[must_use]
    pub fn fold_whitespace(&self) -> Redacted {
        let words: Vec<&str> = self.0.split_whitespace().collect();
        Redacted(Cow::Owned(words.join(" ")))
    }

    /// Without the characters that the test is true for: control characters, say.
    #[must_use]
    pub fn without(&self, is_unwanted: impl Fn(char) -> bool) -> Redacted {
        Redacted(Cow::Owned(self.0.chars().filter(|character| !is_unwanted(*character)).collect()))
    }

    /// What a function makes of it. A function pointer captures nothing, so its result comes from this text and from text of
    /// this program alone.
    #[must_use]
    pub fn transform(&self, change: fn(&str) -> String) -> Redacted {
        Redacted(Cow::Owned(change(&self.0)))
    }

    /// The same, for a function that takes a number or an id beside it: a limit, say.
    #[must_use]
    pub fn transform_with<A: SafeText>(&self, argument: A, change: fn(&str, A) -> String) -> Redacted {
        Redacted(Cow::Owned(change(&self.0, argument)))
    }

    pub fn lines(&self) -> impl Iterator<Item = Redacted> {
        self.0.lines().map(|line| Redacted(Cow::Owned(line.to_owned())))
    }
}

/// For `#[serde(deserialize_with)]`: text that was redacted before this program stored it, or that an operator's own program
/// reads to show it to them. A test keeps the list of places.
pub fn previously_redacted<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: PreviouslyRedacted<'de>,
{
    T::read(deserializer)
}

/// What [`previously_redacted`] reads.
pub trait PreviouslyRedacted<'de>: Sized {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

impl<'de> PreviouslyRedacted<'de> for Redacted {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Redacted, D::Error> {
        String::deserialize(deserializer).map(Redacted::masked)
    }
}

impl<'de, T: PreviouslyRedacted<'de>> PreviouslyRedacted<'de> for Option<T> {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        struct Wrapped<T>(T);
        impl<'de, T: PreviouslyRedacted<'de>> Deserialize<'de> for Wrapped<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Wrapped<T>, D::Error> {
                T::read(deserializer).map(Wrapped)
            }
        }
        Ok(Option::<Wrapped<T>>::deserialize(deserializer)?.map(|wrapped| wrapped.0))
    }
}

/// The last border of a character that is not after this byte.
fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first border of a character that is not before this byte.
fn ceil_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// [`Redacted`] from a literal with a `{}` for each part. Parts are [`Redacted`] or other [`SafeText`]; names inside the
/// braces are refused, and so is a number of parts that is not that of the holes.
///
/// ```compile_fail
/// let line = redact::redacted!("{} of {}", 1);
/// ```
#[macro_export]
macro_rules! redacted {
    ($template:literal $(, $part:expr)* $(,)?) => {{
        const HOLES: usize = $crate::count_holes($template);
        const PARTS: &[&str] = &[$(stringify!($part)),*];
        const { assert!(HOLES == PARTS.len(), "a template needs one part for each pair of braces") };
        $crate::Redacted::fill($template, &[$(&$part as &dyn $crate::SafeText),*])
    }};
}

/// How many `{}` a template has. For [`redacted!`](crate::redacted), which runs it when it is compiled.
///
/// # Panics
/// If there is a brace that is not part of a `{}`: what looks like a name in it would not be filled in.
pub const fn count_holes(template: &str) -> usize {
    let bytes = template.as_bytes();
    let (mut at, mut holes) = (0, 0);
    while at < bytes.len() {
        if bytes[at] == b'{' {
            assert!(
                at + 1 < bytes.len() && bytes[at + 1] == b'}',
                "an opening brace stands before a closing one"
            );
            holes += 1;
            at += 1;
        }
        at += 1;
    }
    holes
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// Reading is free: only what is made of a `str` is plain text again.
impl Deref for Redacted {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Redacted {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Redacted {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<String> for Redacted {
    fn eq(&self, other: &String) -> bool {
        self.0 == *other
    }
}

impl PartialEq<&str> for Redacted {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// Text of this program.
impl From<&'static str> for Redacted {
    fn from(text: &'static str) -> Redacted {
        Redacted::literal(text)
    }
}

impl From<Redacted> for String {
    fn from(text: Redacted) -> String {
        text.into_string()
    }
}

impl FromIterator<Redacted> for Redacted {
    fn from_iter<I: IntoIterator<Item = Redacted>>(parts: I) -> Redacted {
        Redacted::concat(parts)
    }
}

impl Serialize for Redacted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Redacted {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}
