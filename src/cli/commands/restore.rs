//! `restore`, with the question before a state that cannot be read is replaced.

use super::prelude::*;
use crate::{
    cli::{output, render},
    model::{StepId, clean_line},
    ops::Confirmation,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Restore {
    #[command(flatten)]
    run: RunArg,
    /// The version, from `piton history` (default: the newest readable one)
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// Rebuild an unreadable state of AIOS from plan, stories and gates, and show the source of each value
    #[arg(long, conflicts_with = "to")]
    from_evidence: bool,
    /// Record that the branch of the run was renamed; nothing else of the state is replaced
    #[arg(long, value_name = "NAME", conflicts_with_all = ["to", "from_evidence", "yes"])]
    branch: Option<String>,
    /// Write without asking; the state it replaces is kept
    #[arg(short, long)]
    yes: bool,
}

impl Command for Restore {
    /// Asks before it replaces what cannot be read, when a person is at the terminal. End of input is never consent.
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project(self.run.name())?;
        if let Some(branch) = &self.branch {
            return call.answer(ops::record_branch(&ctx, branch));
        }
        let confirmation = if self.yes { Confirmation::Any } else { Confirmation::None };
        let mut request = ops::RestoreRequest { to: self.to.clone(), from_evidence: self.from_evidence, confirmation };
        let report = ops::restore(&ctx, &request)?;
        let prompt = report.body.prompt().filter(|_| call.can_ask());
        let Some((question, digest)) = prompt else { return call.answer(Ok(report)) };
        output::say(&render::text(&report, false, false))?;
        if !output::agrees(&question)? {
            return call.answer(Ok(report));
        }
        request.confirmation = Confirmation::Digest(digest);
        call.answer(ops::restore(&ctx, &request))
    }
}

impl Shown for ops::RestoreReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        if let Some(proposal) = self.proposal.as_ref().filter(|_| !self.written) {
            return proposed(page, self, proposal);
        }
        let from = match self.from.as_str() {
            "copy" => "at its last copy".to_owned(),
            "backup" => "at its backup".to_owned(),
            "evidence" => "as the evidence tells".to_owned(),
            // Checkpoints have no slash in their names.
            archive if archive.contains('/') => format!("from {archive}"),
            checkpoint => format!("at {checkpoint}"),
        };
        page.text.put(Tone::Good, "✅ ").plain(format!("{} is back {from}", self.run)).end();
        for file in &self.files {
            page.text.line(format!("   {file}"));
        }
        open_again(page, &self.repeats);
        for kept in &self.kept {
            page.text.line(format!("The unreadable state is kept as {kept}"));
        }
    }
}

fn open_again(page: &mut Page, steps: &[StepId]) {
    if !steps.is_empty() {
        let steps: Vec<&str> = steps.iter().map(StepId::as_str).collect();
        page.text.put(Tone::Warn, format!("Open again: {}", steps.join(", "))).end();
    }
}

fn proposed(page: &mut Page, report: &ops::RestoreReport, proposal: &ops::Proposal) {
    page.text.bold(format!("The state of {} cannot be read in full", report.run)).end();
    for problem in &proposal.problems {
        page.text.put(Tone::Bad, "  ").line(clean_line(problem, 300));
    }
    if !proposal.versions.is_empty() {
        page.text.end().bold("Known versions").end();
    }
    for version in &proposal.versions {
        let at = version.at.map_or_else(String::new, |at| format!(", {at}"));
        let (tone, mark) = if version.readable { (Tone::Good, "sound ") } else { (Tone::Warn, "broken") };
        page.text.plain("  ").put(tone, mark).line(format!(" {}  {}{at}", version.name, version.what));
    }
    page.text.end().bold(format!("Proposed, from {}; nothing is written yet", report.from)).end();
    for value in &proposal.values {
        page.text.plain("  ").bold(&value.of).line(format!(": {}", value.value));
        for evidence in &value.evidence {
            page.text.dim(format!("      {}", clean_line(evidence, 200))).end();
        }
    }
    if !proposal.unknown.is_empty() {
        page.text.end().bold("Not known").end();
    }
    for unknown in &proposal.unknown {
        page.text.put(Tone::Warn, "  - ").line(unknown);
    }
    open_again(page, &report.repeats);
    for file in &proposal.files {
        page.text.end().bold(file.file.as_str()).end();
        for line in file.content.lines() {
            page.text.line(format!("  | {line}"));
        }
    }
    if !page.quiet {
        page.text.line(format!("→ {}", proposal.command));
    }
}
