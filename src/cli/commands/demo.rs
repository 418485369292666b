//! `demo`.

use clap::builder::PossibleValuesParser;

use super::prelude::*;
use crate::model::{Suggested, Verb};

#[derive(Debug, Args)]
pub(in crate::cli) struct Demo {
    /// The system of the run; `claude` is a session that no system recorded, `piton` a workflow file
    #[arg(value_name = "SYSTEM", default_value = "claude", value_parser = PossibleValuesParser::new(ops::demos()))]
    system: String,
    /// Keep the scratch project and print its path
    #[arg(long)]
    keep: bool,
}

impl Command for Demo {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        call.answer(ops::demo(&self.system, self.keep))
    }
}

impl Shown for ops::DemoReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        let mut dialect = None;
        for scene in &self.scenes {
            if dialect != Some(scene.dialect) {
                dialect = Some(scene.dialect);
                page.text.end().bold(format!("== A run of {}", scene.dialect)).end();
            }
            page.text.end().line(format!("# {}", scene.say));
            if let Some(command) = &scene.command {
                page.text.bold(format!("$ {command}")).end();
            }
            for line in scene.output.lines() {
                page.text.line(format!("  {line}"));
            }
            if let Some(exit) = scene.exit.filter(|exit| *exit != 0) {
                page.text.dim(format!("  [exit {exit}]")).end();
            }
        }
        page.text.end();
        match &self.kept {
            Some(place) => page.text.line(format!("The scratch project is kept in {place}")),
            None => {
                let start = Suggested::of(Verb::Start, "nine-step").option("feature", "NAME");
                page.text.line(format!("The scratch project is removed. Start your own run: {start}"))
            }
        };
        if self.scenes.iter().all(|scene| Some(scene.dialect) == dialect) {
            page.text.line(format!("The other systems: {}", Suggested::of(Verb::Demo, "all")));
        }
    }
}
