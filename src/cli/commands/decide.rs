//! `decide`: what a person decides about a step, and what can be decided.

use super::prelude::*;
use crate::{
    cli::render::text_page::clues,
    model::{QuestionOption, Suggested, Verb},
};

const EXAMPLES: &str = "\
Answers:
  approve    a gate is passed, or the merge: `piton decide merge approve`
  reject     a gate says no; needs --note
  revise     a gate sends the work before it back; needs --note
  accept     work is taken although its review or gate said no
  redo       a step is done again: what a rejection returns to, a step at its limit, a finished step
  override   a step starts out of order, or ends without its outputs; needs --note
  skip       a step is left out for good; needs --note
             STEP may be a phase, such as phase-3 (nine-step): skip leaves out what is open of it, redo brings that back
  happened   a step that was cut off took effect; not-happened: it did not, and is done again
  WORD       an answer of a gate that offers several

Examples:
  piton decide                                   # what the run asks, with the commands that answer
  piton decide 2:4                               # what can be decided about a step
  piton decide 1:2.5 approve --by Ada
  piton decide 2:4 redo --by Ada --note \"the lock is not released\"
  piton decide phase-3 skip --by Ada --note \"later\"    # what is open of phase 3";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Decide {
    /// The step, as shown by `piton plan` (default: every question of the run)
    step: Option<String>,
    /// The answer (default: list the answers)
    answer: Option<String>,
    /// The person who decided; asked for at a terminal, needed elsewhere
    #[arg(long, value_name = "NAME", requires = "answer")]
    by: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, requires = "answer")]
    note: Option<String>,
    /// The part of the step, or the item of a loop, that is skipped or took effect
    #[arg(long, value_name = "NAME", requires = "answer")]
    part: Option<String>,
    /// Number of phases in the plan that is approved, for systems that record it
    #[arg(long, value_name = "NUMBER", requires = "answer", value_parser = clap::value_parser!(u32).range(1..=1000))]
    phases: Option<u32>,
    /// Of a phase: the gates and reviews in it too
    #[arg(short, long, requires = "answer")]
    yes: bool,
    /// The run, if several are open
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R", requires = "answer")]
    if_revision: Option<String>,
}

impl Command for Decide {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let ctx = call.project_with_step(self.run.as_ref(), self.step.clone())?;
        let (Some(step), Some(answer)) = (&self.step, &self.answer) else {
            return call.answer(ops::questions(&ctx, self.step.as_deref()));
        };
        let by = call.decider(&ctx, self.by.clone())?;
        let request = ops::AnswerRequest {
            step: step.clone(),
            answer: answer.clone(),
            by,
            note: self.note.clone().filter(|note| !note.trim().is_empty()),
            part: self.part.clone(),
            phases: self.phases,
            with_gates: self.yes,
            if_revision: self.if_revision.clone(),
        };
        call.answer(ops::answer(&ctx, request))
    }

    fn called(&self) -> Option<CalledVerb> {
        self.answer.is_none().then(|| CalledVerb::of_run("decide", self.run.as_ref(), None))
    }
}

impl Shown for ops::DecideReport {
    fn text(&self, page: &mut Page, findings: &[Finding]) {
        page.findings(findings);
        for question in &self.questions {
            page.text.bold(&question.text).end();
            clues(&mut page.text, question);
            listed(page, &question.options);
        }
        for step in &self.steps {
            page.text.line(format!("{} can be decided:", step.step.with_title(&step.title)));
            listed(page, &step.options);
            if step.options.is_empty() {
                page.text.line("  nothing");
            }
        }
        if self.questions.is_empty() && self.steps.is_empty() {
            page.text.line(format!("{} asks nothing", self.run));
        }
        if !page.quiet {
            page.text.line(format!("→ {}", Suggested::of(Verb::Plan, &self.run)));
        }
    }
}

fn listed(page: &mut Page, options: &[QuestionOption]) {
    for option in options {
        page.text.line(format!("  {}   # {}", option.command, option.label));
    }
}
