//! Reports as text, Markdown and YAML: one function per report, no decisions.

mod markdown;
mod page;
mod patch;
mod plan;
mod repair;
mod rollback;
mod sessions;
mod text;
mod yaml;

use crate::model::Document;
use crate::ops::Body;
use crate::ops::Report;

pub(super) use markdown::markdown;
pub(super) use text::asked;
pub(super) use text::context;
pub(super) use text::text;
pub(super) use yaml::yaml;

/// Wraps a report into its document. A schema or a script has none: its text is the error.
pub(super) fn json(report: &Report, with_code: bool) -> Result<Document<&Body>, &str> {
    if let Body::Document(text) = &report.body {
        return Err(text);
    }
    Ok(Document {
        schema: report.body.schema().to_owned(),
        ok: true,
        code: with_code.then(|| report.exit.name().to_owned()),
        data: &report.body,
        findings: report.findings.clone(),
    })
}
