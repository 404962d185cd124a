//! The action's name in the code of a timeout.

use engine::error::Fault;

const CODE: &str = "browser_action_timeout:";

/// Names the action as the caller did in `browser_action_timeout:<action>:<seconds>s` and in its message. The driver
/// uses its own name there, which no caller has to know.
pub fn name_timed_out_action(mut fault: Fault, action: &str) -> Fault {
    let parts = fault.code.strip_prefix(CODE).and_then(|rest| rest.rsplit_once(':'));
    if let Some((drivers_name, seconds)) = parts {
        if let Some(rest) = fault.message.strip_prefix(drivers_name) {
            fault.message = format!("{action}{rest}");
        }
        fault.code = format!("{CODE}{action}:{seconds}").into();
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
                "navigate was not done within 1.5 s",
                ("browser_action_timeout:goto:1.5s", "goto was not done within 1.5 s"),
            ),
            (
                "browser_action_timeout:attach:30s",
                "too late",
                ("browser_action_timeout:goto:30s", "too late"),
            ),
            ("element_not_found", "navigate", ("element_not_found", "navigate")),
            ("approval_timeout", "navigate", ("approval_timeout", "navigate")),
        ] {
            let fault = name_timed_out_action(Fault::new(code, message), "goto");
            assert_eq!((fault.code.as_ref(), fault.message.as_str()), expected);
        }
    }
}
