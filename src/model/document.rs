//! The one JSON document that a call prints, as published in `schemas/envelope.schema.json`.

use schemars::JsonSchema;
use serde::Serialize;

use super::Finding;

/// Wraps an answer. `schema` says what `data` is; fields may be added under the same major number.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Document<T> {
    /// Name and major version of the schema of `data`: `plan/1`.
    pub(crate) schema: String,
    pub(crate) ok: bool,
    pub(crate) data: T,
    /// Problems in the files that were looked at.
    pub(crate) findings: Vec<Finding>,
}

/// Is what is printed instead of an answer; the exit code is not zero.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorDocument {
    /// `error/1`.
    pub(crate) schema: String,
    pub(crate) ok: bool,
    pub(crate) error: ErrorBody,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<Finding>,
}

/// Says what went wrong and what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    /// Stable name of the kind of error.
    pub(crate) code: String,
    pub(crate) message: String,
    /// What resolves it: exact commands where there are any.
    pub(crate) hints: Vec<String>,
}
