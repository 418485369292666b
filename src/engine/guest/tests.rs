//! The table of claims and witnesses, row by row.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    engine::{
        EffectiveStatus, effective_statuses,
        testing::{options, path, planned, run_of, step},
    },
    model::*,
};

/// The witnesses of step `1`, on which step `2` depends.
pub(super) struct GuestCase {
    claim: Status,
    proof: GuestProof,
    follower: Status,
    evidence: GuestEvidence,
}

pub(super) fn case(claim: Status) -> GuestCase {
    let proof = GuestProof {
        document: Some(path("plans/1.md")),
        names: vec![CommitName::Word("1-01".to_owned())],
        results: vec![file("src/a.rs", true), file("src/b.rs", false)],
        followers: Followers::Support,
        record: "`tool done 1` records it".to_owned(),
        ..GuestProof::default()
    };
    let log = CommitLog::new(vec![commit("plan 1", &["plans/1.md"])], LogReach::Whole);
    let evidence = GuestEvidence {
        files: BTreeMap::new(),
        log: Some(Arc::new(log)),
        state_folders: vec![path("plans")],
        was_asked: true,
    };
    GuestCase { claim, proof, follower: Status::Pending, evidence }
}

pub(super) fn file(name: &str, has_content: bool) -> DeclaredFile {
    let needs = if has_content { vec![Need::Text("fn main".to_owned())] } else { Vec::new() };
    DeclaredFile { path: path(name), needs }
}

pub(super) fn commit(subject: &str, files: &[&str]) -> LoggedCommit {
    let touched = |name: &&str| match name.strip_prefix('-') {
        Some(name) => TouchedFile { change: FileChange::Deleted, path: name.to_owned() },
        None => TouchedFile { change: FileChange::Added, path: (*name).to_owned() },
    };
    let files = files.iter().map(touched).collect();
    LoggedCommit {
        sha: format!("{:0>40}", subject.len()),
        at: None,
        subject: subject.to_owned(),
        files,
        are_files_known: true,
    }
}

/// Returns a commit at which a shallow clone begins.
fn unseen(subject: &str) -> LoggedCommit {
    LoggedCommit { are_files_known: false, ..commit(subject, &[]) }
}

impl GuestCase {
    /// Adds a commit on top.
    pub(super) fn commit(self, subject: &str, files: &[&str]) -> Self {
        self.commits(|commits| commits.insert(0, commit(subject, files)))
    }

    /// Puts a commit below all others.
    pub(super) fn first(self, subject: &str, files: &[&str]) -> Self {
        self.commits(|commits| commits.push(commit(subject, files)))
    }

    fn commits(mut self, change: impl FnOnce(&mut Vec<LoggedCommit>)) -> Self {
        let log = self.evidence.log.take().unwrap();
        let mut commits = log.commits().to_vec();
        change(&mut commits);
        self.evidence.log = Some(Arc::new(CommitLog::new(commits, log.reach)));
        self
    }

    pub(super) fn there(self, name: &str) -> Self {
        self.state(name, DeclaredState::Present { is_empty: false, lacks: Vec::new() })
    }

    pub(super) fn state(mut self, name: &str, state: DeclaredState) -> Self {
        let declared = self.proof.results.iter().find(|file| file.path == path(name)).unwrap().clone();
        self.evidence.files.insert(declared, state);
        self
    }

    pub(super) fn word(mut self, done: bool, weight: Weight) -> Self {
        self.proof.words.push(GuestWord { source: "ROADMAP".to_owned(), done, weight });
        self
    }

    pub(super) fn followed(mut self) -> Self {
        self.follower = Status::Completed;
        self
    }

    pub(super) fn without_git(mut self) -> Self {
        self.evidence.log = None;
        self
    }

    /// Leaves only the newest commit of a clone, whose files are not known.
    fn shallow(mut self) -> Self {
        self.evidence.log = Some(Arc::new(CommitLog::new(vec![unseen("x")], LogReach::Shallow)));
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut GuestProof)) -> Self {
        change(&mut self.proof);
        self
    }

    pub(super) fn run(&self) -> (Run, Evidence) {
        let mut run = run_of(&[("1", &[]), ("2", &["1"])]);
        step(&mut run, "1").status = self.claim;
        step(&mut run, "1").guest = Some(Box::new(self.proof.clone()));
        step(&mut run, "2").status = self.follower;
        step(&mut run, "2").guest = Some(Box::default());
        run.records = Records::NONE;
        run.steps.iter_mut().for_each(|step| step.recorded = false);
        let mut evidence = self.evidence.clone();
        for declared in &self.proof.results {
            evidence.files.entry(declared.clone()).or_insert(DeclaredState::Missing);
        }
        (run, Evidence { guest: evidence, ..Evidence::default() })
    }

    pub(super) fn status(&self) -> EffectiveStatus {
        let (run, evidence) = self.run();
        effective_statuses(&run, &evidence, &[])[0]
    }

    pub(super) fn reason(&self) -> String {
        let (run, evidence) = self.run();
        planned(&run, &evidence, &options()).plan.next.first().map(|next| next.reason.clone()).unwrap_or_default()
    }

    pub(super) fn findings(&self) -> Vec<String> {
        let (run, evidence) = self.run();
        let findings = planned(&run, &evidence, &options()).findings;
        findings.iter().map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
    }
}

pub(super) const WORK: &[&str] = &["src/a.rs", "src/b.rs"];

pub(super) fn built(claim: Status) -> GuestCase {
    case(claim).there("src/a.rs").there("src/b.rs")
}

#[test]
fn a_finished_step_stays_finished_unless_something_contradicts_it() {
    use EffectiveStatus::{Done, Verify};
    let done = || built(Status::Completed).commit("feat(1-01): x", WORK);
    let emptied = DeclaredState::Present { is_empty: true, lacks: vec!["`fn main`".to_owned()] };
    let lacking = DeclaredState::Present { is_empty: false, lacks: vec!["`fn main`".to_owned()] };
    for (name, case, expected) in [
        ("nothing against it", done(), Done),
        ("its record says open", done().word(false, Weight::Record), Verify),
        ("a dashboard lags", done().word(false, Weight::Hint), Done),
        ("a file was emptied", done().state("src/a.rs", emptied), Verify),
        ("a file is gone, and no commit removed it", done().state("src/b.rs", DeclaredState::Missing), Verify),
        (
            "later work moved a file",
            done().commit("move b", &["-src/b.rs", "src/c.rs"]).state("src/b.rs", DeclaredState::Missing),
            Done,
        ),
        ("later work changed a file", done().state("src/a.rs", lacking), Done),
        ("none of its files was ever there", case(Status::Completed), Verify),
        ("none of its files was ever there, without git", case(Status::Completed).without_git(), Verify),
        ("no evidence at all", case(Status::Completed).with(|proof| proof.results.clear()), Done),
        ("a mentioned file is gone", done().with(|proof| proof.mentioned = vec![path("docs/x.md")]), Done),
    ] {
        assert_eq!(case.status(), expected, "{name}: {:?}", case.findings());
    }
}

#[test]
fn an_open_step_is_run_resumed_or_looked_at_by_its_traces() {
    use EffectiveStatus::{Interrupted, Open, Verify};
    let open = || case(Status::Pending);
    for (name, case, expected) in [
        ("no trace", open(), Open),
        ("all files", built(Status::Pending).commit("x", WORK), Verify),
        ("all files, not committed", built(Status::Pending), Verify),
        ("all files, without git", built(Status::Pending).without_git(), Verify),
        ("all files, from before the step", built(Status::Pending).first("old", WORK), Open),
        ("all files, in the commit of its document", built(Status::Pending).commit("x", &[]).commit("y", WORK), Verify),
        ("one file", open().there("src/a.rs").commit("x", &["src/a.rs"]), Interrupted),
        ("a commit", open().commit("feat(1-01): x", &["src/other.rs"]), Interrupted),
        ("a commit of another step", open().commit("feat(1-011): x", &["src/other.rs"]), Open),
        ("a commit that only touches the state", open().commit("docs(1-01): done", &["plans/1.md"]), Open),
        (
            "a commit whose files a shallow clone does not tell",
            open().commits(|commits| commits[0] = unseen("feat(1-01): x")),
            Interrupted,
        ),
        ("all files, in a shallow clone", built(Status::Pending).shallow(), Verify),
        ("one file, in a shallow clone", open().there("src/a.rs").shallow(), Interrupted),
        ("no file, in a shallow clone", open().shallow(), Open),
        ("such a commit of another step", open().commits(|commits| commits[0] = unseen("feat(1-02): x")), Open),
        ("an older commit", open().first("feat(1-01): x", &["src/other.rs"]), Open),
        ("an older commit with a declared file", open().first("feat(1-01): x", &["src/b.rs"]), Interrupted),
        ("a commit and a follower", open().commit("feat(1-01): x", &["src/other.rs"]).followed(), Verify),
        ("only a follower", open().followed(), Open),
        ("only a follower, which counts", open().followed().with(|p| p.followers = Followers::Doubt), Verify),
        ("only words", open().word(true, Weight::Hint), Verify),
        ("words and commits", open().word(true, Weight::Hint).commit("1-01", &["src/other.rs"]), Verify),
        ("words that agree", open().word(false, Weight::Record), Open),
        ("a small step with a commit", open().commit("1-01", &["x"]).with(|p| p.commits_prove = true), Verify),
        ("in progress", case(Status::InProgress), Interrupted),
        ("in progress, all files", built(Status::InProgress), Verify),
        ("waits for a person", case(Status::WaitingApproval), EffectiveStatus::Waiting),
        ("dropped", built(Status::Skipped), EffectiveStatus::Skipped),
        ("put off", built(Status::Cancelled), EffectiveStatus::Cancelled),
        ("blocked", case(Status::Blocked), EffectiveStatus::Blocked),
    ] {
        assert_eq!(case.status(), expected, "{name}: {} {:?}", case.reason(), case.findings());
    }
}

#[test]
fn a_step_in_progress_whose_dependency_is_open_is_looked_at() {
    let (mut run, evidence) = case(Status::Pending).run();
    step(&mut run, "2").status = Status::InProgress;
    assert_eq!(effective_statuses(&run, &evidence, &[])[1], EffectiveStatus::Verify);
    step(&mut run, "1").status = Status::Completed;
    step(&mut run, "1").guest.as_mut().unwrap().results.clear();
    assert_eq!(effective_statuses(&run, &evidence, &[])[1], EffectiveStatus::Interrupted);
}

#[test]
fn a_word_outside_the_vocabulary_is_looked_at() {
    let (run, evidence) = case(Status::Pending).run();
    let unknown = Finding::new(FindingCode::StatusUnknown, "`odd`").on(&run.steps[0].id);
    assert_eq!(effective_statuses(&run, &evidence, &[unknown])[0], EffectiveStatus::Verify);
}

#[test]
fn the_parts_of_a_step_that_is_looked_at_are_left_alone() {
    let (mut run, evidence) = case(Status::Completed).run();
    let proof = step(&mut run, "1").guest.as_mut().unwrap();
    proof.doubts = vec![Doubt {
        code: Some(FindingCode::StatusConflict),
        kind: "done, but their parts are open".to_owned(),
        reason: "done, but 2 is open".to_owned(),
    }];
    step(&mut run, "2").guest.as_mut().unwrap().parent = Some(StepId::new("1"));
    step(&mut run, "2").depends_on.clear();
    let statuses = effective_statuses(&run, &evidence, &[]);
    assert_eq!(statuses, [EffectiveStatus::Verify, EffectiveStatus::Unreadable]);
    let plan = planned(&run, &evidence, &options());
    assert_eq!(plan.plan.verdict, Verdict::Confirm);
    assert_eq!(plan.plan.next.iter().map(|next| next.step.as_str()).collect::<Vec<_>>(), ["1"]);
}

#[test]
fn a_step_that_sums_up_others_is_only_set_when_they_are_done() {
    let (mut run, evidence) = case(Status::Pending).run();
    let sum = step(&mut run, "2");
    sum.children = vec![StepId::new("1")];
    sum.guest.as_mut().unwrap().is_sum = true;
    assert_eq!(effective_statuses(&run, &evidence, &[])[1], EffectiveStatus::Open);
    step(&mut run, "1").status = Status::Completed;
    assert_eq!(effective_statuses(&run, &evidence, &[])[1], EffectiveStatus::Verify);
}

#[test]
fn a_reason_says_what_is_there_and_how_to_record_it() {
    let half = case(Status::Pending).there("src/a.rs").commit("feat(1-01): x", &["src/a.rs"]);
    let sha = "0000000";
    assert_eq!(
        half.reason(),
        format!(
            "1 of its 2 declared files are there (src/b.rs does not exist), commit {sha} names it; see what is there before it is continued"
        )
    );
    assert_eq!(
        built(Status::Pending).commit("feat(1-01): x", WORK).reason(),
        format!(
            "all of its 2 declared files are there, commit {sha} names it; only its status is open; `tool done 1` records it"
        )
    );
}

#[test]
fn contradictions_are_named_once_for_all_steps() {
    let mut run = run_of(&[]);
    for number in 1..=7 {
        let mut step = Step::new(StepId::new(number.to_string()), "T");
        step.status = Status::Completed;
        step.recorded = false;
        let word = GuestWord { source: "its file".to_owned(), done: false, weight: Weight::Record };
        step.guest = Some(Box::new(GuestProof { words: vec![word], ..GuestProof::default() }));
        run.steps.push(step);
    }
    let plan = planned(&run, &Evidence::default(), &options());
    let messages: Vec<&str> = plan.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert!(messages.contains(&"done, but not by its file: 1, 2, 3, 4, 5 (+2)"), "{messages:?}");
}

#[test]
fn what_git_cannot_say_is_said_once() {
    let unseen =
        |case: GuestCase| case.findings().iter().filter(|finding| finding.starts_with("history-unseen")).count();
    assert_eq!(unseen(case(Status::Pending)), 0);
    assert_eq!(unseen(case(Status::Pending).without_git()), 1);
    assert_eq!(unseen(case(Status::Pending).shallow()), 1);
}

#[test]
fn a_claim_that_nothing_here_can_prove_is_counted() {
    let unproved = |case: GuestCase| case.findings().iter().any(|finding| finding.starts_with("done-unproved"));
    let bare = || {
        case(Status::Completed).with(|proof| {
            proof.results.clear();
            proof.commits_prove = true;
        })
    };
    assert!(unproved(bare()));
    assert!(!unproved(bare().with(|proof| proof.commits_prove = false)));
    assert!(!unproved(bare().with(|proof| proof.is_sum = true)));
    assert!(!unproved(bare().with(|proof| proof.mentioned = vec![path("src/a.rs")])));
    assert!(!unproved(bare().with(|proof| proof.results = vec![file("src/b.rs", false)]).there("src/b.rs")));
    assert!(!unproved(bare().word(true, Weight::Record)));
    assert!(!unproved(bare().commit("1-01 build it", &["src/x.rs"])));
    let open = case(Status::Pending).with(|proof| {
        proof.results.clear();
        proof.commits_prove = true;
    });
    assert!(!unproved(open));
}

#[test]
fn a_commit_that_names_another_step_is_no_trace() {
    use EffectiveStatus::{Open, Verify};
    for (subject, kin, expected) in [
        ("feat(1-01): x", false, Verify),
        ("x", false, Verify),
        ("feat(1-02): x", false, Open),
        ("feat(1-02): x", true, Verify),
        ("feat: 1-01 and 1-02", false, Verify),
    ] {
        let (mut run, evidence) = built(Status::Pending).commit(subject, WORK).run();
        let other = step(&mut run, "2").guest.as_mut().unwrap();
        other.names = vec![CommitName::Word("1-02".to_owned())];
        other.parent = kin.then(|| StepId::new("1"));
        assert_eq!(effective_statuses(&run, &evidence, &[])[0], expected, "{subject}");
    }
}

#[test]
fn files_that_are_only_changed_show_work_by_later_commits_alone() {
    use EffectiveStatus::{Interrupted, Open, Verify};
    let both = |mut case: GuestCase| {
        case.proof.results = vec![file("src/a.rs", false)];
        case.proof.changed = vec![path("src/m.rs")];
        let there = DeclaredState::Present { is_empty: false, lacks: Vec::new() };
        case.evidence.files.insert(DeclaredFile::plain(path("src/m.rs")), there);
        case
    };
    let made = || both(case(Status::Pending)).there("src/a.rs");
    let only = || made().with(|proof| proof.results.clear());
    let with_plan = |mut case: GuestCase| {
        let log = CommitLog::new(vec![commit("all", &["plans/1.md", "src/a.rs", "src/m.rs"])], LogReach::Whole);
        case.evidence.log = Some(Arc::new(log));
        case
    };
    for (what, case, expected) in [
        ("both since", made().commit("x", &["src/a.rs", "src/m.rs"]), Verify),
        ("one changed before", made().commit("x", &["src/a.rs"]).first("old", &["src/m.rs"]), Interrupted),
        ("both with the plan", with_plan(made()), Interrupted),
        ("both without git", made().without_git(), Verify),
        ("changed since", only().commit("x", &["src/m.rs"]), Verify),
        ("changed before", only().first("old", &["src/m.rs"]), Open),
        ("changed with the plan", with_plan(only()), Open),
        ("never committed", only(), Open),
        ("without git", only().without_git(), Open),
        ("in a shallow clone", only().shallow(), Open),
    ] {
        assert_eq!(case.status(), expected, "{what}: {}", case.reason());
    }
}

#[test]
fn a_commit_of_a_small_step_touches_its_files() {
    use EffectiveStatus::{Interrupted, Open, Verify};
    let small = |there: bool| {
        let mut case = case(Status::Pending).with(|proof| {
            proof.results.clear();
            proof.mentioned = vec![path("src/k.rs")];
            (proof.commits_prove, proof.commits_need_files) = (true, true);
        });
        let state = match there {
            true => DeclaredState::Present { is_empty: false, lacks: Vec::new() },
            false => DeclaredState::Missing,
        };
        case.evidence.files.insert(DeclaredFile::plain(path("src/k.rs")), state);
        case
    };
    let named = |case: GuestCase| case.commit("feat: 1-01 k", &["src/k.rs"]);
    for (what, case, expected) in [
        ("it does", named(small(true)), Verify),
        ("it touches another", small(true).commit("feat: 1-01 k", &["src/other.rs"]), Open),
        ("the file is gone", named(small(false)), Interrupted),
        ("it was taken back", named(small(false)).commit("Revert \"feat: 1-01 k\"", &["-src/k.rs"]), Open),
        (
            "it was taken back and made again",
            named(named(small(true)).commit("Revert \"feat: 1-01 k\"", &["-src/k.rs"])),
            Verify,
        ),
        (
            "it names no file",
            small(true).with(|proof| proof.mentioned.clear()).commit("feat: 1-01 k", &["src/other.rs"]),
            Verify,
        ),
    ] {
        assert_eq!(case.status(), expected, "{what}: {}", case.reason());
    }
}
