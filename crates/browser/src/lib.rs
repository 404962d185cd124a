//! The driver: CDP, pages, snapshots, actions, screenshots and credential injection.
//!
//! It performs only a [`audit::Permitted`] action, on the element that was decided on. It reads pages through a script in
//! an isolated world, which the page cannot reach.
//!
//! The modules are layers, from the bottom up, and each uses only those before it: `text`, `cdp`, `snapshot`, `error`,
//! `deadline`, `script`, `effects`, `credentials`, `state`, `browser`, `page`, `targeting`, `input`, `screenshot`, `verbs`,
//! `injection`, `lifecycle`. Most add methods to [`Browser`]; the struct and its CDP calls are in `browser`.

mod browser;
pub mod cdp;
mod credentials;
mod deadline;
mod effects;
mod error;
mod injection;
mod input;
mod lifecycle;
mod page;
mod screenshot;
mod script;
mod snapshot;
mod state;
mod targeting;
mod text;
mod verbs;

pub use browser::{Browser, BrowserOptions, SnapshotOptions, TabState};
pub use credentials::{
    InjectedCookie, InjectedEntry, InjectedHeaders, InjectedStorage, Injection, IssuedCookie, IssuedResponse,
    IssuedStorageEntry, IssuedValue, ResponseKind, SiteIssuedSecrets,
};
pub use deadline::TimeLimit;
pub use effects::{DecidedSite, EffectInterception, EffectLimits};
pub use error::{BrowserError, StaleRefReason};
pub use injection::{ProbePage, ProbeResult, UninitializedBrowser};
pub use lifecycle::{Display, LaunchOptions, Resumed, launch_flags};
pub use screenshot::{OmittedPixels, ScreenshotImage, ScreenshotMask};
pub use snapshot::{
    CallerId, Content, InteractiveElement, JsonTree, NodeStates, PatternError, SearchMatch, SearchResult,
    Snapshot, TreeNode, header_line_bytes,
};
pub use state::{Incident, PageEvent, PageEventKind, PageEvents};
pub use text::{
    AttributedText, FENCE_BYTES, MaskSecrets, PageText, RedactedPageText, TEXT_SLACK, TextRedactor,
    mark_page_text, page_block,
};
pub use verbs::{
    CleanedHtml, MarkedScreenshot, Outcome, PageAfterAction, PendingDialog, RecordableScreenshot,
    RedactedOutcome, ReplyOptions, TabInfo,
};
