//! A repair for people: what is broken, the proposed state, and the source of each value.

use super::page::Page;
use crate::cli::output::Tone;
use crate::model::StepId;
use crate::model::clean_line;
use crate::ops::RepairReport;

pub(super) fn repair(page: &mut Page, repair: &RepairReport) {
    if repair.written {
        page.text
            .put(Tone::Good, "✅ ")
            .plain(format!("{} is written from {}", repair.state, repair.proposal.source))
            .end();
        for kept in &repair.kept {
            page.text.line(format!("   the replaced state is kept as {kept}"));
        }
    } else {
        proposed(page, repair);
    }
    if let Some(next) = repair.next.as_ref().filter(|_| !page.quiet) {
        page.text.line(format!("→ {next}"));
    }
}

fn proposed(page: &mut Page, repair: &RepairReport) {
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
        page.text.put(Tone::Warn, format!("Done again: {}", steps.join(", "))).end();
    }
    for file in &proposal.files {
        page.text.end().bold(file.file.as_str()).end();
        for line in file.content.lines() {
            page.text.line(format!("  | {line}"));
        }
    }
}
