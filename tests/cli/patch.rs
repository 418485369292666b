//! `plan --patch` applied by other programs, byte for byte; the rest is in `tests/cases/plans`.

use crate::support::Sandbox;

const STATE: &str = ".aios/epic-5-state.yaml";
const FIRST: &str = "docs/stories/5.1.story.md";

const EPIC: &str = "epic_state:\n  epicId: 5\n  mode: yolo\n  updated_at: \"2026-01-31T11:30:00Z\"\n  status: active\n  waves:\n    1:\n      name: Base\n      status: in_progress\n      stories:\n        5.1: {status: completed}\n        5.2: {status: pending}\n";

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
            sandbox.file(STATE, EPIC).file(FIRST, story);
            let before = sandbox.tree();
            let json = sandbox.piton(["plan", "--patch"]).run().expect_code(0);
            let text = sandbox.piton(["plan", "--patch", "--format", "text"]).run().expect_code(0).stdout;
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
