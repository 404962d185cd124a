//! Judges code that a request runs: SQL statements, scripts of a console.

use super::EffectClass;
use super::fields::last_part;
use super::path::Path;
use crate::effect::Effect;

/// Ends of names of fields that hold SQL.
const SQL_FIELDS: [&str; 5] = ["sql", "query", "statement", "stmt", "command"];
/// Names of fields that hold a program.
const CODE_FIELDS: [&str; 6] = ["script", "code", "cmd", "command", "expression", "source"];
/// Ends of addresses that run what they are sent.
const CONSOLES: [&str; 7] = ["script", "scripttext", "eval", "exec", "shell", "terminal", "console"];
const MOST_STATEMENTS: usize = 20;

/// The field whose code is consequential.
pub(super) fn judge<'a>(effect: &'a Effect, path: &Path) -> Option<(EffectClass, &'a str)> {
    let is_console = path
        .named()
        .next()
        .is_some_and(|(last, _)| matches!(&last.words[..], [word] if CONSOLES.contains(&word.text.as_str())));
    effect.fields.iter().filter(|field| !field.value.is_empty()).find_map(|field| {
        let name = last_part(&field.name).to_ascii_lowercase();
        let by_sql = || {
            let holds_sql = SQL_FIELDS.iter().any(|end| name.ends_with(end));
            field.value.split(';').take(MOST_STATEMENTS).filter(|_| holds_sql).find_map(statement_class)
        };
        let is_program = || is_console && CODE_FIELDS.contains(&name.as_str());
        let class = by_sql().or_else(|| is_program().then_some(EffectClass::Power))?;
        Some((class, field.name.as_str()))
    })
}

/// What an SQL statement does. New rows are an ordinary change.
fn statement_class(statement: &str) -> Option<EffectClass> {
    const MOST_WORDS: usize = 40;
    let mut tokens = statement.split_whitespace().take(MOST_WORDS).map(str::to_ascii_uppercase);
    let (first, second) = (tokens.next()?, tokens.next().unwrap_or_default());
    let rest: Vec<String> = tokens.collect();
    let has = |word: &str| rest.iter().any(|token| token == word);
    const OBJECTS: [&str; 12] = [
        "TABLE",
        "DATABASE",
        "INDEX",
        "VIEW",
        "USER",
        "SCHEMA",
        "ROLE",
        "TRIGGER",
        "FUNCTION",
        "PROCEDURE",
        "SEQUENCE",
        "COLUMN",
    ];
    let is_people = matches!(second.as_str(), "USER" | "ROLE" | "LOGIN");
    match first.as_str() {
        "GRANT" if has("TO") => Some(EffectClass::Power),
        "REVOKE" if has("FROM") => Some(EffectClass::Power),
        "CREATE" | "ALTER" if is_people => Some(EffectClass::Power),
        "DELETE" if second == "FROM" || has("FROM") => Some(EffectClass::Destroy),
        "DROP" | "ALTER" if OBJECTS.contains(&second.as_str()) => Some(EffectClass::Destroy),
        "TRUNCATE" if !second.is_empty() => Some(EffectClass::Destroy),
        "UPDATE" if has("SET") => Some(EffectClass::Destroy),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_judged_by_their_verb() {
        for (statement, class) in [
            ("DELETE FROM `orders` WHERE id = 4", Some(EffectClass::Destroy)),
            ("  drop table orders", Some(EffectClass::Destroy)),
            ("TRUNCATE orders", Some(EffectClass::Destroy)),
            ("update users set name = 'x'", Some(EffectClass::Destroy)),
            ("ALTER TABLE users DROP name", Some(EffectClass::Destroy)),
            ("GRANT ALL ON shop.* TO eve", Some(EffectClass::Power)),
            ("create user eve", Some(EffectClass::Power)),
            ("SELECT * FROM orders", None),
            ("INSERT INTO notes VALUES (1)", None),
            ("delete old files", None),
            ("update the list", None),
            ("", None),
        ] {
            assert_eq!(statement_class(statement), class, "{statement}");
        }
    }
}
