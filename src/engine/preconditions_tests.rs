//! Rules 2 and 12: owner, workspace and abort, and their effect on the plan.

use super::testing::{at, finding, line_of, next_of, notable_codes, options, path, plan_of, planned};
use crate::model::{
    Action, Evidence, FileFact, FindingCode, FollowUp, Options, Owner, Run, RunStatus, Severity, Status, Verdict,
    Workspace,
};

fn open() -> Run {
    line_of(&[("A", Status::Completed), ("B", Status::InProgress)])
}

fn over() -> Run {
    line_of(&[("A", Status::Completed), ("B", Status::Completed)])
}

fn owned(owner: Owner) -> Evidence {
    Evidence { owner, ..Evidence::default() }
}

#[test]
fn a_living_owner_stops_every_plan_and_a_dead_one_none() {
    let live = || Owner::Live { description: "session s1 (pid 7)".to_owned() };
    let dead = || Owner::Dead { since: Some(at(-60)), session: Some("s1".to_owned()) };
    for (run, owner, verdict, live_owner, code) in [
        (open(), Owner::None, Verdict::Resume, false, None),
        (open(), Owner::Ours, Verdict::Resume, false, None),
        (open(), dead(), Verdict::Resume, false, Some(FindingCode::OwnerGone)),
        (open(), live(), Verdict::Blocked, true, Some(FindingCode::LiveOwner)),
        (over(), live(), Verdict::Blocked, true, Some(FindingCode::LiveOwner)),
        (over(), dead(), Verdict::Complete, false, Some(FindingCode::OwnerGone)),
    ] {
        let planned = planned(&run, &owned(owner.clone()), &Options { force: true, ..options() });
        assert_eq!((planned.plan.verdict, planned.live_owner), (verdict, live_owner), "{owner:?}");
        let codes = [FindingCode::OwnerGone, FindingCode::LiveOwner];
        let found = planned.findings.iter().map(|finding| finding.code).find(|code| codes.contains(code));
        assert_eq!(found, code, "{owner:?}");
    }
    let planned = planned(&open(), &owned(live()), &options());
    assert_eq!(
        finding(&planned, FindingCode::LiveOwner).message,
        "another process is driving this run: session s1 (pid 7)"
    );
    assert!(planned.plan.questions.is_empty());
    assert!(planned.plan.commands.resume.is_none());
}

#[test]
fn a_dead_owner_is_the_reason_of_the_interruption() {
    let dead = Owner::Dead { since: None, session: None };
    let planned = planned(&open(), &owned(dead), &options());
    assert_eq!(finding(&planned, FindingCode::OwnerGone).message, "the process that drove it is gone");
    assert_eq!(planned.plan.interruption.unwrap().reason, "the process that drove it is gone");
}

pub(super) fn workspace() -> Workspace {
    Workspace {
        exists: true,
        branch: Some("feature/x".to_owned()),
        head: None,
        is_git: true,
        branch_exists: None,
        uncommitted: Some(Vec::new()),
    }
}

pub(super) fn in_worktree(mut run: Run) -> Run {
    run.workspace.worktree = Some(path(".worktree/x"));
    run.workspace.branch = Some("feature/x".to_owned());
    run
}

#[test]
fn a_workspace_that_is_not_as_recorded_is_named() {
    use FindingCode::{BranchMismatch, NotInGit, WorktreeDirty, WorktreeMissing};
    const CHECK_OUT: &str = "`git -C .worktree/x checkout feature/x`, or recreate the worktree, which loses \
                             uncommitted changes, or `piton close R --abort`";
    let branch = |branch: Option<&str>| branch.map(str::to_owned);
    for (name, found, message, fix, code, verdict) in [
        (
            "another branch",
            Workspace { branch: branch(Some("main")), ..workspace() },
            "Worktree state doesn't match workflow state. Expected branch: feature/x. \
             Actual branch: main (in .worktree/x)",
            Some(CHECK_OUT),
            BranchMismatch,
            Verdict::Blocked,
        ),
        (
            "no branch",
            Workspace { branch: None, ..workspace() },
            "Worktree state doesn't match workflow state. Expected branch: feature/x. \
             Actual branch: a detached HEAD (in .worktree/x)",
            Some(CHECK_OUT),
            BranchMismatch,
            Verdict::Blocked,
        ),
        (
            "a lost branch",
            Workspace { branch: branch(Some("main")), branch_exists: Some(false), ..workspace() },
            "Worktree state doesn't match workflow state. Expected branch: feature/x, which does not exist. \
             Actual branch: main (in .worktree/x)",
            Some(
                "`git -C .worktree/x fetch`, if it is on a remote, else `git -C .worktree/x switch -c feature/x`, or \
                 `piton close R --abort`",
            ),
            BranchMismatch,
            Verdict::Blocked,
        ),
        (
            "no folder",
            Workspace { exists: false, uncommitted: None, ..workspace() },
            "the worktree .worktree/x does not exist",
            Some("git worktree prune && git worktree add .worktree/x -b feature/x"),
            WorktreeMissing,
            Verdict::Blocked,
        ),
        (
            "no git",
            Workspace { is_git: false, branch: None, uncommitted: None, ..workspace() },
            ".worktree/x is not in a git repository: branch and commits were not checked",
            Some("if it was moved: git worktree repair .worktree/x"),
            NotInGit,
            Verdict::Resume,
        ),
        (
            "one change",
            Workspace { uncommitted: Some(vec!["a".to_owned()]), ..workspace() },
            ".worktree/x has uncommitted changes in 1 file",
            None,
            WorktreeDirty,
            Verdict::Resume,
        ),
        (
            "changes",
            Workspace { uncommitted: Some(vec!["a".to_owned(), "b".to_owned()]), ..workspace() },
            ".worktree/x has uncommitted changes in 2 files",
            None,
            WorktreeDirty,
            Verdict::Resume,
        ),
    ] {
        let evidence = Evidence { workspace: Some(found), ..Evidence::default() };
        let planned = planned(&in_worktree(open()), &evidence, &options());
        let told = finding(&planned, code);
        assert_eq!((told.message.as_str(), told.fix_text().as_deref()), (message, fix), "{name}");
        assert_eq!(planned.plan.verdict, verdict, "{name}");
        assert_eq!(next_of(&planned), ["retry B"], "{name}: named, not acted on");
    }
}

#[test]
fn a_workspace_as_recorded_or_never_looked_at_is_not_mentioned() {
    for workspace in [Some(workspace()), None] {
        let evidence = Evidence { workspace, ..Evidence::default() };
        assert_eq!(notable_codes(&planned(&in_worktree(open()), &evidence, &options())), []);
    }
    let mut run = open();
    run.workspace.branch = None;
    let evidence = Evidence { workspace: Some(Workspace { branch: None, ..workspace() }), ..Evidence::default() };
    assert_eq!(notable_codes(&planned(&run, &evidence, &options())), [], "no branch was recorded");
}

#[test]
fn names_from_the_state_become_no_options_of_git() {
    let mut run = open();
    let evidence = Evidence { workspace: Some(workspace()), ..Evidence::default() };
    for (branch, fix) in [
        ("x; rm -rf ~", "`git -C . checkout 'x; rm -rf ~'`, or `piton close R --abort`"),
        ("--orphan", "correct the branch in the state"),
    ] {
        run.workspace.branch = Some(branch.to_owned());
        let planned = planned(&run, &evidence, &options());
        assert_eq!(finding(&planned, FindingCode::BranchMismatch).fix_text().as_deref(), Some(fix));
    }
}

#[test]
fn where_a_run_lies_matters_as_long_as_something_is_left() {
    let missing = || Evidence { workspace: Some(Workspace { exists: false, ..workspace() }), ..Evidence::default() };
    let planned_over = planned(&in_worktree(over()), &missing(), &options());
    assert_eq!((planned_over.plan.verdict, notable_codes(&planned_over)), (Verdict::Complete, vec![]));
    let mut to_merge = in_worktree(over());
    to_merge.follow_up = Some(FollowUp {
        action: Action::Merge,
        title: "Merge feature/x".to_owned(),
        agent: None,
        reason: "every phase is done".to_owned(),
        merge: None,
    });
    let planned_merge = planned(&to_merge, &missing(), &options());
    assert_eq!(
        (planned_merge.plan.verdict, notable_codes(&planned_merge)),
        (Verdict::Blocked, vec![FindingCode::WorktreeMissing])
    );
    to_merge.status = RunStatus::Completed;
    let planned_done = planned(&to_merge, &missing(), &options());
    assert_eq!((planned_done.plan.verdict, next_of(&planned_done).len()), (Verdict::Complete, 0));
}

#[test]
fn a_plan_document_that_is_gone_wants_a_look() {
    let mut run = open();
    run.workspace.plan_reference = Some(".plan/x_plan.md".to_owned());
    for (fact, verdict) in [
        (Some(FileFact::Missing), Verdict::Confirm),
        (Some(super::testing::present(at(0))), Verdict::Resume),
        (None, Verdict::Resume),
    ] {
        let files = fact.map(|fact| (path(".plan/x_plan.md"), fact)).into_iter().collect();
        let planned = planned(&run, &Evidence { files, ..Evidence::default() }, &options());
        assert_eq!(planned.plan.verdict, verdict);
    }
    run.workspace.plan_reference = Some("/etc/passwd".to_owned());
    assert_eq!(notable_codes(&plan_of(&run, &options())), []);
}

#[test]
fn an_aborted_run_asks_before_it_continues() {
    let mut run = open();
    run.status = RunStatus::Aborted;
    let planned = plan_of(&run, &options());
    assert_eq!((planned.plan.verdict, notable_codes(&planned)), (Verdict::Blocked, vec![FindingCode::RunAborted]));
    assert_eq!(finding(&planned, FindingCode::RunAborted).fix_text().as_deref(), Some("piton resume R --force"));
    let question = planned.plan.question().cloned().unwrap();
    let commands: Vec<String> = question.options.iter().map(|option| option.command.to_string()).collect();
    assert_eq!(commands, ["piton resume R --force --yes", "piton status R"]);
    assert_eq!(question.default.as_deref(), Some("no"));
    let forced = plan_of(&run, &Options { force: true, ..options() });
    assert_eq!((forced.plan.verdict, notable_codes(&forced)), (Verdict::Confirm, vec![FindingCode::OverrideForced]));
}

#[test]
fn a_state_from_before_what_was_recorded_is_named() {
    let record = |step: &str, run: &str, moment: crate::model::Timestamp| crate::model::EvidenceRecord {
        at: moment,
        run: run.to_owned(),
        step: crate::model::StepId::new(step),
        head: None,
        outputs: Vec::new(),
        definition: None,
    };
    let reopened = |seconds: i64, step: &str| crate::model::RollBackRecord {
        commits: Vec::new(),
        at: at(seconds),
        run: "R".to_owned(),
        to: "last".to_owned(),
        reopened: vec![crate::model::StepId::new(step)],
    };
    let half = crate::model::Timestamp::parse("2027-01-15T08:00:00.500Z", 0).unwrap();
    let fraction = crate::model::Timestamp::parse("2027-01-15T08:00:00.250Z", 0).unwrap();
    for (what, stamp, record, rollback, expected) in [
        ("a later record of an open step", at(0), record("B", "R", at(1)), None, true),
        ("a record of the same second", at(0), record("B", "R", at(0)), None, false),
        ("a fraction later, of whole seconds", at(0), record("B", "R", half), None, false),
        ("a fraction later, of fractions", fraction, record("B", "R", half), None, true),
        ("the same fraction", half, record("B", "R", half), None, false),
        ("an earlier record", at(0), record("B", "R", at(-1)), None, false),
        ("a step that is done", at(0), record("A", "R", at(1)), None, false),
        ("another run", at(0), record("B", "Q", at(1)), None, false),
        ("rolled back since", at(0), record("B", "R", at(1)), Some(reopened(1, "B")), false),
        ("rolled back before", at(0), record("B", "R", at(1)), Some(reopened(0, "B")), true),
        ("another step was rolled back", at(0), record("B", "R", at(1)), Some(reopened(2, "A")), true),
    ] {
        let mut run = line_of(&[("A", Status::Completed), ("B", Status::Pending)]);
        run.stamp = Some(stamp);
        let evidence =
            Evidence { records: vec![record], rollbacks: rollback.into_iter().collect(), ..Evidence::default() };
        let codes = notable_codes(&planned(&run, &evidence, &options()));
        assert_eq!(codes.contains(&FindingCode::StateOlderThanLog), expected, "{what}");
    }
    let mut run = line_of(&[("A", Status::Pending), ("B", Status::Pending)]);
    run.stamp = Some(at(0));
    for (steps, words) in [(&["A"][..], "before A was done"), (&["A", "B"][..], "before A, B were done")] {
        let records = steps.iter().map(|step| record(step, "R", at(1))).collect();
        let planned = planned(&run, &Evidence { records, ..Evidence::default() }, &options());
        let message = &finding(&planned, FindingCode::StateOlderThanLog).message;
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn a_branch_is_called_renamed_only_if_it_was() {
    let fix = |expected: &str, actual: &str, exists: Option<bool>, base: Option<&str>| {
        let mut run = open();
        run.workspace.branch = Some(expected.to_owned());
        run.workspace.base_branch = base.map(str::to_owned);
        let found = Workspace { branch: Some(actual.to_owned()), branch_exists: exists, ..workspace() };
        let planned = planned(&run, &Evidence { workspace: Some(found), ..Evidence::default() }, &options());
        finding(&planned, FindingCode::BranchMismatch).fix_text().unwrap()
    };
    let is_renamed = |fix: String| fix.starts_with("if it was renamed: ");
    assert!(is_renamed(fix("feature/old", "feature/new", Some(false), Some("main"))));
    assert!(is_renamed(fix("feature/old", "feature/new", Some(false), None)));
    for (old, new, exists, base) in [
        ("feature/old", "feature/new", Some(true), None),
        ("feature/old", "feature/new", None, None),
        ("feature/old", "main", Some(false), None),
        ("feature/old", "master", Some(false), None),
        ("feature/old", "develop", Some(false), Some("develop")),
        ("-old", "feature/new", Some(false), None),
        ("feature/old", "-new", Some(false), None),
    ] {
        assert!(!is_renamed(fix(old, new, exists, base)), "{old} {new}");
    }
}

#[test]
fn a_plan_document_is_missed_only_when_it_was_written() {
    for (writer, is_missed) in
        [(None, true), (Some(Status::Completed), true), (Some(Status::Skipped), true), (Some(Status::Pending), false)]
    {
        let mut run = line_of(&[("A", writer.unwrap_or(Status::Completed)), ("B", Status::Pending)]);
        run.workspace.plan_reference = Some("plan.md".to_owned());
        if writer.is_some() {
            super::testing::step(&mut run, "A").proof.documents = vec![path("plan.md")];
        }
        let files = [(path("plan.md"), FileFact::Missing)].into();
        let planned = planned(&run, &Evidence { files, ..Evidence::default() }, &options());
        assert_eq!(notable_codes(&planned).contains(&FindingCode::PlanMissing), is_missed, "{writer:?}");
        if is_missed {
            let fix = finding(&planned, FindingCode::PlanMissing).fix_text().unwrap();
            assert_eq!(fix.contains("piton finish A --run R --output FILE"), writer.is_some(), "{fix}");
        }
    }
}

#[test]
fn what_is_not_committed_is_a_warning_only_before_a_merge() {
    for (run, after, expected) in [
        (over(), Some(Action::Merge), Severity::Warning),
        (over(), Some(Action::Archive), Severity::Info),
        (over(), None, Severity::Info),
        (open(), Some(Action::Merge), Severity::Info),
    ] {
        let mut run = in_worktree(run);
        run.follow_up = after.map(|action| FollowUp {
            action,
            title: "the end".to_owned(),
            agent: None,
            reason: "every phase is done".to_owned(),
            merge: None,
        });
        let evidence = Evidence {
            workspace: Some(Workspace { uncommitted: Some(vec!["a".to_owned()]), ..workspace() }),
            ..Evidence::default()
        };
        let planned = planned(&run, &evidence, &options());
        assert_eq!(finding(&planned, FindingCode::WorktreeDirty).severity, expected, "{after:?}");
    }
}

#[test]
fn a_new_branch_begins_at_the_recorded_base_unless_that_is_here() {
    for (exists, base, expected) in [
        (Some(true), Some("main"), "git worktree add .worktree/x feature/x"),
        (Some(false), None, "git worktree add .worktree/x -b feature/x"),
        (Some(false), Some("main"), "git worktree add .worktree/x -b feature/x"),
        (Some(false), Some("next"), "git worktree add .worktree/x -b feature/x next"),
        (Some(false), Some("-f"), "git worktree add .worktree/x -b feature/x"),
        (None, Some("next"), "git worktree add .worktree/x -b feature/x next"),
    ] {
        let mut run = in_worktree(open());
        run.workspace.wanted_worktree = run.workspace.worktree.take();
        run.workspace.base_branch = base.map(str::to_owned);
        let found = Workspace { branch: Some("main".to_owned()), branch_exists: exists, ..workspace() };
        let planned = planned(&run, &Evidence { workspace: Some(found), ..Evidence::default() }, &options());
        let fix = finding(&planned, FindingCode::WorktreeMissing).fix_text();
        assert_eq!(fix.as_deref(), Some(expected), "{exists:?} {base:?}");
    }
}
