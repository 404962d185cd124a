//! Dates and times: what is typed in one form goes into the parts of a field, in whatever order its language has them.

use super::keyboard::Stroke;
use crate::{
    aim::How, ask::AskError, browser::Browser, deadline::Deadline, error::BrowserError, guard::Hand,
    locate::Element, script::ScriptFunction,
};
use policy::{ARROW_LEFT, ARROW_RIGHT, Chord, DELETE, ElementFacts, NamedKey};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// More parts than any field has, so that the first one is reached from wherever the focus is.
const MOST_PARTS: usize = 10;

/// The last year that a field can hold.
const LAST_YEAR: u32 = 275_760;

#[derive(Serialize)]
pub(super) struct Field {
    pub number: u64,
}

/// The orders in which the field may have its parts, the likeliest first.
#[derive(Deserialize)]
struct Orders {
    orders: Vec<Vec<Part>>,
}

#[derive(Deserialize)]
struct Held {
    value: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
enum Part {
    Year,
    Month,
    Week,
    Day,
    Hour,
    /// Of a clock with twelve hours.
    Hour12,
    Minute,
    Second,
    DayPeriod,
}

/// A kind of field, and what is typed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub form: &'static str,
    separators: &'static [u8],
    parts: &'static [Part],
}

/// What was asked for, part by part; nothing where the field is to be emptied.
#[derive(Debug, Default, PartialEq, Eq)]
struct Moment {
    parts: Vec<(Part, String)>,
}

impl Kind {
    pub fn of(input_type: Option<&str>) -> Option<Kind> {
        use Part::{Day, Hour, Minute, Month, Second, Week, Year};
        let (form, separators, parts): (_, &'static [u8], &'static [Part]) = match input_type? {
            "date" => ("YYYY-MM-DD", b"--", &[Year, Month, Day]),
            "time" => ("HH:MM", b"::", &[Hour, Minute, Second]),
            "datetime-local" => ("YYYY-MM-DDTHH:MM", b"--T::", &[Year, Month, Day, Hour, Minute, Second]),
            "month" => ("YYYY-MM", b"-", &[Year, Month]),
            "week" => ("YYYY-Www", b"W", &[Year, Week]),
            _ => return None,
        };
        Some(Kind { form, separators, parts })
    }

    /// Nothing if the text is of another form, or there is no such date or time: what a field makes of the keys of one
    /// is another. Seconds may be left out.
    fn read(&self, text: &str) -> Option<Moment> {
        let mut parts = Vec::new();
        let mut rest = text;
        for (place, part) in self.parts.iter().enumerate() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, after) = rest.split_at(digits);
            let most = if *part == Part::Year { 4..=6 } else { 2..=2 };
            if !most.contains(&digits) {
                return None;
            }
            parts.push((*part, number.to_owned()));
            rest = after;
            if rest.is_empty() && self.parts.get(place + 1).is_none_or(|next| *next == Part::Second) {
                return Some(Moment { parts }).filter(Moment::is_real);
            }
            rest = match self.separators.get(place)? {
                b'W' => rest.strip_prefix("-W")?,
                b'T' => rest.strip_prefix(['T', ' '])?,
                separator => rest.strip_prefix(char::from(*separator))?,
            };
        }
        None
    }

    /// A date as the field itself shows it: its parts in that order, with anything between them or, if each has all its
    /// digits, with nothing.
    fn read_as_shown(&self, order: &[Part], text: &str) -> Option<Moment> {
        if !order.iter().all(|part| matches!(part, Part::Year | Part::Month | Part::Day)) || order.len() != 3
        {
            return None;
        }
        let groups: Vec<&str> =
            text.split(|c: char| !c.is_ascii_digit()).filter(|group| !group.is_empty()).collect();
        let mut numbers: Vec<&str> = groups.clone();
        if let [whole] = groups.as_slice()
            && whole.len() == 8
        {
            let mut rest = *whole;
            numbers = order
                .iter()
                .map(|part| {
                    let (number, after) = rest.split_at(if *part == Part::Year { 4 } else { 2 });
                    rest = after;
                    number
                })
                .collect();
        }
        let told = |wanted: Part, width: usize| {
            let number = *numbers.get(order.iter().position(|part| *part == wanted)?)?;
            (number.len() <= width).then(|| (wanted, format!("{number:0>width$}")))
        };
        let is_whole = numbers.len() == 3 && text.chars().all(|c| c.is_ascii_digit() || "./- ".contains(c));
        let year = told(Part::Year, 4).filter(|(_, year)| is_whole && !year.starts_with("00"))?;
        let parts = vec![year, told(Part::Month, 2)?, told(Part::Day, 2)?];
        Some(Moment { parts }).filter(Moment::is_real)
    }
}

impl Moment {
    fn told(&self, wanted: Part) -> Option<&str> {
        self.parts.iter().find(|(part, _)| *part == wanted).map(|(_, text)| text.as_str())
    }

    fn number(&self, part: Part) -> Option<u32> {
        self.told(part)?.parse().ok()
    }

    /// Whether the calendar and the clock have it.
    fn is_real(&self) -> bool {
        self.parts.iter().all(|(part, _)| {
            let known = self.range_of(*part).zip(self.number(*part));
            known.is_some_and(|(range, number)| range.contains(&number))
        })
    }

    fn range_of(&self, part: Part) -> Option<RangeInclusive<u32>> {
        Some(match part {
            Part::Year => 1..=LAST_YEAR,
            Part::Month => 1..=12,
            Part::Week => 1..=weeks_of(self.number(Part::Year)?),
            Part::Day => 1..=days_of(self.number(Part::Year)?, self.number(Part::Month)?),
            Part::Hour => 0..=23,
            Part::Minute | Part::Second => 0..=59,
            // Only fields have these; what is typed tells the hour of the day.
            Part::Hour12 | Part::DayPeriod => return None,
        })
    }

    /// What is struck in one part.
    fn keys(&self, part: Part) -> Option<String> {
        let hour = || self.number(Part::Hour);
        match part {
            Part::Hour12 => hour().map(|hour| format!("{:02}", (hour + 11) % 12 + 1)),
            Part::DayPeriod => hour().map(|hour| if hour < 12 { "a" } else { "p" }.to_owned()),
            Part::Second => Some(self.told(part).unwrap_or("00").to_owned()),
            _ => self.told(part).map(str::to_owned),
        }
    }

    /// As the field tells it. Seconds that are none are left out there.
    fn is(&self, value: &str) -> bool {
        let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
        let wanted: String = self.parts.iter().map(|(_, text)| text.as_str()).collect();
        let held = digits(value);
        held == wanted || format!("{held}00") == wanted || held == format!("{wanted}00")
    }
}

impl Browser {
    /// Sets a date or time by its keys, and looks whether it has come to be that.
    pub(super) async fn put_moment(
        &self,
        kind: Kind,
        text: &str,
        element: &Element,
        how: How,
        decided: &ElementFacts,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let field = Field { number: element.number };
        let Orders { orders } =
            self.of_field(element, ScriptFunction::ListDatePartOrders, &field, deadline).await?;
        let shown = orders.first().map(Vec::as_slice).unwrap_or_default();
        let moment = match text.trim() {
            "" => Moment::default(),
            text => kind.read(text).or_else(|| kind.read_as_shown(shown, text)).ok_or_else(|| {
                BrowserError::BadDate { element: element.reference.clone(), form: kind.form }
            })?,
        };
        for order in &orders {
            self.in_field(element, ScriptFunction::FocusField, &field, deadline).await?;
            let strokes = strokes(&moment, order);
            self.keys_to(element, how, decided, Hand::Keys(&strokes), deadline).await?;
            let Held { value } =
                self.of_field(element, ScriptFunction::ReadDateValue, &field, deadline).await?;
            if value.is_some_and(|value| moment.is(&value)) {
                return Ok(());
            }
        }
        Err(BrowserError::ElementUnchanged { element: element.reference.clone() })
    }

    async fn of_field<T: serde::de::DeserializeOwned + 'static>(
        &self,
        element: &Element,
        function: ScriptFunction,
        field: &Field,
        deadline: Deadline,
    ) -> Result<T, BrowserError> {
        match self.ask(&element.frame, function, field, deadline).await {
            Ok(told) => Ok(told),
            Err(AskError::Gone) => Err(element.stale()),
            Err(AskError::Failed(error)) => Err(error),
        }
    }
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// A year has 53 weeks if it begins or ends on a Thursday.
fn weeks_of(year: u32) -> u32 {
    // From 0 for a Sunday. A leap year that begins on a Thursday ends on a Friday.
    let last_day = (year + year / 4 - year / 100 + year / 400) % 7;
    if last_day == 4 || (last_day == 5 && is_leap(year)) { 53 } else { 52 }
}

/// A part that is full hands the focus on and one that is not keeps it, so each is reached from the first one.
fn strokes(moment: &Moment, order: &[Part]) -> Vec<Stroke> {
    let mut strokes = Vec::new();
    for (place, part) in order.iter().enumerate() {
        let keys = if moment.parts.is_empty() { None } else { moment.keys(*part) };
        strokes.extend((0..MOST_PARTS).map(|_| stroke(&ARROW_LEFT)));
        strokes.extend((0..place).map(|_| stroke(&ARROW_RIGHT)));
        strokes.push(stroke(&DELETE));
        strokes.extend(keys.iter().flat_map(|keys| keys.chars()).filter_map(Stroke::writing));
    }
    strokes
}

fn stroke(key: &'static NamedKey) -> Stroke {
    Stroke::of(&Chord::from(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_from_its_one_form() {
        for (input_type, text, expected) in [
            ("date", "2026-11-16", Some("2026 11 16")),
            ("date", "11/16/2026", None),
            ("date", "2026-1-6", None),
            ("date", "2026-11-16T10:00", None),
            ("date", "2026-02-28", Some("2026 02 28")),
            ("date", "2026-02-29", None),
            ("date", "2028-02-29", Some("2028 02 29")),
            ("date", "2000-02-29", Some("2000 02 29")),
            ("date", "2100-02-29", None),
            ("date", "2026-02-31", None),
            ("date", "2026-04-31", None),
            ("date", "2026-12-31", Some("2026 12 31")),
            ("date", "2026-12-32", None),
            ("date", "2026-13-01", None),
            ("date", "2026-00-01", None),
            ("date", "2026-01-00", None),
            ("date", "0000-01-01", None),
            ("date", "275761-01-01", None),
            ("time", "13:45", Some("13 45")),
            ("time", "13:45:30", Some("13 45 30")),
            ("time", "1:45", None),
            ("time", "13", None),
            ("time", "00:00", Some("00 00")),
            ("time", "23:59:59", Some("23 59 59")),
            ("time", "24:00", None),
            ("time", "25:61", None),
            ("time", "10:60", None),
            ("time", "10:00:60", None),
            ("datetime-local", "2026-11-16T13:45", Some("2026 11 16 13 45")),
            ("datetime-local", "2026-11-16 13:45:09", Some("2026 11 16 13 45 09")),
            ("datetime-local", "2026-11-16", None),
            ("datetime-local", "2026-02-30T13:45", None),
            ("datetime-local", "2026-11-16T24:00", None),
            ("month", "2026-11", Some("2026 11")),
            ("month", "2026-13", None),
            ("month", "2026-00", None),
            ("week", "2026-W07", Some("2026 07")),
            ("week", "2026-W00", None),
            ("week", "2026-W54", None),
            ("week", "2025-W52", Some("2025 52")),
            ("week", "2025-W53", None),
            ("week", "2026-W53", Some("2026 53")),
            ("week", "2020-W53", Some("2020 53")),
            ("week", "2021-W53", None),
            ("week", "0000-W01", None),
            ("week", "2026-07", None),
        ] {
            let read = Kind::of(Some(input_type)).unwrap().read(text);
            let told =
                read.map(|moment| moment.parts.into_iter().map(|part| part.1).collect::<Vec<_>>().join(" "));
            assert_eq!(told.as_deref(), expected, "{input_type} {text}");
        }
        assert_eq!(Kind::of(Some("text")), None);
    }

    #[test]
    fn a_date_is_also_read_as_its_field_shows_it() {
        use Part::{Day, Hour, Month, Year};
        let kind = Kind::of(Some("date")).unwrap();
        for (order, text, expected) in [
            (&[Month, Day, Year][..], "11/6/2026", Some("2026-11-06")),
            (&[Month, Day, Year], "11062026", Some("2026-11-06")),
            (&[Day, Month, Year], "06.11.2026", Some("2026-11-06")),
            (&[Year, Month, Day], "2026/11/06", Some("2026-11-06")),
            (&[Month, Day, Year], "20261106", None),
            (&[Month, Day, Year], "16/11/2026", None),
            (&[Month, Day, Year], "2/29/2026", None),
            (&[Month, Day, Year], "2/29/2028", Some("2028-02-29")),
            (&[Day, Month, Year], "31042026", None),
            (&[Day, Month, Year], "00.11.2026", None),
            (&[Year, Month, Day], "2026-02-31", None),
            (&[Month, Day, Year], "11/6/26", None),
            (&[Month, Day, Year], "11/2026", None),
            (&[Month, Day, Year], "on 11/6/2026", None),
            (&[Month, Hour, Year], "11/6/2026", None),
        ] {
            let read = kind.read_as_shown(order, text);
            let told =
                read.map(|moment| moment.parts.into_iter().map(|part| part.1).collect::<Vec<_>>().join("-"));
            assert_eq!(told.as_deref(), expected, "{order:?} {text}");
        }
    }

    #[test]
    fn twelve_hours_are_told_from_twenty_four() {
        let kind = Kind::of(Some("time")).unwrap();
        for (text, hour, half) in
            [("00:10", "12", "a"), ("09:10", "09", "a"), ("12:10", "12", "p"), ("23:10", "11", "p")]
        {
            let moment = kind.read(text).unwrap();
            let keys = |part| moment.keys(part).unwrap();
            assert_eq!((keys(Part::Hour12).as_str(), keys(Part::DayPeriod).as_str()), (hour, half), "{text}");
        }
    }
}
