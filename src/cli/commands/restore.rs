//! `restore`.

use super::prelude::*;

#[derive(Debug, Args)]
pub(in crate::cli) struct Restore {
    #[command(flatten)]
    run: RunArg,
    /// The checkpoint, from `piton history` (default: the newest readable one)
    #[arg(long, value_name = "CHECKPOINT")]
    to: Option<String>,
    /// Write without asking
    #[arg(short, long)]
    yes: bool,
}

impl Command for Restore {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(ops::restore(&call.project(self.run.name())?, self.to.as_deref(), self.yes))
    }
}

impl Shown for ops::RestoreReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        let from = match self.from.as_str() {
            "copy" => "at its last copy".to_owned(),
            "backup" => "at its backup".to_owned(),
            // Checkpoints have no slash in their names.
            archive if archive.contains('/') => format!("from {archive}"),
            checkpoint => format!("at {checkpoint}"),
        };
        page.text.put(Tone::Good, "✅ ").plain(format!("{} is back {from}", self.run)).end();
        for file in &self.files {
            page.text.line(format!("   {file}"));
        }
        if !self.repeats.is_empty() {
            let steps: Vec<&str> = self.repeats.iter().map(|step| step.as_str()).collect();
            page.text.put(Tone::Warn, format!("Open again: {}", steps.join(", "))).end();
        }
        for kept in &self.kept {
            page.text.line(format!("The unreadable state is kept as {kept}"));
        }
    }
}
