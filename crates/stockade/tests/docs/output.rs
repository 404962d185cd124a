//! Compares the output of a command with what a page shows of it.

/// Whether the output is as shown. `…` stands for any text in a line; alone on a line, for any number of lines. Spaces
/// count as one.
pub fn is_as_shown(shown: &str, output: &str) -> bool {
    let lines = |text: &str| text.lines().map(normalize).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    lines_match(&lines(shown), &lines(output))
}

fn normalize(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn lines_match(shown: &[String], output: &[String]) -> bool {
    match shown.split_first() {
        None => output.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=output.len()).any(|skipped| lines_match(rest, &output[skipped..]))
        }
        Some((first, rest)) => output
            .split_first()
            .is_some_and(|(line, others)| line_matches(first, line) && lines_match(rest, others)),
    }
}

fn line_matches(shown: &str, line: &str) -> bool {
    let parts: Vec<&str> = shown.split('…').collect();
    let [first, middle @ .., last] = parts.as_slice() else { return shown == line };
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn shown_output_may_leave_out_lines_and_parts_of_lines() {
    for (shown, output, expected) in [
        ("a b\n", "a   b\n", true),
        ("a\n", "a\nb\n", false),
        ("a\n…\n", "a\nb\nc\n", true),
        ("…\nc\n", "a\nb\nc\n", true),
        ("…\nd\n", "a\nb\nc\n", false),
        ("id … is closed.\n", "id s-1 is closed.\n", true),
        ("id … is closed.\n", "id s-1 is open.\n", false),
        ("", "", true),
        ("", "a\n", false),
    ] {
        assert_eq!(is_as_shown(shown, output), expected, "{shown:?} {output:?}");
    }
}
