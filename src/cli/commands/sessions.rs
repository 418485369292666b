//! `sessions` with its subcommands, and the question before anything is removed.

use clap::Subcommand;

use super::prelude::*;
use crate::{
    cli::{output, render},
    model::{ClaudeWork, ReportedStatus, Status, human_age, plural},
    ops::SessionStatus,
};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Sessions {
    #[command(subcommand)]
    what: Option<What>,
    /// List those of all projects that were begun on this machine
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the sessions of this repository, newest first (the default)
    #[command(visible_alias = "ls")]
    List {
        /// Those of all projects that were begun on this machine
        #[arg(long)]
        all: bool,
    },
    /// Show one session with its steps
    Show(Show),
    /// Remove worktrees and branches of sessions that are done and merged, and archive their records
    Clean(Clean),
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

impl Command for Sessions {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = || call.project(None);
        match &self.what {
            None | Some(What::List { .. }) if self.is_of_all() => {
                call.answer(ops::list_all_sessions(&call.request(None)))
            }
            None | Some(What::List { .. }) => call.answer(ops::list_sessions(&ctx()?)),
            Some(What::Show(show)) => {
                call.answer(ops::show_session(&call.project(show.id.as_ref())?, show.id.as_deref()))
            }
            Some(What::Clean(clean)) => clean.run(&ctx()?, call),
        }
    }

    fn offers_starts(&self) -> bool {
        false
    }

    fn called(&self) -> Option<CalledVerb> {
        let list = Some(CalledVerb::of_all("sessions list"));
        list.filter(|_| matches!(self.what, Some(What::List { .. })))
    }
}

impl Sessions {
    /// Tells whether those of all projects are asked for.
    fn is_of_all(&self) -> bool {
        self.all || matches!(self.what, Some(What::List { all: true }))
    }
}

impl Clean {
    /// Shows what would be removed and asks for consent. End of input is never consent.
    fn run(&self, ctx: &ops::ProjectContext, call: &Call<'_>) -> Result<Exit, CommandError> {
        let request = ops::CleanRequest { ids: self.ids.clone(), dry_run: self.dry_run };
        if self.yes || self.dry_run {
            return call.answer(ops::clean_sessions(ctx, &request));
        }
        let planned = ops::clean_sessions(ctx, &ops::CleanRequest { dry_run: true, ..request.clone() })?;
        let would = &planned.body;
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
        Err(ops::OpError::NotConfirmed { message, hints: hints.to_vec() }.into())
    }
}

impl Shown for ops::SessionList {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        if self.sessions.is_empty() {
            page.text.line("No run was begun on this machine.");
        }
        for row in &self.sessions {
            head(page, row);
            if let Some(project) = &row.project {
                page.text.dim(format!("  in {}", ops::short_path(project))).end();
            }
            if let Some(next) = row.resume.as_ref().or(row.next.as_ref()).filter(|_| !page.quiet) {
                page.text.line(format!("  → {next}"));
            }
        }
    }
}

impl Shown for ops::SessionDetail {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        let row = &self.row;
        head(page, row);
        let mut line = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                page.text.plain(format!("  {name:<12} ")).line(value);
            }
        };
        line("Workflow", self.workflow_file.as_deref());
        line("Folder", row.folder.as_deref());
        let merges = row.branch.as_ref().map(|branch| match &row.base_branch {
            Some(base) => format!("{branch} (from {base})"),
            None => branch.clone(),
        });
        line("Branch", merges.as_deref());
        line("Records", Some(&self.records));
        line("Variables", Some(&self.variables.join(", ")).filter(|names| !names.is_empty()).map(String::as_str));
        line("Claude", Some(&claude(&self.claude)).filter(|_| !self.claude.is_empty()).map(String::as_str));
        if !self.steps.is_empty() {
            page.text.end().bold("Steps").end();
        }
        for step in &self.steps {
            let mark = render::mark(step.status);
            let never = if step.status == ReportedStatus::Tolerated { " (never passed)" } else { "" };
            let tries = if step.attempts > 1 { format!(" ({} attempts)", step.attempts) } else { String::new() };
            let time = step.seconds.map(render::seconds).unwrap_or_default();
            page.text.plain(format!("  {mark} {} {}{never}{tries} ", step.id, step.title)).dim(time).end();
            if let Some(error) = &step.error {
                page.text.dim(format!("      {error}")).end();
            }
            if !step.claude.is_empty() {
                page.text.dim(format!("      Claude: {}", claude(&step.claude))).end();
            }
            if !step.claude.denied.is_empty() {
                page.text.put(Tone::Warn, format!("      denied: {}", step.claude.denials_in_words())).end();
            }
            items(page, &step.items);
        }
        if let Some(next) = row.resume.as_ref().or(row.next.as_ref()).filter(|_| !page.quiet) {
            page.text.end().line(format!("→ {next}"));
        }
    }
}

/// How many items of a step are listed that are done.
const ITEMS: usize = 20;

/// Lists the items of a step; of many, those that are not done.
fn items(page: &mut Page, items: &[ops::SessionItem]) {
    let is_listed =
        |item: &&ops::SessionItem| items.len() <= ITEMS || item.status != Status::Completed || item.worktree.is_some();
    for item in items.iter().filter(is_listed) {
        let error = item.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        page.text.line(format!("      {} {}{error}", render::mark(ReportedStatus::Recorded(item.status)), item.id));
        if let Some(worktree) = &item.worktree {
            page.text.dim(format!("         its worktree: {worktree}")).end();
        }
    }
    let more = items.iter().filter(|item| !is_listed(item)).count();
    if more > 0 {
        page.text.line(format!(
            "      {} {} more are done",
            render::mark(ReportedStatus::Recorded(Status::Completed)),
            more
        ));
    }
}

impl Shown for ops::CleanReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        let (mark, verb) = if self.dry_run { ("", "would be archived") } else { ("✅ ", "is archived") };
        for over in &self.cleaned {
            page.text
                .put(Tone::Good, mark)
                .bold(over.id.as_str())
                .line(format!(" {verb}: records in {}", over.records));
            if let (Some(worktree), Some(branch)) = (&over.worktree, &over.branch) {
                let gone = if self.dry_run { "to be removed" } else { "removed" };
                page.text.line(format!("   {gone}: worktree {worktree}, branch {branch}"));
            }
            for branch in &over.item_branches {
                let gone = if self.dry_run { "to be removed" } else { "removed" };
                page.text.line(format!("   {gone}: branch {branch} of an item, with its worktree"));
            }
        }
        for kept in &self.kept {
            page.text.bold(kept.id.as_str()).line(format!(" is kept: {}", kept.reason));
            if let Some(fix) = kept.fix.as_ref().filter(|_| !page.quiet) {
                page.text.line(format!("   → {fix}"));
            }
        }
        if self.cleaned.is_empty() && self.kept.is_empty() {
            page.text.line("No session has ended: there is nothing to archive.");
        }
        if self.dry_run && !self.cleaned.is_empty() && !page.quiet {
            page.text.line(format!("→ piton sessions clean --yes archives {}", plural(self.cleaned.len(), "session")));
        }
    }
}

fn claude(work: &ClaudeWork) -> String {
    let session = work.session.as_ref().map(|session| format!(", session {session}")).unwrap_or_default();
    format!("{}, {}{session}", plural(work.calls, "call"), work.in_words())
}

fn head(page: &mut Page, row: &ops::SessionRow) {
    let age = row.age_seconds.map_or_else(|| "unknown age".to_owned(), |age| format!("{} ago", human_age(age)));
    page.text.bold(row.id.as_str()).plain("  ").put(tone(row.status), row.status.as_str());
    if row.status == SessionStatus::Completed && row.next.is_some() {
        page.text.put(Tone::Warn, ", not merged");
    }
    page.text.plain(format!("  {}/{}  {}", row.progress.done, row.progress.total, row.workflow));
    page.text.dim(format!("  {}, {age}", row.position)).end();
}

const fn tone(status: SessionStatus) -> Tone {
    match status {
        SessionStatus::Completed | SessionStatus::Merged => Tone::Good,
        SessionStatus::Running => Tone::Bold,
        SessionStatus::Interrupted | SessionStatus::Merging | SessionStatus::Paused | SessionStatus::Waiting => {
            Tone::Warn
        }
        SessionStatus::Failed | SessionStatus::Unreadable => Tone::Bad,
        SessionStatus::GivenUp => Tone::Dim,
    }
}
