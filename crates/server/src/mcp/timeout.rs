//! The action's name in the code of a timeout.

use engine::error::Fault;
use error_code::ErrorCode;
use redact::{Redacted, redacted};

/// Names the action as the caller did in `browser_action_timeout:<action>:<seconds>s` and in its message. The driver
/// uses its own name there, which no caller has to know.
pub fn name_timed_out_action(mut fault: Fault, action: &str) -> Fault {
    if let ErrorCode::BrowserActionTimeout { action: name, .. } = &mut fault.code {
        if fault.message.starts_with(name.as_str())
            && let Some(rest) = fault.message.get(name.len()..fault.message.len())
        {
            fault.message = redacted!("{}{}", Redacted::outside_sessions(action), rest);
        }
        *name = action.to_owned();
    }
    fault
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_timeout_gets_the_callers_name() {
        for (code, message, expected) in [
            (
                "browser_action_timeout:navigate:1.5s",
                "navigate did not finish within 1.5 s",
                ("browser_action_timeout:goto:1.5s", "goto did not finish within 1.5 s"),
            ),
            (
                "browser_action_timeout:attach:30s",
                "too late",
                ("browser_action_timeout:goto:30s", "too late"),
            ),
            ("element_not_found", "navigate", ("element_not_found", "navigate")),
            ("approval_timeout", "navigate", ("approval_timeout", "navigate")),
        ] {
            let code = ErrorCode::parse(code).unwrap();
            let fault = name_timed_out_action(Fault::new(code, message), "goto");
            assert_eq!((fault.code.to_string().as_str(), fault.message.as_str()), expected);
        }
    }
}
