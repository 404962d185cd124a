//! Error codes: one closed enum for every crate whose errors reach a caller.
//!
//! Codes are stable: programs compare them. Inside Stockade they are compared as values, never as text. The table in
//! `docs/errors.md` is generated from [`table::SECTIONS`]; a test holds the two together.

pub mod table;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::time::Duration;

macro_rules! error_codes {
    ($($variant:ident = $text:literal,)*) => {
        /// A stable error code. Some carry a parameter, which is also part of their text.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($variant,)*
            /// `session_ended:<reason>`
            SessionEnded { reason: EndReason },
            /// `session_paused:<id>`: the id of the approval that the session waits for.
            SessionPaused { approval: String },
            /// `approval_pending:<id>`
            ApprovalPending { approval: String },
            /// `browser_action_timeout:<action>:<seconds>s`: the action as its caller named it.
            BrowserActionTimeout { action: String, limit: Duration },
        }

        const PLAIN: &[(&str, ErrorCode)] = &[$(($text, ErrorCode::$variant),)*];

        impl ErrorCode {
            /// The text of a code without parameters.
            fn plain_text(&self) -> Option<&'static str> {
                match self {
                    $(ErrorCode::$variant => Some($text),)*
                    ErrorCode::SessionEnded { .. }
                    | ErrorCode::SessionPaused { .. }
                    | ErrorCode::ApprovalPending { .. }
                    | ErrorCode::BrowserActionTimeout { .. } => None,
                }
            }
        }
    };
}

error_codes! {
    UnknownSession = "unknown_session",
    SessionRequired = "session_required",
    SessionBusy = "session_busy",
    SessionAmbiguous = "session_ambiguous",
    SessionNameTaken = "session_name_taken",
    TooManySessions = "too_many_sessions",
    GrantRequired = "grant_required",
    CredentialExpired = "credential_expired",
    ShuttingDown = "shutting_down",
    UnknownTool = "unknown_tool",
    UnknownAction = "unknown_action",
    BadArguments = "bad_arguments",
    BadSelector = "bad_selector",
    BadAddress = "bad_address",
    SecretField = "secret_field",
    CredentialTyped = "credential_typed",
    PlaceholderTyped = "placeholder_typed",
    SecretWithheld = "secret_withheld",
    BlockedDomain = "blocked_domain",
    ElementNotFound = "element_not_found",
    StaleRef = "stale_ref",
    StaleCursor = "stale_cursor",
    ElementNotVisible = "element_not_visible",
    ElementDisabled = "element_disabled",
    ElementCovered = "element_covered",
    ElementMoving = "element_moving",
    ElementNotEditable = "element_not_editable",
    ElementNotAList = "element_not_a_list",
    ElementNotCheckable = "element_not_checkable",
    FocusLost = "focus_lost",
    NothingThere = "nothing_there",
    NoSuchOption = "no_such_option",
    OneOptionOnly = "one_option_only",
    BadDate = "bad_date",
    ElementUnchanged = "element_unchanged",
    DialogOpen = "dialog_open",
    NoDialog = "no_dialog",
    NoHistory = "no_history",
    NoSuchTab = "no_such_tab",
    TooManyTabs = "too_many_tabs",
    UploadRefused = "upload_refused",
    ClipboardRefused = "clipboard_refused",
    ReadDomDisabled = "read_dom_disabled",
    TargetChanged = "target_changed",
    NavigationFailed = "navigation_failed",
    BlockedScheme = "blocked_scheme",
    DownloadRefused = "download_refused",
    Cancelled = "cancelled",
    TabCrashed = "tab_crashed",
    TabOutOfMemory = "tab_out_of_memory",
    TabProcessLimit = "tab_process_limit",
    TabClosed = "tab_closed",
    ConnectionRestored = "connection_restored",
    BrowserRestarted = "browser_restarted",
    PageScriptFailed = "page_script_failed",
    CannotCover = "cannot_cover",
    BrowserLost = "browser_lost",
    BrowserProtocol = "browser_protocol",
    InjectionFailed = "injection_failed",
    UnknownScreenshot = "unknown_screenshot",
    DeniedByPolicy = "denied_by_policy",
    DeniedByOperator = "denied_by_operator",
    ApprovalTimeout = "approval_timeout",
    QuestionOpen = "question_open",
    ApprovalVoid = "approval_void",
    ApprovalFlood = "approval_flood",
    ApprovalsFull = "approvals_full",
    UnknownApproval = "unknown_approval",
    ApprovalDecided = "approval_decided",
    ApprovalExpired = "approval_expired",
    BadVerdict = "bad_verdict",
    OperatorOnly = "operator_only",
    LoginRequired = "login_required",
    LoginFailed = "login_failed",
    LoginThrottled = "login_throttled",
    LinkSpent = "link_spent",
    FormRefused = "form_refused",
    ConfirmationRequired = "confirmation_required",
    TooManyStreams = "too_many_streams",
    WebhookRefused = "webhook_refused",
    WebhookBusy = "webhook_busy",
    WebhookSecret = "webhook_secret",
    TerminalRequired = "terminal_required",
    BadPassword = "bad_password",
    UnknownOperator = "unknown_operator",
    OperatorExists = "operator_exists",
    LastOperator = "last_operator",
    EgressRefused = "egress_refused",
    EgressNotHome = "egress_not_home",
    EgressNotListed = "egress_not_listed",
    EgressRelay = "egress_relay",
    EgressRateLimited = "egress_rate_limited",
    EgressByteLimit = "egress_byte_limit",
    EgressUpstreamFailed = "egress_upstream_failed",
    HostNotFound = "host_not_found",
    HostLookupTimeout = "host_lookup_timeout",
    ConnectionRefused = "connection_refused",
    ConnectTimeout = "connect_timeout",
    HostUnreachable = "host_unreachable",
    ConnectionLost = "connection_lost",
    ConnectionIdle = "connection_idle",
    BadAnswer = "bad_answer",
    TlsUntrusted = "tls_untrusted",
    EffectTooLarge = "effect_too_large",
    EffectsFull = "effects_full",
    EffectIncomplete = "effect_incomplete",
    EffectUnreadable = "effect_unreadable",
    EffectMismatch = "effect_mismatch",
    EffectWithdrawn = "effect_withdrawn",
    BubblewrapMissing = "bubblewrap_missing",
    BubblewrapOld = "bubblewrap_old",
    ChromiumMissing = "chromium_missing",
    ChromiumNotAProgram = "chromium_not_a_program",
    ProgramMissing = "program_missing",
    LibraryMissing = "library_missing",
    BridgeMissing = "bridge_missing",
    NamespacesForbidden = "namespaces_forbidden",
    LimitsUnavailable = "limits_unavailable",
    TemplateMissing = "template_missing",
    TemplateAltered = "template_altered",
    TemplateBuildFailed = "template_build_failed",
    TemplateStoreUnsafe = "template_store_unsafe",
    BrowserStartFailed = "browser_start_failed",
    JailStartFailed = "jail_start_failed",
    SandboxRuntimeRequired = "sandbox_runtime_required",
    BridgeLost = "bridge_lost",
    BridgeRefused = "bridge_refused",
    JailUnknown = "jail_unknown",
    JailExists = "jail_exists",
    JailStillAlive = "jail_still_alive",
    BadJailId = "bad_jail_id",
    JailSystemError = "jail_system_error",
    RuntimeDirUnsafe = "runtime_dir_unsafe",
    StateLocked = "state_locked",
    StateNotOurs = "state_not_ours",
    StateUnusable = "state_unusable",
    StateNoFolder = "state_no_folder",
    StateUnwritable = "state_unwritable",
    DiskFull = "disk_full",
    AuditUnwritable = "audit_unwritable",
    AuditUnreadable = "audit_unreadable",
    UnknownEvent = "unknown_event",
    BundleDamaged = "bundle_damaged",
    AuditCorrupt = "audit_corrupt",
    AuditIncomplete = "audit_incomplete",
    StorageBusy = "storage_busy",
    StorageFailed = "storage_failed",
    StorageDamaged = "storage_damaged",
    StorageNewer = "storage_newer",
    PortInUse = "port_in_use",
    CannotListen = "cannot_listen",
    Disabled = "disabled",
    ConfigUnknownKey = "config_unknown_key",
    ConfigValue = "config_value",
    ConfigDuplicateKey = "config_duplicate_key",
    ConfigMalformed = "config_malformed",
    ConfigUnreadable = "config_unreadable",
    ConfigTooLarge = "config_too_large",
    ConfigWritableByAll = "config_writable_by_all",
    ConfigNotOurs = "config_not_ours",
    BadPolicyCase = "bad_policy_case",
    Unauthorized = "unauthorized",
    ServerBusy = "server_busy",
    HostRefused = "host_refused",
    OriginRefused = "origin_refused",
    NotFound = "not_found",
    UnknownMcpSession = "unknown_mcp_session",
    NotRunning = "not_running",
    NotResponding = "not_responding",
    ServerLost = "server_lost",
    UnknownKey = "unknown_key",
    BadLabel = "bad_label",
    McpHandshake = "mcp_handshake",
    Usage = "usage",
    BadLogFilter = "bad_log_filter",
    OutputLost = "output_lost",
    LimitsWeaker = "limits_weaker",
    ChecksFailed = "checks_failed",
    LeakFound = "leak_found",
    LeakUnfinished = "leak_unfinished",
    Internal = "internal",
    CredentialMalformed = "credential_malformed",
    ImportMalformed = "import_malformed",
    UnknownCredential = "unknown_credential",
    CredentialReadOnly = "credential_read_only",
    NoTotpSeed = "no_totp_seed",
    NothingRotated = "nothing_rotated",
    CredentialAltered = "credential_altered",
    CredentialSettings = "credential_settings",
    VaultUnreachable = "vault_unreachable",
    VaultSealed = "vault_sealed",
    VaultUntrusted = "vault_untrusted",
    VaultDenied = "vault_denied",
    VaultLoginFailed = "vault_login_failed",
    VaultWrappingSpent = "vault_wrapping_spent",
    VaultAnswer = "vault_answer",
    SopsUnreadable = "sops_unreadable",
    SopsMalformed = "sops_malformed",
    SopsUnsupported = "sops_unsupported",
    SopsNotSealed = "sops_not_sealed",
    SopsNoKey = "sops_no_key",
    SopsAltered = "sops_altered",
    EnvUnreadable = "env_unreadable",
    CredentialStoreUnreachable = "credential_store_unreachable",
    CredentialStoreBusy = "credential_store_busy",
    CredentialStoreDamaged = "credential_store_damaged",
    CredentialStoreNewer = "credential_store_newer",
    CredentialStoreFailed = "credential_store_failed",
    MasterKeyMissing = "master_key_missing",
    MasterKeyWrong = "master_key_wrong",
    MasterKeyMalformed = "master_key_malformed",
    MasterKeyUnsafe = "master_key_unsafe",
    KeyringUnavailable = "keyring_unavailable",
    RotationNeedsKey = "rotation_needs_key",
    UnknownGrant = "unknown_grant",
    GrantExpired = "grant_expired",
    GrantConsumed = "grant_consumed",
    GrantRevoked = "grant_revoked",
    AmbiguousGrant = "ambiguous_grant",
    GrantWrongHost = "grant_wrong_host",
    GrantWrongScope = "grant_wrong_scope",
    BadGrant = "bad_grant",
    TokenMissing = "token_missing",
    TokenMalformed = "token_malformed",
    TokenBadSignature = "token_bad_signature",
    TokenWrongScope = "token_wrong_scope",
    TokenWrongTarget = "token_wrong_target",
    TokenExpired = "token_expired",
    TokenTooLong = "token_too_long",
    TokenReplayed = "token_replayed",
    TokenMemoryFull = "token_memory_full",
    BadRequest = "bad_request",
    HeadTooLarge = "head_too_large",
    WebsocketOnly = "websocket_only",
    StillRunning = "still_running",
    RestartsUsedUp = "restarts_used_up",
    KeeperLost = "keeper_lost",
    EgressBusy = "egress_busy",
    EgressMalformed = "egress_malformed",
}

/// Why a session ended. The first reason stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndReason {
    Closed,
    Deadline,
    ActionLimit,
    OutOfMemory,
    BrowserLost,
    Operator,
    Unhealthy,
    GrantRevoked,
    Shutdown,
}

impl EndReason {
    pub const ALL: [EndReason; 9] = [
        EndReason::Closed,
        EndReason::Deadline,
        EndReason::ActionLimit,
        EndReason::OutOfMemory,
        EndReason::BrowserLost,
        EndReason::Operator,
        EndReason::Unhealthy,
        EndReason::GrantRevoked,
        EndReason::Shutdown,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            EndReason::Closed => "closed",
            EndReason::Deadline => "deadline",
            EndReason::ActionLimit => "action_limit",
            EndReason::OutOfMemory => "out_of_memory",
            EndReason::BrowserLost => "browser_lost",
            EndReason::Operator => "operator",
            EndReason::Unhealthy => "unhealthy",
            EndReason::GrantRevoked => "grant_revoked",
            EndReason::Shutdown => "shutdown",
        }
    }
}

impl Serialize for EndReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The parameters of a code as fields, each only where the code has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ErrorParameters<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
}

impl ErrorCode {
    /// Reads a code's text. `None` for a code of another version.
    pub fn parse(text: &str) -> Option<ErrorCode> {
        if let Some((_, code)) = PLAIN.iter().find(|(plain, _)| *plain == text) {
            return Some(code.clone());
        }
        let (name, parameter) = text.split_once(':')?;
        match name {
            "session_ended" => {
                let reason = EndReason::ALL.into_iter().find(|reason| reason.as_str() == parameter)?;
                Some(ErrorCode::SessionEnded { reason })
            }
            "session_paused" => Some(ErrorCode::SessionPaused { approval: parameter.to_owned() }),
            "approval_pending" => Some(ErrorCode::ApprovalPending { approval: parameter.to_owned() }),
            "browser_action_timeout" => {
                let (action, seconds) = parameter.rsplit_once(':')?;
                let limit = Duration::try_from_secs_f64(seconds.strip_suffix('s')?.parse().ok()?).ok()?;
                Some(ErrorCode::BrowserActionTimeout { action: action.to_owned(), limit })
            }
            _ => None,
        }
    }

    /// The text without parameters, such as `approval_pending`.
    pub fn name(&self) -> &'static str {
        match self {
            ErrorCode::SessionEnded { .. } => "session_ended",
            ErrorCode::SessionPaused { .. } => "session_paused",
            ErrorCode::ApprovalPending { .. } => "approval_pending",
            ErrorCode::BrowserActionTimeout { .. } => "browser_action_timeout",
            plain => plain.plain_text().unwrap_or_default(),
        }
    }

    /// The parameters of a code, which are also part of its text.
    pub fn parameters(&self) -> ErrorParameters<'_> {
        let none = ErrorParameters::default();
        match self {
            ErrorCode::SessionEnded { reason } => ErrorParameters { reason: Some(*reason), ..none },
            ErrorCode::SessionPaused { approval } | ErrorCode::ApprovalPending { approval } => {
                ErrorParameters { approval_id: Some(approval), ..none }
            }
            ErrorCode::BrowserActionTimeout { action, limit } => {
                ErrorParameters { action: Some(action), timeout_seconds: Some(limit.as_secs_f64()), ..none }
            }
            _ => none,
        }
    }

    /// Every code as the table names it: parameters stand in angle brackets.
    pub fn patterns() -> Vec<String> {
        let plain = PLAIN.iter().map(|(text, _)| (*text).to_owned());
        let ended = EndReason::ALL.into_iter().map(|reason| format!("session_ended:{}", reason.as_str()));
        let others =
            ["session_paused:<id>", "approval_pending:<id>", "browser_action_timeout:<action>:<seconds>s"];
        plain.chain(ended).chain(others.map(str::to_owned)).collect()
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            ErrorCode::SessionEnded { reason } => write!(f, ":{}", reason.as_str()),
            ErrorCode::SessionPaused { approval } | ErrorCode::ApprovalPending { approval } => {
                write!(f, ":{approval}")
            }
            ErrorCode::BrowserActionTimeout { action, limit } => {
                write!(f, ":{action}:{}s", limit.as_secs_f64())
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A code of another version is an error of the exchange, not a new kind of failure.
impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ErrorCode, D::Error> {
        let text = String::deserialize(deserializer)?;
        ErrorCode::parse(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("unknown error code {text:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_reads_back_from_its_text() {
        for pattern in ErrorCode::patterns() {
            let text =
                pattern.replace("<id>", "ap_1").replace("<action>", "page.goto").replace("<seconds>", "30");
            let code = ErrorCode::parse(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(code.to_string(), text);
            let json = serde_json::to_string(&code).unwrap();
            assert_eq!(serde_json::from_str::<ErrorCode>(&json).unwrap(), code);
        }
        for bad in ["", "no_such_code", "session_ended:maybe", "browser_action_timeout:click:s", "internal:1"]
        {
            assert_eq!(ErrorCode::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_code_has_one_row_in_the_table() {
        let mut rows: Vec<&str> = table::SECTIONS
            .iter()
            .flat_map(|section| section.rows)
            .flat_map(|row| row.codes)
            .copied()
            .collect();
        let mut codes = ErrorCode::patterns();
        rows.sort_unstable();
        codes.sort_unstable();
        assert_eq!(rows, codes);
    }

    /// `UPDATE_DOCS=1 cargo test -p error-code` writes the file.
    #[test]
    fn the_page_on_errors_has_the_generated_table() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
        let page = std::fs::read_to_string(&file).unwrap();
        let expected = table::page(&page);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&file, &expected).unwrap();
        }
        assert_eq!(page, expected, "run: UPDATE_DOCS=1 cargo test -p error-code");
    }
}
