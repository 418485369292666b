//! `list`.

use super::prelude::*;
use crate::{
    cli::{
        output::Text,
        render::{markdown::celled, text_page::tone_of},
        shared_args::Judged,
    },
    model::{DialectId, Progress, Suggested, Verb, Verdict, clean_line, human_age, plural},
    page,
};

/// Number of plans of other systems that are listed one by one.
const GUESTS_SHOWN: usize = 5;

#[derive(Debug, Args)]
pub(in crate::cli) struct List {
    /// Include runs that are complete, aborted or archived
    #[arg(long)]
    all: bool,
    /// Print an HTML page with all runs: piton list --html > runs.html
    #[arg(long)]
    html: bool,
    #[command(flatten)]
    judged: Judged,
}

impl Command for List {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let listed = ops::list(&call.project(None)?, self.all)?;
        if self.html {
            Ok(call.print_page(&page::index(&listed.body)))
        } else {
            call.answer(self.judged.report(Ok(listed)))
        }
    }

    fn called(&self) -> Option<CalledVerb> {
        Some(CalledVerb::of_all("list"))
    }
}

/// `sessions` and `sessions list` (docs/formats/prodigy.md).
#[derive(Debug, Args)]
pub(in crate::cli) struct Sessions {
    #[arg(value_name = "list", value_parser = ["list"])]
    _list: Option<String>,
}

impl Command for Sessions {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(Judged::default().report(ops::list(&call.project(None)?, true)))
    }
}

fn in_review(count: usize) -> String {
    format!("{count} stories wait for a review: `{}`", Suggested::new(Verb::List).flag("all"))
}

impl Shown for ops::ListReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        if self.in_review > 0 {
            page.text.line(in_review(self.in_review));
        }
        if self.runs.is_empty() {
            if self.in_review == 0 {
                page.text.line(ops::NO_RUN);
            }
            if !page.quiet {
                for hint in &self.hints {
                    page.text.line(format!("→ {hint}"));
                }
            }
            return;
        }
        let all_open = self.runs.iter().all(|run| !run.lifecycle.stage.is_over());
        let any_cut_off = self.runs.iter().any(|run| run.is_cut_off);
        let heading = if all_open && any_cut_off { "Found interrupted workflows:" } else { "Runs:" };
        page.text.bold(heading).end();
        let guests = self.runs.iter().filter(|run| run.is_guest && !run.lifecycle.stage.is_over()).count();
        let folded = if page.verbose { 0 } else { guests.saturating_sub(GUESTS_SHOWN) };
        let (mut shown_guests, mut shown_sessions) = (0, 0);
        let is_session = |run: &&ops::ListedRun| run.dialect == DialectId::Claude;
        for run in &self.runs {
            let (shown, limit) = match (is_session(&run), run.is_guest && !run.lifecycle.stage.is_over()) {
                (true, _) => (&mut shown_sessions, self.sessions_shown),
                (false, true) => (&mut shown_guests, guests - folded),
                (false, false) => {
                    listed(page, run);
                    continue;
                }
            };
            if *shown < limit {
                listed(page, run);
            }
            *shown += 1;
        }
        if folded > 0 {
            page.text.dim(format!("and {} of other systems; -v shows them", plural(folded, "more plan"))).end();
        }
        let more = shown_sessions.saturating_sub(self.sessions_shown);
        if more > 0 && !page.quiet {
            page.text.dim(format!("{}; --all", plural(more, "more session"))).end();
        }
        if self.hidden > 0 && !page.quiet {
            page.text.dim(format!("{} left out; --all shows them", plural(self.hidden, "finished run"))).end();
        }
        if !page.quiet {
            page.text.line(format!("→ {}", Suggested::of(Verb::Plan, "NUMBER")));
        }
    }

    fn markdown(&self, _: &[Finding]) -> String {
        let mut text = Text::default();
        if self.runs.is_empty() && self.in_review == 0 {
            return text.line(ops::NO_RUN).plain_text();
        }
        text.line("| # | Run | Position | Last change | Verdict | Steps |")
            .line("| --- | --- | --- | --- | --- | --- |");
        for run in &self.runs {
            let is_over = run.lifecycle.stage.is_over();
            let position = if is_over { run.lifecycle.describe() } else { run.position.clone() };
            let age = run.age_seconds.map_or_else(|| "unknown".to_owned(), |age| format!("{} ago", human_age(age)));
            let verdict = if is_over || run.is_driven { "-" } else { run.verdict.as_str() };
            let Progress { done, total, .. } = run.progress;
            let cells = [run.number.to_string(), run.id.as_str().to_owned(), position, age, verdict.to_owned()];
            let cells: Vec<String> = cells.iter().map(|cell| celled(cell)).collect();
            text.line(format!("| {} | {done}/{total} |", cells.join(" | ")));
        }
        if self.in_review > 0 {
            text.line(format!("\n{}", in_review(self.in_review)));
        }
        text.plain_text()
    }
}

fn listed(page: &mut Page, run: &ops::ListedRun) {
    let stage = run.lifecycle.stage;
    let age = run.age_seconds.map_or_else(|| "unknown age".to_owned(), |age| format!("{} ago", human_age(age)));
    page.text.plain(format!("{:>2}. ", run.number)).bold(run.id.as_str());
    if !stage.is_over() {
        page.text.plain(format!(" ({})", run.position));
    }
    page.text.plain(" - ");
    if stage != ops::Stage::Open {
        page.text.put(Tone::Warn, run.lifecycle.describe()).plain(", ");
    }
    page.text.plain(format!("{age}  "));
    // What runs now is blocked for others only.
    if !stage.is_over() && !run.is_driven {
        page.text.put(tone_of(run.verdict), run.verdict.as_str()).plain("  ");
    }
    let Progress { done, total, .. } = run.progress;
    // An archived run is not loaded for the list.
    let progress = if total == 0 && stage.is_over() { String::new() } else { format!(" {done}/{total}") };
    let state = if page.verbose { format!("  {}", run.state) } else { String::new() };
    page.text.dim(format!("{}{progress}{state}", run.workflow)).end();
    if stage.is_over() {
        return;
    }
    let title = Some(clean_line(&run.title, 80)).filter(|title| run.id.as_str() != title);
    // What goes on is in the row already.
    let why = Some(clean_line(&run.headline, 200)).filter(|_| run.verdict != Verdict::Resume);
    let about: Vec<String> = title.into_iter().chain(why).collect();
    if !about.is_empty() {
        page.text.dim(format!("    {}", about.join(": "))).end();
    }
    if let Some(cause) = run.cause.as_ref().filter(|cause| !run.headline.contains(&cause.detail)) {
        page.text.dim(format!("    Cut off: {}", clean_line(&cause.detail, 200))).end();
    }
}
