//! Collects fields and operations within bounds.

use super::graphql;
use crate::effect::EffectField;
use crate::effect::classify::names_operation;

const MOST_FIELDS: usize = 400;
/// Fields that name an operation are kept beyond that bound: the last one of a long batch may delete.
const MOST_OPERATION_FIELDS: usize = 400;
const MOST_OPERATIONS: usize = 200;
const LONGEST_VALUE: usize = 2_000;
const LONGEST_NAME: usize = 200;

#[derive(Default)]
pub(super) struct FieldSink {
    fields: Vec<EffectField>,
    omitted: usize,
    operations: Vec<String>,
    beyond: usize,
    pub is_graphql: bool,
}

impl FieldSink {
    pub fn field(&mut self, name: &str, value: &str) {
        self.sized_field(name, value, value.len());
    }

    pub fn sized_field(&mut self, name: &str, value: &str, length: usize) {
        if self.fields.len() >= MOST_FIELDS + self.beyond {
            if self.beyond >= MOST_OPERATION_FIELDS || !names_operation(name) {
                self.omitted += 1;
                return;
            }
            self.beyond += 1;
        }
        let field = EffectField { name: cut(name, LONGEST_NAME), value: cut(value, LONGEST_VALUE), length };
        self.fields.push(field);
    }

    /// A string of JSON: a GraphQL document where it is one.
    pub fn json_string(&mut self, name: &str, value: &str) {
        let last = name.rsplit('.').next().unwrap_or_default();
        if matches!(last, "query" | "mutation" | "document") && graphql::is_document(value) {
            self.is_graphql = true;
            graphql::read_document(value, self);
        }
        self.field(name, value);
    }

    pub fn operation(&mut self, operation: String) {
        if self.operations.len() < MOST_OPERATIONS && !self.operations.contains(&operation) {
            self.operations.push(cut(&operation, LONGEST_NAME));
        }
    }

    pub fn fields(&self) -> &[EffectField] {
        &self.fields
    }

    pub fn finish(self) -> (Vec<EffectField>, usize, Vec<String>) {
        (self.fields, self.omitted, self.operations)
    }
}

fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = (0..=longest).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    text[..end].to_owned()
}
