use std::{collections::BTreeMap, sync::Arc};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::{checkpoint::Checkpoint, home_of, import};
use crate::{
    dialect::{
        Dialect as _,
        piton::{
            Piton, Session,
            facts::Captured,
            record::{Header, Source},
            state::ExecutionState,
            testing::{at, path, put, start_change},
        },
    },
    model::{
        About, Clock, Config, FileSet, FindingCode, Listing, ListingEntry, ReadSpec, RunFolder, RunStatus, Status,
        StepId,
    },
};

const STATE: &str = "state/workflow-1/checkpoints/workflow-2.checkpoint.json";
const WORKFLOW: &str = "commands:\n- {shell: one, capture_output: out}\n- {shell: two}\n- {shell: three}\n";

/// Returns a checkpoint as Prodigy writes it after a failure of the second of three steps.
fn checkpoint() -> Value {
    json!({
        "workflow_id": "workflow-2",
        "execution_state": {"current_step_index": 1, "total_steps": 0, "status": "Failed",
            "start_time": "2026-01-01T00:00:05Z", "last_checkpoint": "2026-01-01T00:00:05Z",
            "current_iteration": 1, "total_iterations": 1},
        "completed_steps": [{"step_index": 0, "command": "shell: one", "success": true, "output": "captured-value\n",
            "captured_variables": {"out": "captured-value\n", "GITHUB_TOKEN": "ghp_0123456789abcdef"},
            "duration": {"secs": 0, "nanos": 5}, "completed_at": "2026-01-01T00:00:02.123456789Z"}],
        "variable_state": {"out": "captured-value\n", "__error_message": "exit 1", "__failed_step_index": "1",
            "GITHUB_TOKEN": "ghp_0123456789abcdef"},
        "mapreduce_state": null, "timestamp": "2026-01-01T00:00:05Z", "version": 1, "workflow_hash": "default-3",
        "total_steps": 0, "workflow_name": "default", "workflow_path": "/repo/w.yaml", "retry_checkpoint_state": null,
        "variable_checkpoint_state": {"environment_snapshot": {"variables": {"AWS_SECRET_ACCESS_KEY": "hunter2"}}},
    })
}

fn files(checkpoint: &Value, workflow: Option<&str>) -> FileSet {
    let mut files = FileSet {
        root: Utf8PathBuf::from("/home/.prodigy"),
        name: "workflow-1".to_owned(),
        state: path(STATE),
        own: RunFolder { home: "/project/.piton".into(), path: path("runs/own") },
        files: BTreeMap::new(),
        journal: None,
        lost: None,
        worktrees: Vec::new(),
        main_root: None,
        clock: Clock { now: at(59), utc_offset_seconds: 0 },
        config: Arc::new(Config::default()),
    };
    put(&mut files, STATE, checkpoint.to_string().as_bytes());
    if let Some(workflow) = workflow {
        put(&mut files, "state/workflow-1/workflow", workflow.as_bytes());
    }
    files
}

fn statuses(files: &FileSet) -> (Vec<Status>, RunStatus, Vec<FindingCode>) {
    let loaded = Piton.load(files);
    let run = loaded.run.unwrap();
    let codes = loaded.findings.iter().map(|finding| finding.code).collect();
    (run.steps.iter().map(|step| step.status).collect(), run.status, codes)
}

#[test]
fn a_run_stands_where_its_checkpoint_says() {
    use Status::{Completed, Failed, InProgress, Pending};
    let with = |status: &str, current: u64| {
        let mut value = checkpoint();
        value["execution_state"]["status"] = json!(status);
        value["execution_state"]["current_step_index"] = json!(current);
        value
    };
    let mut all = with("Completed", 3);
    let step = all["completed_steps"][0].clone();
    all["completed_steps"] = (0..3)
        .map(|at| {
            let mut step = step.clone();
            step["step_index"] = json!(at);
            step
        })
        .collect();
    for (name, checkpoint, expected, status) in [
        ("failed", checkpoint(), [Completed, Failed, Pending], RunStatus::Active),
        ("killed", with("Running", 1), [Completed, InProgress, Pending], RunStatus::Active),
        ("interrupted", with("Interrupted", 2), [Completed, Pending, InProgress], RunStatus::Active),
        ("over", all, [Completed, Completed, Completed], RunStatus::Completed),
        ("an index of 99", with("Running", 99), [Completed, Pending, Pending], RunStatus::Active),
    ] {
        assert_eq!(statuses(&files(&checkpoint, Some(WORKFLOW))), (expected.to_vec(), status, vec![]), "{name}");
    }
}

#[test]
fn variables_are_those_that_steps_capture_and_nothing_of_the_environment() {
    let loaded = Piton.load(&files(&checkpoint(), Some(WORKFLOW)));
    let run = loaded.run.unwrap();
    assert_eq!(Value::Object(run.steps[1].detail.variables.clone()), json!({"out": "captured-value"}));
    let shown = format!("{run:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("ghp_"), "{shown}");
}

#[test]
fn what_the_files_say_against_each_other_is_named() {
    use FindingCode::{DefinitionUnreadable, FormatNewer, PartUnreadable, StateCorrupt};
    let findings = |files: &FileSet| statuses(files).2;
    let whole = files(&checkpoint(), Some(WORKFLOW));

    let mut passed_over = whole.clone();
    put(&mut passed_over, "sessions/workflow-1.json", br#"{"id": "workflow-1", "status": "Completed"}"#);
    assert_eq!(findings(&passed_over), [StateCorrupt]);

    let mut newer = checkpoint();
    newer["version"] = json!(99);
    assert_eq!(findings(&files(&newer, Some(WORKFLOW))), [FormatNewer]);

    assert_eq!(findings(&files(&checkpoint(), None)), [DefinitionUnreadable]);
    assert_eq!(findings(&files(&checkpoint(), Some("commands: [{shel: one}]"))), [DefinitionUnreadable]);
    assert_eq!(statuses(&files(&checkpoint(), None)).0, [Status::Completed, Status::Failed]);

    // An older checkpoint stands in for a newer one that was cut off.
    let mut torn = whole.clone();
    put(&mut torn, "state/workflow-1/checkpoints/workflow-9.checkpoint.json", b"{\"workflow_id\": ");
    assert_eq!(findings(&torn), [PartUnreadable]);

    let mut nothing = whole;
    put(&mut nothing, STATE, b"[]");
    let loaded = Piton.load(&nothing);
    assert!(loaded.run.is_none());
    assert_eq!(loaded.findings[0].code, FindingCode::StateUnreadable);
}

#[test]
fn the_checkpoint_that_was_written_last_counts() {
    let mut older = checkpoint();
    older["timestamp"] = json!("2026-01-01T00:00:01Z");
    older["completed_steps"] = json!([]);
    let mut files = files(&checkpoint(), Some(WORKFLOW));
    put(&mut files, "state/workflow-1/checkpoints/workflow-9.checkpoint.json", older.to_string().as_bytes());
    assert_eq!(statuses(&files).0, [Status::Completed, Status::Failed, Status::Pending]);
}

#[test]
fn nonsense_is_survived() {
    for text in [
        "",
        "null",
        "[]",
        "{}",
        r#"{"execution_state": {}, "completed_steps": {}}"#,
        r#"{"execution_state": {"current_step_index": -1}, "completed_steps": [null, {}, {"step_index": 1e30}]}"#,
        r#"{"execution_state": {"status": 7}, "completed_steps": [{"step_index": 99999999, "success": true}]}"#,
    ] {
        let mut files = files(&checkpoint(), None);
        put(&mut files, STATE, text.as_bytes());
        let _ = Piton.load(&files);
        let _ = Checkpoint::read(text.as_bytes());
    }
}

fn header() -> Header {
    let workflow = Source { root: "/repo".into(), file: path("w.yaml") };
    Header {
        imported_from: Some("workflow-1".to_owned()),
        ..Header::new(("/home".into(), "/home/worktrees".into()), "session-1", "/repo".into(), workflow, at(30))
    }
}

#[test]
fn a_session_that_is_taken_over_goes_on_at_the_same_step() {
    let from = files(&checkpoint(), Some(WORKFLOW));
    let taken = import(&from, &header(), (About::default(), start_change("w"))).unwrap();
    assert_eq!((taken.done, taken.total), (1, 3));
    let mut ours = from.clone();
    ours.state = path("runs/session-1/journal.jsonl");
    for edit in &taken.edits {
        put(&mut ours, edit.path.as_str(), edit.after().unwrap());
    }
    put(&mut ours, "runs/session-1/workflow", WORKFLOW.as_bytes());
    let session = Session::read(&ours).unwrap();
    let failed = ExecutionState::Failed { step: StepId::new("2"), error: "exit 1".to_owned(), retryable: false };
    assert_eq!(session.state.execution, failed);
    let value = json!("captured-value");
    assert_eq!(session.state.variables, BTreeMap::from([("out".to_owned(), Captured::Inline { value })]));
    let (standings, _, findings) = statuses(&ours);
    assert_eq!((standings, findings), (vec![Status::Completed, Status::Failed, Status::Pending], vec![]));
    let run = Piton.load(&ours).run.unwrap();
    assert_eq!(run.steps[0].done_definition, run.steps[0].definition_digest());
    let journal = String::from_utf8(ours.bytes(&ours.state).unwrap().to_vec()).unwrap();
    assert!(!journal.contains("hunter2") && !journal.contains("ghp_"), "{journal}");
}

#[test]
fn a_session_that_cannot_continue_is_not_imported() {
    let mut more = checkpoint();
    more["completed_steps"][0]["step_index"] = json!(7);
    for (name, files, why) in [
        ("no workflow", files(&checkpoint(), None), "cannot be read"),
        ("mistakes", files(&checkpoint(), Some("commands: [{shel: x}]")), "has mistakes"),
        ("more was done than there is", files(&more, Some(WORKFLOW)), "more steps were done"),
    ] {
        let error = import(&files, &header(), (About::default(), start_change("w"))).unwrap_err().to_string();
        assert!(error.contains(why), "{name}: {error}");
    }
}

#[test]
fn sessions_are_found_by_their_checkpoints() {
    let checkpoint = checkpoint().to_string();
    let entry = |at: &str, look: Option<&str>| ListingEntry {
        path: path(at),
        is_dir: look.is_none(),
        content: look.map(|text| Arc::from(text.as_bytes())),
    };
    let listing = Listing {
        entries: vec![
            entry("sessions/workflow-1.json", Some("{}")),
            entry("state/app/mapreduce/jobs/job-1", None),
            entry(STATE, Some(&checkpoint)),
            entry("worktrees/app/.metadata/workflow-1.json", Some("{}")),
        ],
        ..Listing::default()
    };
    let probed = Piton.probe(&listing);
    let [found] = probed.candidates.as_slice() else { panic!("{probed:?}") };
    assert_eq!((found.name.as_str(), found.state.as_str()), ("workflow-1", STATE));
    assert!(found.reads.contains(&ReadSpec::File(path("worktrees/app/.metadata/workflow-1.json"))));
    assert!(found.reads.contains(&ReadSpec::Elsewhere {
        root: Utf8PathBuf::from("/repo"),
        file: path("w.yaml"),
        shown: path("state/workflow-1/workflow"),
    }));
    assert_eq!(probed.findings[0].code, FindingCode::JobNotResumed);
    let command = Piton.guest(Utf8Path::new("/home/.prodigy"), found).map(|guest| guest.command);
    assert_eq!(command.as_deref(), Some("piton sessions import workflow-1 --prodigy-home /home/.prodigy"));
    assert_eq!(home_of(&Utf8Path::new("/home/.prodigy").join(STATE)), Some(Utf8Path::new("/home/.prodigy")));
    assert_eq!(home_of(Utf8Path::new("/a/b.checkpoint.json")), None);
}
