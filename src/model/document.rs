//! The JSON document that every call prints, as published in `schemas/envelope.schema.json`.

use schemars::JsonSchema;
use serde::Serialize;

use super::Finding;

/// The envelope of an answer. Fields may be added to `data` under the same major version.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Document<T> {
    /// Name and major version of the schema of `data`: `plan/2`.
    pub(crate) schema: String,
    pub(crate) ok: bool,
    pub(crate) data: T,
    /// Problems in the files that were read.
    pub(crate) findings: Vec<Finding>,
}

/// The document that is printed instead of an answer; the exit code is not zero.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorDocument {
    /// `error/1`.
    pub(crate) schema: String,
    pub(crate) ok: bool,
    pub(crate) error: ErrorBody,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<Finding>,
}

/// What went wrong and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    /// The stable name of the kind of error.
    pub(crate) code: String,
    pub(crate) message: String,
    /// How to resolve it: exact commands where possible.
    pub(crate) hints: Vec<String>,
    /// True if the change was made and only its answer could not be printed: it must not be repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorded: Option<bool>,
}
