//! The planner: a pure function from a run, its evidence and options to a plan. Same inputs, same bytes.

use serde_json::Value;

use super::{
    age::{age, say_once},
    choose::{Chooser, Chosen},
    command,
    graph::Graph,
    guest,
    handed::handed,
    next::Planner,
    overrides, preconditions,
    question::{QuestionInput, questions},
    reconcile::reconcile,
    reconciled::ReconciledRun,
    refusal::{Refusal, RefusalKind},
    reports::was_paused,
};
use crate::model::{
    Action, Age, AgeBand, Change, ChangeKind, DecisionKind, Evidence, Finding, FindingClass, FindingCode, Fix, Mode,
    Next, Options, Plan, Progress, Run, RunHeader, RunStatus, Severity, Statement, StatementKind, Status, Step,
    StepGroups, StepId, StepKind, StepReport, Suggested, Timestamp, Verb, Verdict,
};

/// A plan with the findings behind it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    /// Most severe first.
    pub(crate) findings: Vec<Finding>,
    /// Whether another process drives the run, which makes a refusal a conflict.
    pub(crate) live_owner: bool,
    /// The caller passed `--if-dependencies-met`, and they are not.
    pub(crate) dependencies_unmet: bool,
    /// The decisions that the caller's options stand for; a resume records them.
    pub(crate) needs: Vec<(StepId, DecisionKind)>,
    /// Whether autopilot may continue without asking.
    pub(crate) unattended: bool,
    /// The finding that a person has to see before anything begins.
    pub(crate) to_confirm: Option<Finding>,
    /// What was said about the run, oldest first.
    pub(crate) statements: Vec<Statement>,
    /// The reports that came when their step had moved, oldest first.
    pub(crate) late: Vec<StepReport>,
    /// What git said is not committed in the working folder; `None` if it was not asked.
    pub(crate) uncommitted: Option<Vec<String>>,
}

impl Planned {
    /// Returns why a step may not begin or end although its own checks pass: what blocks the run, or the step itself (invariant 16).
    pub(crate) fn refusal_of(&self, step: &StepId) -> Option<Refusal> {
        let stops = |finding: &&Finding| {
            finding.severity == Severity::Blocking
                && !finding.code.is_of(FindingClass::CheckedByChange)
                && finding.step.as_ref().is_none_or(|about| about == step)
        };
        let finding = self.findings.iter().find(stops)?;
        let run = &self.plan.run.id;
        let hints = finding.fix.iter().cloned().chain([Suggested::of(Verb::Plan, run).into()]).collect();
        let is_corrupt = matches!(finding.code, FindingCode::StateMissingField | FindingCode::StateWrongType);
        let is_unread = is_corrupt || finding.code.is_of(FindingClass::Unreadable);
        let kind = if is_unread { RefusalKind::Unread } else { RefusalKind::Person };
        Some(Refusal { kind, message: finding.message.clone(), hints })
    }

    /// Returns a refusal whose hints work as they are printed: no step begins before a person saw what the plan has them look at first.
    pub(super) fn leads_out(&self, mut refusal: Refusal) -> Refusal {
        if self.to_confirm.is_some() {
            let begins = |hint: &Fix| hint.command().is_some_and(|command| command.verb() == Some(Verb::Begin));
            refusal.hints.retain(|hint| !begins(hint));
            let plan = Fix::from(Suggested::of(Verb::Plan, &self.plan.run.id));
            if refusal.hints.is_empty() {
                refusal.hints.push(plan);
            }
        }
        refusal
    }

    /// Returns why a change may not be recorded although the checks of its step pass.
    pub(super) fn refusal_to(&self, Change { at, kind }: &Change) -> Option<Refusal> {
        if let ChangeKind::Begin { step, .. } = kind {
            return self.refusal_to_begin(step, *at);
        }
        if let ChangeKind::Finish(outcome) = kind { self.refusal_of(&outcome.step) } else { None }
    }

    /// Returns why a step may not begin although its own checks pass: what blocks it, or what a person has to see first.
    pub(crate) fn refusal_to_begin(&self, step: &StepId, now: Timestamp) -> Option<Refusal> {
        let to_confirm = || self.to_confirm.as_ref().filter(|_| !is_decided(&self.statements, step, now));
        self.refusal_of(step).or_else(|| {
            let message = format!("{}; a person says first that the run goes on", to_confirm()?.message);
            // The plan asks, and has the answers.
            let hints = vec![Suggested::of(Verb::Plan, &self.plan.run.id).into()];
            Some(Refusal { kind: RefusalKind::Person, message, hints })
        })
    }
}

/// Tells whether the last that was said about a step is a person's word, of less than a day ago.
fn is_decided(statements: &[Statement], step: &StepId, now: Timestamp) -> bool {
    let last = statements.iter().rfind(|statement| statement.step() == Some(step));
    last.is_some_and(|last| matches!(&last.kind, StatementKind::Decision(decision) if decision.at.is_of_today(now)))
}

/// Plans how a run continues.
///
/// `header` identifies the run, `load_findings` are the findings of reading it. The result depends only on the arguments.
pub(crate) fn plan(
    run: &Run,
    mut header: RunHeader,
    evidence: &Evidence,
    load_findings: Vec<Finding>,
    options: &Options,
) -> Planned {
    // Agents stop and ask if no branch is given.
    header.branch = header.branch.or_else(|| evidence.workspace.as_ref()?.branch.clone());
    if options.skip.is_empty() {
        return PlanInputs { run, evidence, options }.plan(header, load_findings, Vec::new());
    }
    let graph = Graph::of(run);
    let reconciled = reconcile(run, &graph, evidence, &load_findings);
    let (run, skips) = overrides::skip(&ReconciledRun::of(run, &graph, &reconciled), options);
    PlanInputs { run: &run, evidence, options }.plan(header, load_findings, skips)
}

struct PlanInputs<'a> {
    run: &'a Run,
    evidence: &'a Evidence,
    options: &'a Options,
}

impl PlanInputs<'_> {
    /// Names the command that replaces an unknown word or asks for a missing approval again.
    fn name_fixes(&self, reconciled: &ReconciledRun<'_>, findings: &mut [Finding]) {
        for finding in findings {
            let is_word = finding.code.is_of(FindingClass::UnknownWord);
            let at = finding.step.as_ref().filter(|_| is_word).and_then(|step| reconciled.graph.position(step));
            let replace = at.and_then(|at| reconciled.replace_word(at));
            finding.fix = replace.map(Fix::from).or_else(|| finding.fix.take());
            if finding.code == FindingCode::ApprovalUnrecorded {
                let step = finding.step.as_ref().and_then(|step| self.run.step(step));
                finding.fix = step.map(|step| ask_again(self.run, step).into());
            }
        }
    }

    fn plan(&self, header: RunHeader, load_findings: Vec<Finding>, mut skips: Vec<Finding>) -> Planned {
        let Self { run, evidence, options } = *self;
        let graph = Graph::of(run);
        let mut reconciled = reconcile(run, &graph, evidence, &load_findings);
        let mut doubts = std::mem::take(&mut reconciled.findings);
        let reconciled = ReconciledRun::of(run, &graph, &reconciled);
        let is_archived = run.status == RunStatus::Archived;
        let mut chosen = if is_archived { Chosen::default() } else { Chooser { reconciled, options }.choose() };
        let (age, mut age_findings) = age(run, evidence, options);
        let mut findings = [say_once(load_findings, &mut age_findings), evidence.findings.clone()].concat();
        self.name_fixes(&reconciled, &mut findings);
        trust_no_older_story(&reconciled, &evidence.statements, &mut findings);
        findings.append(&mut doubts);
        for more in [&mut chosen.findings, &mut skips, &mut age_findings] {
            findings.append(more);
        }
        findings.extend(guest::own_choice(run, &chosen.choices));
        findings.extend(preconditions::findings(run, evidence, options));

        let planner = Planner::new(reconciled, options, &findings);
        let all_over = reconciled.effective_statuses.iter().all(|status| status.is_over())
            && chosen.choices.is_empty()
            && !chosen.dependencies_unmet;
        let next = if is_archived { Vec::new() } else { planner.next(&chosen, all_over, evidence) };
        if is_archived || (all_over && next.is_empty()) {
            // The run is over: its age and workspace no longer matter.
            findings.retain(|finding| !finding.code.is_of(FindingClass::OfResume));
        }
        self.let_others_go_on(&next, &mut findings);
        findings.sort_by_key(|finding| finding.severity);
        findings.dedup();
        let to_confirm = self.to_confirm(&findings);
        let verdict = self.verdict(&next, all_over, &findings, to_confirm.is_some());
        let unattended = self.is_unattended(verdict, &next, &age, &findings);
        let to_confirm = to_confirm.filter(|_| verdict == Verdict::Confirm);
        let by_mode = to_confirm.as_ref().filter(|_| unattended).map(|_| options.mode);
        let to_confirm = to_confirm.filter(|_| !unattended);
        let statements = guest::statements(run, evidence);
        let asks = |step: &StepId| to_confirm.is_some() && !is_decided(&statements, step, options.now);
        let of = |next: &Next| handed(run, &graph, &statements, &next.step).with_late(&evidence.late, &next.step);
        let handed = next.first().map(of).unwrap_or_default();
        let input = QuestionInput {
            reconciled,
            header: &header,
            verdict,
            next: &next,
            findings: &findings,
            options,
            evidence: (evidence, &statements),
            can_be_resumed: chosen.can_be_resumed(run),
        };
        let questions = if unattended || is_archived { Vec::new() } else { questions(&input) };
        let steps = planner.groups(&chosen);
        let plan = Plan {
            run: header,
            verdict,
            mode: options.mode,
            interruption: planner.interruption(&chosen, evidence, all_over, &findings),
            progress: progress(run, &steps),
            steps,
            age,
            limit_wait: None,
            questions,
            commands: planner.commands(verdict, &next, &chosen, (asks, by_mode)),
            reports: handed.reports,
            decisions: handed.decisions,
            next,
            degraded: run.degraded,
            patch: None,
            native: Value::Null,
        };
        Planned {
            plan,
            live_owner: findings.iter().any(|finding| finding.code == FindingCode::LiveOwner),
            findings,
            dependencies_unmet: chosen.dependencies_unmet,
            needs: chosen.needs,
            unattended,
            to_confirm,
            statements: statements.into_owned(),
            late: evidence.late.clone(),
            uncommitted: evidence.workspace.as_ref().and_then(|found| found.uncommitted.clone()),
        }
    }

    /// An unknown outcome of a step that no command records keeps only what builds on it from running.
    fn let_others_go_on(&self, next: &[Next], findings: &mut [Finding]) {
        let is_work = |next: &Next| matches!(next.action, Action::Run | Action::Retry | Action::Return);
        if !next.iter().any(is_work) {
            return;
        }
        let is_unrecorded = |id: &StepId| self.run.step(id).is_some_and(|step| !step.recorded);
        for finding in findings.iter_mut().filter(|finding| finding.code == FindingCode::OutcomeUnknown) {
            if finding.step.as_ref().is_some_and(is_unrecorded) {
                finding.severity = Severity::Warning;
            }
        }
    }

    /// Returns the first finding that a person has to see and has not.
    fn to_confirm(&self, findings: &[Finding]) -> Option<Finding> {
        let asks = |finding: &&Finding| finding.severity != Severity::Info && finding.code.needs_confirmation();
        let is_agreed = |finding: &Finding| {
            self.options.agreed.includes(finding.code) || self.evidence.agreed.contains(&finding.subject())
        };
        findings.iter().find(|finding| asks(finding) && !is_agreed(finding)).cloned()
    }

    fn verdict(&self, next: &[Next], all_over: bool, findings: &[Finding], needs_confirmation: bool) -> Verdict {
        if self.run.status == RunStatus::Archived {
            return if all_over { Verdict::Complete } else { Verdict::Nothing };
        }
        let blocking = findings.iter().any(|finding| finding.severity == Severity::Blocking);
        let verifies = next.iter().any(|next| next.action == Action::Verify);
        if blocking {
            Verdict::Blocked
        } else if all_over && !verifies {
            let merges = next.iter().any(|next| next.action == Action::Merge);
            let may_lack_steps = findings.iter().any(|finding| finding.code.is_of(FindingClass::LacksSteps));
            match self.is_empty() {
                _ if may_lack_steps => Verdict::Confirm,
                // Its merge did not finish.
                _ if self.run.ended.is_some() && !self.run.waits && merges => Verdict::Resume,
                true => Verdict::Nothing,
                false => Verdict::Complete,
            }
        } else if next.iter().all(|next| next.action == Action::Approve) {
            // A gate is not a problem in the data, but nothing can run before the approval.
            Verdict::Blocked
        } else if verifies || needs_confirmation || next.iter().any(|next| next.action == Action::Approve) {
            Verdict::Confirm
        } else {
            Verdict::Resume
        }
    }

    /// Tells whether there is no run: no steps, and no status that says it is over.
    fn is_empty(&self) -> bool {
        self.run.steps.is_empty()
            && self.run.done_elsewhere == 0
            && !matches!(self.run.status, RunStatus::Completed | RunStatus::Archived)
    }

    /// Rule 9: autopilot continues without asking only if nothing blocks, the state is complete and less than a day old, no pause
    /// was said, and no gate or conflict waits. Warnings do not stop it.
    fn is_unattended(&self, verdict: Verdict, next: &[Next], age: &Age, findings: &[Finding]) -> bool {
        let fresh = matches!(age.band, Some(AgeBand::Fresh | AgeBand::Recent));
        let needs_a_person = next.iter().any(|next| matches!(next.action, Action::Approve | Action::Verify))
            || findings.iter().any(|finding| finding.code.is_of(FindingClass::NeedsPerson));
        self.options.mode == Mode::Autopilot
            && fresh
            && !self.run.degraded
            && !was_paused(self.run, self.evidence)
            && !needs_a_person
            && matches!(verdict, Verdict::Resume | Verdict::Confirm)
    }
}

/// A story that says done before its step was begun again is about the work that was sent back: it stops nothing. Nor does one that lags
/// behind what was reported here.
fn trust_no_older_story(reconciled: &ReconciledRun<'_>, statements: &[Statement], findings: &mut [Finding]) {
    let is_begun_again = |step: &StepId| {
        reconciled.graph.position(step).is_some_and(|at| reconciled.compared.decisions.is_begun_again(at))
    };
    let stories = findings.iter_mut().filter(|finding| finding.code == FindingCode::StoryDrift);
    for finding in stories.filter(|finding| finding.step.as_ref().is_some_and(is_begun_again)) {
        finding.severity = finding.severity.max(Severity::Warning);
        finding.fix = Some("its work was sent back: set the story back to in progress".into());
    }
    let is_report = |statement: &Statement, id: &StepId| match &statement.kind {
        StatementKind::Report(report) => report.step == *id && report.status == Status::Completed,
        StatementKind::Begun(_) | StatementKind::Decision(_) => false,
    };
    let is_reported = |id: &StepId| {
        let is_done = reconciled.run.step(id).is_some_and(|step| step.status == Status::Completed);
        is_done && statements.iter().any(|statement| is_report(statement, id))
    };
    let stories = findings.iter_mut().filter(|finding| finding.code == FindingCode::StoryDrift);
    for finding in stories.filter(|finding| finding.step.as_ref().is_some_and(is_reported)) {
        finding.severity = Severity::Info;
    }
}

/// Returns the command that has a gate or a review that no record knows passed in person or again.
fn ask_again(run: &Run, step: &Step) -> String {
    match step.kind {
        StepKind::Gate => {
            format!("`{}` records the approval", command::approve(step, &run.id))
        }
        StepKind::Review | StepKind::Work | StepKind::Container => {
            format!("`{}` has it done", command::decide("redo", &step.id, &run.id))
        }
    }
}

/// Returns how many steps of a run are done.
fn progress(run: &Run, steps: &StepGroups) -> Progress {
    let done = steps.completed.len() + steps.skipped.len();
    Progress {
        done: done.saturating_add(run.done_elsewhere),
        total: run.steps.len().saturating_add(run.done_elsewhere),
        tolerated: run.steps.iter().filter(|step| step.is_tolerated).count(),
    }
}
