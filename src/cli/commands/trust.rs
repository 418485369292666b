//! `trust`.

use super::prelude::*;

#[derive(Debug, Args)]
#[command(
    after_help = "Runs, reports and decisions count only if you made them on this machine, or said yes once: a project may bring them along. \
                  Your list is in PITON_HOME, else in your state folder."
)]
pub(in crate::cli) struct Trust {
    /// The id of a run, or the path of a journal (default: list them)
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Say no: what is there does not count, and a journal is set aside
    #[arg(long, requires = "name")]
    no: bool,
}

impl Command for Trust {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project(None)?;
        match &self.name {
            Some(name) => call.answer(ops::trust(&ctx, name, !self.no)),
            None => call.answer(Ok(ops::trusted(&ctx))),
        }
    }
}

impl Shown for ops::TrustReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        if let Some(done) = &self.done {
            page.text.put(Tone::Good, "✅ ").line(done);
            return;
        }
        if self.subjects.is_empty() {
            page.text.line("Nothing here has to be trusted: no run of a workflow file, no report, no decision.");
        }
        for subject in &self.subjects {
            match &subject.reason {
                Some(reason) => page.text.put(Tone::Warn, "? ").bold(&subject.name).line(format!(": {reason}")),
                None => page.text.put(Tone::Good, "✅ ").line(&subject.name),
            };
        }
    }
}
