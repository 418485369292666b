//! `plan --patch`: edits of files that Piton never writes, printed exactly and applied by other programs.

use serde_json::json;

use crate::support::{Output, Sandbox};

const STATE: &str = ".aios/epic-5-state.yaml";
const FIRST: &str = "docs/stories/5.1.story.md";

fn epic(status: &str, stories: &[(&str, &str)]) -> String {
    let stories: String =
        stories.iter().map(|(id, status)| format!("        {id}: {{ status: {status} }}\n")).collect();
    format!(
        "epic_state:\n  epicId: 5\n  mode: yolo\n  updated_at: \"2026-01-31T11:30:00Z\"\n  status: {status}\n  waves:\n    1:\n      \
         name: Base\n      status: in_progress\n      stories:\n{stories}"
    )
}

/// Returns the patch as a program gets it on a pipe.
fn diff(sandbox: &Sandbox) -> Output {
    sandbox.piton(["plan", "--patch", "--format", "text"]).run()
}

#[test]
fn a_story_that_lags_behind_is_patched_byte_for_byte() {
    for (story, expected) in [
        ("# Story 5.1: A\n\n**Status:** Ready for Review\n", "# Story 5.1: A\n\n**Status:** Done\n"),
        (
            "# Story 5.1: A\r\n\r\n**Status:** InReview\r\n\r\n## Tasks\r\n- [x] a\r\n- [ ] b",
            "# Story 5.1: A\r\n\r\n**Status:** Done\r\n\r\n## Tasks\r\n- [x] a\r\n- [x] b",
        ),
        ("\u{feff}# Story 5.1: A\n\n**Status:** InReview", "\u{feff}# Story 5.1: A\n\n**Status:** Done"),
        // Untrusted text in the context of a hunk, with escapes and bidirectional marks.
        (
            "# Story 5.1: \u{1b}[31mA\u{202e}\n\n**Status:** InReview\n@@ -1 +1 @@\n--- a/x\n\u{1b}]0;x\u{7}\n",
            "# Story 5.1: \u{1b}[31mA\u{202e}\n\n**Status:** Done\n@@ -1 +1 @@\n--- a/x\n\u{1b}]0;x\u{7}\n",
        ),
    ] {
        for tool in ["git", "git in json", "patch"] {
            let sandbox = Sandbox::new();
            sandbox.file(STATE, &epic("active", &[("5.1", "completed"), ("5.2", "pending")])).file(FIRST, story);
            let before = sandbox.tree();
            let json = sandbox.piton(["plan", "--patch"]).run().expect_code(0);
            let text = diff(&sandbox).expect_code(0).stdout;
            assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0], "a plan writes nothing");
            let exact = json.at("/data/patch/diff").as_str().unwrap().to_owned();
            assert!(text.contains(&exact), "{text}");
            match tool {
                "patch" => drop(sandbox.tool("/usr/bin/patch", ["-p1", "--quiet"]).stdin(text).run().expect_code(0)),
                _ => {
                    sandbox.git_init();
                    sandbox.file("fix.patch", if tool == "git" { &text } else { &exact });
                    sandbox.git(["apply", "--check", "fix.patch"]);
                    sandbox.git(["apply", "fix.patch"]);
                }
            }
            assert_eq!(sandbox.read(FIRST), expected, "{tool}");
            let again = sandbox.piton(["plan", "--patch"]).run();
            assert_eq!(again.at("/data/patch/diff"), "", "{again}");
        }
    }
}

#[test]
fn names_are_quoted_and_several_files_are_one_patch() {
    let sandbox = Sandbox::new();
    let second = "docs/stories/5.2 é \"x\".md";
    let third = "docs/stories/5.3 a b.md";
    sandbox.file(STATE, &epic("active", &[("5.1", "completed"), ("5.2", "completed"), ("5.3", "completed")]));
    for (path, id) in [(FIRST, "5.1"), (second, "5.2"), (third, "5.3")] {
        sandbox.file(path, &format!("# Story {id}: A\n\n**Status:** InReview\n"));
    }
    sandbox.git_init();
    let patch = diff(&sandbox).expect_code(0).stdout;
    assert!(patch.contains("--- \"a/docs/stories/5.2 \\303\\251 \\\"x\\\".md\"\n"), "{patch}");
    assert!(patch.starts_with(
        "# Suggested for epic-5; nothing was written. In the root of the project: git apply, or patch -p1.\n# "
    ));
    sandbox.file("fix.patch", &patch).git(["apply", "fix.patch"]);
    for path in [FIRST, second, third] {
        assert!(sandbox.read(path).ends_with("**Status:** Done\n"), "{path}");
    }
}

#[test]
fn a_patch_applies_below_the_top_of_a_repository() {
    let sandbox = Sandbox::new();
    sandbox.file("app/.aios/epic-5-state.yaml", &epic("active", &[("5.1", "completed"), ("5.2", "pending")]));
    sandbox
        .file("app/piton.toml", "")
        .file("app/docs/stories/5.1.story.md", "# Story 5.1: A\n\n**Status:** InReview\n");
    sandbox.git_init();
    let patch = sandbox.piton(["plan", "--patch"]).run().expect_code(0);
    let root = patch.at("/data/run/root").as_str().unwrap().replace("$ROOT", "");
    let folder = root.trim_start_matches('/').to_owned();
    sandbox.file("fix.patch", patch.at("/data/patch/diff").as_str().unwrap());
    let fix = sandbox.root().join("fix.patch");
    sandbox.git_in(&folder, ["apply", fix.as_str()]);
    assert_eq!(sandbox.read("app/docs/stories/5.1.story.md"), "# Story 5.1: A\n\n**Status:** Done\n");
}

#[test]
fn a_finished_epic_is_patched_by_name() {
    let sandbox = Sandbox::new();
    sandbox.file(STATE, &epic("completed", &[("5.1", "completed")]));
    sandbox.file(FIRST, "# Story 5.1: A\n\n**Status:** Ready for Review\n");
    sandbox.piton(["plan", "--patch"]).run().expect_code(3);
    for run in ["epic-5", STATE] {
        let patch = sandbox.piton(["plan", run, "--patch"]).run().expect_code(0);
        assert_eq!(patch.at("/data/patch/files/0/file"), FIRST);
        let reason = "5.1 is completed in the epic, and the story says `Ready for Review` in line 3";
        assert_eq!(patch.at("/data/patch/files/0/reasons"), json!([reason]));
    }
}

#[test]
fn without_suggestions_the_answer_is_no_with_a_reason() {
    let sandbox = Sandbox::new();
    sandbox.file(STATE, &epic("active", &[("5.1", "pending"), ("5.2", "pending")]));
    sandbox.file(FIRST, "# Story 5.1: A\n\n**Status:** Done\n");
    let patch = sandbox.piton(["plan", "--patch"]).run().expect_code(1);
    assert_eq!(patch.at("/ok"), true);
    assert_eq!(patch.at("/data/patch/diff"), "");
    let note = patch.at("/data/patch/notes/0");
    assert!(note.as_str().unwrap().contains("5.1 is pending in the epic, but its story says `Done`"), "{note}");
    let text = diff(&sandbox).expect_code(1).stdout;
    assert!(
        text.starts_with("# Nothing to suggest for epic-5.\n# Not suggested: docs/stories/5.1.story.md: "),
        "{text}"
    );
    assert_eq!(sandbox.piton(["plan", "--patch", "-q", "--format", "text"]).run().stdout, "");
    for (example, why) in [
        ("nine-step", "the status of such a run is only in its state"),
        ("dotagent", "the status of such a run is only in its state"),
        ("ccw", "the checklist agrees with every task"),
    ] {
        let sandbox = Sandbox::new();
        crate::support::Tree::of(&crate::support::repository().join("examples").join(example))
            .write_to(&sandbox.root());
        let patch = sandbox.piton(["plan", "--patch"]).run().expect_code(1);
        assert!(patch.at("/data/patch/notes/0").as_str().unwrap().starts_with(why), "{patch}");
    }
}

#[test]
fn a_checklist_that_lags_behind_its_tasks_is_patched() {
    let sandbox = Sandbox::new();
    let example = crate::support::repository().join("examples/ccw");
    crate::support::Tree::of(&example).write_to(&sandbox.root());
    let todo = ".workflow/active/WFS-user-auth/TODO_LIST.md";
    let before = sandbox.read(todo);
    let open = before.replacen("[x]", "[ ]", 1);
    assert_ne!(before, open);
    sandbox.file(todo, &open).git_init();
    let patch = sandbox.piton(["plan", "--patch"]).run();
    let patch = patch.expect_code(0);
    sandbox.file("fix.patch", patch.at("/data/patch/diff").as_str().unwrap()).git(["apply", "fix.patch"]);
    assert_eq!(sandbox.read(todo), before);
}

#[test]
fn untrusted_text_does_not_drive_a_reader() {
    let sandbox = Sandbox::new();
    sandbox.file(STATE, &epic("active", &[("5.1", "completed"), ("5.2", "pending")]));
    sandbox.file(FIRST, "# Story 5.1: \u{1b}[31mA\n````\n**Status:** x\n````\n\n**Status:** InReview\n");
    for format in ["markdown", "json"] {
        let shown = sandbox.piton(["plan", "--patch", "--format", format]).run().expect_code(0).stdout;
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }
    let markdown = sandbox.piton(["plan", "--patch", "--format", "markdown"]).run().stdout;
    assert!(markdown.starts_with("`````diff\n") && markdown.ends_with("`````\n"), "{markdown}");
}
