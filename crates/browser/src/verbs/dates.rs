//! Date and time inputs: text in one format is typed into the input's fields, in the order that its locale has them.

use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    input::{InputGesture, KeyStroke},
    page::ScriptCallError,
    script::ScriptFunction,
    targeting::{Element, TargetUse},
};
use policy::{ARROW_LEFT, ARROW_RIGHT, Chord, DELETE, ElementFacts, NamedKey};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// More fields than any input has, so that the first one is reached from anywhere.
const MAX_FIELDS: usize = 10;

/// The last year that an input can hold.
const MAX_YEAR: u32 = 275_760;

#[derive(Serialize)]
pub(super) struct InputRequest {
    pub number: u64,
}

/// The orders in which the input may have its fields, the likeliest first.
#[derive(Deserialize)]
struct FieldOrders {
    orders: Vec<Vec<DateField>>,
}

#[derive(Deserialize)]
struct InputValue {
    value: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
enum DateField {
    Year,
    Month,
    Week,
    Day,
    Hour,
    /// Of a twelve-hour clock.
    Hour12,
    Minute,
    Second,
    DayPeriod,
}

/// A type of input and the text format it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DateInput {
    pub form: &'static str,
    separators: &'static [u8],
    fields: &'static [DateField],
}

/// The requested value, field by field; empty where the input is to be cleared.
#[derive(Debug, Default, PartialEq, Eq)]
struct DateValue {
    fields: Vec<(DateField, String)>,
}

impl DateInput {
    pub fn of_type(input_type: Option<&str>) -> Option<DateInput> {
        use DateField::{Day, Hour, Minute, Month, Second, Week, Year};
        let (form, separators, fields): (_, &'static [u8], &'static [DateField]) = match input_type? {
            "date" => ("YYYY-MM-DD", b"--", &[Year, Month, Day]),
            "time" => ("HH:MM", b"::", &[Hour, Minute, Second]),
            "datetime-local" => ("YYYY-MM-DDTHH:MM", b"--T::", &[Year, Month, Day, Hour, Minute, Second]),
            "month" => ("YYYY-MM", b"-", &[Year, Month]),
            "week" => ("YYYY-Www", b"W", &[Year, Week]),
            _ => return None,
        };
        Some(DateInput { form, separators, fields })
    }

    /// Parses the input's format. None for another format or for a date or time that does not exist: the input would
    /// turn its keys into a different value. Seconds are optional.
    fn parse(&self, text: &str) -> Option<DateValue> {
        let mut fields = Vec::new();
        let mut rest = text;
        for (place, field) in self.fields.iter().enumerate() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, after) = rest.split_at(digits);
            let most = if *field == DateField::Year { 4..=6 } else { 2..=2 };
            if !most.contains(&digits) {
                return None;
            }
            fields.push((*field, number.to_owned()));
            rest = after;
            if rest.is_empty() && self.fields.get(place + 1).is_none_or(|next| *next == DateField::Second) {
                return Some(DateValue { fields }).filter(DateValue::exists);
            }
            rest = match self.separators.get(place)? {
                b'W' => rest.strip_prefix("-W")?,
                b'T' => rest.strip_prefix(['T', ' '])?,
                separator => rest.strip_prefix(char::from(*separator))?,
            };
        }
        None
    }

    /// Parses a date as the input displays it: fields in that order, with separators or, if each has all its digits,
    /// without.
    fn parse_as_displayed(&self, order: &[DateField], text: &str) -> Option<DateValue> {
        if !order.iter().all(|field| matches!(field, DateField::Year | DateField::Month | DateField::Day))
            || order.len() != 3
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
                .map(|field| {
                    let (number, after) = rest.split_at(if *field == DateField::Year { 4 } else { 2 });
                    rest = after;
                    number
                })
                .collect();
        }
        let padded = |wanted: DateField, width: usize| {
            let number = *numbers.get(order.iter().position(|field| *field == wanted)?)?;
            (number.len() <= width).then(|| (wanted, format!("{number:0>width$}")))
        };
        let is_whole = numbers.len() == 3 && text.chars().all(|c| c.is_ascii_digit() || "./- ".contains(c));
        let year = padded(DateField::Year, 4).filter(|(_, year)| is_whole && !year.starts_with("00"))?;
        let fields = vec![year, padded(DateField::Month, 2)?, padded(DateField::Day, 2)?];
        Some(DateValue { fields }).filter(DateValue::exists)
    }
}

impl DateValue {
    fn digits(&self, wanted: DateField) -> Option<&str> {
        self.fields.iter().find(|(field, _)| *field == wanted).map(|(_, text)| text.as_str())
    }

    fn number(&self, field: DateField) -> Option<u32> {
        self.digits(field)?.parse().ok()
    }

    /// Whether the calendar and the clock have it.
    fn exists(&self) -> bool {
        self.fields.iter().all(|(field, _)| {
            let known = self.range_of(*field).zip(self.number(*field));
            known.is_some_and(|(range, number)| range.contains(&number))
        })
    }

    fn range_of(&self, field: DateField) -> Option<RangeInclusive<u32>> {
        Some(match field {
            DateField::Year => 1..=MAX_YEAR,
            DateField::Month => 1..=12,
            DateField::Week => 1..=weeks_in_year(self.number(DateField::Year)?),
            DateField::Day => {
                1..=days_in_month(self.number(DateField::Year)?, self.number(DateField::Month)?)
            }
            DateField::Hour => 0..=23,
            DateField::Minute | DateField::Second => 0..=59,
            // Only inputs have these; the text has the hour of the day.
            DateField::Hour12 | DateField::DayPeriod => return None,
        })
    }

    /// The keys for one field.
    fn keys(&self, field: DateField) -> Option<String> {
        let hour = || self.number(DateField::Hour);
        match field {
            DateField::Hour12 => hour().map(|hour| format!("{:02}", (hour + 11) % 12 + 1)),
            DateField::DayPeriod => hour().map(|hour| if hour < 12 { "a" } else { "p" }.to_owned()),
            DateField::Second => Some(self.digits(field).unwrap_or("00").to_owned()),
            _ => self.digits(field).map(str::to_owned),
        }
    }

    /// Whether the input's value equals this one. The input omits seconds that are zero.
    fn equals(&self, value: &str) -> bool {
        let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
        let wanted: String = self.fields.iter().map(|(_, text)| text.as_str()).collect();
        let held = digits(value);
        held == wanted || format!("{held}00") == wanted || held == format!("{wanted}00")
    }
}

impl Browser {
    /// Types a date or time and verifies the resulting value.
    pub(super) async fn enter_date(
        &self,
        kind: DateInput,
        text: &str,
        element: &Element,
        target_use: TargetUse,
        decided: &ElementFacts,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let request = InputRequest { number: element.number };
        let FieldOrders { orders } =
            self.ask_input(element, ScriptFunction::ListDatePartOrders, &request, deadline).await?;
        let shown = orders.first().map(Vec::as_slice).unwrap_or_default();
        let date = match text.trim() {
            "" => DateValue::default(),
            text => kind.parse(text).or_else(|| kind.parse_as_displayed(shown, text)).ok_or_else(|| {
                BrowserError::BadDate { element: element.reference.clone(), form: kind.form }
            })?,
        };
        for order in &orders {
            self.call_on_field(element, ScriptFunction::FocusField, &request, deadline).await?;
            let strokes = keystrokes(&date, order);
            self.send_guarded_keys(element, target_use, decided, InputGesture::Keys(&strokes), deadline)
                .await?;
            let InputValue { value } =
                self.ask_input(element, ScriptFunction::ReadDateValue, &request, deadline).await?;
            if value.is_some_and(|value| date.equals(&value)) {
                return Ok(());
            }
        }
        Err(BrowserError::ElementUnchanged { element: element.reference.clone() })
    }

    async fn ask_input<T: serde::de::DeserializeOwned + 'static>(
        &self,
        element: &Element,
        function: ScriptFunction,
        request: &InputRequest,
        deadline: Deadline,
    ) -> Result<T, BrowserError> {
        match self.call_script(&element.frame, function, request, deadline).await {
            Ok(reply) => Ok(reply),
            Err(ScriptCallError::Gone) => Err(element.stale()),
            Err(ScriptCallError::Failed(error)) => Err(error),
        }
    }
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// An ISO year has 53 weeks if it begins or ends on a Thursday.
fn weeks_in_year(year: u32) -> u32 {
    // Day of the week of 31 December, 0 for Sunday. A leap year that begins on a Thursday ends on a Friday.
    let last_day = (year + year / 4 - year / 100 + year / 400) % 7;
    if last_day == 4 || (last_day == 5 && is_leap(year)) { 53 } else { 52 }
}

/// A full field moves the focus on and an incomplete one keeps it, so each is reached from the first one.
fn keystrokes(date: &DateValue, order: &[DateField]) -> Vec<KeyStroke> {
    let mut strokes = Vec::new();
    for (place, field) in order.iter().enumerate() {
        let keys = if date.fields.is_empty() { None } else { date.keys(*field) };
        strokes.extend((0..MAX_FIELDS).map(|_| keystroke(&ARROW_LEFT)));
        strokes.extend((0..place).map(|_| keystroke(&ARROW_RIGHT)));
        strokes.push(keystroke(&DELETE));
        strokes.extend(keys.iter().flat_map(|keys| keys.chars()).filter_map(KeyStroke::for_character));
    }
    strokes
}

fn keystroke(key: &'static NamedKey) -> KeyStroke {
    KeyStroke::from_chord(&Chord::from(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_or_time_is_parsed_from_the_input_format_only() {
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
            let read = DateInput::of_type(Some(input_type)).unwrap().parse(text);
            let parsed =
                read.map(|date| date.fields.into_iter().map(|field| field.1).collect::<Vec<_>>().join(" "));
            assert_eq!(parsed.as_deref(), expected, "{input_type} {text}");
        }
        assert_eq!(DateInput::of_type(Some("text")), None);
    }

    #[test]
    fn a_date_is_also_parsed_as_the_input_displays_it() {
        use DateField::{Day, Hour, Month, Year};
        let kind = DateInput::of_type(Some("date")).unwrap();
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
            let read = kind.parse_as_displayed(order, text);
            let parsed =
                read.map(|date| date.fields.into_iter().map(|field| field.1).collect::<Vec<_>>().join("-"));
            assert_eq!(parsed.as_deref(), expected, "{order:?} {text}");
        }
    }

    #[test]
    fn hours_convert_to_a_twelve_hour_clock() {
        let kind = DateInput::of_type(Some("time")).unwrap();
        for (text, hour, half) in
            [("00:10", "12", "a"), ("09:10", "09", "a"), ("12:10", "12", "p"), ("23:10", "11", "p")]
        {
            let date = kind.parse(text).unwrap();
            let keys = |field| date.keys(field).unwrap();
            assert_eq!(
                (keys(DateField::Hour12).as_str(), keys(DateField::DayPeriod).as_str()),
                (hour, half),
                "{text}"
            );
        }
    }
}
