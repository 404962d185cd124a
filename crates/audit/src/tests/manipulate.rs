//! A thousand random manipulations of a log in segments: each is found at its location.

use super::*;
use std::collections::BTreeMap;

/// A small generator of its own: the same seed makes the same thousand.
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// The chain as lines with their ends, by segment.
type Text = Vec<(String, Vec<Vec<u8>>)>;

fn read(folder: &Path) -> Text {
    let segments = crate::segments(&chain(folder)).unwrap();
    let split = |bytes: Vec<u8>| bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    segments
        .into_iter()
        .filter(|s| s.bytes > 0)
        .map(|s| (s.name(), split(std::fs::read(s.path).unwrap())))
        .collect()
}

/// Writes a changed chain, does something, and puts everything back.
fn with<T>(folder: &Path, original: &Text, changed: &Text, look: impl FnOnce() -> T) -> T {
    let by_name: BTreeMap<_, _> = changed.iter().cloned().collect();
    for (name, lines) in original {
        let path = chain(folder).join(name);
        match by_name.get(name) {
            Some(new) if new != lines => std::fs::write(&path, new.concat()).unwrap(),
            Some(_) => {}
            None => std::fs::remove_file(&path).unwrap(),
        }
    }
    let seen = look();
    for (name, lines) in original {
        if by_name.get(name) != Some(lines) {
            std::fs::write(chain(folder).join(name), lines.concat()).unwrap();
        }
    }
    seen
}

/// The location of the line after this one, which may begin the next segment.
fn next(text: &Text, segment: usize, line: usize) -> (usize, usize) {
    if line + 1 < text[segment].1.len() { (segment, line + 1) } else { (segment + 1, 0) }
}

/// One manipulation: what it was, the chain after it, and the location that has to be named.
fn manipulate(dice: &mut SeededRandom, original: &Text) -> (String, Text, (usize, usize)) {
    let mut text = original.clone();
    let segment = dice.below(text.len());
    let line = dice.below(text[segment].1.len());
    let is_end = |at: (usize, usize)| at.0 + 1 == original.len() && at.1 + 1 == original[at.0].1.len();
    let here = (segment, line);
    let (what, location) = match dice.below(7) {
        0 => {
            let byte = dice.below(text[segment].1[line].len());
            text[segment].1[line][byte] ^= 1 << dice.below(8);
            ("flip", here)
        }
        1 => {
            text[segment].1.remove(line);
            // The line that moved up is the first defect. At the end of the log it is the missing line, which belongs
            // after the last one: in the segment before, if this one is empty now.
            let is_last = segment + 1 == text.len();
            let found = match text[segment].1.len() {
                0 if is_last => (segment - 1, original[segment - 1].1.len()),
                length if line < length || is_last => here,
                _ => (segment + 1, 0),
            };
            ("drop", found)
        }
        2 => {
            let (other_segment, mut other) = (dice.below(text.len()), 0);
            other += dice.below(text[other_segment].1.len());
            if (other_segment, other) == here {
                return manipulate(dice, original);
            }
            let taken = text[segment].1[line].clone();
            text[segment].1[line] = std::mem::replace(&mut text[other_segment].1[other], taken);
            ("swap", here.min((other_segment, other)))
        }
        3 => {
            let copy = text[segment].1[line].clone();
            text[segment].1.insert(line + 1, copy);
            ("repeat", (segment, line + 1))
        }
        4 => {
            // Made with care: it follows the line before it and has a hash of its own.
            let parsed = crate::parse_line(original[segment].1[line].strip_suffix(b"\n").unwrap()).unwrap();
            let (forged, _) = crate::line::seal(parsed.link(), "\"event_type\":\"intent\"", None);
            text[segment].1.insert(line + 1, format!("{forged}\n").into_bytes());
            // Found by itself where it has no signature or replaces the signed head's own line, and by the
            // true line after it elsewhere.
            let alone = is_end(here) || is_end(next(original, segment, line));
            ("insert", if alone { (segment, line + 1) } else { next(&text, segment, line + 1) })
        }
        5 => {
            text[segment].1.truncate(line);
            if text[segment].1.is_empty() {
                text.remove(segment);
                let location = if segment + 1 == original.len() {
                    (segment - 1, original[segment - 1].1.len())
                } else {
                    (segment + 1, 0)
                };
                ("cut a segment", location)
            } else {
                ("cut lines", if segment + 1 == original.len() { here } else { (segment + 1, 0) })
            }
        }
        _ => {
            let length = text[segment].1[line].len();
            text[segment].1.truncate(line + 1);
            text[segment].1[line].truncate(1 + dice.below(length - 1));
            ("cut within a line", here)
        }
    };
    (format!("{what} at {here:?}"), text, location)
}

/// Writes a log of several segments, the last of which has one line or more, and manipulates it a thousand times.
async fn check_manipulations(last_has_one_line: bool) {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), 3000, 1 << 30).unwrap();
    // Some in groups, so that not every line is signed.
    for _ in 0..12 {
        let writers: Vec<_> = (0..6)
            .map(|_| {
                let log = log.clone();
                tokio::spawn(async move { log.append(&event("x")).await })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap().unwrap();
        }
    }
    let last_lines = || read(folder.path()).last().unwrap().1.len();
    while (last_lines() == 1) != last_has_one_line {
        log.append(&event("x")).await.unwrap();
    }
    drop(log);
    let original = read(folder.path());
    assert!(original.len() > 4);
    assert!(check(folder.path()).ok());
    let mut dice = SeededRandom(0x5eed_0001);
    for round in 0..1000 {
        let (what, changed, (segment, line)) = manipulate(&mut dice, &original);
        let report =
            with(folder.path(), &original, &changed, || crate::verify::verify_closed(&chain(folder.path())));
        let defect = report.defect.unwrap_or_else(|| panic!("round {round}: {what} was not found"));
        let expected = (original[segment].0.as_str(), line as u64 + 1);
        let found = (defect.location.segment.as_str(), defect.location.line);
        assert_eq!(found, expected, "round {round}: {what}: {defect}");
    }
    assert!(check(folder.path()).ok(), "all was put back");
}

#[tokio::test]
async fn a_thousand_manipulations_are_found_in_their_place() {
    check_manipulations(false).await;
}

#[tokio::test]
async fn a_thousand_manipulations_are_found_though_the_last_segment_has_one_line() {
    check_manipulations(true).await;
}

#[tokio::test]
async fn a_chain_rewritten_without_the_key_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), 1 << 20, 1 << 30).unwrap();
    for _ in 0..5 {
        log.append(&event("x")).await.unwrap();
    }
    drop(log);
    let other = Key::load_or_create(&folder.path().join("other.key")).unwrap();
    let (name, lines) = read(folder.path()).remove(0);
    let mut last = crate::line::Link::START;
    let mut text = String::new();
    for line in &lines {
        let line = std::str::from_utf8(line).unwrap();
        let fields = &line[line.find("\"timestamp\"").unwrap()..line.find(",\"sig\"").unwrap()];
        let (line, link) = crate::line::seal(last, &fields.replace("s-1", "s-2"), Some((&other, "c")));
        text.push_str(&line);
        text.push('\n');
        last = link;
    }
    std::fs::write(chain(folder.path()).join(name), text).unwrap();
    let defect = check(folder.path()).defect.unwrap();
    assert!(!check(folder.path()).ok() && defect.location.line <= lines.len() as u64, "{defect}");
}
