//! Lists that are cut off, lack a line or have conflict markers: no panic, and nothing wrong is called done.

use super::{next, plan, steps};
use crate::support::{Sandbox, takes_all};

const SPECKIT: &str = "# Tasks: Ä\n\n## Phase 1: Setup\n\n- [x] T001 Add a in src/a.rs\n- [x] T002 [P] Add b\n  - [x] part\n\n```sh\n- [ ] T9\n```\n\n## Phase 2: \
                       Core\n\n- [ ] T003 Add c (depends on T001)\n- [ ] T004 [US1] Add d\n\n#### T005: e\n**File**: `src/e.rs`\n- [ ] one\n";
const OPENSPEC: &str = "## 1. A\n- [x] 1.1 one\n- [x] 1.2 two\n## 2. B\n- [ ] 2.1 three\n- [ ] four\n";
const SUPERPOWERS: &str = "# P\n\n### Task 1: a\n\n**Files:**\n- Create: `src/a.rs`\n\n- [x] **Step 1: b**\n\n### Task 2: c\n\n- [x] **Step 1: d**\n\n### Task 3: \
                           e\n\n- [ ] **Step 1: f**\n";

/// A list of the tests: its path, its text, and what says in a changed text which ids are ticked.
struct List {
    path: &'static str,
    text: &'static str,
    ticked: fn(&str) -> Vec<String>,
}

const LISTS: [List; 3] = [
    List { path: "specs/001-a/tasks.md", text: SPECKIT, ticked: ticked_in_speckit },
    List { path: "openspec/changes/a/tasks.md", text: OPENSPEC, ticked: ticked_in_openspec },
    List { path: "docs/superpowers/plans/2026-01-02-a.md", text: SUPERPOWERS, ticked: ticked_in_superpowers },
];

/// Returns the ids with a tick in a Spec Kit list, by the letters that are left of them: a line that is cut off may hold a shorter id.
fn ticked_in_speckit(text: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let id = line.strip_prefix("- [x] ")?.split_whitespace().next()?;
        let is_id = id.len() > 1 && id.starts_with('T') && id[1..].bytes().all(|byte| byte.is_ascii_digit());
        is_id.then(|| id.to_owned())
    };
    text.lines().filter_map(of_line).collect()
}

/// Returns the ids with a tick in a change: a number in the text, else section and place, else the place.
fn ticked_in_openspec(text: &str) -> Vec<String> {
    let (mut section, mut in_section, mut all) = (None, 0, 0);
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let number = heading.split('.').next().filter(|number| number.parse::<u32>().is_ok());
            (section, in_section) = (number.map(str::to_owned), 0);
        }
        let Some((mark, behind)) = line.strip_prefix("- [").and_then(|rest| rest.split_once(']')) else { continue };
        all += 1;
        in_section += 1;
        let stated = behind.split_whitespace().next().map(|word| word.trim_end_matches('.')).unwrap_or_default();
        let is_number = !stated.is_empty() && stated.split('.').all(|part| part.parse::<u32>().is_ok());
        let id = match (&section, is_number) {
            (_, true) => stated.to_owned(),
            (Some(section), false) => format!("{section}.{in_section}"),
            (None, false) => all.to_string(),
        };
        found.extend((mark == "x").then_some(id));
    }
    found
}

/// Returns the tasks of a plan below which boxes are ticked and none is open.
fn ticked_in_superpowers(text: &str) -> Vec<String> {
    let mut tasks: Vec<(String, usize, usize)> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("### Task ") {
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            tasks.push((format!("task-{number}"), 0, 0));
        } else if line.starts_with("# ") {
            continue;
        } else if let Some((_, ticked, open)) = tasks.last_mut() {
            *ticked += usize::from(line.starts_with("- [x]"));
            *open += usize::from(line.starts_with("- [ ]"));
        }
    }
    tasks.into_iter().filter(|(_, ticked, open)| *ticked > 0 && *open == 0).map(|(id, _, _)| id).collect()
}

/// Plans a changed list, and checks that it calls exactly that done which is ticked in it, and runs nothing of that again.
fn check(sandbox: &Sandbox, list: &List, text: &str, what: &str) {
    let path = list.path;
    sandbox.file(path, text);
    let output = plan(sandbox, path);
    assert!([0, 3, 4, 9].contains(&output.code), "{path} {what}: {output}");
    let ticked = (list.ticked)(text);
    let wrong: Vec<String> = steps(sandbox, path, "completed").into_iter().filter(|id| !ticked.contains(id)).collect();
    assert!(wrong.is_empty(), "{path} {what}: {wrong:?}, ticked are {ticked:?}");
    let again: Vec<String> =
        next(&output).into_iter().filter(|step| ticked.iter().any(|id| *step == format!("run {id}"))).collect();
    assert!(again.is_empty(), "{path} {what}: {again:?}");
}

#[test]
fn a_list_that_is_cut_off_says_nothing_wrong() {
    for list in LISTS {
        let sandbox = Sandbox::new();
        let step = if takes_all() { 1 } else { 97 };
        for end in (0..list.text.len()).step_by(step).filter(|end| list.text.is_char_boundary(*end)) {
            check(&sandbox, &list, &list.text[..end], &format!("cut at {end}"));
        }
    }
}

#[test]
fn a_list_that_is_cut_off_inside_of_a_character_is_read() {
    let sandbox = Sandbox::new();
    let list = &LISTS[0];
    for end in (0..list.text.len()).filter(|end| !list.text.is_char_boundary(*end)) {
        sandbox.bytes(list.path, &list.text.as_bytes()[..end]);
        assert!([0, 3, 4, 9].contains(&plan(&sandbox, list.path).code), "{end}");
    }
}

#[test]
fn a_list_without_one_of_its_lines_says_nothing_wrong() {
    for list in LISTS {
        let sandbox = Sandbox::new();
        let lines: Vec<&str> = list.text.split_inclusive('\n').collect();
        let step = if takes_all() { 1 } else { 7 };
        for without in (0..lines.len()).step_by(step) {
            let rest: String =
                lines.iter().enumerate().filter(|(at, _)| *at != without).map(|(_, line)| *line).collect();
            check(&sandbox, &list, &rest, &format!("without line {}", without + 1));
        }
    }
}

#[test]
fn a_list_with_conflict_markers_is_planned_by_a_person() {
    for List { path, text, .. } in LISTS {
        let sandbox = Sandbox::new();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for at in (0..lines.len()).step_by(if takes_all() { 1 } else { 11 }) {
            let (head, tail) = lines.split_at(at);
            sandbox.file(
                path,
                &format!("{}<<<<<<< HEAD\n- [x] a\n=======\n- [ ] a\n>>>>>>> b\n{}", head.concat(), tail.concat()),
            );
            let output = plan(&sandbox, path);
            assert_ne!(output.code, 0, "{path} {at}: {output}");
            assert!(output.stdout.contains("merge conflict") || output.code == 3, "{path} {at}: {output}");
        }
    }
}

#[test]
fn hostile_lists_are_read_in_time() {
    let sandbox = Sandbox::new();
    let path = "specs/001-a/tasks.md";
    let many: String = (0..if takes_all() { 20_000 } else { 4_000 })
        .map(|at| format!("- [ ] T{:03} [P] Add src/f{at}.rs (depends on T001-T999)\n", at % 1000))
        .collect();
    let long = format!(
        "- [ ] T001 {}\n- [ ] T002 \u{1b}[31m`../../etc/passwd.txt` `/etc/shadow.txt`\u{202e}\n",
        "x ".repeat(100_000)
    );
    for text in
        [many, long, "- [ ] T001 ((((((((((\n".repeat(2_000), "#".repeat(100_000), "\u{0}- [ ] T001 \u{0}\n".to_owned()]
    {
        sandbox.file(path, &text);
        let started = std::time::Instant::now();
        let output = plan(&sandbox, path);
        assert!([0, 3, 4, 9].contains(&output.code), "{}", output.code);
        assert!(!output.stdout.contains('\u{1b}') && !output.stdout.contains('\u{202e}'));
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }
}

#[test]
fn lists_that_are_too_large_are_named() {
    let sandbox = Sandbox::new();
    let large = |text: &str| format!("{text}{}", "x".repeat(5 << 20));
    let files = [
        ("specs/001-a/tasks.md", "# Tasks\n\n- [x] T001 a\n- [ ] T002 b\n"),
        ("openspec/changes/a/tasks.md", "- [x] 1.1 a\n- [ ] 1.2 b\n"),
        ("docs/superpowers/plans/a.md", SUPERPOWERS),
    ];
    for (path, text) in files {
        sandbox.file(path, &large(text));
    }
    let output = sandbox.piton(["list"]).run();
    for (path, _) in files {
        let said = format!("{path} cannot be read: it has ");
        assert!(output.stdout.contains("folder-closed") && output.stdout.contains(&said), "{path}: {output}");
        sandbox.remove(path);
    }
}
