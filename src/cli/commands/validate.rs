//! `validate`.

use super::prelude::*;
use crate::{
    cli::render,
    model::{FindingClass, plural},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Validate {
    /// A run or state files (default: every run of the project)
    #[arg(value_name = "RUN|FILE")]
    targets: Vec<String>,
}

impl Command for Validate {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(ops::validate(&call.request(None), &self.targets))
    }

    fn called(&self) -> Option<CalledVerb> {
        let all = Some(CalledVerb::of_all("validate"));
        all.filter(|_| self.targets.is_empty())
    }
}

impl Shown for ops::ValidateReport {
    fn text(&self, page: &mut Page, findings: &[Finding]) {
        for file in &self.files {
            let (tone, mark) = if file.problems == 0 { (Tone::Good, "ok ") } else { (Tone::Warn, "!  ") };
            page.text.put(tone, mark).plain(&file.file);
            if file.problems > 0 {
                page.text.plain(format!(": {}", plural(file.problems, "finding")));
            }
            page.text.end();
        }
        for (file, rewritten) in self.files.iter().filter_map(|file| Some((file, file.rewritten.as_ref()?))) {
            page.text.end().plain(format!("{} as a current workflow file (`workflow/2`):", file.file)).end().end();
            page.text.block(&render::yaml_of(rewritten));
        }
        if self.valid {
            match findings.iter().filter(|finding| finding.code.is_of(FindingClass::StepConflict)).count() {
                0 => page.text.put(Tone::Good, "Valid.").end(),
                count => page.text.put(Tone::Warn, format!("Valid, {}.", plural(count, "contradiction"))).end(),
            };
        } else {
            page.text.put(Tone::Bad, "Not valid.").end();
        }
    }
}
