//! Files that cost time or memory. Every call gets a bounded address space and bounded processor time from the system, so
//! that a test does not depend on how busy the machine is.

use std::fs::File;

use super::{KINDS, check_answer, records, within};
use crate::support::{Output, Sandbox, sample};

/// The limits of one call: 1 GiB of address space, 20 seconds of processor time.
const LIMITS: &str = "ulimit -v 1048576; ulimit -t 20; exec \"$0\" \"$@\"";

/// Runs piton within the limits; exceeding one ends it with a signal.
fn bounded(sandbox: &Sandbox, words: &[&str]) -> Output {
    let program = sandbox.tool("/bin/sh", ["-c", LIMITS, env!("CARGO_BIN_EXE_piton"), "--now", crate::support::NOW]);
    within(program.arguments(words.iter().copied()))
}

fn check_all(sandbox: &Sandbox, step: &str, what: &str) {
    for words in [
        &["list"][..],
        &["plan"],
        &["context"],
        &["validate"],
        &["history"],
        &["doctor"],
        &["begin", step],
        &["finish", step],
        &["restore"],
    ] {
        let output = bounded(sandbox, words);
        check_answer(&words.join(" "), &output);
        assert!(output.stdout.len() < 2_000_000, "{what}: {words:?}: {} bytes", output.stdout.len());
    }
}

/// Makes a sparse file of that size.
fn sparse(sandbox: &Sandbox, path: &str, bytes: u64) {
    let path = sandbox.root().join(path);
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder in the sandbox");
    File::create(&path).expect("a file in the sandbox").set_len(bytes).expect("a sparse file");
}

/// SECURITY: row 10
#[test]
fn a_file_of_200_megabytes_is_refused_unread() {
    for kind in &KINDS {
        for state in kind.states() {
            let sandbox = kind.project();
            sparse(&sandbox, state, 200 << 20);
            let path = sandbox.root().join(state);
            let before = path.metadata().expect("it is there").modified().expect("it has a time");
            check_all(&sandbox, kind.step, state);
            let after = path.metadata();
            assert!(
                after.is_ok_and(|after| after.len() == 200 << 20 && after.modified().expect("it has a time") == before),
                "{state}"
            );
        }
    }
}

/// SECURITY: row 10
#[test]
fn huge_documents_beside_a_state_do_not_take_it_down() {
    for (kind, path) in [
        (&KINDS[0], ".plan/user-auth_plan.md"),
        (&KINDS[1], ".workflow/active/WFS-user-auth/.summaries/IMPL-001-summary.md"),
        (&KINDS[1], ".workflow/active/WFS-user-auth/TODO_LIST.md"),
        (&KINDS[1], ".workflow/active/WFS-user-auth/.task/IMPL-003.json"),
        (&KINDS[2], "docs/stories/epics/checkout/7.2.story.md"),
        (&KINDS[2], "docs/stories/epics/checkout/EPIC-7-EXECUTION.yaml"),
        (&KINDS[3], "memory/tasks/task-001/output.json"),
        (&KINDS[3], "memory/state/phase.json"),
        (&KINDS[4], ".claude/piton/release.yaml"),
        (&KINDS[4], "out/note.md"),
        (&KINDS[0], "piton.toml"),
    ] {
        let sandbox = kind.project();
        sparse(&sandbox, path, 200 << 20);
        check_all(&sandbox, kind.step, path);
    }
    let sandbox = Sandbox::new();
    sparse(&sandbox, "w.yaml", 200 << 20);
    for words in [&["run", "w.yaml", "--dry-run"][..], &["validate", "w.yaml"], &["start", "w.yaml", "--feature", "x"]]
    {
        let output = bounded(&sandbox, words);
        assert!((1..=9).contains(&output.code), "{words:?}\n{output}");
    }
}

/// Just below the size limit: many values cost more than their bytes.
/// SECURITY: row 10
#[test]
fn many_small_values_take_bounded_memory() {
    let many = format!("\"many\": [{}0],", "0,".repeat(1_500_000));
    let states = KINDS.iter().flat_map(|kind| kind.states()).filter(|state| state.contains(".json"));
    for state in sample(4, 1, states) {
        let kind = KINDS.iter().find(|kind| kind.states().contains(&state)).expect("it is of a kind");
        let sandbox = kind.project();
        let text = sandbox.read(state);
        // A digest comes first.
        let before = if text.starts_with("{\"chain\"") || text.starts_with("{\"digest\"") { "\"," } else { "{" };
        sandbox.file(state, &text.replacen(before, &format!("{before}{many}"), 1));
        records::seal(&sandbox);
        for words in [&["list"][..], &["plan"]] {
            check_answer(words[0], &bounded(&sandbox, words));
        }
    }
}

/// Aliases of aliases, and anchors that contain themselves.
/// SECURITY: row 10
#[test]
fn aliases_do_not_multiply() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for at in 1..30 {
        let before = at - 1;
        bomb.push_str(&format!(
            "a{at}: &a{at} [*a{before}, *a{before}, *a{before}, *a{before}, *a{before}, *a{before}]\n"
        ));
    }
    let cycle = "a: &a\n  b: *a\n  <<: *a\n";
    let deep = format!("a: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let indented: String = (0..3_000).map(|at| format!("{}a:\n", " ".repeat(at))).collect();
    let texts = [("a bomb", bomb.as_str()), ("a cycle", cycle), ("brackets", &deep), ("steps", &indented)];
    for (turn, (what, text)) in texts.into_iter().enumerate() {
        let places = [
            (&KINDS[2], KINDS[2].state),
            (&KINDS[2], "docs/stories/epics/checkout/EPIC-7-EXECUTION.yaml"),
            (&KINDS[4], ".claude/piton/release.yaml"),
        ];
        for (kind, path) in sample(3, turn, places) {
            let sandbox = kind.project();
            let old = sandbox.read(path);
            for text in [text.to_owned(), format!("{old}\n{text}")] {
                sandbox.file(path, &text);
                for words in [&["list"][..], &["plan"], &["validate"], &["begin", kind.step]] {
                    let output = bounded(&sandbox, words);
                    check_answer(&words.join(" "), &output);
                    assert!(output.stdout.len() < 500_000, "{what} in {path}: {words:?}");
                }
            }
        }
        let sandbox = Sandbox::new();
        sandbox.file("w.yaml", text);
        for words in
            [&["run", "w.yaml", "--dry-run"][..], &["validate", "w.yaml"], &["start", "w.yaml", "--feature", "x"]]
        {
            let output = bounded(&sandbox, words);
            assert!((1..=9).contains(&output.code), "{what}: {words:?}\n{output}");
        }
    }
}
