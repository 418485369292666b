//! What a user meets who may not read or write: the file, the cause, the command that helps, and nothing written.

use super::projects::{self, NINE_STEP, SESSION, document};
use crate::support::{Output, Sandbox, Tree};

const WORKTREE: &str = ".worktree/user-auth";
/// Every verb that records something, in a state where it would be admitted.
const WRITES: [&str; 4] = ["begin 2:3", "pause", "resume --yes", "close --abort"];
const READS: [&str; 5] = ["plan", "status", "context", "list", "validate"];

/// Runs a call that has to be refused for want of a permission, and checks that nothing of the project has changed.
#[track_caller]
fn refused(sandbox: &Sandbox, line: &str, code: i32, path: &str) -> Output {
    let before = sandbox.tree();
    let output = sandbox.piton(line.split_whitespace()).unprivileged().run().expect_code(code);
    let text = document(&output).to_string();
    assert!(text.contains("permission denied"), "{line}: the cause\n{output}");
    assert!(!text.contains("os error"), "{line}: the cause once\n{output}");
    let fix = format!("chmod u+rwX $ROOT/{path}");
    assert!(text.contains(&fix), "{line}: {fix}\n{output}");
    assert_eq!(beside_home(&before, sandbox), [""; 0], "{line}");
    output
}

/// Returns the changes besides those in the home of the runs, where the lock is taken before anything else.
fn beside_home(before: &Tree, sandbox: &Sandbox) -> Vec<String> {
    let mut changes = before.changes(&sandbox.tree());
    changes.retain(|change| !change.starts_with("+ .piton"));
    changes
}

fn first_hint(output: &Output) -> String {
    output.at("/error/hints/0").as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_state_that_may_not_be_read_is_named_and_left_alone() {
    let sandbox = projects::nine_step();
    sandbox.mode(NINE_STEP, 0o000);
    // Taking the lock makes Piton's own folder; of the state nothing may change.
    sandbox.piton(["begin", "2:3"]).unprivileged().run().expect_code(4);
    for line in WRITES.iter().chain(&["plan", "status", "context", "restore --yes"]) {
        let output = refused(&sandbox, line, 4, NINE_STEP);
        assert!(output.at("/error/message").as_str().unwrap().contains(NINE_STEP), "{line}\n{output}");
    }
    refused(&sandbox, "validate", 4, NINE_STEP);
    refused(&sandbox, "doctor", 1, NINE_STEP);
    sandbox.mode(NINE_STEP, 0o644);
    sandbox.piton(["begin", "2:3"]).unprivileged().run().expect_code(0);
}

#[test]
fn a_task_that_may_not_be_read_is_held_and_named() {
    let sandbox = projects::ccw();
    let task = format!("{SESSION}/.task/IMPL-002.json");
    sandbox.mode(&task, 0o000);
    let plan = refused(&sandbox, "plan --exit-code", 9, &task);
    assert!(plan.findings().contains(&"part-unreadable".to_owned()), "{plan}");
    sandbox.piton(["begin", "IMPL-002"]).unprivileged().run().expect_code(9);
    sandbox.mode(&task, 0o644);
    sandbox.piton(["begin", "IMPL-002"]).unprivileged().run().expect_code(0);
}

/// If a folder cannot be read, it is unknown whether there is a run.
#[test]
fn a_folder_that_may_not_be_entered_is_not_an_empty_one() {
    let session: &[&str] = &[SESSION, ".workflow/active", ".workflow"];
    let worktree: &[&str] = &[WORKTREE, ".worktree"];
    for (make, folders) in [(projects::ccw as fn() -> Sandbox, session), (projects::nine_step, worktree)] {
        for folder in folders {
            let sandbox = make();
            sandbox.mode(folder, 0o000);
            for line in READS.iter().chain(&["plan user-auth", "pause", "close --abort", "restore"]) {
                let output = refused(&sandbox, line, 4, folder);
                assert_eq!(
                    output.at("/error/message"),
                    format!("{folder} cannot be read: permission denied; runs in it are not listed"),
                    "{line}"
                );
                assert_eq!(first_hint(&output), format!("chmod u+rwX $ROOT/{folder}"), "{line}");
            }
            sandbox.mode(folder, 0o755);
            sandbox.piton(["pause"]).unprivileged().run().expect_code(0);
        }
    }
}

/// Folders that runs and plans of every system lie in, and what they are read for: none of them counts as empty.
#[test]
fn no_folder_of_a_system_that_may_not_be_entered_counts_as_empty() {
    let places = [
        ("ccw", ".workflow/active/WFS-user-auth/.task"),
        ("dotagent", "memory/tasks"),
        ("aios", ".aios"),
        ("aios", "docs/stories"),
        ("aios", "docs"),
        ("gsd", ".planning"),
        ("gsd", ".planning/phases"),
        ("taskmaster", ".taskmaster"),
        ("taskmaster", ".taskmaster/tasks"),
        ("checklist", "specs"),
        ("bmad", "_bmad-output"),
    ];
    for (example, folder) in places {
        let sandbox = projects::example(example);
        sandbox.mode(folder, 0o000);
        for line in ["plan", "status", "list", "begin"] {
            let output = sandbox.piton([line]).unprivileged().run();
            let text = document(&output).to_string();
            let is_said = text.contains(folder) && text.contains("cannot be read: permission denied");
            // A plan of another system is never begun, read or unread.
            assert!(is_said || line == "begin", "{folder}, {line}\n{output}");
            assert_ne!(output.code, 3, "{folder}, {line}\n{output}");
            assert!(line == "list" || output.code != 0, "{folder}, {line}\n{output}");
        }
        sandbox.mode(folder, 0o755);
    }
}

#[test]
fn without_a_free_descriptor_the_reason_is_said_and_no_run_is_denied() {
    let sandbox = projects::ccw();
    let words = ["-c", "ulimit -n 5; exec \"$0\" plan", env!("CARGO_BIN_EXE_piton")];
    let output = sandbox.tool("/bin/sh", words).run().expect_code(4);
    assert!(output.stdout.contains("Too many open files") && !output.stdout.contains("piton start"), "{output}");
}

/// The run that would be started may be in the place that cannot be looked at.
#[test]
fn nothing_starts_while_a_place_of_runs_cannot_be_looked_at() {
    let sandbox = projects::nine_step();
    sandbox.mode(".worktree", 0o000);
    for line in ["start nine-step --feature user-auth", "plan"] {
        let output = refused(&sandbox, line, 4, ".worktree");
        assert!(!output.stdout.contains("piton start"), "{output}");
    }
    sandbox.mode(".worktree", 0o755);
}

/// A folder of another program, such as the files of a database, is not a run.
#[test]
fn a_closed_folder_where_no_run_would_be_is_not_mentioned() {
    let sandbox = Sandbox::new();
    sandbox.dir("data/pg").mode("data/pg", 0o000);
    let output = sandbox.piton(["list", "--exit-code"]).unprivileged().run().expect_code(3);
    assert!(!output.stdout.contains("data/pg"), "{output}");
    sandbox.mode("data/pg", 0o755);
}

#[test]
fn a_state_folder_that_may_not_be_written_is_read_and_never_half_written() {
    for line in WRITES {
        for has_history in [false, true] {
            let sandbox = projects::nine_step();
            if has_history {
                sandbox.piton(["pause"]).run().expect_code(0);
                sandbox.piton(["resume", "--yes"]).run().expect_code(0);
            }
            sandbox.mode(WORKTREE, 0o555);
            sandbox.piton(["list"]).unprivileged().run().expect_code(0);
            let tree = sandbox.tree();
            if has_history {
                let output = sandbox.piton(line.split_whitespace()).unprivileged().run().expect_code(4);
                assert_eq!(first_hint(&output), format!("chmod u+rwX $ROOT/{WORKTREE}"), "{output}");
            } else {
                refused(&sandbox, line, 4, WORKTREE);
                refused(&sandbox, "doctor", 1, WORKTREE);
            }
            assert_eq!(beside_home(&tree, &sandbox), [""; 0], "{line}");
            sandbox.mode(WORKTREE, 0o755);
            sandbox.piton(line.split_whitespace()).unprivileged().run().expect_code(0);
        }
    }
}

#[test]
fn an_own_folder_that_may_not_be_written_or_entered_is_named() {
    let own = ".piton/runs/nine-step.user-auth";
    for mode in [0o555, 0o000] {
        let sandbox = projects::nine_step();
        sandbox.dir(own).mode(own, mode);
        sandbox.piton(["list"]).unprivileged().run().expect_code(0);
        for line in WRITES {
            refused(&sandbox, line, 4, own);
        }
        refused(&sandbox, "doctor", 1, own);
        sandbox.mode(own, 0o755);
    }
}

/// Runs that cannot be read are not gone.
#[test]
fn a_folder_of_runs_that_may_not_be_entered_is_named() {
    for folder in [".piton/runs", ".piton"] {
        let sandbox = Sandbox::new();
        sandbox.file("w.yml", "name: f\nsteps: [{shell: 'true'}, {shell: 'test -e fixed'}]\n");
        let call = |line: &str| sandbox.piton(line.split_whitespace()).real_clock().unprivileged().run();
        call("run w.yml --no-worktree").expect_code(7);
        let id = call("list").at("/data/runs/0/id").as_str().expect("a session").to_owned();
        sandbox.mode(folder, 0o000);
        let of_run = ["resume", "status", "plan", "logs", "show", "history"].map(|verb| format!("{verb} {id}"));
        for line in ["sessions", "plan", "list", "resume"].map(str::to_owned).iter().chain(&of_run) {
            let output = refused(&sandbox, line, 4, folder);
            assert_eq!(first_hint(&output), format!("chmod u+rwX $ROOT/{folder}"), "{line}");
        }
        sandbox.mode(folder, 0o755).file("fixed", "");
        call(&format!("resume {id}")).expect_code(0);
    }
}
