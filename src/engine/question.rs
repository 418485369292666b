//! The question for a person and its default answer (rule 9). Every option has the one command that does it; without one it is not offered.

use std::collections::BTreeSet;

use super::{clues::clues, command, overrides::with_options, preconditions::renamed, reconciled::ReconciledRun};
use crate::model::{
    Action, DecisionKind, Evidence, Finding, FindingClass, FindingCode, GateEffect, GateOption, Mode, Next, Options,
    Question, QuestionOption, Records, RunHeader, RunId, Severity, Statement, Step, StepId, StepKind, Suggested, Verb,
    Verdict, quoted, safe_line,
};

/// Maximum length of the words of a gate in its question, in characters.
const ASKS_CHARS: usize = 400;

/// The inputs of a question.
pub(super) struct QuestionInput<'a> {
    pub(super) reconciled: ReconciledRun<'a>,
    pub(super) header: &'a RunHeader,
    pub(super) verdict: Verdict,
    pub(super) next: &'a [Next],
    pub(super) findings: &'a [Finding],
    pub(super) options: &'a Options,
    /// What was found, and what was said.
    pub(super) evidence: (&'a Evidence, &'a [Statement]),
    /// Whether a resume can record the answer.
    pub(super) can_be_resumed: bool,
}

/// Returns the questions of a plan, most pressing first; none if no answer would let the run continue.
pub(super) fn questions(input: &QuestionInput<'_>) -> Vec<Question> {
    let blocking = || input.findings.iter().filter(|finding| finding.severity == Severity::Blocking);
    // What cannot be read cannot be decided, and an option that is refused is left out first.
    let comes_first = |code: FindingCode| code.is_of(FindingClass::Unreadable) || code == FindingCode::OverrideRefused;
    if blocking().any(|finding| comes_first(finding.code)) {
        return Vec::new();
    }
    // Before anything else can be decided, an aborted run has to continue.
    if let Some(aborted) = blocking().find(|finding| finding.code == FindingCode::RunAborted) {
        return Vec::from_iter(input.decision(aborted));
    }
    if blocking().next().is_some() {
        // If one blocking finding has no answer, the others are not asked.
        let mut asked = BTreeSet::new();
        let new = blocking().filter(|finding| asked.insert((finding.code, finding.step.as_ref())));
        let questions: Option<Vec<Question>> = new.map(|finding| input.decision(finding)).collect();
        return questions.unwrap_or_default();
    }
    let gates: Vec<&Next> = input.next.iter().filter(|next| input.is_for_approval(next)).collect();
    match gates.as_slice() {
        [] => Vec::from_iter(input.whole()),
        gates => gates.iter().filter_map(|gate| input.approval(gate)).collect(),
    }
}

impl QuestionInput<'_> {
    /// Returns the question about the run as a whole.
    fn whole(&self) -> Option<Question> {
        match (self.verdict, self.options.mode) {
            (Verdict::Blocked | Verdict::Nothing, _) => None,
            (Verdict::Complete, _) if !self.options.skip.is_empty() && self.can_be_resumed => {
                let yes = QuestionOption::new("yes", "record it", self.resume().yes()).by_person();
                let skipped: Vec<&str> = self.options.skip.iter().map(StepId::as_str).collect();
                let text = format!("Nothing else is left. Record that {} is skipped?", skipped.join(", "));
                Some(self.yes_or_no(text, yes, "no"))
            }
            (Verdict::Complete, _) => self.merge(),
            // No answer would be recorded.
            (Verdict::Resume | Verdict::Confirm, _) if !self.can_be_resumed => None,
            (Verdict::Resume | Verdict::Confirm, Mode::Preflight) => {
                let options = vec![
                    QuestionOption::new("proceed", "resume", self.resume().yes()).by_person(),
                    self.leave("cancel", "leave it as it is"),
                ];
                Some(Question::of_run("Check every line above. Type \"proceed\" to continue.", options, Some("cancel")))
            }
            (Verdict::Resume, Mode::Autopilot | Mode::Interactive) => {
                let yes = QuestionOption::new("yes", "resume", self.resume().yes());
                Some(self.yes_or_no("Proceed with resume?".to_owned(), yes, "yes"))
            }
            (Verdict::Confirm, Mode::Autopilot | Mode::Interactive) => {
                let yes = QuestionOption::new("yes", "resume", self.resume().yes()).by_person();
                let mut question = self.yes_or_no(confirm_text(self), yes, "no");
                let accept = self.accept_conditions();
                question.options.splice(1..1, accept);
                Some(question)
            }
        }
    }
}

fn confirm_text(input: &QuestionInput<'_>) -> String {
    if let Some(limit) = input.findings.iter().find(|finding| finding.code == FindingCode::LimitReached) {
        return format!("{}. Go on, with all limits counted anew?", limit.message);
    }
    let only_verify = input.next.iter().all(|next| next.action == Action::Verify);
    let id = input.run();
    if only_verify && input.next.iter().all(|next| next.rule == "3.drift") {
        format!("No step of {id} has to run. Record what the evidence shows?")
    } else if only_verify {
        format!("Steps of {id} have to be checked before anything runs. Resume to check them?")
    } else {
        "Look at the findings first. Proceed with resume?".to_owned()
    }
}

impl QuestionInput<'_> {
    fn run(&self) -> &RunId {
        &self.reconciled.run.id
    }

    /// Tells whether a person closes a next step: a gate, also after an agent did again what failed at it.
    fn is_for_approval(&self, next: &Next) -> bool {
        let is_gate = || self.reconciled.run.step(&next.step).is_some_and(|step| step.kind == StepKind::Gate);
        next.action == Action::Approve || (next.action == Action::Retry && is_gate())
    }

    fn resume(&self) -> Suggested {
        let resume = with_options(self.options, Suggested::of(Verb::Resume, self.run()));
        resume.flags(self.reconciled.run.resume_flags.iter().copied())
    }

    fn leave(&self, id: &str, label: &str) -> QuestionOption {
        QuestionOption::leave(id, label, Suggested::of(Verb::Status, self.run()))
    }

    /// Returns the option that aborts the run, unless it belongs to another program.
    fn abort(&self) -> Option<QuestionOption> {
        let abort = QuestionOption::new("abort", "abort the run", Suggested::of(Verb::Close, self.run()).flag("abort"))
            .by_person();
        (self.reconciled.run.records != Records::NONE).then_some(abort)
    }

    /// Returns an option that records a decision about a step, with its reason.
    fn decide(&self, verb: &str, label: &str, step: &StepId) -> QuestionOption {
        QuestionOption::new(verb, label, command::decide(verb, step, self.run())).by_person()
    }

    /// Returns the options that take work although the conditions of its review are open.
    fn accept_conditions(&self) -> Vec<QuestionOption> {
        let open = self.findings.iter().filter(|finding| finding.code == FindingCode::ConditionsOpen);
        let recorded = open.filter_map(|finding| self.reconciled.run.step(finding.step.as_ref()?));
        let mut recorded: Vec<&Step> = recorded.filter(|step| step.recorded).collect();
        // The name of a step may be there twice.
        recorded.sort_by_key(|step| &step.id);
        recorded.dedup_by_key(|step| &step.id);
        let is_one = recorded.len() == 1;
        let option = |step: &&Step| QuestionOption {
            id: if is_one { "accept".to_owned() } else { format!("accept {}", step.id) },
            ..self.decide("accept", "take it with its conditions open", &step.id)
        };
        recorded.iter().map(option).collect()
    }

    fn yes_or_no(&self, text: String, yes: QuestionOption, default: &str) -> Question {
        Question::of_run(text, vec![yes, self.leave("no", "leave it as it is")], Some(default))
    }

    fn approval(&self, gate: &Next) -> Option<Question> {
        let step = self.reconciled.run.step(&gate.step).filter(|step| step.recorded)?;
        let at = self.reconciled.graph.position(&step.id)?;
        let missing = self.reconciled.missing_documents(at, self.evidence.0);
        let mut options = match self.reconciled.writer_of(at).filter(|_| !missing.is_empty()) {
            None if !step.options.is_empty() => step.options.iter().map(|option| self.answer(step, option)).collect(),
            None => vec![QuestionOption::new("approve", "approve it", command::approve(step, self.run())).by_person()],
            Some(writer) => vec![
                self.decide("redo", "let it be written", &writer.id),
                self.decide("override", "approve without it", &step.id),
            ],
        };
        let is_choice = step.options.iter().all(|option| option.effect == GateEffect::Continue);
        if !step.options.is_empty() && is_choice && self.reconciled.run.records.redo {
            options.extend(self.below(at));
        }
        if step.returns_to.is_some() && step.options.is_empty() {
            options.push(self.decide("revise", "request changes", &step.id));
        }
        if self.reconciled.run.records.rejections && step.options.is_empty() {
            options.push(self.decide("reject", "reject it", &step.id));
        }
        let stops = step.options.iter().any(|option| option.effect == GateEffect::Stop);
        if self.reconciled.run.records.pause && !stops {
            options.push(QuestionOption::new("pause", "pause the run", Suggested::of(Verb::Pause, self.run())));
        }
        let although = if missing.is_empty() { String::new() } else { format!(", although {}", missing.join("; ")) };
        let asks = step.asks.as_deref().map(|asks| format!(" {}", safe_line(asks, ASKS_CHARS))).unwrap_or_default();
        let text = format!("Approve {}{although}?{asks}", gate.step.with_title(&gate.title));
        Some(self.about(step, text, options, None))
    }

    /// Returns the options that have the work done again that a gate is about: the no of a gate that only offers a choice.
    fn below(&self, gate: usize) -> Vec<QuestionOption> {
        let below = self.reconciled.graph.depends_on(gate).iter().map(|at| &self.reconciled.run.steps[*at]);
        let work: Vec<&Step> = below.filter(|step| step.kind == StepKind::Work && step.idempotent).collect();
        let option = |step: &&Step| QuestionOption {
            id: if work.len() == 1 { "redo".to_owned() } else { format!("redo {}", step.id) },
            ..self.decide("redo", &format!("none of these: have {} done again", step.id), &step.id)
        };
        work.iter().map(option).collect()
    }

    /// Returns the option that gives an answer at a gate, by its word.
    fn answer(&self, gate: &Step, option: &GateOption) -> QuestionOption {
        let label = option.effect.in_words();
        QuestionOption::new(&option.word, label, command::choose(gate, self.run(), &option.word)).by_person()
    }

    /// Asks whether the finished work may be merged, and then whether it was. Git commands are printed, never run.
    fn merge(&self) -> Option<Question> {
        let merge = self.next.iter().find(|next| next.action == Action::Merge)?;
        if let Some(command) = self.reconciled.run.merge_command() {
            let yes = QuestionOption::new("merge", "merge it", command.clone().yes()).by_person();
            let options = vec![yes, self.leave("no", "leave it as it is")];
            return Some(Question::of_run(format!("{}?", merge.title), options, Some("no")));
        }
        let approve = command::approve_end(self.run());
        let complete = Suggested::of(Verb::Close, self.run()).flag("done");
        let is_approved = self.reconciled.compared.decisions.approved_end().is_some();
        let is_merged = self.evidence.0.merged == Some(true);
        let mut options = Vec::new();
        if is_approved && !is_merged {
            options.extend(self.merge_with_git());
        } else if !is_merged {
            options.push(QuestionOption::new("approve", "approve the merge", approve).by_person());
        }
        options
            .push(QuestionOption::new("complete", "it is merged: record that the run is over", complete).by_person());
        options.push(self.leave("no", "leave it as it is"));
        let text = match (&self.header.branch, is_merged, is_approved) {
            (Some(branch), true, _) => format!("{branch} is merged. Is the run over?"),
            (Some(branch), false, true) => format!("The merge of {branch} is approved. Merge it now?"),
            (_, _, _) => format!("{}?", merge.title),
        };
        Some(Question::of_run(text, options, Some("no")))
    }

    /// Returns the option that merges the branch of the run into the one that it began on.
    fn merge_with_git(&self) -> Option<QuestionOption> {
        let branch = self.header.branch.as_ref().filter(|branch| !branch.starts_with('-'))?;
        self.header.worktree.as_ref()?;
        let root = quoted(&self.header.root);
        let merge = format!("git -C {root} merge --no-ff {}", quoted(branch));
        let base = self.header.base_branch.as_ref().filter(|base| !base.starts_with('-'));
        let (command, into) = match base {
            Some(base) => (format!("git -C {root} switch {} && {merge}", quoted(base)), base.as_str()),
            None => (merge, "the branch of the project"),
        };
        Some(QuestionOption::new("merge", format!("merge {branch} into {into}"), Suggested::Other(command)).by_person())
    }

    /// Returns the question about a blocking finding; `None` if it must be fixed first.
    fn decision(&self, finding: &Finding) -> Option<Question> {
        let message = &finding.message;
        // What cannot be recorded cannot be decided here.
        let step = finding.step.as_ref().and_then(|id| self.reconciled.run.step(id)).filter(|step| step.recorded);
        if finding.code == FindingCode::AttemptLimit {
            let step = step?;
            let again = if step.returns_to.is_some() { "another round" } else { "try it once more" };
            let options = self.ways_out(&step.id, again);
            Some(self.about(step, format!("{message}. Continue anyway?"), options, None))
        } else if finding.code == FindingCode::Rejected {
            let step = step?;
            Some(self.about(step, message.clone(), self.ways_out(&step.id, "do the work again"), None))
        } else if finding.code == FindingCode::GateExpired {
            let step = step?;
            let again = self.decide("redo", "ask it again", &step.id);
            let options = std::iter::once(again).chain(self.abort()).collect();
            Some(self.about(step, message.clone(), options, None))
        } else if finding.code == FindingCode::DriverUnknown {
            let step = step?;
            let again = self.decide("redo", "it was lost: do it again", &step.id);
            let wait = self.leave("wait", "it may still be going on: leave it");
            Some(self.about(step, format!("{message}. Is it lost?"), vec![again, wait], Some("wait")))
        } else if finding.code == FindingCode::OutcomeUnknown {
            Some(self.effect(step?, message))
        } else if finding.code == FindingCode::RunAborted && self.can_be_resumed {
            let yes = QuestionOption::new("yes", "resume it", self.resume().flag("force").yes()).by_person();
            Some(self.yes_or_no(format!("{message}. Resume it?"), yes, "no"))
        } else if finding.code == FindingCode::WorktreeMissing
            && self.reconciled.run.workspace.wanted_worktree.is_some()
        {
            let add = finding.fix.as_ref()?.command()?;
            let make = QuestionOption::new("worktree", "make the worktree", add.clone()).by_person();
            let options = std::iter::once(make).chain(self.abort()).collect();
            Some(Question::of_run("Make the worktree now?", options, None))
        } else if finding.code == FindingCode::BranchMismatch {
            let renamed = self.evidence.0.workspace.as_ref().and_then(|found| renamed(self.reconciled.run, found));
            let options: Vec<QuestionOption> = match renamed {
                Some((rename, record)) => {
                    let record = record.map(|command| QuestionOption::new("record", "record the new name", command));
                    let rename = QuestionOption::new("rename", "take the new name back", rename);
                    record.into_iter().chain([rename]).map(QuestionOption::by_person).chain(self.abort()).collect()
                }
                None => self.check_out().into_iter().chain(self.abort()).collect(),
            };
            Some(Question::of_run(format!("❌ {message}"), options, None))
        } else {
            None
        }
    }

    /// Asks whether a step that must not run twice and was cut off took effect.
    fn effect(&self, step: &Step, message: &str) -> Question {
        let [happened, not_happened] = command::effect(step, self.run());
        let options = vec![
            QuestionOption::new(command::HAPPENED, "it took effect", happened).by_person(),
            QuestionOption::new(command::NOT_HAPPENED, "it did not: do it again", not_happened).by_person(),
            self.leave("leave", "leave it as it is"),
        ];
        self.about(step, format!("{message}. Did it take effect?"), options, Some("leave"))
    }

    /// Returns a question about a step, with what there is to judge it by.
    fn about(&self, step: &Step, text: String, options: Vec<QuestionOption>, default: Option<&str>) -> Question {
        let evidence = clues(&self.reconciled, step, self.evidence);
        Question { step: Some(step.id.clone()), evidence, ..Question::of_run(text, options, default) }
    }

    /// Returns an option for each decision that a person can make about a step that said no or that failed too often.
    fn ways_out(&self, step: &StepId, redo: &str) -> Vec<QuestionOption> {
        let ways = self.reconciled.graph.position(step).map(|at| self.reconciled.ways_out(at));
        let option = |(kind, command): (DecisionKind, Suggested)| {
            let label = match kind {
                DecisionKind::Redo => redo,
                DecisionKind::Accept => "accept it as it is",
                DecisionKind::Skip => "leave the step out",
                DecisionKind::Abort => "abort the run",
                DecisionKind::RollBack
                | DecisionKind::Approve
                | DecisionKind::Override
                | DecisionKind::Pause
                | DecisionKind::Resume => kind.as_str(),
            };
            QuestionOption::new(kind.as_str(), label, command).by_person()
        };
        ways.into_iter().flatten().map(option).collect()
    }

    /// Returns the option that checks out the branch of the state, if there is one to check out.
    fn check_out(&self) -> Option<QuestionOption> {
        let workspace = &self.reconciled.run.workspace;
        // Git branch names cannot start with a dash; such a name would be parsed as an option.
        let branch = workspace.branch.as_ref().filter(|branch| !branch.starts_with('-'))?;
        let folder = quoted(workspace.place().unwrap_or("."));
        let is_lost = self.evidence.0.workspace.as_ref().is_some_and(|found| found.branch_exists == Some(false));
        let (verb, label) = if is_lost { ("switch -c", "create") } else { ("checkout", "check out") };
        let command = Suggested::Other(format!("git -C {folder} {verb} {}", quoted(branch)));
        Some(QuestionOption::new("checkout", format!("{label} {branch}"), command).by_person())
    }
}
