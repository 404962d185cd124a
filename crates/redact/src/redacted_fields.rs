//! The promise of a whole value that none of its text can hold a secret.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A value whose text is all [`Redacted`](crate::Redacted), ours, or an id that this program made: a reply, an audit event, an approval card,
/// a webhook body, an error.
///
/// Derive it. The derive compiles only if every field implements it, and neither `String` nor `serde_json::Value` does, so
/// a new text field that nobody redacted does not compile:
///
/// ```compile_fail
/// #[derive(redact::RedactedFields)]
/// struct TabReply {
///     title: String,
/// }
/// ```
///
/// ```compile_fail
/// #[derive(redact::RedactedFields)]
/// enum Reply {
///     Tabs(Vec<Option<String>>),
/// }
/// ```
///
/// ```compile_fail
/// #[derive(redact::RedactedFields)]
/// struct Borrowed<'a> {
///     title: &'a str,
/// }
/// ```
///
/// ```compile_fail
/// #[derive(redact::RedactedFields)]
/// struct Shared<'a>(std::borrow::Cow<'a, str>, std::sync::Arc<str>);
/// ```
///
/// ```compile_fail
/// #[derive(redact::RedactedFields)]
/// struct Generic<T> {
///     titles: std::collections::BTreeMap<u32, (T, Box<str>)>,
/// }
/// ```
///
/// ```
/// #[derive(redact::RedactedFields)]
/// struct TabReply {
///     title: redact::Redacted,
///     is_current: bool,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` may hold text that nobody redacted",
    note = "use `redact::Redacted` for text, or derive `RedactedFields` for a type of your own"
)]
pub trait RedactedFields {
    /// Never called: its body holds the derive's checks.
    #[doc(hidden)]
    fn every_field_is_redacted() {}
}

/// Compiles for types that keep the promise. For the derive.
#[doc(hidden)]
pub fn assert_redacted<T: RedactedFields + ?Sized>() {}

macro_rules! redacted_fields {
    ($($type:ty)*) => { $(impl RedactedFields for $type {})* };
}

redacted_fields! {
    () bool u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64
    Duration jiff::Timestamp error_code::ErrorCode error_code::EndReason
}

/// Text of this program.
impl RedactedFields for &'static str {}

impl<T: RedactedFields + ?Sized> RedactedFields for &T {}
impl<T: RedactedFields> RedactedFields for Option<T> {}
impl<T: RedactedFields> RedactedFields for Vec<T> {}
impl<T: RedactedFields> RedactedFields for VecDeque<T> {}
impl<T: RedactedFields, const N: usize> RedactedFields for [T; N] {}
impl<T: RedactedFields> RedactedFields for [T] {}
impl<T: RedactedFields + ?Sized> RedactedFields for Box<T> {}
impl<T: RedactedFields + ?Sized> RedactedFields for Arc<T> {}
impl<K: RedactedFields, V: RedactedFields> RedactedFields for BTreeMap<K, V> {}
impl<A: RedactedFields, B: RedactedFields> RedactedFields for (A, B) {}
