//! `when` expressions. Pure.

use super::template::Reference;
use serde_json::Value;

/// Is a parsed `when`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    Value(Operand),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Compare(Operand, Comparison, Operand),
}

/// Is one side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Literal(Value),
    Variable(Reference),
}

/// Says how two sides are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}
