//! What each code means, by section: the source of the tables in `docs/errors.md`.

/// A heading of the page, with its table.
pub struct Section {
    pub title: &'static str,
    /// A sentence before the table; may be empty.
    pub intro: &'static str,
    /// Headings of the columns behind the code.
    pub columns: &'static [&'static str],
    pub rows: &'static [Row],
}

/// Codes that mean alike, and one text for each column.
pub struct Row {
    pub codes: &'static [&'static str],
    pub cells: &'static [&'static str],
}

const fn row(codes: &'static [&'static str], cells: &'static [&'static str]) -> Row {
    Row { codes, cells }
}

/// The page with its tables made anew. Everything before the first `## ` stays.
pub fn page(old: &str) -> String {
    let head = old.find("\n## ").map_or(old, |at| &old[..at + 1]);
    let mut page = head.to_owned();
    for (number, section) in SECTIONS.iter().enumerate() {
        if number > 0 {
            page.push('\n');
        }
        page.push_str(&format!("## {}\n", section.title));
        if !section.intro.is_empty() {
            page.push_str(&format!("{}\n\n", section.intro));
        }
        page.push_str(&format!("| code | {} |\n", section.columns.join(" | ")));
        page.push_str(&format!("|---|{}\n", "---|".repeat(section.columns.len())));
        for row in section.rows {
            let codes: Vec<String> = row.codes.iter().map(|code| format!("`{code}`")).collect();
            page.push_str(&format!("| {} | {} |\n", codes.join(", "), row.cells.join(" | ")));
        }
    }
    page
}

#[rustfmt::skip]
pub const SECTIONS: &[Section] = &[
    Section {
        title: "Sessions",
        intro: "",
        columns: &["when", "then"],
        rows: &[
            row(&["unknown_session"], &["no session of yours has that id or name; another scope's session looks the same", "open one"]),
            row(&["session_required"], &["the call names no session; only a stdio client may leave it out", "pass `session_id`"]),
            row(&["session_ended:closed"], &["the session was closed", "open another"]),
            row(&["session_ended:deadline"], &["the session reached its time limit", "open another; `session_timeout`"]),
            row(&["session_ended:action_limit"], &["the session used all its actions", "open another; `max_actions_per_session`"]),
            row(&["session_ended:out_of_memory"], &["the kernel killed its browser at the memory limit", "`container.memory_limit`"]),
            row(&["session_ended:browser_lost"], &["its browser died and could not be restarted", "`runtime_restart_attempts`, `stockade doctor`"]),
            row(&["session_ended:operator"], &["an operator ended the paused session", "do not continue the same work in another session"]),
            row(&["session_ended:unhealthy"], &["its browser did not answer the health check", "open another; `health_interval`"]),
            row(&["session_ended:grant_revoked"], &["its browser died, and its grant had been revoked meanwhile", "ask the operator for a new grant"]),
            row(&["session_ended:shutdown"], &["Stockade was stopped", "open another later"]),
            row(&["session_paused:<id>"], &["several actions in a row failed, or the agent typed a credential; an operator is asked what to do. Reading still works", "`browser_pending` with that id: [approvals](approvals.md#when-things-go-wrong)"]),
            row(&["session_busy"], &["16 calls already wait for this session", "wait for their replies"]),
            row(&["session_ambiguous"], &["two agents use this session name", "use its id"]),
            row(&["session_name_taken"], &["you already have an open session of that name", "use it, or choose another name"]),
            row(&["too_many_sessions"], &["this instance has reached its limit of sessions", "`max_concurrent_sessions`"]),
            row(&["grant_required"], &["a signed-in session needs a grant; none was given, and no standing grant covers this agent and these sites", "ask the operator for one, or `credential_mode: \"clean\"`"]),
            row(&["credential_expired"], &["the site no longer accepts the login, or all its cookies have expired", "ask the operator to store it again"]),
            row(&["shutting_down"], &["the server is stopping", "try again later"]),
        ],
    },
    Section {
        title: "Calls and pages",
        intro: "",
        columns: &["when"],
        rows: &[
            row(&["unknown_tool", "unknown_action"], &["no such tool, or no such action of the HTTP API, `stockade page` or `stockade session`; the hint names the nearest"]),
            row(&["bad_arguments"], &["an argument is missing, unknown or invalid; the message names it and what is expected"]),
            row(&["bad_selector"], &["not a valid CSS selector, or one that tests attributes, values or states"]),
            row(&["bad_address"], &["not a complete `http:` or `https:` address, or one that contains a password"]),
            row(&["secret_field"], &["typing into a password field or another secret field is never allowed; do not try another way"]),
            row(&["credential_typed"], &["the text looks like a key, token, private key or card number; it was neither typed nor stored. An operator can store it as a credential, or turn `credential_scan` off: [policy](policy.md#credentials)"]),
            row(&["placeholder_typed"], &["the text or address contains a placeholder, which the browser holds in place of a secret; leave it out: [sealed credentials](credentials.md)"]),
            row(&["secret_withheld"], &["the reply contained a sealed secret, which must not be in the browser; nothing of it is shown. The session is flagged and the operator alerted: find where the site shows it, and rotate the credential"]),
            row(&["blocked_domain"], &["the address, link or form leads to a domain that is not on `domain_allowlist`: [policy](policy.md#domain-allowlist)"]),
            row(&["element_not_found"], &["no element matches, or fewer than `index` asks for; the message lists the nearest"]),
            row(&["stale_ref"], &["the element of this ref is gone; the message says what became of it and which ref a similar element has now"]),
            row(&["stale_cursor"], &["the cursor is invalid, or its snapshot is no longer kept; [read the page again](snapshots.md#open-a-fold-or-a-part)"]),
            row(&["element_not_visible", "element_disabled", "element_covered", "element_moving", "element_not_editable", "element_not_a_list", "element_not_checkable", "focus_lost"], &["the element exists and did not become usable in time; the message says what prevents it"]),
            row(&["nothing_there"], &["no element is at that point, or none has the focus"]),
            row(&["no_such_option", "one_option_only"], &["the list has no such option, or takes only one; the message lists the options"]),
            row(&["bad_date"], &["the text does not fit a date, time, month or week field; the message names the format"]),
            row(&["element_unchanged"], &["the page did not accept the choice or the tick"]),
            row(&["dialog_open"], &["a dialog of the page is open; answer it with `browser_dialog`. Nothing else works on the page until then"]),
            row(&["no_dialog"], &["no dialog is open"]),
            row(&["no_history"], &["there is no page to go back to, or forward to"]),
            row(&["no_such_tab", "too_many_tabs"], &["`browser_tabs` lists them; a session has at most 8"]),
            row(&["upload_refused", "clipboard_refused"], &["choosing a file, copying, cutting and pasting are never allowed; do not try another way"]),
            row(&["read_dom_disabled"], &["reading HTML is off; the setting `read_dom` turns it on"]),
            row(&["target_changed"], &["the element changed between the decision and the action, so nothing was done"]),
            row(&["navigation_failed"], &["the page did not load; the message has Chromium's network error"]),
            row(&["blocked_scheme", "download_refused"], &["the page led to an address or a download that Stockade does not open"]),
            row(&["browser_action_timeout:<action>:<seconds>s"], &["the action was not finished in time; `timeout_seconds` allows up to 120"]),
            row(&["cancelled"], &["the caller cancelled the call"]),
            row(&["tab_crashed"], &["the tab crashed; the next call uses a new one"]),
            row(&["tab_out_of_memory"], &["the tab crashed at the memory limit"]),
            row(&["tab_process_limit"], &["the tab crashed at the limit of processes and threads"]),
            row(&["tab_closed"], &["the page closed its own tab, or lost it because it kept opening windows"]),
            row(&["connection_restored"], &["the connection to the browser broke during the call and was restored. Page, refs and cursors are unchanged; whether the call had an effect is unknown"]),
            row(&["browser_restarted"], &["the browser died and was restarted; its pages are gone, the session continues"]),
            row(&["page_script_failed"], &["the page cannot be read: it keeps replacing itself, or has more than 1,000 frames; read it again, or open another page"]),
            row(&["cannot_cover"], &["only in the audit log, as the `result` of `recording_failed`: a screenshot could not be [masked](recordings.md#masks) and was not kept"]),
            row(&["browser_lost", "browser_protocol"], &["Chromium failed unexpectedly; read the page again, or open another session"]),
            row(&["injection_failed"], &["a cookie, storage value or header could not be injected, and no session was opened; the message names it"]),
            row(&["unknown_screenshot"], &["no such screenshot; screenshots are deleted with their session"]),
        ],
    },
    Section {
        title: "Approvals",
        intro: "Decisions of [an operator](approvals.md) and of the [policy](policy.md).",
        columns: &["when", "then"],
        rows: &[
            row(&["denied_by_policy"], &["the policy denies it, or it would ask and `hitl.enabled` is off", "do not try another way"]),
            row(&["denied_by_operator"], &["an operator denied it", "do not try another way"]),
            row(&["approval_timeout"], &["no operator answered within `hitl.approval_timeout`", "do not try another way; tell the user"]),
            row(&["approval_pending:<id>"], &["an operator has not answered yet, and the call does not wait; or another request of the session waits", "`browser_pending` with that id"]),
            row(&["question_open"], &["an operator is looking at another request of this session; until the answer, the session is only read", "`browser_pending` with the id in the hint, then call again"]),
            row(&["approval_void"], &["an operator approved, but the page has changed since: nothing was done", "read the page, then call again"]),
            row(&["approval_flood"], &["the session made more requests than `hitl.approvals_per_minute`; nobody was asked", "wait a minute"]),
            row(&["approvals_full"], &["64 requests already wait", "wait until some are answered"]),
            row(&["unknown_approval"], &["no request of yours has this id", "`browser_pending` lists them"]),
            row(&["approval_decided"], &["the request was already decided (409)", "the first answer counts"]),
            row(&["approval_expired"], &["the request expired before the answer (409)", "the agent has to call again"]),
            row(&["bad_verdict"], &["the answer does not fit the request", "an action is approved or denied, a paused session resumed or ended"]),
        ],
    },
    Section {
        title: "Operators",
        intro: "Logging in and deciding. See [Approve](operators.md).",
        columns: &["when", "then"],
        rows: &[
            row(&["operator_only"], &["an agent's key on an operator route (403)", "an operator has to do this"]),
            row(&["login_required"], &["no operator is logged in (401)", "`/console`, or a command that asks for the password"]),
            row(&["login_failed"], &["wrong name or password (401)", "`stockade operator password`, `stockade operator link`"]),
            row(&["login_throttled"], &["too many wrong passwords (429)", "wait; a link works meanwhile"]),
            row(&["link_spent"], &["the one-time link was used, is older than ten minutes, or is invalid (401)", "`stockade operator link`"]),
            row(&["form_refused"], &["the form does not belong to this login (403)", "open `/console` again"]),
            row(&["confirmation_required"], &["an action that cannot be undone needs a second confirmation (400)", "the second step, `--irreversible`, `approve_irreversible`"]),
            row(&["too_many_streams"], &["more than 32 consoles are open (503); this one polls instead", "close some"]),
            row(&["webhook_refused"], &["the webhook answer is unsigned, altered, late or repeated (401)", "[the webhook](operators.md#the-webhook)"]),
            row(&["webhook_busy"], &["more than 4,096 webhook answers within two minutes (503)", "try again later"]),
            row(&["webhook_secret"], &["the secret of the webhook is missing, too short, or readable by others", "the hint has the command"]),
            row(&["terminal_required"], &["a password or link needs a terminal", "use a terminal, or `--password-stdin`"]),
            row(&["bad_password"], &["the new password is too short, too long, not one line, or was typed differently the second time", "choose another"]),
            row(&["unknown_operator", "operator_exists", "last_operator"], &["`stockade operator`", "`stockade operator list`"]),
        ],
    },
    Section {
        title: "Egress",
        intro: "Reported by the proxy for a failed navigation. See [Egress](egress.md).",
        columns: &["when"],
        rows: &[
            row(&["egress_refused"], &["the address is private, loopback, link-local or metadata, or the port is refused"]),
            row(&["egress_not_home"], &["the session is signed in, and the host is not one of its sites; only an operator can allow it"]),
            row(&["egress_not_listed"], &["the session has a list of sites, and this host is not on it; only an operator can add it"]),
            row(&["egress_relay"], &["the host fetches other sites on request, such as a translator or an archive, and the session's list does not name it exactly"]),
            row(&["egress_rate_limited"], &["more requests a second to one host than `egress.requests_per_second`; wait a few seconds"]),
            row(&["egress_byte_limit"], &["the session sent or received as many bytes as it may; open another"]),
            row(&["egress_upstream_failed"], &["the operator's upstream proxy cannot be reached, or refuses the connection"]),
            row(&["host_not_found", "host_lookup_timeout"], &["the host name cannot be resolved"]),
            row(&["connection_refused", "connect_timeout", "host_unreachable"], &["the host does not accept connections"]),
            row(&["connection_lost", "connection_idle", "bad_answer"], &["the host accepted the connection and then failed"]),
            row(&["tls_untrusted"], &["the certificate of a site that the session is signed in to cannot be trusted; nothing was sent"]),
        ],
    },
    Section {
        title: "Held requests",
        intro: "A page's request that may change something on a site that the session is signed in to was [held](egress.md#held-requests) and not sent. The request fails in the page.",
        columns: &["when"],
        rows: &[
            row(&["effect_too_large"], &["the body has more than 8 MiB, as it is or decompressed"]),
            row(&["effects_full"], &["the session already holds 16 requests, or 32 MiB of them; answer the open questions first"]),
            row(&["effect_incomplete"], &["the browser did not send the whole body within 30 s"]),
            row(&["effect_unreadable"], &["the body is compressed and cannot be decompressed completely, or is in an unknown coding; it is a stream or a file that cannot be read; or a risky click opens the first WebSocket, which is not connected"]),
            row(&["effect_withdrawn"], &["the page or its connection went away before the decision; only in the ledger"]),
            row(&["effect_mismatch"], &["the permit was for other bytes than those that were held: a fault of Stockade; please report it"]),
        ],
    },
    Section {
        title: "Starting",
        intro: "Where no jail can be started, opening a session returns `sandbox_runtime_required` with the reason in `cause`. Commands such as `stockade template build` and `stockade doctor` return the reason itself.",
        columns: &["when", "then"],
        rows: &[
            row(&["bubblewrap_missing", "bubblewrap_old"], &["bubblewrap is missing, or too old to bind by descriptor", "`script/setup run`, or install it: [packages](install.md)"]),
            row(&["chromium_missing", "chromium_not_a_program"], &["Chromium is missing, or is a wrapper script", "`script/setup run`, or install it: [packages](install.md); or name one with `--browser`"]),
            row(&["program_missing", "library_missing", "bridge_missing"], &["another part of the template is missing", "the hint names it"]),
            row(&["namespaces_forbidden"], &["the kernel or AppArmor forbids user namespaces", "the hint has the command"]),
            row(&["limits_unavailable"], &["no writable cgroup", "the hint has the command"]),
            row(&["template_missing", "template_altered", "template_build_failed"], &["the template is missing, or differs from its manifest", "`stockade template build`"]),
            row(&["template_store_unsafe"], &["another user can write to the template folder", "check who made the folder, remove it, `stockade template build`"]),
            row(&["browser_start_failed"], &["Chromium did not start; the message has the phase, the state of the process and the end of its log", "`stockade doctor`"]),
            row(&["jail_start_failed"], &["bubblewrap did not start; the message has its output", "`stockade doctor`"]),
            row(&["sandbox_runtime_required"], &["no jail can be started; `cause` is the code of what is missing, such as `bubblewrap_missing`, `namespaces_forbidden`, `limits_unavailable`, `template_missing` or `keeper_lost`", "do what the hint says; trying again will not help"]),
            row(&["bridge_lost", "bridge_refused"], &["the bridge of the jail is gone, or refused a token", "open another session"]),
            row(&["jail_unknown", "jail_exists", "jail_still_alive", "bad_jail_id", "jail_system_error", "runtime_dir_unsafe"], &["the runtime failed; the message says at which step", "`stockade jail reap`, `stockade doctor`"]),
            row(&["state_locked"], &["another server uses this state folder; the message has its process id", "stop it, or use `--state`"]),
            row(&["state_not_ours", "state_unusable", "state_no_folder", "state_unwritable"], &["the state folder belongs to another user, or cannot be used", "the hint says how"]),
            row(&["disk_full"], &["no disk space is left; no action is performed without a record", "free some space"]),
            row(&["audit_unwritable"], &["the audit log cannot be written", "check its folder"]),
            row(&["audit_unreadable"], &["this command cannot read the audit log", "run it as the user that runs Stockade"]),
            row(&["unknown_event"], &["no event has this number or correlation id", "`stockade audit tail`"]),
            row(&["bundle_damaged"], &["the bundle was altered", "get it again; `stockade audit verify BUNDLE` says where it differs"]),
            row(&["audit_corrupt"], &["the end of the audit log was altered; nothing is added to it", "`stockade audit verify`, then move the chain's folder away, keep it, restart"]),
            row(&["audit_incomplete"], &["`stockade audit verify` found an incomplete line at the end of a chain: a crash, not a manipulation", "start Stockade; it repairs the end and records that"]),
            row(&["storage_busy", "storage_failed", "storage_damaged", "storage_newer"], &["the database in the state folder failed", "the hint says what to do"]),
            row(&["port_in_use", "cannot_listen"], &["the address is in use or not available", "`--listen`"]),
            row(&["disabled"], &["the setting `enabled` is `false`", "change the configuration"]),
            row(&["config_unknown_key", "config_value", "config_duplicate_key", "config_malformed", "config_unreadable", "config_too_large", "config_writable_by_all", "config_not_ours"], &["the configuration is invalid; the message has the line, the key and the nearest known key", "`stockade config check`"]),
        ],
    },
    Section {
        title: "Servers and keys",
        intro: "",
        columns: &["when"],
        rows: &[
            row(&["bad_policy_case"], &["a file of policy cases cannot be read, or a case is invalid; the message says which"]),
            row(&["unauthorized"], &["the bearer key is missing or invalid (401)"]),
            row(&["server_busy"], &["224 requests of agents are in progress, streams included (503); the remaining connections are for operators"]),
            row(&["host_refused", "origin_refused"], &["the request names another machine, or comes from a web page (403)"]),
            row(&["not_found"], &["no such address (404)"]),
            row(&["unknown_mcp_session"], &["the MCP session id is not yours, ended, or is from before the last start of the server (404); the client has to initialize again, which most do only when they are reconnected"]),
            row(&["not_running", "not_responding"], &["no server runs from this state folder, or it does not respond"]),
            row(&["server_lost"], &["the server that `stockade mcp` had joined ended, with all its sessions; whether a running call had an effect is unknown"]),
            row(&["unknown_key", "bad_label"], &["`stockade key`"]),
            row(&["mcp_handshake"], &["the other end of the pipe is not an MCP client"]),
            row(&["usage", "bad_log_filter", "output_lost"], &["the command line"]),
            row(&["limits_weaker"], &["`stockade doctor`: limits are off, by the setting `container.weaker_limits`"]),
            row(&["checks_failed"], &["a check of `stockade doctor` failed, or a case of `stockade policy test` differs; the list says which"]),
            row(&["leak_found"], &["`stockade doctor --leak`: a made-up secret leaked; the list says where, without values"]),
            row(&["leak_unfinished"], &["`stockade doctor --leak` did not finish, so it proves nothing; the message says why"]),
            row(&["internal"], &["a bug in Stockade; please report it"]),
        ],
    },
    Section {
        title: "Credentials and grants",
        intro: "See [Credentials](credentials.md). No message contains a value.",
        columns: &["when", "then"],
        rows: &[
            row(&["credential_malformed"], &["the document is invalid; the message names the field", "correct the field"]),
            row(&["import_malformed"], &["the file cannot be imported, or has nothing for this host", "export it again"]),
            row(&["unknown_credential"], &["no credential of this tenant has that id", "`stockade credential list`"]),
            row(&["credential_read_only"], &["Stockade does not write to this backend", "use its own tools"]),
            row(&["no_totp_seed"], &["the credential has no TOTP seed", "store it again, with `totp`"]),
            row(&["nothing_rotated"], &["no cookies of this credential wait to be accepted or rejected", "`stockade credential show ID`"]),
            row(&["credential_altered"], &["a row was changed or moved in the database", "find out who did it; store the credential again"]),
            row(&["credential_settings"], &["a backend setting is missing or invalid, or others can read a secret file; the message names it", "correct it: [settings](credentials.md#settings)"]),
            row(&["vault_unreachable", "vault_sealed"], &["the vault is down, too slow or sealed", "try again when it is back"]),
            row(&["vault_untrusted"], &["the certificate of the vault is not trusted", "`ca_file`"]),
            row(&["vault_denied", "vault_login_failed"], &["the vault refuses the path or the login", "the hint says what to check"]),
            row(&["vault_wrapping_spent"], &["the wrapping token was already used", "make a new one; if you did not use this one, revoke what it wrapped"]),
            row(&["vault_answer"], &["there is no KV version 2 mount, or the response is invalid", "check the path"]),
            row(&["sops_unreadable"], &["the file, its folder or the age key file is missing", "restore it"]),
            row(&["sops_malformed", "sops_unsupported"], &["not a sops file, or one with unsupported features", "encrypt it again"]),
            row(&["sops_not_sealed"], &["a value in the file is not encrypted", "encrypt it again, without a rule that leaves values open"]),
            row(&["sops_no_key"], &["no age key decrypts the file", "`sops updatekeys`"]),
            row(&["sops_altered"], &["the file was changed without sops", "find out who did it; restore it"]),
            row(&["env_unreadable"], &["the file that the variable names is missing", "restore it"]),
            row(&["credential_store_unreachable", "credential_store_busy"], &["the database is down, or another process writes", "try again"]),
            row(&["credential_store_damaged", "credential_store_newer", "credential_store_failed"], &["the database is damaged, has a newer schema, or failed", "the hint says what to do"]),
            row(&["master_key_missing", "master_key_wrong", "master_key_malformed"], &["the master key is missing, wrong or malformed", "restore it"]),
            row(&["master_key_unsafe"], &["others can read or write the key file", "`chmod 600`, then rotate the key"]),
            row(&["keyring_unavailable"], &["the OS keyring is not available", "unlock it, or use a file"]),
            row(&["rotation_needs_key"], &["Stockade cannot change keys in a variable", "put a new key in front of the old one"]),
            row(&["unknown_grant", "grant_expired", "grant_consumed", "grant_revoked"], &["the grant does not exist, expired, was used or was revoked", "ask the operator for another"]),
            row(&["ambiguous_grant"], &["several grants begin with this id (409)", "give more of the id"]),
            row(&["grant_wrong_host"], &["the grant does not cover this host", "ask for one that does"]),
            row(&["grant_wrong_scope"], &["the credential needs a grant that an operator issued", "ask for one"]),
            row(&["bad_grant"], &["the hosts or lifetime of the grant are invalid", "correct them"]),
        ],
    },
    Section {
        title: "Internal",
        intro: "Codes between parts of Stockade. Callers see the code in the last column.",
        columns: &["when", "seen as"],
        rows: &[
            row(&["token_missing", "token_malformed", "token_bad_signature", "token_wrong_scope", "token_wrong_target", "token_expired", "token_too_long", "token_replayed", "token_memory_full"], &["the bridge refuses a token", "`bridge_refused`"]),
            row(&["bad_request", "head_too_large", "websocket_only", "still_running"], &["the bridge does not support the request", "`bridge_refused`"]),
            row(&["restarts_used_up"], &["the bridge used all its restarts", "`session_ended:browser_lost`"]),
            row(&["keeper_lost"], &["the process that starts jails is gone", "the `cause` of `sandbox_runtime_required`"]),
            row(&["egress_busy", "egress_malformed"], &["the proxy refused a connection before it knew the host: too many connections, or not a request. See the ledger", "`navigation_failed`"]),
        ],
    },
];
