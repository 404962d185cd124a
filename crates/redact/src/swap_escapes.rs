//! How programs escape a text: the characters that each of them writes differently.

use zeroize::Zeroizing;

/// Writes one character in the way of some program.
pub(crate) type Escape = fn(char, &mut String);

/// As they are written by default: by browsers, by JSON libraries, by template engines.
pub(crate) const USUAL_ESCAPES: &[Escape] = &[
    |c, out| out.push(c),
    percent_component,
    |c, out| percent(c, out, "-_.!~*'()", false),
    |c, out| percent(c, out, "-_.~", true),
    |c, out| percent(c, out, "-_.~", false),
    |c, out| percent(c, out, "-_.!~*'();,/?:@&=+$#", true),
    |c, out| percent(c, out, "-_.!~*'();,/?:@&=+$#", false),
    |c, out| if c == ' ' { out.push('+') } else { percent(c, out, "*-._", true) },
    |c, out| if c == ' ' { out.push('+') } else { percent(c, out, "*-._", false) },
    json_plain,
    |c, out| if c == '/' { out.push_str("\\/") } else { json_plain(c, out) },
    |c, out| json(c, out, "<>&", 'u', false),
    |c, out| json(c, out, "<>&'", 'u', false),
    |c, out| json(c, out, "<>&'\"", 'u', true),
    |c, out| if c.is_ascii() { json_plain(c, out) } else { unit_escapes(c, out, false) },
    |c, out| {
        if c == '/' {
            out.push_str("\\/")
        } else if c.is_ascii() {
            json_plain(c, out)
        } else {
            unit_escapes(c, out, false)
        }
    },
    |c, out| json(c, out, "<>&'\"\\=-;`", 'u', true),
    |c, out| json(c, out, "<>&'\"\\/=-;`", 'x', true),
    |c, out| json(c, out, "<>&'\"\\/=-;`", 'x', false),
    |c, out| if c == '\'' { out.push_str("\\'") } else { json_plain(c, out) },
    // .NET, Gson, Django, Laravel, Go's templates, Twig and ESAPI, each as it writes JSON or strings of a script.
    |c, out| json(c, out, "<>&'\"+`", 'u', true),
    |c, out| json(c, out, "<>&'=", 'u', false),
    |c, out| json(c, out, "<>&", 'u', true),
    |c, out| if c == '/' { out.push_str("\\/") } else { json(c, out, "<>&'\"", 'u', true) },
    |c, out| if c == '/' { out.push_str("\\/") } else { json(c, out, "<>&'\"+=`", 'u', false) },
    |c, out| if is_kept(c, ",._") { out.push(c) } else { unit_escapes(c, out, true) },
    |c, out| if is_kept(c, ",._") { out.push(c) } else { out.push_str(&format!("\\x{:02X}", u32::from(c))) },
    // A string of SQL or YAML.
    |c, out| if c == '\'' { out.push_str("''") } else { out.push(c) },
    // Quoted-printable, as mail has it.
    |c, out| if c == '=' { out.push_str("=3D") } else { out.push(c) },
    // Python's `quote`, and the older `escape` of scripts.
    |c, out| percent(c, out, "-_.~/", true),
    |c, out| percent(c, out, "@*_+-./", true),
    |c, out| html(c, out, &[]),
    |c, out| html(c, out, &[('"', "&quot;")]),
    |c, out| html(c, out, &[('"', "&quot;"), ('\'', "&#39;")]),
    |c, out| html(c, out, &[('"', "&quot;"), ('\'', "&#039;")]),
    |c, out| html(c, out, &[('"', "&quot;"), ('\'', "&#x27;")]),
    |c, out| html(c, out, &[('"', "&quot;"), ('\'', "&apos;")]),
    |c, out| html(c, out, &[('"', "&#34;"), ('\'', "&#39;")]),
    |c, out| html(c, out, &[('"', "&#34;"), ('\'', "&#39;"), ('+', "&#43;")]),
    |c, out| html(c, out, &[('"', "&quot;"), ('\'', "&#x27;"), ('/', "&#x2F;")]),
    |c, out| {
        html(c, out, &[('"', "&quot;"), ('\'', "&#39;"), ('`', "&#x60;"), ('=', "&#x3D;"), ('/', "&#x2F;")])
    },
    // ASP.NET, Twig, ESAPI and AntiXSS.
    |c, out| html(c, out, &[('"', "&quot;"), ('\'', "&#x27;"), ('+', "&#x2B;")]),
    |c, out| match c {
        '&' | '<' | '>' | '"' => html(c, out, &[('"', "&quot;")]),
        _ if is_kept(c, ",.-_") => out.push(c),
        _ => out.push_str(&format!("&#x{:02X};", u32::from(c))),
    },
    |c, out| match c {
        '&' | '<' | '>' | '"' => html(c, out, &[('"', "&quot;")]),
        _ if is_kept(c, ",.-_") => out.push(c),
        _ => out.push_str(&format!("&#x{:02x};", u32::from(c))),
    },
    |c, out| match c {
        '&' | '<' | '>' | '"' => html(c, out, &[('"', "&quot;")]),
        _ if is_kept(c, ",.-_") => out.push(c),
        _ => out.push_str(&format!("&#{};", u32::from(c))),
    },
];

/// Those among them that may be percent-encoded once more, with a blank as `%20`.
pub(crate) const PERCENT_ESCAPES: std::ops::Range<usize> = 1..5;

/// Every character, because somebody wanted to be thorough.
pub(crate) const FULL_ESCAPES: &[Escape] = &[
    |c, out| percent_all(c, out, true),
    |c, out| percent_all(c, out, false),
    |c, out| percent_all_twice(c, out, true),
    |c, out| percent_all_twice(c, out, false),
    |c, out| unit_escapes(c, out, true),
    |c, out| unit_escapes(c, out, false),
    |c, out| out.push_str(&format!("\\x{:02x}", u32::from(c))),
    |c, out| out.push_str(&format!("\\x{:02X}", u32::from(c))),
    |c, out| out.push_str(&format!("&#x{:x};", u32::from(c))),
    |c, out| out.push_str(&format!("&#x{:X};", u32::from(c))),
    // A document within an attribute (`srcdoc`) is escaped once more.
    |c, out| out.push_str(&format!("&amp;#x{:x};", u32::from(c))),
    |c, out| out.push_str(&format!("&amp;#x{:X};", u32::from(c))),
];

/// The same, as few do.
pub(crate) const RARE_ESCAPES: &[Escape] = &[
    // Without the semicolon, which browsers do not need, and with leading zeros.
    |c, out| out.push_str(&format!("&#x{:x}", u32::from(c))),
    |c, out| out.push_str(&format!("&#x{:04x};", u32::from(c))),
    |c, out| out.push_str(&format!("&#{:03};", u32::from(c))),
    // Strings of style sheets.
    |c, out| out.push_str(&format!("\\{:x} ", u32::from(c))),
    |c, out| out.push_str(&format!("\\{:06x}", u32::from(c))),
    |c, out| out.push_str(&format!("\\{:06X}", u32::from(c))),
    // Octal, code points in braces, scripts' older `escape`, and JSON in JSON.
    |c, out| out.push_str(&format!("\\{:03o}", u32::from(c))),
    |c, out| out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
    |c, out| out.push_str(&format!("%u{:04X}", u32::from(c))),
    |c, out| out.push_str(&format!("%u{:04x}", u32::from(c))),
    |c, out| out.push_str(&format!("\\\\u{:04x}", u32::from(c))),
];

pub(crate) fn escaped(text: &str, escape: Escape) -> Zeroizing<String> {
    // Twelve characters for one, so that the text never moves and leaves a copy behind.
    let mut out = Zeroizing::new(String::with_capacity(text.len() * 12));
    text.chars().for_each(|character| escape(character, &mut out));
    out
}

pub(crate) fn percent_component(character: char, out: &mut String) {
    percent(character, out, "-_.!~*'()", true);
}

fn percent(character: char, out: &mut String, kept: &str, upper: bool) {
    if character.is_ascii_alphanumeric() || kept.contains(character) {
        out.push(character);
    } else {
        percent_all(character, out, upper);
    }
}

fn percent_all(character: char, out: &mut String, upper: bool) {
    let mut room = [0; 4];
    for byte in character.encode_utf8(&mut room).bytes() {
        out.push_str(&if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") });
    }
}

fn percent_all_twice(character: char, out: &mut String, upper: bool) {
    let mut once = String::with_capacity(12);
    percent_all(character, &mut once, upper);
    out.push_str(&once.replace('%', "%25"));
}

pub(crate) fn json_plain(character: char, out: &mut String) {
    json(character, out, "", 'u', false);
}

/// What JSON has to escape, and `more`: as `\u0041` or `\x41`.
fn json(character: char, out: &mut String, more: &str, kind: char, upper: bool) {
    if more.contains(character) {
        let code = u32::from(character);
        out.push_str(&match (kind, upper) {
            ('x', true) => format!("\\x{code:02X}"),
            ('x', false) => format!("\\x{code:02x}"),
            (_, true) => format!("\\u{code:04X}"),
            (_, false) => format!("\\u{code:04x}"),
        });
        return;
    }
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..='\x1f' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
        _ => out.push(character),
    }
}

fn unit_escapes(character: char, out: &mut String, upper: bool) {
    let mut room = [0; 2];
    for unit in character.encode_utf16(&mut room) {
        out.push_str(&if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") });
    }
}

fn html(character: char, out: &mut String, more: &[(char, &str)]) {
    match character {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        _ => match more.iter().find(|(escaped, _)| *escaped == character) {
            Some((_, reference)) => out.push_str(reference),
            None => out.push(character),
        },
    }
}

fn is_kept(character: char, kept: &str) -> bool {
    character.is_ascii_alphanumeric() || kept.contains(character)
}
