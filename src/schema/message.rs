//! Schema violations in plain words. Values are untrusted and may be long or secret, so they are named by kind and quoted
//! briefly.

use std::fmt::Write as _;

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::Value;

use crate::model::{clean_line, mask_secrets};

/// Returns one sentence without a full stop, such as ``/current_step is text, a number is needed``.
pub(crate) fn describe(error: &ValidationError<'_>) -> String {
    let pointer = error.instance_path().as_str();
    let place = if pointer.is_empty() { "the top level" } else { pointer };
    let found = kind_of(error.instance());
    let text = match error.kind() {
        ValidationErrorKind::Required { property } => match property.as_str() {
            Some(property) => format!("{place} lacks the field `{property}`"),
            None => format!("{place} lacks a field"),
        },
        ValidationErrorKind::Type { kind } => format!("{place} is {found}, {} is needed", types(kind)),
        ValidationErrorKind::Enum { options } => {
            format!("{place} is {}, one of {} is needed", shown(error.instance()), listed(options))
        }
        ValidationErrorKind::Constant { expected_value } => {
            format!("{place} is {}, {expected_value} is needed", shown(error.instance()))
        }
        ValidationErrorKind::Minimum { limit } => {
            format!("{place} is {}, less than {limit}", shown(error.instance()))
        }
        ValidationErrorKind::MinLength { .. } => format!("{place} is empty"),
        ValidationErrorKind::AnyOf { context } => match missing_fields(context) {
            Some(fields) => format!("{place} needs one of the fields {fields}"),
            None => return of_nearest(error, place, context),
        },
        ValidationErrorKind::OneOfNotValid { context } => return of_nearest(error, place, context),
        ValidationErrorKind::UnevaluatedProperties { unexpected }
        | ValidationErrorKind::AdditionalProperties { unexpected } => {
            format!("{place} has fields that are not known: {}", unexpected.join(", "))
        }
        _ => format!("{place}: {}", error.masked()),
    };
    clean_line(&mask_secrets(&text), 240)
}

/// Describes the first error of the alternative that is meant: the only one whose type and constants fit. If every one is a constant,
/// lists them.
fn of_nearest(error: &ValidationError<'_>, place: &str, alternatives: &[Vec<ValidationError<'static>>]) -> String {
    let constant = |errors: &Vec<ValidationError<'static>>| match errors.first().map(ValidationError::kind) {
        Some(ValidationErrorKind::Constant { expected_value }) if errors.len() == 1 => Some(expected_value.to_string()),
        _ => None,
    };
    let constants: Option<Vec<String>> = alternatives.iter().map(constant).collect();
    if let Some(constants) = constants {
        return format!("{place} is {}, one of {} is needed", shown(error.instance()), constants.join(", "));
    }
    let is_list = |one: &&ValidationError<'_>| matches!(one.kind(), ValidationErrorKind::Enum { .. });
    let is_other = |other: &ValidationError<'_>| match other.kind() {
        ValidationErrorKind::Constant { .. } => true,
        ValidationErrorKind::Type { .. } => other.instance_path().as_str() == error.instance_path().as_str(),
        _ => false,
    };
    let is_meant = |errors: &&Vec<ValidationError<'static>>| {
        errors.iter().any(|one| is_list(&one)) || !errors.iter().any(is_other)
    };
    let mut meant = alternatives.iter().filter(is_meant);
    let nearest = meant.next().and_then(|errors| errors.iter().find(is_list).or_else(|| errors.first()));
    match (nearest, meant.next()) {
        (Some(nearest), None) => describe(nearest),
        _ => format!("{place} has none of the accepted forms"),
    }
}

/// Returns the missing fields if every alternative failed because a field is missing.
fn missing_fields(alternatives: &[Vec<ValidationError<'static>>]) -> Option<String> {
    let mut fields = String::new();
    for errors in alternatives {
        let property = errors.iter().find_map(|error| match error.kind() {
            ValidationErrorKind::Required { property } => property.as_str(),
            _ => None,
        })?;
        let separator = if fields.is_empty() { "" } else { ", " };
        let _ = write!(fields, "{separator}`{property}`");
    }
    (!fields.is_empty()).then_some(fields)
}

fn types(kind: &TypeKind) -> String {
    let wanted: Vec<&str> = match kind {
        TypeKind::Single(one) => vec![named(one.as_str())],
        TypeKind::Multiple(many) => {
            many.iter().map(|one| one.as_str()).filter(|one| *one != "null").map(named).collect()
        }
    };
    wanted.join(" or ")
}

fn named(json_type: &str) -> &str {
    match json_type {
        "object" => "an object",
        "array" => "an array",
        "string" => "text",
        "number" => "a number",
        "integer" => "a whole number",
        "boolean" => "true or false",
        other => other,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("`{}`", clean_line(text, 40)),
        Value::Array(_) | Value::Object(_) => kind_of(value).to_owned(),
    }
}

fn listed(options: &Value) -> String {
    match options {
        Value::Array(options) => options.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => shown(options),
    }
}
