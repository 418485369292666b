use camino::Utf8Path;
use serde_json::{Value, json};

use super::{
    Piton,
    testing::{CHECKPOINT, THREE, at, begin, done, failed, journal, path, put, session, stopped, take_snapshot},
};
use crate::{
    dialect::{Dialect as _, EditError, Loaded},
    model::{
        Action, Change, ChangeKind, EditKind, FileSet, FindingCode, Listing, ListingEntry, Plan, ReadSpec, Run,
        RunStatus, Status, StepId, Verdict,
        testing::{next_of, outcome_of, plan_of},
    },
};

fn load(files: &FileSet) -> (Run, Vec<FindingCode>) {
    let loaded = Piton.load(files);
    (loaded.run.unwrap(), loaded.findings.iter().map(|finding| finding.code).collect())
}

fn statuses(run: &Run) -> Vec<Status> {
    run.steps.iter().map(|step| step.status).collect()
}

#[test]
fn a_run_stands_where_its_records_lead() {
    use Status::{Completed, Failed, InProgress, Pending};
    let complete = json!({"change": {"change": "complete"}, "worktree": "merged"});
    let one = [begin("1", 1), done(THREE, "1")];
    for (name, last, more, expected, status) in [
        ("before", 3, vec![begin("2", 1)], [Completed, InProgress, Pending], RunStatus::Active),
        ("failed", 4, vec![begin("2", 1), failed("2")], [Completed, Failed, Pending], RunStatus::Active),
        ("interrupted", 4, vec![begin("2", 1), stopped()], [Completed, InProgress, Pending], RunStatus::Paused),
        ("between", 2, vec![], [Completed, Pending, Pending], RunStatus::Active),
        ("over", 3, vec![complete], [Completed, Pending, Pending], RunStatus::Completed),
    ] {
        let files = session(THREE, &[&one[..], &more].concat(), Some(THREE));
        let (run, findings) = load(&files);
        assert_eq!((statuses(&run), run.status, findings), (expected.to_vec(), status, vec![]), "{name}");
        assert_eq!(run.steps[1].depends_on, [StepId::new("1")], "{name}");
        assert_eq!(run.steps[0].done_definition, run.steps[0].definition_digest(), "{name}");
        assert_eq!(run.stamp, Some(at(last)), "{name}");
    }
}

#[test]
fn a_run_knows_its_place_its_merge_and_its_variables() {
    let files = session(THREE, &[begin("1", 1), done(THREE, "1"), begin("2", 1), stopped()], Some(THREE));
    let loaded = Piton.load(&files);
    let run = loaded.run.unwrap();
    assert_eq!(run.workspace.place(), Some("/home/worktrees/session-1"));
    assert_eq!(run.workspace.branch.as_deref(), Some("piton/session-1"));
    assert_eq!(loaded.wanted.workspace, Some(None));
    assert_eq!(loaded.wanted.base.as_deref(), Some(Utf8Path::new("/home/worktrees/session-1")));
    assert_eq!(run.follow_up.map(|after| after.action), Some(Action::Merge));
    assert_eq!(Value::Object(run.steps[1].detail.variables.clone()), json!({"out": "from 1"}));
    let stop = run.interruption.unwrap();
    assert_eq!((stop.step, stop.reason.as_str()), (Some(StepId::new("2")), "SIGINT"));
}

#[test]
fn items_of_a_foreach_are_parts() {
    let workflow = "commands: [{foreach: {foreach: [a, b, c], do: [{shell: 'echo ${item}'}]}}]";
    let mut first = json!({"change": {"change": "begin", "step": "1", "part": "a", "attempt": 1}});
    first["items"] = json!(["a", "b", "c"]);
    let end = json!({"change": {"change": "finish", "step": "1", "part": "a"}});
    let next = json!({"change": {"change": "begin", "step": "1", "part": "b", "attempt": 1}});
    let (run, _) = load(&session(workflow, &[first, end, next], Some(workflow)));
    let parts: Vec<(&str, Status)> =
        run.steps[0].detail.parts.iter().map(|part| (part.name.as_str(), part.status)).collect();
    assert_eq!(parts, [("a", Status::Completed), ("b", Status::InProgress), ("c", Status::Pending)]);
}

#[test]
fn the_workflow_file_counts_as_it_is_now() {
    use FindingCode::{DefinitionDrift, DefinitionUnreadable};
    let records = [begin("1", 1), done(THREE, "1"), begin("2", 1), failed("2")];
    let fixed = "commands: [{shell: one}, {shell: better}, {shell: three}]";
    let redone = "commands: [{shell: uno}, {shell: two}, {shell: three}]";
    let patient = "timeout: 5\ncommands: [{shell: one}, {shell: two, retry: 3}, {shell: three}]";
    let longer = "commands: [{shell: one}, {shell: two}, {shell: three}, {shell: four}]";
    let shorter = "commands: [{shell: one}]";
    let env = "env: {A: b}\ncommands: [{shell: one}, {shell: two}, {shell: three}]";
    for (name, now, steps, still_done, findings) in [
        ("as it was", Some(THREE), 3, true, vec![]),
        ("an open step was edited", Some(fixed), 3, true, vec![DefinitionDrift]),
        ("a done step was edited", Some(redone), 3, false, vec![]),
        ("how often and how long are no definition", Some(patient), 3, true, vec![]),
        ("a step was added", Some(longer), 4, true, vec![DefinitionDrift]),
        ("steps were taken out", Some(shorter), 1, true, vec![DefinitionDrift]),
        ("the environment was changed", Some(env), 3, true, vec![DefinitionDrift]),
        ("it has a mistake", Some("commands: [{shel: one}]"), 3, true, vec![DefinitionUnreadable]),
        ("it is gone", None, 3, true, vec![DefinitionUnreadable]),
    ] {
        let (run, found) = load(&session(THREE, &records, now));
        let first = &run.steps[0];
        assert_eq!((run.steps.len(), found), (steps, findings), "{name}");
        assert_eq!(first.done_definition == first.definition_digest(), still_done, "{name}");
    }
}

#[test]
fn damage_is_named_and_what_is_sound_counts() {
    let records = [begin("1", 1), done(THREE, "1"), begin("2", 1), failed("2")];
    let whole = session(THREE, &records, Some(THREE));
    let bytes = journal(&whole);
    let line =
        |number: usize| bytes.split_inclusive(|byte| *byte == b'\n').take(number).map(<[u8]>::len).sum::<usize>();

    let mut torn = whole.clone();
    put(&mut torn, whole.state.as_str(), &bytes[..bytes.len() - 9]);
    let (run, found) = load(&torn);
    assert_eq!((run.steps[1].status, found), (Status::InProgress, vec![FindingCode::InterruptedWrite]));
    assert_eq!(Piton.journal().truncated_tail(&torn), Some((whole.state.clone(), line(4) as u64)));
    assert_eq!(Piton.journal().truncated_tail(&whole), None);

    let mut flipped = bytes.clone();
    flipped[line(2) + 100] ^= 1;
    let mut broken = whole.clone();
    put(&mut broken, whole.state.as_str(), &flipped);
    let (run, found) = load(&broken);
    assert!(run.degraded);
    assert_eq!((run.steps[0].status, found), (Status::InProgress, vec![FindingCode::StateCorrupt]));
    assert_eq!(Piton.journal().truncated_tail(&broken), None);
    assert!(matches!(Piton.edit(&broken, &skip("2")), Err(EditError::Unreadable { .. })));

    // A snapshot that has seen more saves what the journal lost.
    let mut saved = whole.clone();
    take_snapshot(&mut saved);
    put(&mut saved, whole.state.as_str(), &flipped);
    let (run, found) = load(&saved);
    assert_eq!((run.steps[1].status, found), (Status::Failed, vec![FindingCode::StateCorrupt]));

    let mut no_snapshot = whole.clone();
    put(&mut no_snapshot, CHECKPOINT, b"{}");
    let (run, found) = load(&no_snapshot);
    assert_eq!((run.steps[1].status, found), (Status::Failed, vec![FindingCode::FieldIgnored]));
}

#[test]
fn a_header_that_says_nothing_is_no_run() {
    for (name, header) in [
        ("empty", ""),
        ("no JSON", "{"),
        (
            "another session",
            r#"{"format":1,"session":"x","root":"/","workflow":{"root":"/","file":"w"},"created_at":"2026-01-01T00:00:00Z"}"#,
        ),
        (
            "a way out",
            r#"{"format":1,"session":"session-1","root":"/","workflow":{"root":"/","file":"../w"},"created_at":"2026-01-01T00:00:00Z"}"#,
        ),
    ] {
        let mut files = session(THREE, &[], Some(THREE));
        put(&mut files, "runs/session-1/run.json", header.as_bytes());
        let loaded = Piton.load(&files);
        assert!(loaded.run.is_none(), "{name}");
        assert_eq!(loaded.findings[0].code, FindingCode::StateUnreadable, "{name}");
    }
    let mut begun = session(THREE, &[], Some(THREE));
    begun.files.remove(&begun.state.clone());
    assert_eq!(load(&begun).0.steps.len(), 3, "killed before the journal was there");
}

#[test]
fn a_newer_session_is_read_and_never_written() {
    let mut files = session(THREE, &[begin("1", 1)], Some(THREE));
    let header = String::from_utf8(files.bytes(&path("runs/session-1/run.json")).unwrap().to_vec()).unwrap();
    put(&mut files, "runs/session-1/run.json", header.replace("\"format\": 1", "\"format\": 2").as_bytes());
    let (run, found) = load(&files);
    assert!(!run.writable);
    assert!(found.contains(&FindingCode::FormatNewer), "{found:?}");
}

fn skip(step: &str) -> Change {
    let kind = ChangeKind::Skip { step: StepId::new(step), part: None, by: None, reason: "not needed".to_owned() };
    Change { at: at(30), kind }
}

#[test]
fn a_change_is_one_more_line() {
    let mut files = session(THREE, &[begin("1", 1), done(THREE, "1"), begin("2", 1), failed("2")], Some(THREE));
    let edits = Piton.edit(&files, &skip("2")).unwrap();
    let [edit] = edits.as_slice() else { panic!("{edits:?}") };
    let EditKind::Append { before_len, bytes } = &edit.kind else { panic!("{edit:?}") };
    let before = journal(&files);
    assert_eq!((*before_len, bytes.iter().filter(|byte| **byte == b'\n').count()), (before.len() as u64, 1));
    put(&mut files, edit.path.as_str(), &[&before[..], bytes].concat());
    assert_eq!(statuses(&load(&files).0), [Status::Completed, Status::Skipped, Status::Pending]);
}

#[test]
fn a_step_that_is_finished_by_hand_is_done_as_it_is_defined_now() {
    let now = "commands: [{shell: one}, {shell: better}, {shell: three}]";
    let mut files = session(THREE, &[begin("1", 1), done(THREE, "1"), begin("2", 1)], Some(now));
    let outcome = outcome_of("2", Status::Completed);
    let change = Change { at: at(30), kind: ChangeKind::Finish(Box::new(outcome)) };
    let edit = Piton.edit(&files, &change).unwrap().remove(0);
    let EditKind::Append { bytes, .. } = edit.kind else { panic!("a record is appended") };
    let before = journal(&files);
    put(&mut files, "runs/session-1/journal.jsonl", &[before, bytes].concat());
    let (run, _) = load(&files);
    assert_eq!(run.steps[1].status, Status::Completed);
    assert_eq!(run.steps[1].done_definition, run.steps[1].definition_digest());
}

#[test]
fn what_only_the_snapshot_knows_is_not_passed_over() {
    let records = [begin("1", 1), done(THREE, "1"), begin("2", 1), failed("2")];
    let mut files = session(THREE, &records, Some(THREE));
    take_snapshot(&mut files);
    let bytes = journal(&files);
    let two: usize = bytes.split_inclusive(|byte| *byte == b'\n').take(2).map(<[u8]>::len).sum();
    // Its end is lost without a trace: a restored backup, say.
    put(&mut files, "runs/session-1/journal.jsonl", &bytes[..two]);
    let kind = ChangeKind::Skip { step: StepId::new("2"), part: None, by: None, reason: "r".to_owned() };
    let change = Change { at: at(40), kind };
    assert!(matches!(Piton.edit(&files, &change), Err(EditError::Unreadable { .. })));
    let Loaded { run: Some(run), findings, .. } = Piton.load(&files) else { panic!("no run") };
    assert_eq!(findings[0].code, FindingCode::JournalMissing);
    assert_eq!(statuses(&run), [Status::Completed, Status::Failed, Status::Pending]);
}

fn plan(run: &Run, step: &str, action: Action, completed: &[&str]) -> Plan {
    let mut plan = Plan { next: vec![next_of(step, action)], ..plan_of(run, Verdict::Resume) };
    plan.steps.completed = completed.iter().map(|id| StepId::new(*id)).collect();
    plan
}

#[test]
fn the_native_plan_is_that_of_spec_186() {
    let files = session(THREE, &[begin("1", 1), done(THREE, "1"), begin("2", 1), failed("2")], Some(THREE));
    let Loaded { run: Some(run), native, .. } = Piton.load(&files) else { panic!("no run") };
    assert_eq!(
        Piton.native(&native, &run, &plan(&run, "2", Action::Retry, &["1"]), &[]),
        json!({
            "session": "session-1",
            "state": {"Failed": {"step_index": 1, "error": "exit 1", "retryable": false, "retry": null}},
            "start_index": 1, "retry_current": true, "skip_steps": [0], "variables": {"out": "from 1"},
        })
    );
    let over = Piton.native(&native, &run, &plan(&run, "3", Action::Merge, &["1", "2", "3"]), &[]);
    assert_eq!((&over["start_index"], &over["retry_current"]), (&json!(3), &json!(false)));
}

#[test]
fn a_brief_names_the_folder_and_the_definition() {
    let files = session(THREE, &[begin("1", 1)], Some(THREE));
    let (run, _) = load(&files);
    let next = next_of("1", Action::Retry);
    let brief = Piton.brief(&files, &run, &plan_of(&run, Verdict::Resume), &next);
    assert_eq!(brief.agent_context["working_folder"], "/home/worktrees/session-1");
    assert_eq!(brief.agent_context["definition"], json!({"shell": "one"}));
    assert_eq!(brief.reading[0].path.as_deref(), Some("/repo/w.yaml"));
}

#[test]
fn only_the_header_of_a_session_is_a_sign_of_one() {
    let files = session(THREE, &[], Some(THREE));
    let header = files.bytes(&path("runs/session-1/run.json")).unwrap();
    let entry =
        |at: &str, look: Option<&[u8]>| ListingEntry { path: path(at), is_dir: false, content: look.map(Into::into) };
    let listing = Listing {
        entries: vec![
            entry("runs/session-1/run.json", Some(header)),
            entry("runs/session-2/run.json", None),
            entry("runs/session-3/journal.jsonl", None),
            entry("runs/a/b/run.json", None),
        ],
        ..Listing::default()
    };
    let found = Piton.probe(&listing).candidates;
    let names: Vec<(&str, usize)> =
        found.iter().map(|candidate| (candidate.name.as_str(), candidate.reads.len())).collect();
    assert_eq!(names, [("session-1", 4), ("session-2", 3)]);
    assert!(matches!(&found[0].reads[3], ReadSpec::Elsewhere { root, .. } if root == "/repo"));
}
