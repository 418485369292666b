//! `rollback` on the command line: the questions to a person, and what the answers mean.

use super::args;
use super::error::CommandError;
use super::output;
use super::render;
use super::shared_args::Format;
use crate::model::ChangeKind;
use crate::ops;
use crate::ops::Body;
use crate::ops::ChangeRequest;
use crate::ops::ProjectContext;
use crate::ops::Report;
use crate::ops::RollbackRequest;

/// Proposes a rollback, and asks for consent when a person is at the terminal. End of input is never consent.
pub(super) fn rollback(ctx: &ProjectContext, back: &args::Rollback, format: Format) -> Result<Report, CommandError> {
    let mut request = request(back)?;
    let can_ask = output::can_ask() && format == Format::Text;
    let mut report = ops::rollback(ctx, &request)?;
    if can_ask && has_targets(&report) {
        output::say(&render::text(&report, false, true))?;
        request.to = output::ask("Roll back to which? (empty: none)")?.filter(|answer| !answer.trim().is_empty());
        if request.to.is_none() {
            return Ok(report);
        }
        report = ops::rollback(ctx, &request)?;
    }
    let Some((question, revision)) = ops::rollback_prompt(&report).filter(|_| can_ask) else { return Ok(report) };
    output::say(&render::text(&report, false, true))?;
    let answer = output::ask(&question)?.map(|answer| answer.to_lowercase());
    if !matches!(answer.as_deref(), Some("y" | "yes")) {
        return Ok(report);
    }
    (request.yes, request.if_revision) = (true, Some(revision));
    Ok(ops::rollback(ctx, &request)?)
}

fn has_targets(report: &Report) -> bool {
    matches!(&report.body, Body::Rollback(rollback) if !rollback.targets.is_empty())
}

fn request(back: &args::Rollback) -> Result<RollbackRequest, CommandError> {
    let (to, reason) = match &back.json {
        None => (back.to.clone(), back.reason.clone()),
        Some(source) => match ChangeRequest::from_json(&ops::input(source)?, "rollback")? {
            ChangeKind::RollBack(wanted) => (Some(wanted.to), wanted.reason),
            _ => return Err(CommandError::usage("the change is not a rollback".to_owned())),
        },
    };
    let (yes, force, if_revision) = (back.yes, back.force, back.if_revision.clone());
    Ok(RollbackRequest { to, reason, yes, force, if_revision })
}
