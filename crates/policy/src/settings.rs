//! What the operator configured, and what one session adds to it.

use crate::domains::first_allowing;
use crate::{CustomRule, DomainPattern, Endpoint, Origin, RiskResponse, RiskResponses};

#[derive(Clone, Debug)]
pub struct Settings {
    pub responses: RiskResponses,
    /// False turns asking into denying, never into allowing.
    pub asks: bool,
    pub trusted: Vec<DomainPattern>,
    /// Sensitive beats trusted.
    pub sensitive: Vec<DomainPattern>,
    /// The only domains that may be visited, if there is such a list.
    pub allowlist: Option<Vec<DomainPattern>>,
    /// The operator's own rules; each can raise an action's risk, none can lower it.
    pub rules: Vec<CustomRule>,
    /// Whether typed text that looks like a credential is refused.
    pub credential_scan: bool,
    /// Whether the shipped list of banks, payment services, mail and cloud consoles is sensitive, too.
    pub well_known_sensitive: bool,
    /// The response to a medium risk in a clean session on a domain that is not trusted. S1 asks there.
    pub medium_on_new_domain: RiskResponse,
}

/// The domains that are sensitive by default.
pub const SENSITIVE: [&str; 3] = ["gmail.com", "mail.google.com", "admin.*"];

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            responses: RiskResponses::default(),
            asks: true,
            trusted: Vec::new(),
            sensitive: SENSITIVE.into_iter().filter_map(DomainPattern::parse).collect(),
            allowlist: None,
            rules: Vec::new(),
            credential_scan: true,
            well_known_sensitive: true,
            medium_on_new_domain: RiskResponse::Allow,
        }
    }
}

/// Whether a session carries somebody's credentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionMode {
    /// It carries none, and has nothing to lose.
    #[default]
    Clean,
    /// It is signed in.
    SignedIn,
}

/// What the policy has to know of a session.
#[derive(Clone, Debug, Default)]
pub struct SessionContext {
    pub mode: SessionMode,
    /// Domains off the allowlist, or outside of `home`, that an operator added for this session.
    pub domains: Vec<DomainPattern>,
    /// The sites that a signed-in session has logins for. Leaving them needs an operator's approval, whatever the
    /// allowlist says.
    pub home: Option<Vec<DomainPattern>>,
    /// Lists that apply to this session besides the settings' allowlist: each has to have what is visited.
    pub allowlists: Vec<Vec<DomainPattern>>,
    /// Origins whose requests are decided on as effects. What words and forms say of an element there is noted and does
    /// not ask.
    pub intercepted: Vec<Origin>,
}

/// The domains that an action may lead to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DomainLimits<'a> {
    allowlist: Option<&'a [DomainPattern]>,
    home: Option<&'a [DomainPattern]>,
    session_allowlists: &'a [Vec<DomainPattern>],
    /// Counts as part of every list.
    added: &'a [DomainPattern],
}

impl<'a> DomainLimits<'a> {
    pub const NONE: DomainLimits<'static> =
        DomainLimits { allowlist: None, home: None, session_allowlists: &[], added: &[] };

    pub fn of_settings(settings: &'a Settings) -> DomainLimits<'a> {
        DomainLimits { allowlist: settings.allowlist.as_deref(), ..DomainLimits::NONE }
    }

    pub fn of_session(settings: &'a Settings, session: &'a SessionContext) -> DomainLimits<'a> {
        DomainLimits {
            allowlist: settings.allowlist.as_deref(),
            home: session.home.as_deref(),
            session_allowlists: &session.allowlists,
            added: &session.domains,
        }
    }

    pub fn block(&self, endpoint: &Endpoint) -> bool {
        let own = self.session_allowlists.iter().map(Vec::as_slice);
        let mut lists = self.allowlist.into_iter().chain(self.home).chain(own);
        lists.any(|list| !self.includes(list, endpoint))
    }

    pub fn is_home(&self, endpoint: &Endpoint) -> bool {
        self.home.is_some_and(|home| self.includes(home, endpoint))
    }

    fn includes(&self, list: &[DomainPattern], endpoint: &Endpoint) -> bool {
        first_allowing(list, endpoint).or_else(|| first_allowing(self.added, endpoint)).is_some()
    }
}
