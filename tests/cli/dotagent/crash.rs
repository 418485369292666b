//! A kill between the two files, at every write: the next command sees both old or both new (dotagent-and-aios.md C-2).

use std::path::Path;

use serde_json::json;

use super::EXECUTION;
use super::PHASE;
use super::fresh;
use super::implementing;
use super::task_output;
use crate::support;
use crate::support::Sandbox;

const WRITES: &str = "write,pwrite64,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,fsync,fdatasync,fchmod,ftruncate";

/// A project in which the next checkpoint writes both files: the last task is verified and the phase ends.
fn last_task() -> Sandbox {
    let sandbox = implementing(&json!([{ "id": "task-001", "status": "pre_complete", "attempts": 0 }]));
    fresh(&sandbox, "memory/tasks/task-001/output.json", &task_output("task-001", "pre_complete"));
    sandbox
}

/// Runs the checkpoint under strace; `kill` at that write. Returns what was traced.
fn checkpoint(sandbox: &Sandbox, strace: &str, kill: Option<usize>) -> String {
    let log = sandbox.top().join("writes").into_string();
    let (trace, root) = (format!("trace={WRITES}"), sandbox.root().into_string());
    let inject = kill.map(|at| format!("inject={WRITES}:signal=SIGKILL:when={at}"));
    let mut words = vec!["-f", "-qqq", "-o", &log, "-e", &trace];
    words.extend(inject.iter().flat_map(|inject| ["-e", inject.as_str()]));
    words.extend([env!("CARGO_BIN_EXE_piton"), "--now", support::NOW, "--project", &root]);
    words.extend(["finish", "task-001:verify", "--verdict", "APPROVED"]);
    support::run_tool(Path::new(strace), &words, &[("PATH", "/nowhere")]);
    support::read(log.as_str().into())
}

#[test]
fn both_files_are_old_or_both_are_new() {
    let Some(strace) = ["/usr/bin/strace", "/bin/strace"].into_iter().find(|path| Path::new(path).exists()) else {
        eprintln!("skipped: there is no strace to kill at a call of the system");
        return;
    };
    let whole = last_task();
    let moments = checkpoint(&whole, strace, None).lines().count();
    assert_eq!(whole.read_json(EXECUTION)["tasks"][0]["status"], "verified");
    assert_eq!(whole.read_json(PHASE)["current_phase"], "VERIFICATION");
    assert!(moments > 8, "only {moments} writes were seen");
    let mut seen = [0, 0];
    for at in 1..=moments {
        let sandbox = last_task();
        checkpoint(&sandbox, strace, Some(at));
        let plan = super::plan(&sandbox).expect_code(0);
        let is_new = sandbox.read_json(EXECUTION)["tasks"][0]["status"] == "verified";
        let phase_is_new = sandbox.read_json(PHASE)["current_phase"] == "VERIFICATION";
        assert_eq!(is_new, phase_is_new, "killed at write {at}\n{plan}");
        let expected = if is_new { "resume: run VERIFICATION qa" } else { "resume: run task-001:verify verifier" };
        assert_eq!(super::gist(&plan), expected, "killed at write {at}");
        seen[usize::from(is_new)] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "old and new: {seen:?}");
}
