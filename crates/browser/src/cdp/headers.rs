//! The headers of requests and responses that the driver needs. Their values may be secrets and are never printed.

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::fmt;
use zeroize::Zeroizing;

/// Names and values together; a request with more than this is not rewritten.
const MAX_BYTES: usize = 64 * 1024;
/// Cookies of one response; Chromium keeps fewer.
const MAX_COOKIES: usize = 512;

/// The headers of a paused request.
#[derive(Clone, Default)]
pub struct RequestHeaders {
    lines: Vec<(String, String)>,
    /// There were more than are kept.
    is_truncated: bool,
}

/// The headers of a response that say whose document it brings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseHeaders {
    /// It has a `Location`, which makes it a redirect if its status says so.
    pub has_location: bool,
    /// A signed exchange: a document of another site.
    pub is_exchange: bool,
    /// The document has an opaque origin, whatever its URL.
    pub is_sandboxed: bool,
}

/// The headers of a response that issue a secret: `Set-Cookie` lines as the server wrote them, and headers with a
/// credential name.
#[derive(Clone, Default)]
pub struct IssuedHeaders {
    pub cookies: Vec<Zeroizing<String>>,
    pub tokens: Vec<(String, Zeroizing<String>)>,
    /// There were more than are kept.
    pub truncated: bool,
}

/// TokenBudget of one response.
const MAX_TOKENS: usize = 16;

impl RequestHeaders {
    /// `None` if they were truncated.
    pub fn lines(&self) -> Option<&[(String, String)]> {
        (!self.is_truncated).then_some(&self.lines)
    }
}

impl fmt::Debug for RequestHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} headers", self.lines.len())
    }
}

impl<'de> Deserialize<'de> for RequestHeaders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RequestHeaders, D::Error> {
        struct RequestLines;

        impl<'de> Visitor<'de> for RequestLines {
            type Value = RequestHeaders;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("headers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RequestHeaders, A::Error> {
                let (mut headers, mut bytes) = (RequestHeaders::default(), 0);
                while let Some((name, value)) = map.next_entry::<String, String>()? {
                    bytes += name.len() + value.len();
                    if bytes > MAX_BYTES {
                        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                        return Ok(RequestHeaders { lines: Vec::new(), is_truncated: true });
                    }
                    headers.lines.push((name, value));
                }
                Ok(headers)
            }
        }

        deserializer.deserialize_map(RequestLines)
    }
}

impl fmt::Debug for IssuedHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cookies, {} tokens", self.cookies.len(), self.tokens.len())
    }
}

impl<'de> Deserialize<'de> for IssuedHeaders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IssuedHeaders, D::Error> {
        struct IssuedLines;

        impl<'de> Visitor<'de> for IssuedLines {
            type Value = IssuedHeaders;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("headers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<IssuedHeaders, A::Error> {
                let mut issued = IssuedHeaders::default();
                while let Some(name) = map.next_key::<String>()? {
                    let sets_cookies = name.eq_ignore_ascii_case("set-cookie");
                    if !sets_cookies && !policy::credential::is_credential_name(&name) {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    // Chromium joins several lines into one value.
                    let value = Zeroizing::new(map.next_value::<String>()?);
                    if value.len() > MAX_BYTES || !sets_cookies && issued.tokens.len() == MAX_TOKENS {
                        issued.truncated = true;
                        continue;
                    }
                    if !sets_cookies {
                        issued.tokens.push((name, value));
                        continue;
                    }
                    let mut lines = value.split('\n').filter(|line| !line.is_empty());
                    let kept = lines.by_ref().take(MAX_COOKIES);
                    issued.cookies.extend(kept.map(|line| Zeroizing::new(line.to_owned())));
                    issued.truncated |= lines.next().is_some();
                }
                Ok(issued)
            }
        }

        deserializer.deserialize_map(IssuedLines)
    }
}

/// CDP sends a list of lines, or a map in which lines of the same name are joined.
impl<'de> Deserialize<'de> for ResponseHeaders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ResponseHeaders, D::Error> {
        #[derive(Deserialize)]
        struct Line {
            name: String,
            value: String,
        }

        struct ResponseLines;

        // Chromium bounds the headers of a response itself.
        impl<'de> Visitor<'de> for ResponseLines {
            type Value = ResponseHeaders;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("headers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut lines: A) -> Result<ResponseHeaders, A::Error> {
                let mut headers = ResponseHeaders::default();
                while let Some(Line { name, value }) = lines.next_element()? {
                    headers.take(&name, &value);
                }
                Ok(headers)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut lines: A) -> Result<ResponseHeaders, A::Error> {
                let mut headers = ResponseHeaders::default();
                while let Some((name, value)) = lines.next_entry::<String, String>()? {
                    headers.take(&name, &value);
                }
                Ok(headers)
            }
        }

        deserializer.deserialize_any(ResponseLines)
    }
}

impl ResponseHeaders {
    fn take(&mut self, name: &str, value: &str) {
        match name.to_ascii_lowercase().as_str() {
            "location" => self.has_location |= !value.trim().is_empty(),
            "content-type" => self.is_exchange |= value.to_ascii_lowercase().contains("signed-exchange"),
            "content-security-policy" => self.is_sandboxed |= has_opaque_origin(value),
            _ => {}
        }
    }
}

/// Whether one of these policies, separated by commas or lines, makes the document's origin opaque.
fn has_opaque_origin(policies: &str) -> bool {
    let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
    policies.split([',', ';', '\n']).any(|directive| {
        let mut words = directive.split_ascii_whitespace();
        words.next().is_some_and(|name| is(name, "sandbox"))
            && !words.any(|word| is(word, "allow-same-origin"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::HashMap;

    #[test]
    fn request_headers_are_complete_or_dropped_and_never_printed() {
        for (length, kept) in [(10, true), (MAX_BYTES, false)] {
            let json = format!(r#"{{"Accept":"*/*","X-Long":"{}","Z":"z"}}"#, "s".repeat(length));
            let headers: RequestHeaders = serde_json::from_str(&json).unwrap();
            assert_eq!(headers.lines().map(<[_]>::len), kept.then_some(3), "{length}");
        }
        let secret: RequestHeaders = serde_json::from_str(r#"{"Cookie":"sid=hunter2"}"#).unwrap();
        assert_eq!(format!("{secret:?}"), "1 headers");
    }

    #[test]
    fn only_headers_that_issue_secrets_are_kept_and_never_printed() {
        for (json, lines, cut) in [
            (r#"{"Set-Cookie":"a=1; Path=/\nb=2","X":"y"}"#.to_owned(), vec!["a=1; Path=/", "b=2"], false),
            (r#"{"set-cookie":"a=1"}"#.to_owned(), vec!["a=1"], false),
            (r#"{"X-Set-Cookie":"a=1","Set-Cookies":"b=2"}"#.to_owned(), vec![], false),
            (r#"{}"#.to_owned(), vec![], false),
            (format!(r#"{{"Set-Cookie":"a={}"}}"#, "x".repeat(MAX_BYTES)), vec![], true),
            (
                format!(r#"{{"Set-Cookie":"{}b=2"}}"#, "a=1\\n".repeat(MAX_COOKIES)),
                vec!["a=1"; MAX_COOKIES],
                true,
            ),
        ] {
            let cookies: IssuedHeaders = serde_json::from_str(&json).unwrap();
            let kept: Vec<&str> = cookies.cookies.iter().map(|line| line.as_str()).collect();
            assert_eq!((kept, cookies.truncated), (lines, cut));
            assert_eq!(format!("{cookies:?}"), format!("{} cookies, 0 tokens", cookies.cookies.len()));
        }
        let json = r#"{"X-Auth-Token":"a","Authorization":"Bearer b","WWW-Authenticate":"Basic","x-csrf-token":"c","X-Session-Id":"d","ETag":"e"}"#;
        let issued: IssuedHeaders = serde_json::from_str(json).unwrap();
        let tokens: Vec<&str> = issued.tokens.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(tokens, ["a", "Bearer b", "c", "d"]);
        assert_eq!(format!("{issued:?}"), "0 cookies, 4 tokens");
    }

    #[test]
    fn redirects_signed_exchanges_and_sandboxed_documents_are_recognized() {
        for (lines, has_location, is_exchange, is_sandboxed) in [
            (&[] as &[(&str, &str)], false, false, false),
            (&[("Location", "/a")], true, false, false),
            (&[("location", "/a")], true, false, false),
            (&[("Location", "")], false, false, false),
            (&[("Location", " "), ("X", "y")], false, false, false),
            (&[("content-type", "text/html")], false, false, false),
            (&[("Content-Type", "Application/Signed-Exchange;v=b3")], false, true, false),
            (&[("Content-Security-Policy", "default-src 'none'")], false, false, false),
            (&[("Content-Security-Policy", "sandbox")], false, false, true),
            (&[("content-security-policy", "img-src *; SANDBOX allow-scripts")], false, false, true),
            (&[("content-security-policy", "img-src *, sandbox")], false, false, true),
            (&[("content-security-policy", "img-src *\nsandbox;")], false, false, true),
            (&[("content-security-policy", "sandbox allow-scripts Allow-Same-Origin")], false, false, false),
            (&[("content-security-policy", "sandbox allow-same-origin, sandbox")], false, false, true),
            (&[("content-security-policy", "report-uri /sandbox")], false, false, false),
            (&[("content-security-policy-report-only", "sandbox")], false, false, false),
        ] {
            let expected = ResponseHeaders { has_location, is_exchange, is_sandboxed };
            let list: Vec<_> =
                lines.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
            let map: HashMap<_, _> = lines.iter().copied().collect();
            for json in [json!(list), json!(map)] {
                let headers: ResponseHeaders = serde_json::from_value(json).unwrap();
                assert_eq!(headers, expected, "{lines:?}");
            }
        }
    }
}
