//! The JSON document that every call prints, as published in `schemas/envelope.schema.json`.

use schemars::JsonSchema;
use serde::Serialize;

use super::Finding;

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum No {
    /// It is so already.
    Already,
    /// Something else comes first.
    NotYet,
    /// It is for another: for Piton, an agent, a person, or another program.
    NotYours,
    /// It cannot be done as asked.
    Invalid,
    /// There is nothing to do it to.
    Nothing,
}

/// The envelope of an answer. Fields may be added to `data` under the same major version.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Document<T> {
    /// Name and major version of the schema of `data`: `plan/3`.
    pub(crate) schema: String,
    pub(crate) ok: bool,
    pub(crate) data: T,
    /// Problems in the files that were read.
    pub(crate) findings: Vec<Finding>,
}

/// The document that is printed instead of an answer; the exit code is not zero.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorDocument {
    /// `error/2`.
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
    /// Why not, of a refusal: there with the code `no`, and only there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<No>,
    pub(crate) message: String,
    /// How to resolve it: exact commands where possible.
    pub(crate) hints: Vec<String>,
    /// True if the change was made and only its answer could not be printed: it must not be repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorded: Option<bool>,
}
