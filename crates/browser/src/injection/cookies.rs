//! Sets cookies before any page loads, and reads them back: Chromium drops some without an error.

use crate::{
    browser::Browser,
    cdp::{BoundedText, CallError, Command, MAX_MESSAGE_BYTES, protocol::Nothing},
    credentials::InjectedCookie,
    deadline::Deadline,
    error::BrowserError,
};
use redact::{CookiePriority, SameSite, Secret};
use serde::{Deserialize, Serialize};

/// Neither derives `Debug`: they hold secrets.
#[derive(Serialize)]
struct SetCookies<'a> {
    cookies: Vec<CookieParam<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CookieParam<'a> {
    name: &'a str,
    value: &'a str,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<String>,
    path: &'a str,
    secure: bool,
    http_only: bool,
    same_site: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<&'static str>,
    /// Unset, like the port: a cookie bound to a scheme or port would differ from the stored one.
    source_scheme: &'static str,
    source_port: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<PartitionKey<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartitionKey<'a> {
    top_level_site: &'a str,
    has_cross_site_ancestor: bool,
}

impl Command for SetCookies<'_> {
    const METHOD: &'static str = "Storage.setCookies";
    type Response = Nothing;
}

#[derive(Serialize)]
pub(super) struct GetCookies {}

impl Command for GetCookies {
    const METHOD: &'static str = "Storage.getCookies";
    type Response = Cookies;

    fn max_reply(&self) -> usize {
        MAX_MESSAGE_BYTES
    }
}

#[derive(Deserialize)]
pub(super) struct Cookies {
    pub cookies: Vec<FoundCookie>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FoundCookie {
    pub name: String,
    pub value: Secret,
    /// With a leading dot, unless the cookie is host-only.
    pub domain: String,
    pub path: String,
    /// Negative for a session cookie.
    #[serde(default)]
    pub expires: f64,
    #[serde(default)]
    pub session: bool,
    #[serde(default)]
    pub http_only: bool,
    #[serde(default)]
    pub secure: bool,
    pub same_site: Option<BoundedText>,
    pub priority: Option<BoundedText>,
    pub partition_key: Option<FoundPartition>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FoundPartition {
    pub top_level_site: String,
}

impl<'a> CookieParam<'a> {
    fn of(cookie: &'a InjectedCookie) -> CookieParam<'a> {
        let scheme = if cookie.secure { "https" } else { "http" };
        CookieParam {
            name: &cookie.name,
            value: cookie.value.expose_secret(),
            url: format!("{scheme}://{}/", cookie.host),
            domain: cookie.domain.as_ref().map(|domain| format!(".{domain}")),
            path: &cookie.path,
            secure: cookie.secure,
            http_only: cookie.http_only,
            same_site: cookie.same_site.unwrap_or(SameSite::Lax).as_str(),
            expires: cookie.expires,
            priority: cookie.priority.map(CookiePriority::as_str),
            source_scheme: "Unset",
            source_port: -1,
            partition_key: cookie
                .partition_key
                .as_deref()
                .map(|top_level_site| PartitionKey { top_level_site, has_cross_site_ancestor: false }),
        }
    }
}

impl FoundCookie {
    fn matches(&self, cookie: &InjectedCookie) -> bool {
        let domain = match &cookie.domain {
            Some(domain) => self.domain.strip_prefix('.') == Some(domain),
            None => self.domain == cookie.host,
        };
        domain
            && self.name == cookie.name
            && self.path == cookie.path
            && self.value.expose_secret() == cookie.value.expose_secret()
    }
}

impl Browser {
    pub(super) async fn set_cookies(
        &self,
        cookies: &[InjectedCookie],
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        if cookies.is_empty() {
            return Ok(());
        }
        let set = SetCookies { cookies: cookies.iter().map(CookieParam::of).collect() };
        match self.connection.call(None, &set, deadline.at).await {
            Ok(_) => {}
            // Chromium refuses all cookies because of one, and does not say which.
            Err(CallError::Refused { .. }) => return Err(self.first_refused(cookies, deadline).await?),
            Err(error) => return Err(deadline.error(error)),
        }
        let found = self.call(None, &GetCookies {}, deadline).await?.cookies;
        let missing = cookies.iter().find(|cookie| !found.iter().any(|found| found.matches(cookie)));
        missing.map_or(Ok(()), |cookie| {
            Err(BrowserError::not_injected(
                cookie.describe(),
                "the browser dropped it, as it does with one that has expired",
            ))
        })
    }

    async fn first_refused(
        &self,
        cookies: &[InjectedCookie],
        deadline: Deadline,
    ) -> Result<BrowserError, BrowserError> {
        for cookie in cookies {
            let set = SetCookies { cookies: vec![CookieParam::of(cookie)] };
            match self.connection.call(None, &set, deadline.at).await {
                Ok(_) => {}
                Err(CallError::Refused { .. }) => {
                    return Ok(BrowserError::not_injected(cookie.describe(), "the browser refused it"));
                }
                Err(error) => return Err(deadline.error(error)),
            }
        }
        Ok(BrowserError::not_injected("the cookies", "the browser refused them together"))
    }
}
