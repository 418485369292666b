//! What the files of open steps show about boxes that were not ticked.

use std::sync::Arc;

use crate::{
    engine::{
        EffectiveStatus,
        graph::Graph,
        reconcile::reconcile,
        reconciled::Reconciled,
        testing::{path, run_with},
    },
    model::{
        CommitLog, DeclaredFile, DeclaredState, Evidence, FileChange, GuestEvidence, GuestProof, LogReach,
        LoggedCommit, Status, Step, StepId, TouchedFile,
    },
};

use EffectiveStatus::{Done, Interrupted, Open, Unreadable, Verify};
use LogReach::{CutOff, Whole};

/// A check list, with what is there of the files that its steps name.
#[derive(Default)]
struct List {
    steps: Vec<Step>,
    evidence: GuestEvidence,
}

/// Returns a list without git, in which these files exist.
fn list(there: &str) -> List {
    let mut list = List::default();
    for name in there.split_whitespace() {
        let state = DeclaredState::Present { is_empty: false, lacks: Vec::new() };
        list.evidence.files.insert(DeclaredFile::plain(path(name)), state);
    }
    list
}

impl List {
    /// Adds a step that names these files.
    fn step(mut self, status: Status, files: &str) -> Self {
        let mut step = Step::new(StepId::new((self.steps.len() + 1).to_string()), "T");
        (step.status, step.recorded) = (status, false);
        step.guest = Some(Box::new(GuestProof {
            document: Some(path("tasks.md")),
            built: files.split_whitespace().map(path).collect(),
            record: "tick it".to_owned(),
            ..GuestProof::default()
        }));
        self.steps.push(step);
        self
    }

    /// Adds an open step that names these files.
    fn open(self, files: &str) -> Self {
        self.step(Status::Pending, files)
    }

    /// Puts the last step into a group.
    fn group(mut self, name: &str) -> Self {
        self.steps.last_mut().unwrap().group = Some(name.to_owned());
        self
    }

    /// Lets commits that change the files of the last step prove it.
    fn changes_prove(mut self) -> Self {
        self.steps.last_mut().unwrap().guest.as_mut().unwrap().changes_prove = true;
        self
    }

    /// Adds a log, newest first: `+a` adds a file, `-a` deletes it, `a` changes it.
    fn log(mut self, reach: LogReach, commits: &[&str]) -> Self {
        let touched = |name: &str| match name.split_at(1) {
            ("+", path) => TouchedFile { change: FileChange::Added, path: path.to_owned() },
            ("-", path) => TouchedFile { change: FileChange::Deleted, path: path.to_owned() },
            (_, _) => TouchedFile { change: FileChange::Modified, path: name.to_owned() },
        };
        let commits = commits.iter().enumerate().map(|(at, files)| LoggedCommit {
            sha: format!("{at}{at}{at}{at}{at}{at}{at}"),
            at: None,
            subject: "work".to_owned(),
            files: files.split_whitespace().map(touched).collect(),
            are_files_known: true,
        });
        self.evidence.log = Some(Arc::new(CommitLog::new(commits.collect(), reach)));
        self
    }

    fn compared(self) -> Reconciled {
        let run = run_with(self.steps);
        reconcile(&run, &Graph::of(&run), &Evidence { guest: self.evidence, ..Evidence::default() }, &[])
    }

    fn statuses(self) -> Vec<EffectiveStatus> {
        self.compared().effective_statuses
    }

    fn drift(self) -> Option<String> {
        let drift = self.compared().findings.into_iter().map(|finding| finding.message);
        drift.into_iter().find(|message| message.starts_with("tasks.md: "))
    }
}

#[test]
fn the_boxes_were_not_kept_if_three_quarters_and_at_least_three_new_files_are_there() {
    for (there, named, expected) in [
        (2, 2, false),
        (3, 3, true),
        (3, 4, true),
        (3, 5, false),
        (5, 7, false),
        (6, 8, true),
        (7, 10, false),
        (8, 10, true),
    ] {
        let names = |count: usize| (0..count).map(|at| format!("f{at} ")).collect::<String>();
        let drift = list(&names(there)).open(&names(named)).drift();
        let message = format!(
            "tasks.md: no box is ticked, but {there} of {named} new files that open tasks name are there; \
             without commits nothing shows which of them existed before"
        );
        assert_eq!(drift, expected.then_some(message));
    }
}

#[test]
fn only_files_that_are_new_and_that_no_finished_step_names_are_counted() {
    let built = || list("a b c").open("a b c");
    let drift = |list: List| list.drift().map(|message| message.replace("tasks.md: ", ""));
    let added = &["+a +b +c", "+tasks.md"];
    for (what, list, expected) in [
        (
            "added since",
            built().log(Whole, added),
            Some("no box is ticked, but 3 of 3 new files that open tasks name are there since 1111111"),
        ),
        (
            "not committed",
            built().log(Whole, &["+tasks.md"]),
            Some("no box is ticked, but 3 of 3 new files that open tasks name are there since 0000000"),
        ),
        ("one is older", built().log(Whole, &["+b +c", "+tasks.md", "+a"]), None),
        ("one is older and was changed since", built().log(Whole, &["+b +c a", "+tasks.md", "+a"]), None),
        ("one was made by a finished step", built().step(Status::Completed, "a").log(Whole, added), None),
        (
            "another step is finished",
            built().step(Status::Completed, "z").log(Whole, added),
            Some(
                "the rest of its boxes was not ticked, but 3 of 3 new files that open tasks name are there since 1111111",
            ),
        ),
        ("the step was dropped", list("a b c").step(Status::Skipped, "a b c").log(Whole, added), None),
        (
            "the step failed",
            list("a b c").step(Status::Failed, "a b c").log(Whole, added),
            Some("no box is ticked, but 3 of 3 new files that open tasks name are there since 1111111"),
        ),
        (
            "the list is not committed",
            built().log(Whole, &["+a +b +c"]),
            Some(
                "no box is ticked, but 3 of 3 new files that open tasks name are there; without commits nothing shows which of \
                 them existed before",
            ),
        ),
        (
            "the list was moved here",
            built().log(Whole, &["+a +b +c", "tasks.md"]),
            Some("no box is ticked, but 3 of 3 new files that open tasks name are there"),
        ),
        (
            "the log does not reach the list, but one of the files",
            built().log(CutOff, &["+a"]),
            Some("no box is ticked, but 3 of 3 new files that open tasks name are there"),
        ),
    ] {
        assert_eq!(drift(list).as_deref(), expected, "{what}");
    }
}

#[test]
fn a_step_is_looked_at_if_its_new_files_are_there_and_no_other_step_made_them() {
    let two = |log: &[&str]| list("a b").open("a b").log(Whole, log);
    for (what, list, expected) in [
        ("nothing is there", list("").open("a b"), Open),
        ("all are there, without git", list("a b").open("a b"), Verify),
        ("one is there, without git", list("a").open("a b"), Open),
        ("both were added since", two(&["+a +b", "+tasks.md"]), Verify),
        ("both came with the list", two(&["+a +b +tasks.md"]), Verify),
        ("both are older", two(&["+tasks.md", "+a +b"]), Open),
        ("neither is committed", two(&["+tasks.md"]), Verify),
        ("one was added, one was changed", two(&["+a b", "+tasks.md", "+b"]), Verify),
        ("one was added, one is older", two(&["+a", "+tasks.md", "+b"]), Open),
        ("both were changed", two(&["a b", "+tasks.md", "+a +b"]), Open),
        ("both were changed, which proves", two(&["a b", "+tasks.md", "+a +b"]).changes_prove(), Verify),
        ("one was changed, which proves", two(&["a", "+tasks.md", "+a +b"]).changes_prove(), Interrupted),
        ("both were changed before", two(&["+tasks.md", "a b", "+a +b"]).changes_prove(), Open),
        (
            "one was changed and one is gone",
            list("a").open("a b").log(Whole, &["a -b", "+tasks.md", "+a +b"]).changes_prove(),
            Interrupted,
        ),
        ("finished work names them", two(&["+a +b", "+tasks.md"]).step(Status::Completed, "a b"), Open),
        ("finished work names one", two(&["+a +b", "+tasks.md"]).step(Status::Completed, "a"), Verify),
        ("the list is not committed", two(&["x"]), Verify),
        ("the list is not committed, nor older work", two(&["+a +b"]).changes_prove(), Verify),
        ("changed under a list that is not committed", two(&["a b"]).changes_prove(), Verify),
        ("the list was moved here", two(&["tasks.md"]), Verify),
        ("the list was moved here, then they were changed", two(&["a b", "tasks.md"]), Verify),
        ("the log reaches neither", list("a b").open("a b").log(CutOff, &["x"]), Verify),
        ("they were changed in a log that is cut off", list("a b").open("a b").log(CutOff, &["a b"]), Verify),
        ("one is gone in a log that is cut off", list("a").open("a b").log(CutOff, &["a"]), Open),
    ] {
        assert_eq!(list.statuses()[0], expected, "{what}");
    }
}

#[test]
fn while_the_boxes_were_not_kept_only_what_is_built_is_looked_at_and_the_rest_waits() {
    let log = &["+a +b +c e", "+tasks.md", "+e +g"];
    let statuses = list("a b c e g")
        .open("a b c")
        .open("d")
        .open("e")
        .open("g")
        .open("")
        .step(Status::Completed, "")
        .step(Status::Blocked, "a")
        .log(Whole, log)
        .statuses();
    let expected = [Verify, Unreadable, Verify, Unreadable, Unreadable, Done, EffectiveStatus::Blocked];
    assert_eq!(statuses, expected, "built, missing, changed since, older, without files, done, held");
}

#[test]
fn a_step_that_was_changed_is_looked_at_if_a_later_group_was_built() {
    let changed = |there: &str, group: &str| list(there).open("a b").group(group);
    let log = &["+c a b", "+tasks.md", "+a +b"];
    for (what, list, expected) in [
        ("a later group was built", changed("a b c", "one").open("c").group("two").log(Whole, log), [Verify, Verify]),
        ("its own group was built", changed("a b c", "one").open("c").group("one").log(Whole, log), [Open, Verify]),
        ("nothing was built", changed("a b", "one").open("c").group("two").log(Whole, log), [Open, Open]),
        ("one of its files is gone", changed("a c", "one").open("c").group("two").log(Whole, log), [Open, Verify]),
        (
            "one of its files was not changed",
            changed("a b c", "one").open("c").group("two").log(Whole, &["+c a", "+tasks.md", "+a +b"]),
            [Open, Verify],
        ),
        (
            "only an earlier group was built",
            list("a b c").open("c").group("one").open("a b").group("two").log(Whole, log),
            [Verify, Open],
        ),
    ] {
        assert_eq!(list.statuses(), expected, "{what}");
    }
}

#[test]
fn the_reason_says_which_files_are_there_and_what_changed_them_last() {
    for (what, list, expected) in [
        ("one", list("a").open("a"), &["a exists", "tick it"][..]),
        ("two", list("a b").open("a b"), &["a, b exist", "tick it"]),
        ("more than it names", list("a b c d").open("a b c d"), &["a, b, c (+1) exist", "tick it"]),
        ("some", list("a").open("a b c"), &["a exists, 2 of its files do not"]),
        (
            "with the last change",
            list("a b").open("a b").log(Whole, &["+b", "+a", "+tasks.md"]),
            &["a, b exist (last changed in 0000000)", "tick it"],
        ),
        (
            "with the last change of any",
            list("a b").open("a b").log(Whole, &["x", "+a +b", "+tasks.md"]),
            &["a, b exist (last changed in 1111111)", "tick it"],
        ),
        (
            "which is a removal",
            list("").open("a b").log(Whole, &["-a -b", "+tasks.md", "+a +b"]).changes_prove(),
            &["none of its files exists"],
        ),
        (
            "by what is behind it",
            list("a b").open("a").group("one").open("b").group("two").log(Whole, &["+b a", "+tasks.md", "+a"]),
            &["a exists (last changed in 0000000), and 2 behind it was built", "tick it"],
        ),
    ] {
        assert_eq!(list.compared().reasons[0], expected, "{what}");
    }
}
