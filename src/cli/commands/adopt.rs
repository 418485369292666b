//! `adopt`.

use super::prelude::*;
use crate::model::StepId;

#[derive(Debug, Args)]
#[command(
    after_help = "Example: `piton adopt claude-5e551011`\n\nSessions are in `piton list`; Claude Code's own files stay as they are."
)]
pub(in crate::cli) struct Adopt {
    /// The session: its name or number in `piton list`, its id, or the path of its transcript
    #[arg(value_name = "SESSION")]
    session: String,
    /// Name of the run (default: adopted- and the beginning of the session's id)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl Command for Adopt {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project(Some(&self.session))?;
        call.answer(ops::adopt(&ctx, self.name.as_deref()))
    }
}

impl Shown for ops::AdoptReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        let progress = format!("{} of {} steps done", self.progress.done, self.progress.total);
        page.text.put(Tone::Good, "✅ ").plain(format!("The session {} continues as ", self.session));
        page.text.bold(self.run.as_str()).line(format!(": {progress}"));
        let names = |steps: &[StepId]| steps.iter().map(StepId::as_str).collect::<Vec<_>>().join(", ");
        if !self.interrupted.is_empty() {
            page.text.line(format!("   in progress when it ended: {}", names(&self.interrupted)));
        }
        if !self.to_look_at.is_empty() {
            page.text.put(Tone::Warn, format!("   to look at first: {}", names(&self.to_look_at))).end();
        }
        if !page.quiet {
            page.text.line(format!("→ {}", self.next));
        }
    }
}
