//! A patch: the exact bytes of the diff, between comments that `git apply` ignores.

use super::text_page::Page;
use crate::{
    cli::output::Tone,
    model::{Patch, RunId, clean_line},
};

/// Prints the suggested edits with their reasons.
pub(in crate::cli) fn suggested(page: &mut Page, run: &RunId, patch: &Patch) {
    head(page, run, patch);
    for file in &patch.files {
        file.reasons.iter().for_each(|reason| comment(page, reason));
        page.text.put(Tone::Exact, &file.diff);
    }
    for one in &patch.answers {
        comment(page, &format!("{}, if {}: {}", one.step, one.answer.in_words(), one.command));
    }
    patch.notes.iter().for_each(|note| comment(page, &format!("Not suggested: {note}")));
}

fn head(page: &mut Page, run: &RunId, patch: &Patch) {
    if patch.files.is_empty() {
        comment(page, &format!("Nothing to suggest for {run}."));
    } else {
        comment(
            page,
            &format!("Suggested for {run}; nothing was written. In the root of the project: git apply, or patch -p1."),
        );
    }
}

fn comment(page: &mut Page, text: &str) {
    if !page.quiet {
        page.text.dim(format!("# {}", clean_line(text, 400))).end();
    }
}
