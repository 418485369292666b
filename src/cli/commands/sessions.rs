//! `sessions` with its subcommands, and the question before anything is removed.

use clap::Args;
use clap::Subcommand;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::cli::output;
use crate::cli::render;
use crate::hook::CalledVerb;
use crate::model::plural;
use crate::ops;
use crate::ops::Body;
use crate::ops::CleanRequest;
use crate::ops::Exit;
use crate::ops::OpError;
use crate::ops::ProjectContext;
use crate::ops::Request;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Sessions {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the sessions of this repository, newest first (the default)
    #[command(visible_alias = "ls")]
    List,
    /// Show one session with its steps
    Show(Show),
    /// Remove worktrees and branches of sessions that are done and merged, and archive their records
    Clean(Clean),
    /// Import a session of Prodigy, to resume it here; Prodigy's files are not changed
    Import(Import),
}

#[derive(Debug, Args)]
struct Show {
    /// Session id, or an unambiguous part of it (default: the newest)
    #[arg(value_name = "ID")]
    id: Option<String>,
}

#[derive(Debug, Args)]
struct Clean {
    /// Only these sessions
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Show what would be done, without doing it
    #[arg(long)]
    dry_run: bool,
    /// Remove without asking
    #[arg(short, long)]
    yes: bool,
}

#[derive(Debug, Args)]
struct Import {
    /// The session id, as shown by `piton sessions list --prodigy-home DIR`
    #[arg(value_name = "ID")]
    id: String,
    /// Continue in the repository itself, not in the session's worktree
    #[arg(long)]
    no_worktree: bool,
}

impl Command for Sessions {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = || call.project(None);
        match &self.what {
            None | Some(What::List) => call.answer(ops::list_sessions(&ctx()?)),
            Some(What::Show(show)) => call.answer(ops::show_session(&ctx()?, show.id.as_deref())),
            Some(What::Clean(clean)) => clean.run(&ctx()?, call),
            Some(What::Import(import)) => {
                let request = call.request(None);
                let prodigy_home = request.prodigy_home.clone().or_else(ops::usual_prodigy_home);
                let ctx = ProjectContext::open(&Request { prodigy_home, ..request })?;
                call.answer(ops::import_session(&ctx, &import.id, import.no_worktree))
            }
        }
    }

    fn offers_starts(&self) -> bool {
        false
    }

    fn called(&self) -> Option<CalledVerb> {
        let list = Some(CalledVerb::of_all("sessions list"));
        list.filter(|_| matches!(self.what, Some(What::List)))
    }
}

impl Clean {
    /// Shows what would be removed and asks for consent. End of input is never consent.
    fn run(&self, ctx: &ProjectContext, call: &Call<'_>) -> Result<Exit, CommandError> {
        let request = CleanRequest { ids: self.ids.clone(), dry_run: self.dry_run };
        if self.yes || self.dry_run {
            return call.answer(ops::clean_sessions(ctx, &request));
        }
        let planned = ops::clean_sessions(ctx, &CleanRequest { dry_run: true, ..request.clone() })?;
        let Body::Clean(would) = &planned.body else { return call.answer(Ok(planned)) };
        if would.cleaned.is_empty() {
            return call.answer(Ok(planned));
        }
        let count = plural(would.cleaned.len(), "session");
        if call.can_ask() {
            output::say(&render::text(&planned, false, true))?;
            if output::agrees(&format!("Archive {count}? [y/N]"))? {
                return call.answer(ops::clean_sessions(ctx, &request));
            }
        }
        let hints = ["piton sessions clean --dry-run", "to agree: piton sessions clean --yes"].map(str::to_owned);
        let message = format!("not confirmed to archive {count}; nothing was done");
        Err(OpError::NotConfirmed { message, hints: hints.to_vec() }.into())
    }
}
