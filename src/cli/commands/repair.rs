//! `repair`.

use super::prelude::*;
use crate::{
    cli::{output, render},
    model::{StepId, clean_line},
    ops::Confirmation,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Repair {
    #[command(flatten)]
    run: RunArg,
    /// Rebuild a state of AIOS from plan, stories and gates, and show the source of each value
    #[arg(long)]
    from_evidence: bool,
    /// Record that the branch of the run was renamed; nothing else of the state is replaced
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from_evidence", "yes"])]
    branch: Option<String>,
    /// Write the proposal without asking; the state it replaces is kept
    #[arg(short, long)]
    yes: bool,
}

impl Command for Repair {
    /// Proposes a repair, and asks for consent when a person is at the terminal. End of input is never consent.
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project(self.run.name())?;
        if let Some(branch) = &self.branch {
            return call.answer(ops::record_branch(&ctx, branch));
        }
        let confirmation = if self.yes { Confirmation::Any } else { Confirmation::None };
        let mut request = ops::RepairRequest { from_evidence: self.from_evidence, confirmation };
        let report = ops::repair(&ctx, &request)?;
        let prompt = report.body.prompt().filter(|_| call.can_ask());
        let Some((question, digest)) = prompt else { return call.answer(Ok(report)) };
        output::say(&render::text(&report, false, false))?;
        if !output::agrees(&question)? {
            return call.answer(Ok(report));
        }
        request.confirmation = Confirmation::Digest(digest);
        call.answer(ops::repair(&ctx, &request))
    }
}

impl Shown for ops::RepairReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        if self.written {
            let source = &self.proposal.source;
            for file in &self.proposal.files {
                page.text.put(Tone::Good, "✅ ").line(format!("{} is written from {source}", file.file));
            }
            for kept in &self.kept {
                page.text.line(format!("   the replaced state is kept as {kept}"));
            }
        } else {
            proposed(page, self);
        }
        if let Some(next) = self.next.as_ref().filter(|_| !page.quiet) {
            page.text.line(format!("→ {next}"));
        }
    }
}

fn proposed(page: &mut Page, repair: &ops::RepairReport) {
    let proposal = &repair.proposal;
    page.text.bold(format!("The state of {} cannot be read in full", repair.run)).end();
    for problem in &repair.problems {
        page.text.put(Tone::Bad, "  ").line(clean_line(problem, 300));
    }
    if !repair.versions.is_empty() {
        page.text.end().bold("Known versions").end();
    }
    for version in &repair.versions {
        let at = version.at.map_or_else(String::new, |at| format!(", {at}"));
        let (tone, mark) = if version.readable { (Tone::Good, "sound ") } else { (Tone::Warn, "broken") };
        page.text.plain("  ").put(tone, mark).line(format!(" {}  {}{at}", version.name, version.what));
    }
    page.text.end().bold(format!("Proposed, from {}; nothing is written yet", proposal.source)).end();
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
    if !proposal.repeats.is_empty() {
        let steps: Vec<&str> = proposal.repeats.iter().map(StepId::as_str).collect();
        page.text.put(Tone::Warn, format!("Open again: {}", steps.join(", "))).end();
    }
    for file in &proposal.files {
        page.text.end().bold(file.file.as_str()).end();
        for line in file.content.lines() {
            page.text.line(format!("  | {line}"));
        }
    }
}
