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
            row(&["session_required"], &["the call names no session, and only a client on a pipe may leave it out", "pass `session_id`"]),
            row(&["session_ended:closed"], &["it was closed", "open another"]),
            row(&["session_ended:deadline"], &["its time was up", "`session_timeout`"]),
            row(&["session_ended:action_limit"], &["its last allowed call was made", "`max_actions_per_session`"]),
            row(&["session_ended:out_of_memory"], &["the kernel killed its browser at the memory limit", "`container.memory_limit`"]),
            row(&["session_ended:browser_lost"], &["its browser died and could not be brought back", "`runtime_restart_attempts`, `stockade doctor`"]),
            row(&["session_ended:operator"], &["an operator ended it when it asked for guidance", "do not go on with the same in another"]),
            row(&["session_ended:unhealthy"], &["its browser did not answer the health check", "open another; `health_interval`"]),
            row(&["session_ended:grant_revoked"], &["its browser died, and the grant of its logins had been revoked by then", "ask the operator for a new grant"]),
            row(&["session_ended:shutdown"], &["Stockade was stopped", "open another later"]),
            row(&["session_paused:<id>"], &["several actions in a row failed, and a person is asked what now; reading still works", "`browser_pending` with that id: [approvals](approvals.md#when-things-go-wrong)"]),
            row(&["session_busy"], &["16 calls wait for it already", "wait for answers"]),
            row(&["session_ambiguous"], &["the operator named a session by a name that two agents use", "use its id"]),
            row(&["session_name_taken"], &["you have an open session of that name", "use it, or another name"]),
            row(&["too_many_sessions"], &["the limit of this instance is reached", "`max_concurrent_sessions`"]),
            row(&["grant_required"], &["a signed-in session needs a grant, and none was given or is set for this agent and these sites", "ask the operator for one, or `credential_mode: \"clean\"`"]),
            row(&["credential_expired"], &["the site does not know the owner of a login any more, or all of its cookies are past their time", "ask the operator to store it anew"]),
            row(&["shutting_down"], &["no more sessions are opened", "later"]),
        ],
    },
    Section {
        title: "Calls and pages",
        intro: "",
        columns: &["when"],
        rows: &[
            row(&["unknown_tool", "unknown_action"], &["there is no such tool, or no such action on the HTTP API or of `stockade page` and `stockade session`; the hint has the nearest"]),
            row(&["bad_arguments"], &["the call does not fit; the message names the argument with what would fit, or the nearest there is"]),
            row(&["bad_selector"], &["a CSS selector that is none, or that asks for attributes, values or states"]),
            row(&["bad_address"], &["not a whole `http:` or `https:` address, or one with a password in it"]),
            row(&["secret_field"], &["typing into a password or other secret field: never, do not try another way"]),
            row(&["credential_typed"], &["the text looks like a key, a token, a private key or a card number; it is neither typed nor kept. The operator stores it, so that the session opens with it, or turns `credential_scan` off: [policy](policy.md#credentials)"]),
            row(&["blocked_domain"], &["an address, link or form that leads to a domain off `domain_allowlist`: [policy](policy.md#only-these-domains)"]),
            row(&["element_not_found"], &["nothing answers to that role and name, or not so many that there is one at that index; the message lists the nearest"]),
            row(&["stale_ref"], &["the ref's element is gone; the message says what became of it: removed (and which ref its like has now), its page or frame left or gone, or a ref that was never given"]),
            row(&["stale_cursor"], &["the snapshot of the cursor is no longer kept, or it is no cursor; [read the page again](snapshots.md#opening)"]),
            row(&["element_not_visible", "element_disabled", "element_covered", "element_moving", "element_not_editable", "element_not_a_list", "element_not_checkable", "focus_lost"], &["it was found and cannot be used, after a wait for it to become so; the message says what is in the way"]),
            row(&["nothing_there"], &["nothing is at that point, or nothing has the focus"]),
            row(&["no_such_option", "one_option_only"], &["a list has no such option to choose, or takes only one; the message lists them"]),
            row(&["bad_date"], &["text for a field of a date, a time, a month or a week that is not in the form the message names"]),
            row(&["element_unchanged"], &["it was chosen or checked as a person would, and the page did not take it"]),
            row(&["dialog_open"], &["a question of the page's waits: `browser_dialog` answers it, and nothing else works on the page until then"]),
            row(&["no_dialog"], &["there is no question to answer"]),
            row(&["no_history"], &["there is no page to go back or forward to"]),
            row(&["no_such_tab", "too_many_tabs"], &["`browser_tabs` lists them; a session has at most 8"]),
            row(&["upload_refused", "clipboard_refused"], &["choosing a file, copying, cutting and pasting: never, do not try another way"]),
            row(&["read_dom_disabled"], &["reading a page's HTML is off; the operator's setting `read_dom` turns it on"]),
            row(&["target_changed"], &["the element changed between the decision and the action, so nothing was done"]),
            row(&["navigation_failed"], &["the page did not come; the message has Chromium's net error"]),
            row(&["blocked_scheme", "download_refused"], &["a page led somewhere that is not opened"]),
            row(&["browser_action_timeout:<action>:<seconds>s"], &["not done in time; `timeout_seconds` gives a call up to 120"]),
            row(&["cancelled"], &["its caller gave it up"]),
            row(&["tab_crashed"], &["the tab died; the next call has a new one"]),
            row(&["tab_out_of_memory"], &["the same, and the kernel's count says that memory was the reason"]),
            row(&["tab_process_limit"], &["the same, and the kernel's count says that the limit on threads was"]),
            row(&["tab_closed"], &["the page closed its own tab"]),
            row(&["connection_restored"], &["the connection to the browser broke during the call and was made again; page, refs and cursors are as they were, what the call did is not known"]),
            row(&["browser_restarted"], &["the whole browser died and was started again; its pages are gone, the session goes on"]),
            row(&["page_script_failed"], &["the page cannot be examined: it keeps replacing itself, or has more than 1,000 frames; read it again, or leave it"]),
            row(&["cannot_cover"], &["only in the log, as the `result` of a `recording_failed`: what was typed could not be [covered](audit.md#covers) in a picture, so it is not kept"]),
            row(&["browser_lost", "browser_protocol"], &["Chromium did not do as it should; read the page again, or open another session"]),
            row(&["injection_failed"], &["a cookie, a store or a header could not be put into the browser, and no session was opened; the message names it"]),
            row(&["unknown_screenshot"], &["screenshots go with their session"]),
        ],
    },
    Section {
        title: "Approvals",
        intro: "What [a person decides](approvals.md), and what the [policy](policy.md) decides by itself.",
        columns: &["when", "then"],
        rows: &[
            row(&["denied_by_policy"], &["the operator's settings deny it, or it would be asked and `hitl.enabled` is off", "do not try another way"]),
            row(&["denied_by_operator"], &["a person was asked and said no", "do not try another way"]),
            row(&["approval_timeout"], &["a person was asked, and nobody answered in `hitl.approval_timeout`", "do not try another way; tell the person"]),
            row(&["approval_pending:<id>"], &["the answer is still to come, and the call does not wait for it; or another question of the session waits", "`browser_pending` with that id"]),
            row(&["approval_void"], &["a person said yes, and the page has changed since they were asked: nothing was done", "read the page, then ask again"]),
            row(&["approval_flood"], &["the session has asked more than `hitl.approvals_per_minute`; nobody was asked", "wait a minute"]),
            row(&["approvals_full"], &["64 questions wait already", "wait until some are answered"]),
            row(&["unknown_approval"], &["no question of yours has this id", "`browser_pending` lists them"]),
            row(&["approval_decided"], &["an operator answers what has its answer (409)", "the first one stands"]),
            row(&["approval_expired"], &["an operator answers too late (409)", "the agent has to ask again"]),
            row(&["bad_verdict"], &["an answer that does not fit the question", "an action is approved or denied, a paused session resumed or ended"]),
        ],
    },
    Section {
        title: "Operators",
        intro: "What a person meets who decides, and who is kept from deciding. [Operators](operators.md) has the whole of it.",
        columns: &["when", "then"],
        rows: &[
            row(&["operator_only"], &["an agent's key on an operators' route (403)", "wait for the person"]),
            row(&["login_required"], &["no operator is logged in (401)", "`/console`, or a command that asks for the password"]),
            row(&["login_failed"], &["not an operator's name and password (401)", "`stockade operator password`, `stockade operator link`"]),
            row(&["login_throttled"], &["too many passwords were tried (429)", "wait; a link works meanwhile"]),
            row(&["link_spent"], &["a one-time link that was used, is older than ten minutes, or is none (401)", "`stockade operator link`"]),
            row(&["form_refused"], &["a form that this log-in's pages did not make (403)", "open `/console` again"]),
            row(&["confirmation_required"], &["what cannot be undone was approved like what can (400)", "the second step, `--irreversible`, `approve_irreversible`"]),
            row(&["too_many_streams"], &["more than 32 consoles are open (503); this one asks now and then instead", "close some"]),
            row(&["webhook_refused"], &["an answer by webhook that is unsigned, changed, late or was sent before (401)", "[the webhook](operators.md#the-webhook)"]),
            row(&["webhook_busy"], &["4,096 answers by webhook within two minutes (503)", "later"]),
            row(&["webhook_secret"], &["the webhook's secret is missing, too short, or others may read it", "the hint has the command"]),
            row(&["terminal_required"], &["a password or a link, and no terminal to ask at or to show it on", "a terminal, or `--password-stdin`"]),
            row(&["bad_password"], &["too short, too long, not a line of text, or not typed alike twice", "choose another"]),
            row(&["unknown_operator", "operator_exists", "last_operator"], &["`stockade operator`", "`stockade operator list`"]),
        ],
    },
    Section {
        title: "The way out",
        intro: "From the proxy, when it explains a failed navigation better than Chromium can. [Egress](egress.md) has the rules.",
        columns: &["when"],
        rows: &[
            row(&["egress_refused"], &["a private, loopback, link-local or metadata address, or a port that is refused"]),
            row(&["egress_not_home"], &["the session is signed in, and the page led away from its sites; only a person's word lets it leave"]),
            row(&["host_not_found", "host_lookup_timeout"], &["the name leads nowhere"]),
            row(&["connection_refused", "connect_timeout", "host_unreachable"], &["nobody answers there"]),
            row(&["connection_lost", "connection_idle", "bad_answer"], &["somebody did, and not well"]),
        ],
    },
    Section {
        title: "Starting",
        intro: "Opening a session answers with `sandbox_runtime_required` where no jail can be started, and the code of the reason is in `cause`. Commands such as `stockade template build` and `stockade doctor` answer with the code of the reason itself.",
        columns: &["when", "then"],
        rows: &[
            row(&["bubblewrap_missing", "bubblewrap_old"], &["no bubblewrap, or one that cannot bind by descriptor", "`apt-get install bubblewrap`"]),
            row(&["chromium_missing", "chromium_not_a_program"], &["no Chromium, or a wrapper script in its place", "`apt-get install chromium-headless-shell`, or `--browser`"]),
            row(&["program_missing", "library_missing", "bridge_missing"], &["something else that goes into the template is not here", "the hint names it"]),
            row(&["namespaces_forbidden"], &["the kernel or AppArmor lets nobody make user namespaces", "the hint has the command"]),
            row(&["limits_unavailable"], &["no cgroup that may be written to", "the hint has the command"]),
            row(&["template_missing", "template_altered", "template_build_failed"], &["no template, or one that differs from its manifest", "`stockade template build`"]),
            row(&["template_store_unsafe"], &["another user but root could write to the templates", "look at who made the folder, remove it, `stockade template build`"]),
            row(&["browser_start_failed"], &["the phase, the process's state and the end of its log are in the message", "`stockade doctor`"]),
            row(&["jail_start_failed"], &["bubblewrap's own words are in the message", "`stockade doctor`"]),
            row(&["sandbox_runtime_required"], &["no session can be opened, because no jail can be started; `cause` has the code of what is missing, such as `bubblewrap_missing`, `namespaces_forbidden`, `limits_unavailable`, `template_missing` or `keeper_lost`", "do what the hint says; trying again will not help"]),
            row(&["bridge_lost", "bridge_refused"], &["the jail's bridge is gone, or refused a token", "open another session"]),
            row(&["jail_unknown", "jail_exists", "jail_still_alive", "bad_jail_id", "jail_system_error", "runtime_dir_unsafe"], &["the runtime could not do its work; the message says at which step", "`stockade jail reap`, `stockade doctor`"]),
            row(&["state_locked"], &["another server runs from this state folder; the message has its process", "stop it, or use `--state`"]),
            row(&["state_not_ours", "state_unusable", "state_no_folder", "state_unwritable"], &["the state folder is somebody else's, or cannot be used", "the hint says how"]),
            row(&["disk_full"], &["no space is left; nothing is done unrecorded", "free some"]),
            row(&["audit_unwritable"], &["the audit log cannot be written for another reason", "look at its folder"]),
            row(&["audit_unreadable"], &["the audit log cannot be read by this command", "run it as the user that runs Stockade"]),
            row(&["unknown_event"], &["no event has this number or correlation id", "`stockade audit tail`"]),
            row(&["bundle_damaged"], &["a session's bundle is not as it was made", "get it again; `stockade audit verify BUNDLE` says where"]),
            row(&["audit_corrupt"], &["the end of the audit log is not what was written; nothing is added to it", "`stockade audit verify`, then move the chain's folder away, keep it, restart"]),
            row(&["storage_busy", "storage_failed", "storage_damaged", "storage_newer"], &["the database of keys", "the hint says how"]),
            row(&["port_in_use", "cannot_listen"], &["the address is taken or not to be had", "`--listen`"]),
            row(&["disabled"], &["`enabled: false`", "the configuration"]),
            row(&["config_unknown_key", "config_value", "config_duplicate_key", "config_malformed", "config_unreadable", "config_too_large", "config_writable_by_all", "config_not_ours"], &["the configuration; with the line, the key and the nearest known one", "`stockade config check`"]),
        ],
    },
    Section {
        title: "Servers and keys",
        intro: "",
        columns: &["when"],
        rows: &[
            row(&["bad_policy_case"], &["a file of cases for `stockade policy` that cannot be read, or a case that is not understood; the message says which"]),
            row(&["unauthorized"], &["no bearer key, or one that is not valid (401)"]),
            row(&["server_busy"], &["224 requests of agents are being answered, streams among them (503); the other places are kept for operators"]),
            row(&["host_refused", "origin_refused"], &["the request names another machine, or comes from a web page (403)"]),
            row(&["not_found"], &["no such address (404)"]),
            row(&["unknown_mcp_session"], &["an MCP session id that is not yours, or was ended (404); clients initialize again by themselves"]),
            row(&["not_running", "not_responding"], &["`stockade session` found no server in this state folder, or one that is silent"]),
            row(&["unknown_key", "bad_label"], &["`stockade key`"]),
            row(&["mcp_handshake"], &["what speaks on the pipe is no MCP client"]),
            row(&["usage", "bad_log_filter", "output_lost"], &["the command line"]),
            row(&["limits_weaker"], &["`stockade doctor`: limits are off by your own setting"]),
            row(&["leak_found"], &["`stockade doctor --leak`: a made-up secret came back; the list says where, and holds no value"]),
            row(&["leak_unfinished"], &["`stockade doctor --leak` could not be done whole, so it proves nothing; the message says why"]),
            row(&["internal"], &["a fault of Stockade's; please report it"]),
        ],
    },
    Section {
        title: "Credentials and grants",
        intro: "[Credentials](credentials.md) has the rules. No message carries a value.",
        columns: &["when", "then"],
        rows: &[
            row(&["credential_malformed"], &["a document is not as it should be; the field is named", "mend the field"]),
            row(&["import_malformed"], &["a file cannot be imported, or holds nothing for the host", "export it again"]),
            row(&["unknown_credential"], &["no credential of this tenant has that id", "`stockade credential list`"]),
            row(&["credential_read_only"], &["that backend is not written by Stockade; nor are rotated cookies accepted into it", "use its own tools"]),
            row(&["no_totp_seed"], &["a one-time code was asked for, and the credential has no seed", "put it anew, with `totp`"]),
            row(&["nothing_rotated"], &["no cookies of this credential wait to be accepted or rejected", "`stockade credential show ID`"]),
            row(&["credential_altered"], &["a row was changed or moved in the database", "find out who; put it anew"]),
            row(&["credential_settings"], &["a setting of a backend is missing or cannot work, or others may read a secret's file; it is named", "mend it: [settings](credentials.md#settings)"]),
            row(&["vault_unreachable", "vault_sealed"], &["the vault is down, too slow or sealed", "works again when it is back"]),
            row(&["vault_untrusted"], &["its certificate is not from an authority that is trusted", "`ca_file`"]),
            row(&["vault_denied", "vault_login_failed"], &["it refuses the path, or the login", "the hint says what to look at"]),
            row(&["vault_wrapping_spent"], &["a wrapping token was used before", "make a new one; if nobody here used it, revoke what it held"]),
            row(&["vault_answer"], &["no KV mount of version 2 is there, or the answer makes no sense", "the path"]),
            row(&["sops_unreadable"], &["the file, its folder or the age key file is not there", "works again when it is back"]),
            row(&["sops_malformed", "sops_unsupported"], &["no sops file, or one that uses what is not read", "encrypt it again"]),
            row(&["sops_not_sealed"], &["a value in it is not encrypted; anybody could give it another name", "encrypt it again, without a rule that leaves values open"]),
            row(&["sops_no_key"], &["none of the age keys opens it", "`sops updatekeys`"]),
            row(&["sops_altered"], &["it was changed without sops", "find out who; restore it"]),
            row(&["env_unreadable"], &["the file that a variable names is not there", "works again when it is back"]),
            row(&["credential_store_unreachable", "credential_store_busy"], &["the database is down, or another process writes", "works again by itself"]),
            row(&["credential_store_damaged", "credential_store_newer", "credential_store_failed"], &["the database holds what it should not, or a newer program's schema, or failed", "the hint says how"]),
            row(&["master_key_missing", "master_key_wrong", "master_key_malformed"], &["the key that rows are sealed with is not in its place", "bring it back"]),
            row(&["master_key_unsafe"], &["others can read or write the key file", "`chmod 600`; rotate"]),
            row(&["keyring_unavailable"], &["the OS keyring cannot be asked", "unlock it, or use a file"]),
            row(&["rotation_needs_key"], &["keys in a variable are put there by you", "a new key in front of the old one"]),
            row(&["unknown_grant", "grant_expired", "grant_consumed", "grant_revoked"], &["the grant is not good, or not any more", "ask the operator for another"]),
            row(&["ambiguous_grant"], &["more than one grant begins with what was given of its id (409)", "give more of it"]),
            row(&["grant_wrong_host"], &["it does not name this host", "ask for one that does"]),
            row(&["grant_wrong_scope"], &["this credential is released by an operator's grant only", "ask for one"]),
            row(&["bad_grant"], &["a grant that cannot be issued: hosts or lifetime", "mend it"]),
        ],
    },
    Section {
        title: "Inside",
        intro: "Codes between the parts of Stockade, which callers see as another one.",
        columns: &["when", "seen as"],
        rows: &[
            row(&["token_missing", "token_malformed", "token_bad_signature", "token_wrong_scope", "token_wrong_target", "token_expired", "token_too_long", "token_replayed", "token_memory_full"], &["a bridge refuses a token", "`bridge_refused`"]),
            row(&["bad_request", "head_too_large", "websocket_only", "still_running"], &["a bridge is asked for what it does not do", "`bridge_refused`"]),
            row(&["restarts_used_up"], &["a bridge has started its browser as often as it may", "`session_ended:browser_lost`"]),
            row(&["keeper_lost"], &["the process that starts jails is gone", "the `cause` of `sandbox_runtime_required`"]),
            row(&["egress_busy", "egress_malformed"], &["the proxy turned a connection away before it knew for which host: too many at once, or no request; they are in the session's ledger", "`navigation_failed`"]),
        ],
    },
];
