//! Tables for a terminal of 80 columns.

use crate::cli::output::BOLD;
use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The widest line.
const WIDTH: usize = 80;
/// Between two columns.
const GAP: usize = 2;
/// The narrowest that a truncated column gets.
const NARROWEST: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Never truncated: a name that people copy.
    Whole(&'static str),
    /// Truncated with an ellipsis if the line would be too long.
    Short(&'static str),
}

impl Column {
    fn title(self) -> &'static str {
        match self {
            Column::Whole(title) | Column::Short(title) => title,
        }
    }
}

#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<(String, Style)>>,
}

impl Table {
    pub fn new(columns: &[Column]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub fn add_row<const N: usize>(&mut self, cells: [String; N]) {
        self.add_styled_row(cells.map(|text| (text, Style::new())));
    }

    pub fn add_styled_row(&mut self, cells: impl IntoIterator<Item = (String, Style)>) {
        self.rows
            .push(cells.into_iter().map(|(text, style)| (replace_control_chars(&text), style)).collect());
    }

    /// The table as lines; `empty` if it has no rows.
    pub fn render(&self, empty: &str) -> String {
        if self.rows.is_empty() {
            return format!("{empty}\n");
        }
        let widths = self.widths();
        let titles: Vec<(String, Style)> =
            self.columns.iter().map(|column| (column.title().to_owned(), BOLD)).collect();
        std::iter::once(&titles).chain(&self.rows).map(|row| render_row(row, &widths)).collect()
    }

    /// The natural width of each column; the widest truncatable ones shrink until the line fits.
    fn widths(&self) -> Vec<usize> {
        let natural = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            let widest = cells.map(|(text, _)| text.width()).max().unwrap_or(0);
            widest.max(self.columns[index].title().width())
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(natural).collect();
        let room = WIDTH.saturating_sub(GAP * self.columns.len().saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let widest = (0..widths.len())
                .filter(|index| {
                    matches!(self.columns[*index], Column::Short(_)) && widths[*index] > NARROWEST
                })
                .max_by_key(|index| widths[*index]);
            match widest {
                Some(index) => widths[index] -= 1,
                // Nothing left to truncate: names that people copy may make the line longer.
                None => break,
            }
        }
        widths
    }
}

fn render_row(row: &[(String, Style)], widths: &[usize]) -> String {
    let mut line = String::new();
    for (index, ((text, style), width)) in row.iter().zip(widths).enumerate() {
        let text = truncate(text, *width);
        line.push_str(&format!("{style}{text}{style:#}"));
        // No blanks at the end of a line.
        if index + 1 < row.len() {
            line.push_str(&" ".repeat(width - text.width() + GAP));
        }
    }
    format!("{}\n", line.trim_end())
}

/// Cuts a text to `width` columns; the last is an ellipsis if something was cut.
fn truncate(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut used = 0;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used >= width {
            break;
        }
        short.push(character);
    }
    format!("{short}…")
}

/// Replaces control characters: a cell may hold text from a page.
fn replace_control_chars(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[&str; 3]]) -> String {
        let mut table = Table::new(&[Column::Whole("ID"), Column::Short("LABEL"), Column::Short("WHERE")]);
        for row in rows {
            table.add_row(row.map(str::to_owned));
        }
        anstream::adapter::strip_str(&table.render("nothing")).to_string()
    }

    #[test]
    fn columns_line_up() {
        let text = table(&[["key-1", "a", "here"], ["key-22222", "日本", "there"]]);
        assert_eq!(text, "ID         LABEL  WHERE\nkey-1      a      here\nkey-22222  日本   there\n");
    }

    #[test]
    fn an_empty_table_says_so() {
        assert_eq!(table(&[]), "nothing\n");
    }

    #[test]
    fn no_line_is_longer_than_80_columns_and_names_stay_whole() {
        let id = "i".repeat(40);
        let wide = "語".repeat(60);
        let text = table(&[[&id, &"l".repeat(200), &wide], ["x", "short", "y"]]);
        for line in text.lines() {
            assert!(line.width() <= 80, "{} columns: {line}", line.width());
        }
        assert!(text.contains(&id) && text.contains('…'), "{text}");
    }

    #[test]
    fn control_characters_in_a_cell_are_replaced() {
        let text = table(&[["a", "\u{1b}[2Jgone\r\nroot#", "\u{9b}31m"]]);
        assert!(!text.contains(['\u{1b}', '\r', '\u{9b}']), "{text:?}");
        assert_eq!(text.lines().count(), 2);
    }
}
