//! What the witnesses of one step prove, and the words for it.

use super::tests::{GuestCase, WORK, built, case, file};
use crate::{
    engine::{
        EffectiveStatus,
        graph::Graph,
        reconcile::reconcile,
        testing::{options, path, planned, planned_with, step},
    },
    model::{
        Action, DeclaredFile, DeclaredState, Doubt, Finding, FindingCode, Followers, GuestProof, GuestWord,
        InterruptionKind, Part, PartKind, Status, Step, StepId, Weight,
    },
};

/// Returns the reasons of the step.
fn reasons(case: &GuestCase) -> Vec<String> {
    let (run, evidence) = case.run();
    reconcile(&run, &Graph::of(&run), &evidence, &[]).reasons.swap_remove(0)
}

fn found(case: &GuestCase, code: FindingCode) -> bool {
    case.findings().iter().any(|finding| finding.starts_with(code.as_str()))
}

fn lacking() -> DeclaredState {
    DeclaredState::Present { is_empty: false, lacks: vec!["`fn main`".to_owned()] }
}

fn without_results(case: GuestCase) -> GuestCase {
    case.with(|proof| proof.results.clear())
}

#[test]
fn a_contradiction_about_an_open_step_says_what_is_there() {
    const THERE: &str = "all of its 2 declared files are there, no commit names it";
    const NAMED: &str = "commit 0000000 names it";
    let because = |code| {
        move |proof: &mut GuestProof| {
            proof.doubts = vec![Doubt { code, kind: "odd".to_owned(), reason: "it is odd".to_owned() }];
        }
    };
    let conflict = Some(FindingCode::StatusConflict);
    for (what, case, expected) in [
        ("open", built(Status::Pending).with(because(conflict)), Some(THERE)),
        ("in progress", built(Status::InProgress).with(because(conflict)), Some(THERE)),
        ("failed", built(Status::Failed).with(because(conflict)), Some(THERE)),
        ("done", built(Status::Completed).with(because(conflict)), None),
        ("held", built(Status::Blocked).with(because(conflict)), None),
        ("another contradiction", built(Status::Pending).with(because(Some(FindingCode::StatusDrift))), None),
        ("only to be looked at", built(Status::Pending).with(because(None)), None),
        ("no files and no commits", without_results(case(Status::Pending)).with(because(conflict)), None),
        (
            "no files, but a commit",
            without_results(case(Status::Pending)).commit("feat(1-01): x", &["x"]).with(because(conflict)),
            Some(NAMED),
        ),
    ] {
        let record = "`tool done 1` records it";
        let expected: Vec<&str> = ["it is odd"].into_iter().chain(expected).chain([record]).collect();
        assert_eq!(reasons(&case), expected, "{what}");
        assert_eq!(case.status(), EffectiveStatus::Verify, "{what}");
    }
}

#[test]
fn a_commit_that_a_record_names_has_to_be_on_the_branch() {
    use EffectiveStatus::{Done, Open, Verify};
    let named = |claim, sha: &str| {
        let sha = sha.to_owned();
        without_results(case(claim)).with(|proof| proof.commits = vec![sha])
    };
    let (known, lost) = ("0000000", "fedcba9");
    for (what, case, expected, is_counted) in [
        ("done, on the branch", named(Status::Completed, known), Done, false),
        ("done, elsewhere", named(Status::Completed, lost), Verify, true),
        ("done, without git", named(Status::Completed, known).without_git(), Verify, true),
        ("open, on the branch", named(Status::Pending, known), Open, false),
        ("open, elsewhere", named(Status::Pending, lost), Open, true),
        ("open, without git", named(Status::Pending, lost).without_git(), Open, false),
    ] {
        assert_eq!(case.status(), expected, "{what}");
        assert_eq!(found(&case, FindingCode::CommitNotFound), is_counted, "{what}");
        let is_named = reasons(&case).iter().any(|why| why.ends_with("is not among the newest commits of this branch"));
        assert_eq!(is_named, is_counted, "{what}");
    }
}

#[test]
fn files_that_later_work_moved_or_changed_are_counted_and_change_nothing() {
    let done = || built(Status::Completed).commit("feat(1-01): x", WORK);
    for (what, case, expected) in [
        ("all are there", done(), false),
        ("one was changed", done().state("src/a.rs", lacking()), true),
        ("one was not read", done().state("src/a.rs", DeclaredState::Unread("it is large".to_owned())), false),
        ("one was moved", done().commit("move", &["-src/b.rs"]).state("src/b.rs", DeclaredState::Missing), true),
        ("a mentioned one is gone", done().with(|proof| proof.mentioned = vec![path("docs/x.md")]), false),
    ] {
        let (run, mut evidence) = case.run();
        for mentioned in &run.steps[0].guest.as_ref().unwrap().mentioned {
            let file = DeclaredFile::plain(mentioned.clone());
            evidence.guest.files.insert(file, DeclaredState::Missing);
        }
        let expected = expected || !run.steps[0].guest.as_ref().unwrap().mentioned.is_empty();
        let compared = reconcile(&run, &Graph::of(&run), &evidence, &[]);
        let is_counted = compared.findings.iter().any(|finding| finding.code == FindingCode::FileMissing);
        assert_eq!((compared.effective_statuses[0], is_counted), (EffectiveStatus::Done, expected), "{what}");
    }
    // What has to be looked at anyway is not counted twice.
    let gone = done().state("src/b.rs", DeclaredState::Missing);
    assert_eq!((found(&gone, FindingCode::OutputMissing), found(&gone, FindingCode::FileMissing)), (true, false));
}

#[test]
fn a_result_that_is_gone_is_explained_by_a_commit_of_the_step_or_of_its_files() {
    use EffectiveStatus::{Done, Verify};
    let gone = || case(Status::Completed);
    for (what, case, expected) in [
        ("no commit", gone(), Verify),
        ("a commit of the step", gone().commit("feat(1-01): x", &["x"]), Done),
        ("commits of all its files", gone().commit("x", &["-src/a.rs", "-src/b.rs"]), Done),
        ("a commit of one of its files", gone().commit("x", &["-src/a.rs"]), Verify),
        ("its files lack what they need", gone().with(needy).state("src/a.rs", lacking()), Verify),
        ("it declares nothing", without_results(gone()), Done),
        ("all are there", built(Status::Completed), Done),
    ] {
        assert_eq!(case.status(), expected, "{what}: {:?}", reasons(&case));
    }
}

/// Leaves one file, which needs a text.
fn needy(proof: &mut GuestProof) {
    proof.results = vec![file("src/a.rs", true)];
}

#[test]
fn what_is_found_of_an_open_step_is_said_in_words() {
    let one = || case(Status::Pending).with(needy);
    let blank = DeclaredState::Present { is_empty: true, lacks: Vec::new() };
    let begun = |case: GuestCase| case.commit("feat(1-01): x", &["x"]);
    let many = |count: usize, case: GuestCase| (0..count).fold(case, |case, _| case.commit("feat(1-01): x", &["x"]));
    let named = "commit 0000000 names it";
    let missing = format!("its declared file is not there (src/a.rs does not exist), {named}");
    for (what, case, expected) in [
        ("one file, missing", begun(one()), missing),
        (
            "one file, which lacks something",
            begun(one()).state("src/a.rs", lacking()),
            format!("its declared file is not there (src/a.rs lacks `fn main`), {named}"),
        ),
        (
            "one file, empty",
            begun(one()).state("src/a.rs", blank.clone()),
            format!("its declared file is not there (src/a.rs is empty), {named}"),
        ),
        (
            "one empty file, which may be",
            begun(one()).with(|proof| proof.results = vec![file("src/a.rs", false)]).state("src/a.rs", blank),
            format!("its declared file is there, {named}; only its status is open"),
        ),
        (
            "one file, there",
            one().there("src/a.rs"),
            "its declared file is there, no commit names it; only its status is open".to_owned(),
        ),
        (
            "without git",
            one().there("src/a.rs").without_git(),
            "its declared file is there; only its status is open".to_owned(),
        ),
        ("two commits", many(2, without_results(case(Status::Pending))), "commits 0000000, 0000000 name it".to_owned()),
        (
            "more commits than are named",
            many(5, without_results(case(Status::Pending))),
            "commits 0000000, 0000000, 0000000 and 2 more name it".to_owned(),
        ),
        (
            "a follower",
            begun(without_results(case(Status::Pending))).followed(),
            format!("{named}, 2 depends on it and is done; only its status is open"),
        ),
        (
            "a word",
            without_results(case(Status::Pending)).word(true, Weight::Hint),
            "open by its own status, but ROADMAP calls it done; no commit names it".to_owned(),
        ),
        (
            "two words",
            without_results(case(Status::Pending)).word(true, Weight::Hint).with(also),
            "open by its own status, but ROADMAP and STATE call it done; no commit names it".to_owned(),
        ),
        (
            "a word, without git",
            without_results(case(Status::Pending)).word(true, Weight::Hint).without_git(),
            "open by its own status, but ROADMAP calls it done; nothing else shows that".to_owned(),
        ),
        (
            "a follower that raises a doubt",
            case(Status::Pending).followed().with(|proof| proof.followers = Followers::Doubt),
            "open, but 2 depends on it and is done".to_owned(),
        ),
    ] {
        assert_eq!(reasons(&case)[0], expected, "{what}");
    }
}

#[test]
fn a_status_that_only_lags_behind_is_told_from_one_that_another_witness_contradicts() {
    use FindingCode::{StatusConflict, StatusDrift};
    let open = || without_results(case(Status::Pending));
    let small = |proof: &mut GuestProof| proof.commits_prove = true;
    let sum = |proof: &mut GuestProof| (proof.is_sum, proof.commits_prove) = (true, true);
    let doubted = |proof: &mut GuestProof| proof.followers = Followers::Doubt;
    for (what, case, expected) in [
        ("all files", built(Status::Pending), StatusDrift),
        ("all files, in progress", built(Status::InProgress), StatusDrift),
        ("commits and a follower", open().commit("feat(1-01): x", &["x"]).followed(), StatusDrift),
        ("a commit of a small step", open().commit("feat(1-01): x", &["x"]).with(small), StatusDrift),
        ("a commit of a sum", open().commit("feat(1-01): x", &["x"]).with(sum), StatusDrift),
        ("all files, and a word", built(Status::Pending).word(true, Weight::Hint), StatusConflict),
        ("only a word", open().word(true, Weight::Hint), StatusConflict),
        ("only a follower", open().followed().with(doubted), StatusConflict),
    ] {
        let other = if expected == StatusDrift { StatusConflict } else { StatusDrift };
        assert_eq!((found(&case, expected), found(&case, other)), (true, false), "{what}: {:?}", case.findings());
        assert_eq!(case.status(), EffectiveStatus::Verify, "{what}");
    }
}

fn also(proof: &mut GuestProof) {
    proof.words.push(GuestWord { source: "STATE".to_owned(), done: true, weight: Weight::Hint });
}

fn part(title: &str) -> Part {
    Part {
        name: title.to_owned(),
        title: title.to_owned(),
        kind: PartKind::Work,
        status: Status::Pending,
        output: None,
        commands: Vec::new(),
    }
}

#[test]
fn a_step_that_was_begun_continues_with_the_first_part_that_its_commits_did_not_touch() {
    let place = |touched: &[&str], parts: &[&[&str]]| {
        let case = without_results(case(Status::Pending)).commit("feat(1-01): x", touched).with(|proof| {
            proof.part_files = parts.iter().map(|files| files.iter().map(|file| path(file)).collect()).collect();
        });
        let (mut run, evidence) = case.run();
        step(&mut run, "1").detail.parts = ["one", "two"].map(part).to_vec();
        reconcile(&run, &Graph::of(&run), &evidence, &[]).reasons[0][1].clone()
    };
    let parts: &[&[&str]] = &[&["a", "b"], &["c"]];
    let bare: &[&[&str]] = &[&[], &["c"]];
    for (touched, parts, expected) in [
        (&["x"][..], parts, "continue with part 1 of 2, one"),
        (&["x"], bare, "continue with part 2 of 2, two"),
        (&["c"], bare, "see what is there before it is continued"),
        (&["b"], parts, "continue with part 2 of 2, two"),
        (&["b", "c"], parts, "see what is there before it is continued"),
        (&["x"], &[], "see what is there before it is continued"),
    ] {
        assert_eq!(place(touched, parts), expected, "{touched:?}");
    }
}

#[test]
fn a_step_that_only_sums_up_others_runs_never_and_is_set_when_they_are_over() {
    use EffectiveStatus::{Open, Verify};
    let sum = || {
        without_results(case(Status::Pending)).with(|proof| {
            proof.is_sum = true;
            proof.followers = Followers::Support;
        })
    };
    let doubt = |proof: &mut GuestProof| proof.followers = Followers::Doubt;
    let commits = |proof: &mut GuestProof| proof.commits_prove = true;
    for (what, case, children, expected) in [
        ("its parts are done", sum(), &[Status::Completed, Status::Skipped][..], Verify),
        ("one of its parts is open", sum(), &[Status::Completed, Status::Pending], Open),
        ("none of its parts was done", sum(), &[Status::Skipped, Status::Skipped], Open),
        ("it has no parts", sum(), &[], Open),
        ("a follower is done", sum().followed(), &[Status::Pending], Open),
        ("a follower is done, which counts", sum().followed().with(doubt), &[Status::Pending], Verify),
        ("a follower is open, which would count", sum().with(doubt), &[Status::Pending], Open),
        ("a commit names it", sum().commit("1-01", &["x"]), &[Status::Pending], Open),
        ("a commit names it, which proves", sum().commit("1-01", &["x"]).with(commits), &[Status::Pending], Verify),
        ("no commit names it, which would prove", sum().with(commits), &[Status::Pending], Open),
    ] {
        let (mut run, evidence) = case.run();
        for (at, status) in children.iter().enumerate() {
            let mut child = Step::new(StepId::new(format!("c{at}")), "T");
            (child.status, child.recorded, child.guest) = (*status, false, Some(Box::default()));
            step(&mut run, "1").children.push(child.id.clone());
            run.steps.push(child);
        }
        let compared = reconcile(&run, &Graph::of(&run), &evidence, &[]);
        assert_eq!(compared.effective_statuses[0], expected, "{what}");
    }
}

#[test]
fn a_step_that_waits_to_be_looked_at_was_not_cut_off_and_is_not_recorded_in_a_broken_file() {
    let (run, evidence) = built(Status::InProgress).run();
    let plan = planned(&run, &evidence, &options()).plan;
    assert_eq!(
        (plan.next[0].action, plan.interruption.unwrap().kind),
        (Action::Verify, InterruptionKind::ReadyToExecute)
    );
    let (run, evidence) = case(Status::Pending).run();
    let broken = Finding::new(FindingCode::PartUnreadable, "it is cut off").on(&StepId::new("1"));
    let plan = planned_with(&run, &evidence, vec![broken], &options()).plan;
    assert_eq!((plan.next[0].action, plan.commands.begin), (Action::Verify, None));
}
