//! What a person is asked, and with which answers.

use super::{
    graph::Graph,
    question::{QuestionInput, questions},
    reconcile::reconcile,
    reconciled::ReconciledRun,
    reports_tests::decided,
    testing::{line_of, options, path, plan_of, run_of, step},
};
use crate::model::{
    Action, DecisionKind, Evidence, Finding, FindingCode, FollowUp, GateEffect, GateOption, Next, Options, Question,
    Run, Status, StepId, StepKind, Suggested, Verdict, testing::header_of,
};

/// What a question is asked about.
struct QuestionCase {
    run: Run,
    evidence: Evidence,
    findings: Vec<Finding>,
    verdict: Verdict,
    can_be_resumed: bool,
}

fn case(run: Run, verdict: Verdict) -> QuestionCase {
    QuestionCase { run, evidence: Evidence::default(), findings: Vec::new(), verdict, can_be_resumed: true }
}

impl QuestionCase {
    /// Asks about the next steps of the plan, changed.
    fn asked(&self, options: &Options, change: impl Fn(&mut Next)) -> Option<Question> {
        let graph = Graph::of(&self.run);
        let compared = reconcile(&self.run, &graph, &self.evidence, &[]);
        let mut next = plan_of(&self.run, options).plan.next;
        next.iter_mut().for_each(change);
        let asked = questions(&QuestionInput {
            reconciled: ReconciledRun::of(&self.run, &graph, &compared),
            header: &header_of(&self.run),
            verdict: self.verdict,
            next: &next,
            findings: &self.findings,
            options,
            evidence: (&self.evidence, &self.evidence.statements),
            can_be_resumed: self.can_be_resumed,
        });
        asked.into_iter().next()
    }

    fn question(&self) -> Option<Question> {
        self.asked(&options(), |_| {})
    }

    fn blocked_by(&mut self, codes: &[FindingCode]) -> Option<Question> {
        let finding = |code: &FindingCode| {
            Finding::new(*code, "it is so").on(&StepId::new("A")).fix(Suggested::Other("git worktree add x".to_owned()))
        };
        self.findings = codes.iter().map(finding).collect();
        self.question()
    }
}

fn ids(question: &Question) -> Vec<&str> {
    question.options.iter().map(|option| option.id.as_str()).collect()
}

fn open() -> Run {
    run_of(&[("A", &[])])
}

#[test]
fn what_blocks_is_asked_about_unless_a_part_of_it_has_no_answer() {
    use FindingCode::{BranchMismatch, GateExpired, OverrideRefused, RunAborted, StateUnreadable, WorktreeMissing};
    let mut case = case(open(), Verdict::Blocked);
    case.run.records.abort = true;
    case.run.workspace.branch = Some("work".to_owned());
    for (codes, wanted, expected) in [
        (&[RunAborted][..], false, Some(&["yes", "no"][..])),
        (&[GateExpired, RunAborted], false, Some(&["yes", "no"])),
        (&[StateUnreadable, RunAborted], false, None),
        (&[OverrideRefused, RunAborted], false, None),
        (&[OverrideRefused], false, None),
        (&[GateExpired], false, Some(&["redo", "abort"])),
        (&[GateExpired, StateUnreadable], false, None),
        (&[WorktreeMissing], true, Some(&["worktree", "abort"])),
        (&[WorktreeMissing], false, None),
        (&[BranchMismatch], true, Some(&["checkout", "abort"])),
        (&[BranchMismatch, WorktreeMissing], false, None),
        (&[FindingCode::LiveOwner], false, None),
    ] {
        case.run.workspace.wanted_worktree = wanted.then(|| path("x"));
        let asked = case.blocked_by(codes);
        assert_eq!(asked.as_ref().map(ids).as_deref(), expected, "{codes:?}");
    }
    case.can_be_resumed = false;
    assert!(case.blocked_by(&[RunAborted]).is_none(), "no answer would be recorded");
}

#[test]
fn a_resume_is_only_offered_where_it_is_recorded() {
    for (verdict, can_be_resumed, expected) in [
        (Verdict::Resume, true, Some("yes")),
        (Verdict::Resume, false, None),
        (Verdict::Confirm, true, Some("no")),
        (Verdict::Confirm, false, None),
        (Verdict::Blocked, true, None),
        (Verdict::Nothing, true, None),
    ] {
        let asked = QuestionCase { can_be_resumed, ..case(open(), verdict) }.question();
        assert_eq!(asked.and_then(|asked| asked.default).as_deref(), expected, "{verdict:?} {can_be_resumed}");
    }
}

#[test]
fn steps_that_are_left_out_are_recorded_at_the_end() {
    let run = line_of(&[("A", Status::Completed)]);
    let skip = Options { skip: vec![StepId::new("A")], ..options() };
    let asked = |can_be_resumed: bool, options: &Options| {
        QuestionCase { can_be_resumed, ..case(run.clone(), Verdict::Complete) }
            .asked(options, |_| {})
            .map(|asked| asked.text)
    };
    assert_eq!(asked(true, &skip).as_deref(), Some("Nothing else is left. Record that A is skipped?"));
    assert_eq!(asked(false, &skip), None);
    assert_eq!(asked(true, &options()), None);
}

#[test]
fn a_confirmation_says_whether_anything_runs() {
    let case = case(run_of(&[("A", &[]), ("B", &[])]), Verdict::Confirm);
    let drift = "No step of R has to run. Record what the evidence shows?";
    let check = "Steps of R have to be checked before anything runs. Resume to check them?";
    let look = "Look at the findings first. Proceed with resume?";
    for (action, rule, expected) in [
        (Action::Verify, "3.drift", drift),
        (Action::Verify, "3.verify", check),
        (Action::Run, "3.drift", look),
        (Action::Run, "6.next", look),
    ] {
        let asked = case.asked(&options(), |next| (next.action, next.rule) = (action, rule.to_owned()));
        assert_eq!(asked.unwrap().text, expected, "{action:?} {rule}");
    }
    let mixed = case.asked(&options(), |next| {
        next.action = Action::Verify;
        next.rule = if next.step.as_str() == "A" { "3.drift" } else { "3.verify" }.to_owned();
    });
    assert_eq!(mixed.unwrap().text, check);
}

#[test]
fn a_gate_offers_its_own_answers_else_approval_changes_and_a_pause() {
    let ask = |words: &[&str], returns: bool, pause: bool| {
        let mut run = line_of(&[("A", Status::Completed), ("G", Status::WaitingApproval)]);
        run.records.pause = pause;
        let gate = step(&mut run, "G");
        gate.kind = StepKind::Gate;
        gate.returns_to = returns.then(|| StepId::new("A"));
        gate.options =
            words.iter().map(|word| GateOption { word: (*word).to_owned(), effect: GateEffect::Continue }).collect();
        ids(&case(run, Verdict::Confirm).question().unwrap()).join(" ")
    };
    for (words, returns, pause, expected) in [
        (&[][..], false, false, "approve"),
        (&[], false, true, "approve pause"),
        (&[], true, true, "approve revise pause"),
        (&["go", "stop"], false, false, "go stop redo"),
        (&["go", "stop"], true, true, "go stop redo pause"),
    ] {
        assert_eq!(ask(words, returns, pause), expected, "{words:?}");
    }
}

#[test]
fn the_merge_is_approved_then_done_then_recorded() {
    let ask = |approved: bool, merged: Option<bool>, change: fn(&mut Run)| {
        let mut run = line_of(&[("A", Status::Completed)]);
        run.workspace.branch = Some("work".to_owned());
        run.workspace.worktree = Some(path("tree"));
        run.follow_up = Some(FollowUp {
            action: Action::Merge,
            title: "Merge it".to_owned(),
            agent: None,
            reason: "every phase is done".to_owned(),
            merge: None,
        });
        change(&mut run);
        let mut case = case(run, Verdict::Complete);
        case.evidence.merged = merged;
        if approved {
            case.evidence.statements.push(decided(&case.run, 1, "A", DecisionKind::Approve));
        }
        case.question().unwrap()
    };
    for (approved, merged, expected, text) in [
        (false, None, "approve complete no", "Merge it?"),
        (false, Some(false), "approve complete no", "Merge it?"),
        (true, Some(false), "merge complete no", "The merge of work is approved. Merge it now?"),
        (true, None, "merge complete no", "The merge of work is approved. Merge it now?"),
        (false, Some(true), "complete no", "work is merged. Is the run over?"),
        (true, Some(true), "complete no", "work is merged. Is the run over?"),
    ] {
        let asked = ask(approved, merged, |_| {});
        assert_eq!((ids(&asked).join(" ").as_str(), asked.text.as_str()), (expected, text), "{approved} {merged:?}");
    }
    let command = |change: fn(&mut Run)| {
        ask(true, None, change).option("merge").map(|option| (option.label.clone(), option.command.to_string()))
    };
    let merge = "git -C /project merge --no-ff work";
    let on_project = Some(("merge work into the branch of the project".to_owned(), merge.to_owned()));
    assert_eq!(command(|_| {}), on_project);
    // A name that git would take for an option is not printed.
    assert_eq!(command(|run| run.workspace.base_branch = Some("-f".to_owned())), on_project);
    assert_eq!(
        command(|run| run.workspace.base_branch = Some("main".to_owned())),
        Some(("merge work into main".to_owned(), format!("git -C /project switch main && {merge}")))
    );
    assert_eq!(command(|run| run.workspace.branch = Some("-work".to_owned())), None);
    assert_eq!(command(|run| run.workspace.worktree = None), None);
}
