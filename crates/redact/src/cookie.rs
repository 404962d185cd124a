//! Attributes of cookies, as a credential stores them and as a browser sets and reports them.
//!
//! They live here because `vault` and `browser` both need them and share no other crate that knows of credentials.

/// The `SameSite` attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SameSite {
    Strict,
    #[default]
    Lax,
    None,
}

/// Chromium's `Priority` attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookiePriority {
    Low,
    Medium,
    High,
}

impl SameSite {
    pub const ALL: [SameSite; 3] = [SameSite::Strict, SameSite::Lax, SameSite::None];

    /// As in a `Set-Cookie` header and in CDP.
    pub fn as_str(self) -> &'static str {
        match self {
            SameSite::Strict => "Strict",
            SameSite::Lax => "Lax",
            SameSite::None => "None",
        }
    }

    /// In any case, as browsers read it.
    pub fn parse(text: &str) -> Option<SameSite> {
        SameSite::ALL.into_iter().find(|value| value.as_str().eq_ignore_ascii_case(text))
    }
}

impl CookiePriority {
    pub const ALL: [CookiePriority; 3] = [CookiePriority::Low, CookiePriority::Medium, CookiePriority::High];

    /// As in a `Set-Cookie` header and in CDP.
    pub fn as_str(self) -> &'static str {
        match self {
            CookiePriority::Low => "Low",
            CookiePriority::Medium => "Medium",
            CookiePriority::High => "High",
        }
    }

    /// In any case, as browsers read it.
    pub fn parse(text: &str) -> Option<CookiePriority> {
        CookiePriority::ALL.into_iter().find(|value| value.as_str().eq_ignore_ascii_case(text))
    }
}
