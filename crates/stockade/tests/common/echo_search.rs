//! Searches replies, files and pictures for the real values. Shares no code with the redactor.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;

/// A value that was found, and how it was written.
pub type Find = (String, &'static str);

fn squeeze(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The encodings of a value whose letters and digits alone are looked for.
fn forms(value: &str) -> Vec<(&'static str, String)> {
    let inner = |before: &str| {
        let whole = URL_SAFE_NO_PAD.encode(format!("{before}{value}"));
        whole[(before.len() * 8).div_ceil(6)..whole.len() - 2].to_owned()
    };
    let escaped = |write: fn(u32) -> String| value.chars().map(|c| write(c as u32)).collect::<String>();
    let forms = vec![
        ("plain", value.to_owned()),
        ("hex", hex::encode(value)),
        ("base64", STANDARD.encode(value).trim_end_matches('=').to_owned()),
        ("base64 at one", inner("x")),
        ("base64 at two", inner("xy")),
        ("percent", escaped(|c| format!("%{c:02x}"))),
        ("decimal entities", escaped(|c| format!("&#{c};"))),
        ("hex entities", escaped(|c| format!("&#x{c:x};"))),
        ("script escapes", escaped(|c| format!("\\u{c:04x}"))),
        ("reversed", value.chars().rev().collect()),
        ("character codes", escaped(|c| c.to_string())),
        ("hex codes", escaped(|c| format!("0x{c:02x}"))),
        ("percent twice", escaped(percent_twice)),
    ];
    forms.into_iter().map(|(name, form)| (name, squeeze(&form))).collect()
}

fn percent_twice(code: u32) -> String {
    let character = char::from_u32(code).unwrap();
    let kept = character.is_ascii_alphanumeric() || "-_.~".contains(character);
    if kept { character.to_string() } else { format!("%25{code:02x}") }
}

/// Whether pieces of a value stand in the text as words of their own, in order.
fn has_pieces(words: &[String], value: &str) -> bool {
    let chars: Vec<char> = value.chars().collect();
    [1, 3, 11].into_iter().any(|size| {
        let pieces = chars.chunks(size).map(|piece| piece.iter().collect::<String>());
        let mut words = words.iter();
        pieces.flat_map(|piece| words_of(&piece)).all(|piece| words.any(|word| *word == piece))
    })
}

fn words_of(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).map(squeeze).collect()
}

/// Every value of a list that stands in the text, in any encoding or in pieces.
pub fn find(text: &str, values: &[&str]) -> Vec<Find> {
    let words = words_of(text);
    let mut found = find_whole(text, values);
    let in_pieces = values.iter().filter(|value| has_pieces(&words, value));
    found.extend(in_pieces.map(|value| ((*value).to_owned(), "pieces")));
    found
}

/// Every value of a list whose letters and digits stand together in the text, in any encoding.
fn find_whole(text: &str, values: &[&str]) -> Vec<Find> {
    let squeezed = squeeze(text);
    let mut found = Vec::new();
    for value in values {
        let in_forms = forms(value).into_iter().filter(|(_, form)| squeezed.contains(form.as_str()));
        found.extend(in_forms.map(|(name, _)| ((*value).to_owned(), name)));
    }
    found
}

/// The texts of a reply one after the other, and its pictures.
pub fn texts_and_pictures(reply: &Value) -> (String, Vec<Vec<u8>>) {
    let (mut text, mut pictures) = (String::new(), Vec::new());
    collect(reply, &mut text, &mut pictures);
    (text, pictures)
}

fn collect(value: &Value, text: &mut String, pictures: &mut Vec<Vec<u8>>) {
    match value {
        Value::String(string) => match STANDARD.decode(string) {
            Ok(bytes) if bytes.starts_with(b"\x89PNG") => pictures.push(bytes),
            _ => {
                text.push_str(string);
                text.push('\n');
            }
        },
        Value::Array(list) => list.iter().for_each(|one| collect(one, text, pictures)),
        Value::Object(fields) => fields.iter().for_each(|(name, one)| {
            text.push_str(name);
            text.push('\n');
            collect(one, text, pictures);
        }),
        _ => {}
    }
}

/// Pixels in the colour of values.
pub fn magenta_pixels(picture: &[u8]) -> usize {
    let mut reader = png::Decoder::new(std::io::Cursor::new(picture)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    pixels.chunks_exact(frame.color_type.samples()).filter(is_magenta).count()
}

/// The pictures below a folder, and how many magenta pixels each has.
pub fn magenta_in_recordings(folder: &std::path::Path) -> Vec<(String, usize)> {
    let pictures = files_below(folder).into_iter().filter(|path| path.extension() == Some("webp".as_ref()));
    let count = |path: std::path::PathBuf| {
        let bytes = std::io::Cursor::new(std::fs::read(&path).unwrap());
        let mut decoder = image_webp::WebPDecoder::new(bytes).unwrap();
        let mut pixels = vec![0; decoder.output_buffer_size().unwrap()];
        decoder.read_image(&mut pixels).unwrap();
        let samples = if decoder.has_alpha() { 4 } else { 3 };
        (path.display().to_string(), pixels.chunks_exact(samples).filter(is_magenta).count())
    };
    pictures.map(count).collect()
}

fn is_magenta(pixel: &&[u8]) -> bool {
    pixel[0] > 170 && pixel[1] < 90 && pixel[2] > 170
}

/// Every file below a folder that holds a value.
pub fn find_in_files(folder: &std::path::Path, values: &[&str]) -> Vec<(String, Vec<Find>)> {
    let finds = |path: std::path::PathBuf| {
        // One that the server has just removed is gone. Noise has any word.
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
        (path.display().to_string(), find_whole(&text, values))
    };
    files_below(folder).into_iter().map(finds).filter(|(_, finds)| !finds.is_empty()).collect()
}

fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                files.push(path);
            }
        }
    }
    files
}
