use std::collections::BTreeMap;

use super::{commits_left, given_up};
use crate::{
    engine::{
        reports_tests::begun,
        testing::{at, line_of},
    },
    model::{CommitFact, Evidence, GivenUpCommit, RollBackRecord, Run, Severity, Status},
};

use CommitFact::{Elsewhere, Reachable, Reverted, Unknown};
use Status::{Completed, InProgress, Pending, Skipped};

/// Returns a run of two steps, and the rollback that reopened them with their two commits.
fn rolled_back(first: Status, second: Status) -> (Run, RollBackRecord) {
    let run = line_of(&[("a", first), ("b", second)]);
    let commit = |sha: &str| GivenUpCommit { sha: sha.to_owned(), is_merge: false };
    let back = RollBackRecord {
        at: at(10),
        run: run.id.as_str().to_owned(),
        to: "phase:0".to_owned(),
        reopened: run.steps.iter().map(|step| step.id.clone()).collect(),
        commits: vec![commit("bbbbbbbbbbbbbbbb"), commit("aaaaaaaaaaaaaaaa")],
    };
    (run, back)
}

#[test]
fn commits_of_steps_given_up_are_named_with_the_command_until_they_are_gone() {
    let (run, back) = rolled_back(Pending, Pending);
    for (facts, expected) in [
        ([Some(Reachable), Some(Reachable)], Some(("2 commits", "bbbbbbbbbbbb aaaaaaaaaaaa"))),
        ([Some(Reverted), Some(Reachable)], Some(("1 commit", "aaaaaaaaaaaa"))),
        ([Some(Elsewhere), Some(Reachable)], Some(("1 commit", "aaaaaaaaaaaa"))),
        ([Some(Reverted), Some(Elsewhere)], None),
        ([Some(Unknown), None], None),
    ] {
        let facts = back.commits.iter().zip(facts).filter_map(|(commit, fact)| Some((commit.sha.clone(), fact?)));
        let commits = facts.collect();
        let evidence = Evidence { commits, rollbacks: vec![back.clone()], ..Evidence::default() };
        let found = commits_left(&run, &evidence);
        let expected = expected.map(|(count, shas)| {
            let named = shas.replace(' ', ", ");
            let message =
                format!("the branch still has {count} ({named}) of the steps given up by the rollback to phase:0");
            (message, format!("git -C . revert --no-edit {shas}"), Severity::Warning)
        });
        assert_eq!(found.map(|found| (found.message.clone(), found.fix_text().unwrap(), found.severity)), expected);
    }
}

#[test]
fn commits_given_up_count_until_their_steps_are_done_again() {
    for (statuses, counts) in [
        ((Pending, Pending), true),
        ((Completed, InProgress), true),
        ((Completed, Completed), false),
        ((Completed, Skipped), false),
    ] {
        let (run, back) = rolled_back(statuses.0, statuses.1);
        let of_another = RollBackRecord { run: "another".to_owned(), ..back.clone() };
        let without = RollBackRecord { commits: Vec::new(), ..back.clone() };
        let rollbacks = [back.clone(), of_another, without];
        assert_eq!(given_up(&run, &rollbacks).next(), counts.then_some(&back), "{statuses:?}");
    }
}

#[test]
fn who_begins_a_step_given_up_knows_of_its_commits() {
    let (run, back) = rolled_back(InProgress, Pending);
    let commits: BTreeMap<_, _> = back.commits.iter().map(|commit| (commit.sha.clone(), Reachable)).collect();
    for (seconds, severity) in [(9, Severity::Warning), (11, Severity::Info)] {
        let begun = begun(&run, seconds, run.steps[0].id.as_str());
        let evidence = Evidence {
            commits: commits.clone(),
            rollbacks: vec![back.clone()],
            statements: vec![begun],
            ..Evidence::default()
        };
        assert_eq!(commits_left(&run, &evidence).unwrap().severity, severity);
    }
}
