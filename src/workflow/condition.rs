//! `when` expressions. Pure.
//!
//! `!`, `&&`, `||`, parentheses, `==`, `!=`, `<`, `<=`, `>`, `>=` and `contains` over variables, quoted texts, numbers, true, false
//! and null. A bare word is a mistake: it could be a text or a variable. `succeeded(ID)`, `failed(ID)` and `skipped(ID)` ask how a step ended.

use std::fmt;

use serde_json::{Number, Value};

use super::template::{Reader, Reference, end_of_braces, reference};

/// The deepest nesting that is accepted.
const DEPTH: u32 = 32;

/// A parsed `when`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    Value(Operand),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Compare(Operand, Comparison, Operand),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Literal(Value),
    Variable(Reference),
}

/// The operator of a comparison.
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

impl Comparison {
    /// Tells whether it asks which of two numbers is larger.
    pub(crate) const fn is_order(self) -> bool {
        match self {
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => true,
            Self::Equal | Self::NotEqual | Self::Contains => false,
        }
    }
}

/// How a step that is over ended, as a condition asks for it and `${step.ID.status}` says it.
const ENDS: [&str; 3] = ["succeeded", "failed", "skipped"];

const COMPARISONS: [(&str, Comparison); 7] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
    ("contains", Comparison::Contains),
];

impl fmt::Display for Condition {
    /// Writes it as a file has it, with the parentheses that its order needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_joined = |side: &Self| matches!(side, Self::And(..) | Self::Or(..));
        let part = |side: &Self, is_apart: bool| match is_apart {
            true => format!("({side})"),
            false => side.to_string(),
        };
        match self {
            Self::Value(operand) => write!(f, "{operand}"),
            Self::Not(inner) => {
                write!(f, "!{}", part(inner, is_joined(inner) || matches!(**inner, Self::Compare(..))))
            }
            Self::And(left, right) => {
                let is_apart = |side: &Self| matches!(side, Self::Or(..));
                write!(f, "{} && {}", part(left, is_apart(left)), part(right, is_joined(right)))
            }
            Self::Or(left, right) => {
                write!(f, "{left} || {}", part(right, matches!(**right, Self::Or(..))))
            }
            Self::Compare(left, comparison, right) => {
                let sign = COMPARISONS.iter().find(|(_, known)| known == comparison).map_or("", |(sign, _)| sign);
                write!(f, "{left} {sign} {right}")
            }
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(Value::String(text)) if text.contains('\'') => write!(f, "\"{text}\""),
            Self::Literal(Value::String(text)) => write!(f, "'{text}'"),
            Self::Literal(value) => write!(f, "{value}"),
            Self::Variable(reference) => write!(f, "{reference}"),
        }
    }
}

impl Condition {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// In one sentence.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { rest: text, depth: 0 };
        let condition = parser.any()?;
        let rest = parser.rest.trim_start();
        if rest.is_empty() {
            Ok(condition)
        } else if rest.starts_with('=') {
            Err("`=` compares nothing; write `==`".to_owned())
        } else {
            Err(format!("nothing can follow here: `{}`", start_of(rest)))
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: u32,
}

impl Parser<'_> {
    fn take(&mut self, word: &str) -> bool {
        let rest = self.rest.trim_start();
        let Some(after) = rest.strip_prefix(word) else { return false };
        if word.ends_with(char::is_alphabetic) && after.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return false;
        }
        self.rest = after;
        true
    }

    fn any(&mut self) -> Result<Condition, String> {
        let mut left = self.all()?;
        while self.take("||") {
            left = Condition::Or(Box::new(left), Box::new(self.all()?));
        }
        Ok(left)
    }

    fn all(&mut self) -> Result<Condition, String> {
        let mut left = self.one()?;
        while self.take("&&") {
            left = Condition::And(Box::new(left), Box::new(self.one()?));
        }
        Ok(left)
    }

    fn one(&mut self) -> Result<Condition, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("more than {DEPTH} levels of `!` and parentheses"));
        }
        let condition = if self.take("!") {
            Condition::Not(Box::new(self.one()?))
        } else if self.take("(") {
            let inner = self.any()?;
            if !self.take(")") {
                return Err("a `(` is not closed".to_owned());
            }
            inner
        } else if let Some(condition) = self.end_of_step()? {
            condition
        } else {
            let left = self.operand()?;
            match COMPARISONS.iter().find(|(word, _)| self.take(word)) {
                Some((_, comparison)) => Condition::Compare(left, *comparison, self.operand()?),
                None => Condition::Value(left),
            }
        };
        self.depth -= 1;
        Ok(condition)
    }

    /// Reads `succeeded(ID)` and the like, which compare the status of a step.
    fn end_of_step(&mut self) -> Result<Option<Condition>, String> {
        let rest = self.rest.trim_start();
        let Some((end, after)) = ENDS.iter().find_map(|end| Some((*end, rest.strip_prefix(end)?.strip_prefix('(')?)))
        else {
            return Ok(None);
        };
        let (id, after) = after.split_once(')').ok_or("a `(` is not closed")?;
        let form = format!("step.{}.status", id.trim());
        let found = reference(&form, Reader::Plain)?.filter(|found| found.path == form);
        let status =
            found.ok_or_else(|| format!("`{end}` takes the id of a step, and `{}` cannot be one", start_of(id)))?;
        self.rest = after;
        let end = Operand::Literal(Value::from(end));
        Ok(Some(Condition::Compare(Operand::Variable(status), Comparison::Equal, end)))
    }

    fn operand(&mut self) -> Result<Operand, String> {
        self.rest = self.rest.trim_start();
        let rest = self.rest;
        if rest.starts_with("${") {
            return self.variable().map(Operand::Variable);
        }
        if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            return self.quoted(quote);
        }
        let end =
            rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '-' | '+')).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let value = match word {
            "" if rest.is_empty() => return Err("the expression ends where a value is needed".to_owned()),
            "" => return Err(format!("`{}` is not a value", start_of(rest))),
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => match number(word) {
                Some(number) => Value::Number(number),
                None => {
                    return Err(format!("`{word}` is neither quoted nor a variable; write '{word}' or ${{{word}}}"));
                }
            },
        };
        self.rest = after;
        Ok(Operand::Literal(value))
    }

    fn variable(&mut self) -> Result<Reference, String> {
        let after = &self.rest[2..];
        let end = end_of_braces(after).ok_or("a `${` is not closed")?;
        let form = &after[..end - 1];
        let found = reference(form, Reader::Plain)?.ok_or_else(|| format!("`${{{form}}}` is not a variable"))?;
        self.rest = &after[end..];
        Ok(found)
    }

    /// Reads a quoted text; one that is a single variable, as in `"${x}" == "y"`, is that variable.
    fn quoted(&mut self, quote: char) -> Result<Operand, String> {
        let after = &self.rest[1..];
        if after.starts_with("${") {
            self.rest = after;
            let variable = self.variable()?;
            if let Some(rest) = self.rest.strip_prefix(quote) {
                self.rest = rest;
                return Ok(Operand::Variable(variable));
            }
            return Err("a quoted text is text or one variable, not both".to_owned());
        }
        let end = after.find(quote).ok_or_else(|| format!("a {quote} is not closed"))?;
        let text = &after[..end];
        if text.contains("${") {
            return Err("a quoted text is text or one variable, not both".to_owned());
        }
        self.rest = &after[end + 1..];
        Ok(Operand::Literal(Value::String(text.to_owned())))
    }
}

/// Parses a number.
pub(crate) fn number(text: &str) -> Option<Number> {
    let text = text.trim();
    let plain = text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
    let whole = text.parse::<i64>().ok().map(Number::from);
    whole.or_else(|| Number::from_f64(text.parse::<f64>().ok()?)).filter(|_| plain)
}

fn start_of(text: &str) -> String {
    text.chars().take(20).collect()
}

#[cfg(test)]
#[path = "condition_tests.rs"]
mod tests;
