//! The records of a run of a workflow file, as an attacker writes them: each digest fits to its content.

use serde_json::{Value, json};
use sha2::Digest as _;

use crate::support::Sandbox;

/// The folder of the run of the example.
pub(super) const RUN: &str = ".piton/runs/spring";
/// The files that are its state.
pub(super) const FILES: [&str; 3] =
    [".piton/runs/spring/run.json", ".piton/runs/spring/journal.jsonl", ".piton/runs/spring/checkpoint.json"];
const HEADER: &str = FILES[0];
const JOURNAL: &str = FILES[1];
const SNAPSHOT: &str = FILES[2];

fn digest(parts: &[&str]) -> String {
    let mut digest = sha2::Sha256::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Adds the snapshot of the example after its last record.
pub(super) fn add_snapshot(sandbox: &Sandbox) {
    let records: Vec<Value> = records(sandbox);
    let done = json!({"status": "completed", "attempts": 1, "failures": 0});
    let snapshot = json!({
        "digest": "",
        "format": 1,
        "session": "spring",
        "total_steps": 7,
        "completed_steps": ["note"],
        "journal": {"version": env!("CARGO_PKG_VERSION"), "chain": ""},
        "seq": records.len(),
        "run": {"status": "active", "started_at": "2026-01-30T09:00:00Z", "changed_at": "2026-01-30T09:40:00Z", "resumes": 0},
        "workflow": records[0]["definition"],
        "steps": {
            "note": done,
            "ui": {"status": "in_progress", "attempts": 1, "failures": 0, "parts": {"markup": "completed"}},
        },
        "variables": {},
        "state": "Created",
    });
    sandbox.file(SNAPSHOT, &format!("{snapshot}\n"));
    seal(sandbox);
}

fn records(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.read(JOURNAL).lines().map(|line| serde_json::from_str(line).expect("a record is JSON")).collect()
}

/// Adds records to the journal; each is what it records.
pub(super) fn add_records(sandbox: &Sandbox, changes: &[Value]) {
    let mut journal = sandbox.read(JOURNAL);
    for change in changes {
        let seq = journal.lines().count() + 1;
        journal += &format!("{}\n", json!({"chain": "", "seq": seq, "change": change}));
    }
    sandbox.file(JOURNAL, &journal);
    seal(sandbox);
}

/// Changes the value of every record and of the snapshot.
pub(super) fn rewrite(sandbox: &Sandbox, change: impl Fn(&mut Value)) {
    for path in [JOURNAL, SNAPSHOT] {
        let lines = sandbox.read(path);
        let changed = lines.lines().map(|line| {
            let mut value = serde_json::from_str(line).expect("a record is JSON");
            change(&mut value);
            format!("{value}\n")
        });
        sandbox.file(path, &changed.collect::<String>());
    }
    seal(sandbox);
}

/// Computes each digest again, after the texts were changed. Does nothing without a run.
pub(super) fn seal(sandbox: &Sandbox) {
    if !sandbox.exists(JOURNAL) {
        return;
    }
    let header = digest(&[&sandbox.read(HEADER)]);
    let mut chain = digest(&[""]);
    let mut journal = String::new();
    for (at, line) in sandbox.read(JOURNAL).lines().enumerate() {
        let mut rest = after_digest(line).to_owned();
        if let Some((before, named)) = rest.split_once("\"header\":\"").filter(|_| at == 0) {
            rest = format!("{before}\"header\":\"{header}{}", &named[header.len()..]);
        }
        chain = digest(&[&chain, "\n{", &rest]);
        journal += &format!("{{\"chain\":\"{chain}\",{rest}\n");
    }
    sandbox.file(JOURNAL, &journal);
    if sandbox.exists(SNAPSHOT) {
        let text = sandbox.read(SNAPSHOT);
        let (before, after) = after_digest(&text).trim_end().split_once(",\"chain\":\"").expect("it covers records");
        let (_, after) = after.split_once('"').expect("a text ends");
        let rest = format!("{before},\"chain\":\"{chain}\"{after}");
        sandbox.file(SNAPSHOT, &format!("{{\"digest\":\"{}\",{rest}\n", digest(&["{", &rest])));
    }
}

/// Returns what follows the digest with which a record and a snapshot begin.
pub(super) fn after_digest(text: &str) -> &str {
    text.split_once("\",").map_or(text, |(_, rest)| rest)
}

/// The control: the files are what the program takes for its own, so that the others are refused for the right reason.
#[test]
fn sealed_records_are_read() {
    for with_snapshot in [false, true] {
        let sandbox = crate::cli::projects::example("own-workflow");
        if with_snapshot {
            add_snapshot(&sandbox);
        }
        sandbox.file(HEADER, &sandbox.read(HEADER).replace("Release 1.4", "Release 2"));
        for path in &FILES[1..] {
            if sandbox.exists(path) {
                sandbox.file(path, &sandbox.read(path).replace("Build the API", "Build it"));
            }
        }
        sandbox.piton(["trust", "spring"]).run().expect_code(0);
        let broken = sandbox.piton(["plan"]).run();
        assert!(broken.findings().contains(&"state-corrupt".to_owned()), "{broken}");
        seal(&sandbox);
        // The workflow file still has the old title, which counts.
        let plan = sandbox.piton(["plan"]).run().expect_code(0);
        assert_eq!(plan.findings(), ["definition-drift"; 0], "{plan}");
        assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/1/step")), ("api".into(), "ui".into()), "{plan}");
        sandbox.piton(["begin", "api"]).run().expect_code(0);
    }
}

/// The folder of the work is a word of the records: one outside of the project is not looked at.
/// SECURITY: row 7
#[test]
fn files_outside_of_the_project_are_no_outputs() {
    let sandbox = crate::cli::projects::example("own-workflow");
    let outside = sandbox.top().join("tmp/out");
    std::fs::create_dir_all(&outside).expect("the sandbox is ours");
    let answer = |text: &str| {
        for name in ["api.json", "ui.json", "report.json", "note.md"] {
            std::fs::write(outside.join(name), text).expect("the sandbox is ours");
        }
        sandbox.piton(["plan", "--steps", "-v"]).run().stdout
    };
    for folder in [outside.parent().expect("a folder").as_str(), &format!("{}/../tmp", sandbox.root())] {
        let header = sandbox.read(HEADER).replace(
            "\"root\": \"/project\",\n  \"workflow\"",
            &format!("\"root\": \"/project\",\n  \"worktree\": \"{folder}\",\n  \"workflow\""),
        );
        sandbox.file(HEADER, &header);
        assert!(header.contains("worktree"), "{header}");
        seal(&sandbox);
        let shown = answer("{\"passed\": 1, \"failed\": 0}");
        assert_eq!(shown, answer("{"), "{folder}");
        sandbox.file(HEADER, &header.replace(&format!("\n  \"worktree\": \"{folder}\","), ""));
        seal(&sandbox);
    }
}
