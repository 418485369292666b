//! The records of another program as reports.

use std::sync::Arc;

use super::{
    statements,
    tests::{GuestCase, WORK, built},
};
use crate::{
    engine::testing::at,
    model::{CommitLog, Evidence, LogReach, StatementKind, Status, StepReport, Timestamp},
};

/// Returns the reports of the step, with commits that were made at these times, newest first.
fn reports(case: &GuestCase, times: &[Option<Timestamp>], stamp: Option<Timestamp>) -> Vec<StepReport> {
    let (mut run, mut evidence) = case.run();
    if let Some(log) = evidence.guest.log.take() {
        let mut commits = log.commits().to_vec();
        for ((place, commit), time) in commits.iter_mut().enumerate().zip(times) {
            (commit.sha, commit.at) = (format!("{place:07}fff"), *time);
        }
        evidence.guest.log = Some(Arc::new(CommitLog::new(commits, LogReach::Whole)));
    }
    run.stamp = stamp;
    evidence.committed_at = Some(at(9));
    let told = statements(&run, &evidence);
    let report = |kind: StatementKind| match kind {
        StatementKind::Report(report) => report,
        StatementKind::Decision(_) | StatementKind::Begun(_) => panic!("{kind:?}"),
    };
    told.iter().map(|statement| report(statement.kind.clone())).collect()
}

fn said(claim: Status) -> GuestCase {
    built(claim).with(|proof| proof.said = Some("it went well".to_owned()))
}

#[test]
fn a_finished_step_reports_with_its_last_commit_and_its_time() {
    let done = || said(Status::Completed).commit("feat(1-01): x", WORK).commit("fix(1-01): y", WORK);
    let times = [Some(at(3)), Some(at(2)), Some(at(1))];
    let recorded = |sha: &str| {
        let sha = sha.to_owned();
        done().with(|proof| proof.commits = vec![sha])
    };
    for (what, case, times, stamp, expected) in [
        ("the newest that names it", done(), times, None, Some((Some("0000000"), at(3)))),
        ("the one that its record names", recorded("0000002"), times, None, Some((Some("0000002"), at(1)))),
        ("its record names an unknown one", recorded("7777777"), times, None, Some((Some("0000000"), at(3)))),
        ("no commit", said(Status::Completed), times, Some(at(5)), Some((None, at(5)))),
        ("no commit, and a state without a time", said(Status::Completed), times, None, Some((None, at(9)))),
        ("a commit without a time", done(), [None, None, None], Some(at(5)), Some((Some("0000000"), at(5)))),
        ("without git", done().without_git(), times, Some(at(5)), Some((None, at(5)))),
        ("open", said(Status::Pending), times, None, None),
        ("nothing is said", built(Status::Completed), times, None, None),
        (
            "nothing is said, and a commit names it",
            built(Status::Completed).commit("feat(1-01): x", WORK),
            times,
            None,
            Some((Some("0000000"), at(3))),
        ),
        (
            "only a commit names it, and it is open",
            built(Status::Pending).commit("feat(1-01): x", WORK),
            times,
            None,
            None,
        ),
    ] {
        let (is_said, found) = (!what.starts_with("nothing is said"), reports(&case, &times, stamp));
        let short: Vec<_> = found.iter().map(|report| (report.commit.as_deref(), report.at)).collect();
        assert_eq!(short, expected.into_iter().collect::<Vec<_>>(), "{what}");
        for report in found {
            let expected = if is_said { ("it went well", 2) } else { ("Title of 1", 0) };
            assert_eq!((report.summary.as_deref().unwrap(), report.files.len()), expected, "{what}");
        }
    }
}

#[test]
fn a_record_of_an_unknown_time_is_left_out() {
    let (run, evidence) = said(Status::Completed).without_git().run();
    assert_eq!(statements(&run, &Evidence { committed_at: None, ..evidence }).len(), 0);
}
