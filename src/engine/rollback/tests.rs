use std::collections::BTreeSet;

use super::{
    GitPlan, Impact, Method, TargetMeaning, git_plan, has_progress, impact, is_old_merge, is_over, last, meaning,
    obstacles, phases, reopened_at_commit, reopens,
};
use crate::{
    engine::{
        EffectiveStatus, effective_statuses,
        testing::{at, ids, line_of, run_of, step, with_statuses},
    },
    model::{
        AffectedCommit, Evidence, EvidenceRecord, GitImpact, Run, RunId, Status, StepId, StepKind, Suggested, Verb,
    },
};

use EffectiveStatus::{Done, Interrupted, Invalid, Open, OpenContainer, Waiting};
use Status::{Completed, InProgress, Pending};

/// Returns two phases of two steps, of which the second has begun.
fn phased() -> Run {
    let mut run = line_of(&[("a", Completed), ("b", Completed), ("c", Completed), ("d", Pending)]);
    for (step, group) in run.steps.iter_mut().zip(["Phase 1", "Phase 1", "Phase 2", "Phase 2"]) {
        step.group = Some(group.to_owned());
    }
    run
}

fn opened(run: &Run, meaning: &TargetMeaning) -> Result<Vec<StepId>, String> {
    let effective_statuses = effective_statuses(run, &Evidence::default(), &[]);
    reopens(run, &effective_statuses, meaning).map_err(|refusal| refusal.message)
}

#[test]
fn groups_with_numbers_are_phases() {
    for (groups, expected) in [
        (&["Phase 1", "Phase 1", "Phase 2"][..], &[(1, "Phase 1"), (2, "Phase 2")][..]),
        (&["Phase 9", "Phase 10", "11"], &[(9, "Phase 9"), (10, "Phase 10"), (11, "11")]),
        (&["A", "B", "C"], &[]),
        (&["Phase 1", "", "Phase 2"], &[]),
    ] {
        let mut run = line_of(&[("a", Pending), ("b", Pending), ("c", Pending)]);
        for (step, group) in run.steps.iter_mut().zip(groups) {
            step.group = Some((*group).to_owned()).filter(|group| !group.is_empty());
        }
        let found = phases(&run);
        let found: Vec<_> = found.iter().map(|phase| (phase.number, phase.name.as_str())).collect();
        assert_eq!(found, expected, "{groups:?}");
        for place in 0..=expected.len() {
            let target = TargetMeaning::Phase(place);
            assert_eq!(meaning(&run, &target.exact(&run), &[]), Some(target.clone()), "{groups:?}");
            let name = place
                .checked_sub(1)
                .map_or("the beginning of the run".to_owned(), |before| format!("the end of {}", expected[before].1));
            assert_eq!(target.describe(&run), name);
        }
    }
}

#[test]
fn a_target_is_the_first_thing_that_it_names() {
    let mut run = phased();
    run.steps[3].id = StepId::new("abcdef1");
    let commit = |sha: &str| Some(TargetMeaning::Commit(sha.to_owned()));
    let step = |id: &str| Some(TargetMeaning::Step(StepId::new(id)));
    let checkpoints = ["000002".to_owned(), "0000123".to_owned()];
    for (text, expected) in [
        ("last", Some(TargetMeaning::Last)),
        ("2", Some(TargetMeaning::Phase(2))),
        ("02", None),
        ("0", Some(TargetMeaning::Phase(0))),
        ("3", None),
        ("phase 2", Some(TargetMeaning::Phase(2))),
        ("phase:2", Some(TargetMeaning::Phase(2))),
        ("phase:Phase 1", Some(TargetMeaning::Phase(1))),
        ("a", step("a")),
        ("A", step("a")),
        ("step:a", step("a")),
        ("000002", Some(TargetMeaning::Checkpoint("000002".to_owned()))),
        ("000003", None),
        ("step:abcdef1", step("abcdef1")),
        ("commit:ABCDEF1", commit("abcdef1")),
        ("0000123", Some(TargetMeaning::Checkpoint("0000123".to_owned()))),
        ("abcdef", None),
        ("ABCDEF12", commit("abcdef12")),
        ("step:gone", None),
        ("nothing:a", None),
        ("", None),
    ] {
        let found = meaning(&run, text, &checkpoints);
        assert_eq!(found, expected, "{text}");
        if let Some(found) = found.filter(|found| *found != TargetMeaning::Last) {
            assert_eq!(meaning(&run, &found.exact(&run), &checkpoints), Some(found.clone()), "{text}");
        }
    }
}

#[test]
fn what_was_built_on_a_step_opens_again_with_it_and_nothing_else() {
    let run = run_of(&[("a", &[]), ("b", &["a"]), ("c", &["b"]), ("d", &["a"]), ("e", &["d"])]);
    let run = with_statuses(run, &[Completed, Completed, InProgress, Completed, Pending]);
    assert_eq!(opened(&run, &TargetMeaning::Step(StepId::new("b"))), Ok(ids(&["b", "c"])));
    assert_eq!(opened(&run, &TargetMeaning::Step(StepId::new("d"))), Ok(ids(&["d"])));
    assert_eq!(opened(&run, &TargetMeaning::Phase(0)), Ok(ids(&["a", "b", "c", "d"])));
    assert!(opened(&run, &TargetMeaning::Step(StepId::new("e"))).unwrap_err().contains("e was not begun"));
}

#[test]
fn a_phase_that_was_not_reached_cannot_be_gone_back_to() {
    let run = phased();
    assert_eq!(opened(&run, &TargetMeaning::Phase(1)), Ok(ids(&["c"])));
    assert_eq!(
        opened(&run, &TargetMeaning::Phase(2)),
        Err("the end of Phase 2 was not reached: d is not done".to_owned())
    );
    let effective_statuses = effective_statuses(&run, &Evidence::default(), &[]);
    for meaning in [TargetMeaning::Phase(2), TargetMeaning::Step(StepId::new("d"))] {
        let refusal = reopens(&run, &effective_statuses, &meaning).unwrap_err();
        assert_eq!(refusal.hints, ["piton rollback R", "piton plan R"], "{meaning:?}");
    }
}

#[test]
fn the_last_point_is_before_the_newest_phase_that_was_begun() {
    let of = |run: &Run| last(run, &effective_statuses(run, &Evidence::default(), &[]));
    assert_eq!(of(&phased()), Some(TargetMeaning::Phase(1)));
    assert_eq!(
        of(&with_statuses(phased(), &[Completed, Completed, Completed, Completed])),
        Some(TargetMeaning::Phase(1))
    );
    assert_eq!(of(&with_statuses(phased(), &[Completed, InProgress, Pending, Pending])), Some(TargetMeaning::Phase(0)));
    assert_eq!(of(&with_statuses(phased(), &[Pending, Pending, Pending, Pending])), None);
    assert_eq!(of(&line_of(&[("a", Completed)])), None);
    // A gate that waits was not begun, unless it was asked before.
    let mut gated = phased();
    (step(&mut gated, "c").status, step(&mut gated, "c").kind) = (Pending, StepKind::Gate);
    let waiting = |run: &Run| last(run, &[Done, Done, Waiting, Open]);
    assert_eq!(waiting(&gated), Some(TargetMeaning::Phase(0)));
    step(&mut gated, "c").attempts = 1;
    assert_eq!(waiting(&gated), Some(TargetMeaning::Phase(1)));
}

#[test]
fn a_step_has_progress_or_is_over_by_its_status_or_the_evidence() {
    for (kind, status, evidence, begun, over) in [
        (StepKind::Work, Pending, Open, false, false),
        (StepKind::Work, Pending, Interrupted, true, false),
        (StepKind::Work, Pending, Done, true, true),
        (StepKind::Work, InProgress, Open, true, false),
        (StepKind::Work, Completed, Invalid, true, true),
        (StepKind::Container, Pending, OpenContainer, false, false),
        (StepKind::Container, Pending, Done, false, true),
        (StepKind::Container, Completed, Done, true, true),
    ] {
        let mut run = line_of(&[("a", status)]);
        step(&mut run, "a").kind = kind;
        let row = (has_progress(&run, &[evidence], 0), is_over(&run, &[evidence], 0));
        assert_eq!(row, (begun, over), "{kind:?} {status:?} {evidence:?}");
    }
}

fn record(step: &str, seconds: i64, head: &str) -> EvidenceRecord {
    EvidenceRecord {
        at: at(seconds),
        run: "R".to_owned(),
        step: StepId::new(step),
        head: Some(head.to_owned()),
        outputs: Vec::new(),
        definition: None,
    }
}

#[test]
fn the_commit_to_go_back_to_is_the_newest_that_is_known_of_what_stays() {
    let mut run = phased();
    let records = [record("a", 1, "aaaaaaa"), record("b", 2, "bbbbbbb"), record("c", 3, "ccccccc")];
    let base = |run: &Run, records: &[EvidenceRecord]| impact(run, records, &ids(&["c"])).base;
    assert_eq!(base(&run, &[]), None);
    assert_eq!(base(&run, &records).as_deref(), Some("bbbbbbb"));
    assert_eq!(base(&run, &records[..1]).as_deref(), Some("aaaaaaa"));
    (step(&mut run, "a").commit, step(&mut run, "a").finished_at) = (Some("1111111".to_owned()), Some(at(1)));
    assert_eq!(base(&run, &[]).as_deref(), Some("1111111"));
    assert_eq!(base(&run, &records).as_deref(), Some("bbbbbbb"), "what was seen later counts");
    step(&mut run, "a").finished_at = Some(at(2));
    assert_eq!(base(&run, &records).as_deref(), Some("1111111"), "what was seen at its end is its own");
    step(&mut run, "a").finished_at = Some(at(9));
    assert_eq!(base(&run, &records).as_deref(), Some("1111111"));
    let told = impact(&run, &records, &ids(&["b", "c"]));
    assert_eq!((told.since, told.lost_seconds), (Some(at(2)), Some(1)));
    assert_eq!(told.phases.len(), 2);
}

#[test]
fn the_impact_counts_what_was_done_and_approved() {
    let mut run = with_statuses(phased(), &[Completed, Completed, InProgress, Pending]);
    for id in ["b", "c"] {
        step(&mut run, id).kind = StepKind::Gate;
    }
    step(&mut run, "a").commit = Some("aaaaaaa".to_owned());
    let told = impact(&run, &[], &ids(&["a", "b", "c"]));
    assert_eq!(told.approvals, ids(&["b"]));
    let phases: Vec<_> = told.phases.iter().map(|one| (one.reopened.len(), one.done, one.commit.as_deref())).collect();
    assert_eq!(phases, [(2, 2, Some("aaaaaaa")), (1, 0, None)]);
}

#[test]
fn the_commit_of_a_step_that_stays_is_unknown_unless_head_moved_after_it() {
    let closing = |status, is_commit, commit: Option<&str>| {
        let mut run = with_statuses(phased(), &[Completed, status, InProgress, Pending]);
        let step = step(&mut run, "b");
        (step.proof.is_commit, step.commit) = (is_commit, commit.map(str::to_owned));
        run
    };
    let done = || closing(Completed, true, None);
    let (before, after) = (record("b", 2, "bbbbbbb"), record("a", 3, "aaaaaaa"));
    let blind = EvidenceRecord { head: None, ..record("b", 2, "") };
    for (what, run, records, expected) in [
        ("nothing was seen", done(), vec![], Some("b")),
        ("its end was not seen", done(), vec![after.clone()], Some("b")),
        ("HEAD is as at its end", done(), vec![before.clone()], Some("b")),
        ("its end was seen without HEAD", done(), vec![after.clone(), blind], Some("b")),
        ("HEAD moved after its end", done(), vec![before.clone(), after], None),
        ("it moved with the work that opens", done(), vec![before, record("c", 4, "ccccccc")], Some("b")),
        ("its commit is recorded", closing(Completed, true, Some("bbbbbbb")), vec![], None),
        ("its result is not a commit", closing(Completed, false, None), vec![], None),
        ("it is not done", closing(InProgress, true, None), vec![], None),
    ] {
        let found = impact(&run, &records, &ids(&["c"])).unrecorded;
        assert_eq!(found, expected.map(StepId::new), "{what}");
    }
}

#[test]
fn a_commit_keeps_the_steps_whose_work_it_has() {
    let run = with_statuses(phased(), &[Completed, Completed, Completed, InProgress]);
    let kept = |run: &Run, records: &[EvidenceRecord], history: &[&str]| {
        let history: BTreeSet<String> = history.iter().map(|sha| (*sha).to_owned()).collect();
        reopened_at_commit(run, &effective_statuses(run, &Evidence::default(), &[]), records, &history)
    };
    let records = [record("a", 1, "aaaaaaa0"), record("b", 2, "bbbbbbb0"), record("c", 3, "ccccccc0")];
    assert_eq!(kept(&run, &records, &["aaaaaaa0", "bbbbbbb0"]), ids(&["c", "d"]));
    assert_eq!(kept(&run, &records, &["0000000"]), ids(&["a", "b", "c", "d"]));
    // Commits that the state records count before what HEAD was.
    let mut run = run;
    for (id, commit, seconds) in [("a", None, 1), ("b", Some("1111111"), 2), ("c", None, 3)] {
        let step = step(&mut run, id);
        (step.commit, step.finished_at) = (commit.map(str::to_owned), Some(at(seconds)));
    }
    assert_eq!(kept(&run, &records, &["1111111000"]), ids(&["c", "d"]));
    assert_eq!(kept(&run, &records, &["ccccccc0"]), ids(&["a", "b", "c", "d"]));
    // A step whose own commit is not among them opens, whenever it ended.
    let mut apart = with_statuses(run_of(&[("a", &[]), ("b", &[])]), &[Completed, Completed]);
    for (id, commit, seconds) in [("a", "2222222", 1), ("b", "1111111", 2)] {
        let step = step(&mut apart, id);
        (step.commit, step.finished_at) = (Some(commit.to_owned()), Some(at(seconds)));
    }
    assert_eq!(kept(&apart, &[], &["1111111000"]), ids(&["a"]));
}

/// Returns the call that is repeated once nothing is in its way.
fn again() -> Suggested {
    Suggested::of(Verb::Rollback, "R").option("to", "1")
}

fn undoing() -> GitImpact {
    let commit = |sha: &str, is_merge| AffectedCommit {
        sha: sha.to_owned(),
        subject: String::new(),
        at: None,
        is_merge,
        files: Vec::new(),
    };
    GitImpact {
        folder: "w t".to_owned(),
        main_folder: ".".to_owned(),
        branch: Some("work".to_owned()),
        main: Some("main".to_owned()),
        base: Some("0000000".to_owned()),
        dirty: Some(Vec::new()),
        commits: vec![
            commit("4444444", false),
            commit("3333333", false),
            commit("2222222", true),
            commit("1111111", false),
        ],
        ..GitImpact::default()
    }
}

#[test]
fn the_branch_is_reset_only_if_no_one_else_has_the_commits() {
    let plan = |undoing: &GitImpact| -> GitPlan { git_plan(&phased(), undoing, &Impact::default(), at(0)) };
    let reverts = |folder: &str| {
        ["4444444 3333333", "--mainline 1 2222222", "1111111"]
            .map(|commits| format!("git -C {folder} revert --no-edit {commits}"))
    };
    let own = plan(&undoing());
    assert_eq!(own.method, Method::Reset);
    assert_eq!(own.commands[1], "git -C 'w t' reset --hard 0000000");
    assert_eq!(own.instead, reverts("'w t'"));
    let pushed = plan(&GitImpact { pushed: vec!["origin/work".to_owned()], ..undoing() });
    assert_eq!(pushed.method, Method::Revert);
    assert_eq!(pushed.commands[..3], reverts("'w t'"));
    assert_eq!(pushed.commands[3], "git -C 'w t' push");
    let merged = plan(&GitImpact { is_merged: true, pushed: vec!["origin/main".to_owned()], ..undoing() });
    assert_eq!(merged.method, Method::Revert);
    assert!(merged.commands[0].starts_with("git -C . switch --create rollback/R-"), "{merged:?}");
    assert_eq!(merged.commands[1..], reverts("."));
    for nothing in [GitImpact { base: None, ..undoing() }, GitImpact { commits: Vec::new(), ..undoing() }] {
        assert_eq!(plan(&nothing).method, Method::None);
        assert!(plan(&nothing).commands.is_empty());
    }
    // What is discarded is looked at before that, whichever way it goes.
    let checks = [
        "git -C 'w t' status --short    # prints nothing",
        "git -C 'w t' log --first-parent --oneline 0000000..HEAD    # prints 4 commits",
    ];
    for plan in [own, pushed, merged] {
        assert_eq!(plan.checks, checks, "{:?}", plan.method);
    }
}

#[test]
fn without_the_commit_of_what_stays_nothing_is_discarded() {
    let unrecorded = Impact { unrecorded: Some(StepId::new("b")), ..Impact::default() };
    let plan = git_plan(&phased(), &undoing(), &unrecorded, at(0));
    assert_eq!((plan.method, plan.commands.len(), plan.instead.len()), (Method::None, 0, 0));
    assert_eq!(plan.checks, ["piton finish b --run R --commit SHA"]);
    // Without later commits there is nothing to tell apart.
    let plan = git_plan(&phased(), &GitImpact { commits: Vec::new(), ..undoing() }, &unrecorded, at(0));
    assert_eq!(plan.because, "no commit was made since: only the state is rolled back");
}

#[test]
fn the_branch_that_keeps_the_work_has_a_safe_name() {
    for (id, name) in
        [("wf_1/x y", "wf_1-x-y"), ("--force", "force"), ("Ä; rm", "rm"), (&"x".repeat(80), &"x".repeat(60))]
    {
        let run = Run { id: RunId::new(id), ..phased() };
        let commands = git_plan(&run, &undoing(), &Impact::default(), at(0)).commands;
        assert_eq!(commands[0], format!("git -C 'w t' branch rollback/{name}-{} HEAD", at(0).compact()), "{id}");
    }
}

#[test]
fn a_merge_is_old_after_a_week() {
    const WEEK: i64 = 604_800;
    for (merged, expected) in [(None, false), (Some(0), false), (Some(WEEK), false), (Some(WEEK + 1), true)] {
        let git = GitImpact { merged_at: merged.map(|age| at(-age)), ..undoing() };
        assert_eq!(is_old_merge(&git, at(0)), expected, "{merged:?}");
    }
}

#[test]
fn uncommitted_work_and_the_main_branch_stand_in_the_way_of_a_run_with_a_branch() {
    let codes = |run: &Run, undoing: &GitImpact, times| -> Vec<String> {
        obstacles(run, Some(undoing), times, &again()).into_iter().map(|one| one.code).collect()
    };
    let mut own = phased();
    own.workspace.branch = Some("work".to_owned());
    let dirty = GitImpact { dirty: Some(vec!["a".to_owned()]), ..undoing() };
    let idle = GitImpact { commits: Vec::new(), ..dirty.clone() };
    let unknown = GitImpact { dirty: None, ..undoing() };
    let on_main = GitImpact { branch: Some("main".to_owned()), ..undoing() };
    assert_eq!(codes(&own, &undoing(), 2), [] as [&str; 0]);
    assert_eq!(codes(&own, &undoing(), 3), ["repeated"]);
    assert_eq!(codes(&own, &dirty, 0), ["uncommitted"]);
    assert_eq!(codes(&own, &idle, 0), ["uncommitted"]);
    assert_eq!(codes(&own, &unknown, 0), ["uncommitted"]);
    assert_eq!(codes(&own, &on_main, 0), ["main_branch"]);
    // Without its own branch, only uncommitted changes to discarded work are an obstacle.
    assert_eq!(codes(&phased(), &dirty, 0), ["uncommitted"]);
    assert_eq!(codes(&phased(), &idle, 0), [] as [&str; 0]);
    assert_eq!(codes(&phased(), &on_main, 0), [] as [&str; 0]);
}

#[test]
fn the_main_branch_is_left_for_the_branch_of_the_work_if_that_has_a_usable_name() {
    for (branch, has_branch, expected) in [
        ("work", true, "git -C 'w t' switch work"),
        ("work", false, "git -C 'w t' switch --create work"),
        ("main", true, "git -C 'w t' branch --all    # find the branch of the work, then switch to it"),
        ("-work", true, "git -C 'w t' branch --all    # find the branch of the work, then switch to it"),
    ] {
        let mut run = phased();
        run.workspace.branch = Some(branch.to_owned());
        let git = GitImpact { branch: Some("main".to_owned()), has_branch, ..undoing() };
        assert_eq!(obstacles(&run, Some(&git), 0, &again())[0].command, expected);
    }
}

#[test]
fn five_files_are_named_and_more_are_hinted_at() {
    for (count, shown) in
        [(1, "1 file in 'w t' with uncommitted changes: f0"), (5, "f0, f1, f2, f3, f4"), (6, "f4, ...")]
    {
        let dirty = (0..count).map(|at| format!("f{at}")).collect();
        let message =
            &obstacles(&phased(), Some(&GitImpact { dirty: Some(dirty), ..undoing() }), 0, &again())[0].message;
        assert!(message.ends_with(shown), "{message}");
    }
}
