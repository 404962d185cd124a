//! Headers of requests and responses, as far as they are needed; what they say may be a secret and is never printed.

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::fmt;
use zeroize::Zeroizing;

/// Names and values together; a request with more than this is not written anew.
const MOST_BYTES: usize = 64 * 1024;
/// Cookies of one response, of which Chromium keeps fewer.
const MOST_COOKIES: usize = 512;

/// The headers of a request that waits.
#[derive(Clone, Default)]
pub struct RequestHeaders {
    lines: Vec<(String, String)>,
    /// There were more than are kept.
    cut: bool,
}

/// Of a response: what tells whose document it brings, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseHeaders {
    /// Where it leads on to instead of being shown, if its status says so too.
    pub has_location: bool,
    /// What it holds is a document of another site's, signed by that site.
    pub is_exchange: bool,
    /// The document is of no origin, whatever its address is.
    pub is_sandboxed: bool,
}

/// What a response hands out in its head: the cookies that it sets, a line each, as the server wrote them, and headers whose
/// names say that they open something. Of all its headers nothing else is kept.
#[derive(Clone, Default)]
pub struct HandedHeaders {
    pub cookies: Vec<Zeroizing<String>>,
    pub tokens: Vec<(String, Zeroizing<String>)>,
    /// There were more than are kept.
    pub cut: bool,
}

/// Tokens of one response.
const MOST_TOKENS: usize = 16;

impl RequestHeaders {
    /// None if they are not all here.
    pub fn lines(&self) -> Option<&[(String, String)]> {
        (!self.cut).then_some(&self.lines)
    }
}

impl fmt::Debug for RequestHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} headers", self.lines.len())
    }
}

impl<'de> Deserialize<'de> for RequestHeaders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RequestHeaders, D::Error> {
        struct Lines;

        impl<'de> Visitor<'de> for Lines {
            type Value = RequestHeaders;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("headers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RequestHeaders, A::Error> {
                let (mut headers, mut bytes) = (RequestHeaders::default(), 0);
                while let Some((name, value)) = map.next_entry::<String, String>()? {
                    bytes += name.len() + value.len();
                    if bytes > MOST_BYTES {
                        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                        return Ok(RequestHeaders { lines: Vec::new(), cut: true });
                    }
                    headers.lines.push((name, value));
                }
                Ok(headers)
            }
        }

        deserializer.deserialize_map(Lines)
    }
}

impl fmt::Debug for HandedHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cookies, {} tokens", self.cookies.len(), self.tokens.len())
    }
}

impl<'de> Deserialize<'de> for HandedHeaders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HandedHeaders, D::Error> {
        struct Lines;

        impl<'de> Visitor<'de> for Lines {
            type Value = HandedHeaders;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("headers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HandedHeaders, A::Error> {
                let mut handed = HandedHeaders::default();
                while let Some(name) = map.next_key::<String>()? {
                    let sets_cookies = name.eq_ignore_ascii_case("set-cookie");
                    if !sets_cookies && !policy::credential::is_credential_name(&name) {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    // Chromium joins what came in several lines.
                    let value = Zeroizing::new(map.next_value::<String>()?);
                    if value.len() > MOST_BYTES || !sets_cookies && handed.tokens.len() == MOST_TOKENS {
                        handed.cut = true;
                        continue;
                    }
                    if !sets_cookies {
                        handed.tokens.push((name, value));
                        continue;
                    }
                    let mut lines = value.split('\n').filter(|line| !line.is_empty());
                    let kept = lines.by_ref().take(MOST_COOKIES);
                    handed.cookies.extend(kept.map(|line| Zeroizing::new(line.to_owned())));
                    handed.cut |= lines.next().is_some();
                }
                Ok(handed)
            }
        }

        deserializer.deserialize_map(Lines)
    }
}

/// Told as a list of lines, or as a map in which lines of the same name stand in one.
impl<'de> Deserialize<'de> for ResponseHeaders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ResponseHeaders, D::Error> {
        #[derive(Deserialize)]
        struct Line {
            name: String,
            value: String,
        }

        struct Lines;

        // As many as Chromium took of a response, which it bounds itself.
        impl<'de> Visitor<'de> for Lines {
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

        deserializer.deserialize_any(Lines)
    }
}

impl ResponseHeaders {
    fn take(&mut self, name: &str, value: &str) {
        match name.to_ascii_lowercase().as_str() {
            "location" => self.has_location |= !value.trim().is_empty(),
            "content-type" => self.is_exchange |= value.to_ascii_lowercase().contains("signed-exchange"),
            "content-security-policy" => self.is_sandboxed |= takes_origin(value),
            _ => {}
        }
    }
}

/// Whether one of these policies, with commas or lines between them, makes the document's origin opaque.
fn takes_origin(policies: &str) -> bool {
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
    fn headers_are_kept_whole_or_not_at_all_and_never_printed() {
        for (length, kept) in [(10, true), (MOST_BYTES, false)] {
            let json = format!(r#"{{"Accept":"*/*","X-Long":"{}","Z":"z"}}"#, "s".repeat(length));
            let headers: RequestHeaders = serde_json::from_str(&json).unwrap();
            assert_eq!(headers.lines().map(<[_]>::len), kept.then_some(3), "{length}");
        }
        let secret: RequestHeaders = serde_json::from_str(r#"{"Cookie":"sid=hunter2"}"#).unwrap();
        assert_eq!(format!("{secret:?}"), "1 headers");
    }

    #[test]
    fn of_a_response_only_what_opens_something_is_kept_and_never_printed() {
        for (json, lines, cut) in [
            (r#"{"Set-Cookie":"a=1; Path=/\nb=2","X":"y"}"#.to_owned(), vec!["a=1; Path=/", "b=2"], false),
            (r#"{"set-cookie":"a=1"}"#.to_owned(), vec!["a=1"], false),
            (r#"{"X-Set-Cookie":"a=1","Set-Cookies":"b=2"}"#.to_owned(), vec![], false),
            (r#"{}"#.to_owned(), vec![], false),
            (format!(r#"{{"Set-Cookie":"a={}"}}"#, "x".repeat(MOST_BYTES)), vec![], true),
            (
                format!(r#"{{"Set-Cookie":"{}b=2"}}"#, "a=1\\n".repeat(MOST_COOKIES)),
                vec!["a=1"; MOST_COOKIES],
                true,
            ),
        ] {
            let cookies: HandedHeaders = serde_json::from_str(&json).unwrap();
            let kept: Vec<&str> = cookies.cookies.iter().map(|line| line.as_str()).collect();
            assert_eq!((kept, cookies.cut), (lines, cut));
            assert_eq!(format!("{cookies:?}"), format!("{} cookies, 0 tokens", cookies.cookies.len()));
        }
        let json = r#"{"X-Auth-Token":"a","Authorization":"Bearer b","WWW-Authenticate":"Basic","x-csrf-token":"c","X-Session-Id":"d","ETag":"e"}"#;
        let handed: HandedHeaders = serde_json::from_str(json).unwrap();
        let tokens: Vec<&str> = handed.tokens.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(tokens, ["a", "Bearer b", "c", "d"]);
        assert_eq!(format!("{handed:?}"), "0 cookies, 4 tokens");
    }

    #[test]
    fn a_response_leads_on_or_holds_a_document_of_another_site_or_of_none() {
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
            for told in [json!(list), json!(map)] {
                let headers: ResponseHeaders = serde_json::from_value(told).unwrap();
                assert_eq!(headers, expected, "{lines:?}");
            }
        }
    }
}
