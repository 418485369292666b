//! `piton sessions`: its calls, and the question before anything is removed.

use super::error::CommandError;
use super::output;
use super::render;
use super::sessions_args::Clean;
use super::sessions_args::Sessions;
use super::sessions_args::What;
use super::shared_args::Format;
use crate::model::plural;
use crate::ops;
use crate::ops::Body;
use crate::ops::CleanRequest;
use crate::ops::OpError;
use crate::ops::ProjectContext;
use crate::ops::Report;
use crate::ops::Request;

/// Runs one of the subcommands.
pub(super) fn sessions(sessions: &Sessions, request: Request, format: Format) -> Result<Report, CommandError> {
    Ok(match &sessions.what {
        None | Some(What::List) => ops::list_sessions(&ProjectContext::open(&request)?)?,
        Some(What::Show(show)) => ops::show_session(&ProjectContext::open(&request)?, show.id.as_deref())?,
        Some(What::Clean(clean)) => clean_up(&ProjectContext::open(&request)?, clean, format)?,
        Some(What::Import(import)) => {
            let prodigy_home = request.prodigy_home.clone().or_else(ops::usual_prodigy_home);
            let ctx = ProjectContext::open(&Request { prodigy_home, ..request })?;
            ops::import_session(&ctx, &import.id, import.no_worktree)?
        }
    })
}

/// Shows what would be removed and asks for consent. End of input is never consent.
fn clean_up(ctx: &ProjectContext, clean: &Clean, format: Format) -> Result<Report, CommandError> {
    let request = CleanRequest { ids: clean.ids.clone(), dry_run: clean.dry_run };
    if clean.yes || clean.dry_run {
        return Ok(ops::clean_sessions(ctx, &request)?);
    }
    let planned = ops::clean_sessions(ctx, &CleanRequest { dry_run: true, ..request.clone() })?;
    let Body::Clean(would) = &planned.body else { return Ok(planned) };
    if would.cleaned.is_empty() {
        return Ok(planned);
    }
    let count = plural(would.cleaned.len(), "session");
    let can_ask = output::can_ask() && format == Format::Text;
    let answer = if can_ask {
        output::say(&render::text(&planned, false, true))?;
        output::ask(&format!("Archive {count}? [y/N]"))?
    } else {
        None
    };
    if matches!(answer.as_deref().map(str::trim), Some("y" | "Y" | "yes")) {
        return Ok(ops::clean_sessions(ctx, &request)?);
    }
    let hints = vec!["piton sessions clean --dry-run".to_owned(), "to agree: piton sessions clean --yes".to_owned()];
    Err(OpError::NotConfirmed { message: format!("not confirmed to archive {count}; nothing was done"), hints }.into())
}
