//! What a change recorded, for people.

use super::{
    Shown,
    text_page::{Page, next_command},
};
use crate::{cli::output::Tone, model::Finding, ops::CheckpointReport};

impl Shown for CheckpointReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        let (tone, mark) = match (self.recorded, self.is_setback) {
            (false, _) => (Tone::Dim, "= "),
            (true, false) => (Tone::Good, "✅ "),
            (true, true) => (Tone::Bad, "✗ "),
        };
        page.text.put(tone, mark).plain(format!("{}: {}", self.run, self.message)).end();
        if let Some(brief) = &self.brief {
            page.text.end();
            page.context(brief);
        }
        if let Some(file) = &self.brief_file {
            page.text.line(format!("Brief for the agent: {} ({} bytes)", file.path, file.bytes));
        }
        if let (Some(next), false) = (&self.next, page.quiet) {
            page.text.line(next_command(next));
        }
    }
}
