//! `doctor`.

use super::prelude::*;

#[derive(Debug, Args)]
pub(in crate::cli) struct Doctor;

impl Command for Doctor {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(Ok(ops::doctor(&call.request(None))))
    }
}

impl Shown for ops::DoctorReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        page.text.bold(format!("piton {}", self.version)).end();
        for check in &self.checks {
            let tone = match check.result.as_str() {
                "ok" => Tone::Good,
                "warning" => Tone::Warn,
                _ => Tone::Bad,
            };
            page.text
                .put(tone, format!("{:<8} ", check.result))
                .plain(format!("{}: {}", check.name, check.detail))
                .end();
            if let Some(fix) = &check.fix {
                page.text.line(format!("         → {fix}"));
            }
        }
    }
}
