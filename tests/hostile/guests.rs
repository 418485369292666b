//! Plans of other systems, made by an attacker: nothing in them runs, nothing outside of the project is read, and each is read in time.

use std::os::unix::fs::symlink;

use super::{Outside, check_answer, check_silent, is_harmful};
use crate::support::{Sandbox, sample, takes_all};

/// Ids and titles that could be a path, an option, a command or the end of a line.
const NASTY: [&str; 9] = [
    "../../outside/secret.txt",
    "/etc/passwd",
    "--help",
    "$(touch /tmp/piton-ran)",
    "'; touch ran; '",
    "`touch ran`",
    "a\\nb",
    "\u{1b}]0;x\u{7}\u{202e}",
    "AKIAIOSFODNN7EXAMPLE",
];

const ROADMAP: &str = ".planning/ROADMAP.md";
const PLAN: &str = ".planning/phases/01-a/01-02-PLAN.md";
const LIST: &str = ".taskmaster/tasks/tasks.json";
const FEATURE: &str = "specs/001-a/tasks.md";
const CHANGE: &str = "openspec/changes/a/tasks.md";
const BUILD: &str = "docs/superpowers/plans/a.md";
const SPRINT: &str = "_bmad-output/implementation-artifacts/sprint-status.yaml";
const STORY: &str = "_bmad-output/implementation-artifacts/1-2-b.md";
const STATES: [&str; 7] = [".planning", LIST, FEATURE, CHANGE, BUILD, SPRINT, "_bmad-output"];

/// Writes plans of all systems in which every free text is this one. One step of each is done and one is open.
fn plans(sandbox: &Sandbox, text: &str) {
    let json = serde_json::to_string(text).expect("a text is JSON");
    // Ids are shown as they are, so that a person finds them.
    let id = if text.starts_with("AKIA") { "\"task\"" } else { &json };
    sandbox
        .file(ROADMAP, &format!("# Roadmap: {text}\n\n### Phase 1: {text}\n**Depends on**: {text}\n\n- [x] 01-01-PLAN.md {text}\n"))
        .file(".planning/STATE.md", &format!("# State\n\nPhase: 1 ({text})\nStatus: {text}\nStopped at: {text}\n"))
        .file(".planning/phases/01-a/01-01-SUMMARY.md", &format!("# {text}\n\n{text}\n"))
        .file(PLAN, &format!("---\nwave: 1\ndepends_on: [{json}]\nmust_haves:\n  artifacts:\n    - path: {json}\n      contains: {json}\n---\n\n<objective>\n{text}\n</objective>\n\n<task type=\"auto\">\n  <name>{text}</name>\n  <files>{text}</files>\n  <verify>touch ran; rm -rf .</verify>\n  <automated>touch ran</automated>\n</task>\n"))
        .file(LIST, &format!("{{\"tasks\": [{{\"id\": 1, \"title\": {json}, \"status\": \"done\"}}, {{\"id\": {id}, \"title\": {json}, \"status\": \"pending\", \"dependencies\": [{id}], \"details\": {json}, \"relevantFiles\": [{{\"path\": {json}, \"action\": \"create\"}}]}}]}}\n"))
        .file(".taskmaster/state.json", &format!("{{\"currentTag\": {id}}}"))
        .file(FEATURE, &format!("# Tasks: {text}\n\n## Phase 1: {text}\n\n- [x] T001 {text}\n- [ ] T002 {text} in `{text}` (depends on {text})\n"))
        .file(".specify/feature.json", &format!("{{\"feature_directory\": {json}}}"))
        .file(CHANGE, &format!("## 1. {text}\n- [x] 1.1 {text}\n- [ ] 1.2 `{text}`\n"))
        .file(BUILD, &format!("# {text}\n\n### Task 1: {text}\n\n**Files:**\n- Create: `{text}`\n\n- [x] **Step 1: {text}**\n\n### Task 2: {text}\n\n- [ ] **Step 1: {text}**\n"))
        .file(".superpowers/sdd/a/progress.md", &format!("# SDD ledger — plan: {BUILD}\nTask 2: complete (commits {text}..{text}) {text}\n"))
        .file(SPRINT, &format!("project: {json}\nstory_location: {json}\ndevelopment_status:\n  epic-1: in-progress\n  1-1-a: done\n  1-2-b: in-progress\n  {id}: {json}\n"))
        .file(STORY, &format!("# {text}\n\nStatus: in-progress\n\n## Tasks\n\n- [x] {text}\n- [ ] {text}\n\n### File List\n\n- {text}\n"));
}

/// How a plan is read, before the path of its state.
const READS: [&[&str]; 8] = [
    &["plan", "-v"],
    &["plan", "--patch"],
    &["plan", "--format", "text"],
    &["context"],
    &["context", "--format", "text"],
    &["status"],
    &["validate"],
    &["show", "--format", "text"],
];

/// Reads every plan in these ways.
fn read_each(sandbox: &Sandbox, outside: &Outside, reads: &[&[&str]], what: &str) {
    let before = sandbox.everything();
    let check = &mut |line: &str, output: &crate::support::Output| {
        check_answer(line, output);
        check_silent(line, output);
        let harmful = output.stdout.chars().find(|c| is_harmful(*c));
        assert_eq!(harmful, None, "{what}: {line}\n{output}");
        // A patch is exact, or it would not apply.
        let is_masked = line.contains("--patch") || !output.stdout.contains("AKIAIOSFODNN7EXAMPLE");
        assert!(is_masked, "{what}: {line} tells a secret\n{output}");
    };
    for words in [&["list", "--all"][..], &["list", "--format", "text"], &["validate"], &["doctor"], &["sessions"]] {
        check(&words.join(" "), &super::within(sandbox.piton(words.iter().copied())));
    }
    for state in STATES {
        for words in reads {
            let words = words.iter().copied().chain([state]);
            check(&words.clone().collect::<Vec<_>>().join(" "), &super::within(sandbox.piton(words)));
        }
    }
    outside.is_untouched(what);
    assert_eq!(before.changes(&sandbox.everything()), [""; 0], "{what}");
    assert!(!std::path::Path::new("/tmp/piton-ran").exists(), "{what}: a title ran");
}

/// SECURITY: row 12, 13
#[test]
fn texts_of_plans_of_other_systems_are_data() {
    for (turn, text) in NASTY.into_iter().enumerate() {
        let sandbox = Sandbox::with_git();
        let outside = Outside::of(&sandbox);
        plans(&sandbox, text);
        sandbox.commit("plans");
        read_each(&sandbox, &outside, &sample(4, turn, READS), text);
    }
}

/// SECURITY: row 3
#[test]
fn plans_of_other_systems_that_are_links_out_are_not_read() {
    let places = [ROADMAP, PLAN, LIST, FEATURE, CHANGE, BUILD, SPRINT, STORY, "src"];
    for (turn, path) in places.into_iter().enumerate() {
        let sandbox = Sandbox::with_git();
        let outside = Outside::of(&sandbox);
        plans(&sandbox, "src/secret.txt");
        let place = sandbox.root().join(path);
        if place.exists() {
            sandbox.remove(path);
        }
        let target = if path == "src" { outside.folder.clone() } else { outside.folder.join("secret.txt") };
        symlink(target, place).expect("a link in the sandbox");
        read_each(&sandbox, &outside, &sample(4, turn, READS), path);
    }
}

/// SECURITY: row 10
#[test]
fn plans_of_other_systems_that_are_large_or_deep_are_read_in_time() {
    let explosive = format!("{}b", "(a+)+".repeat(20));
    let bomb = {
        let levels = (1..10).map(|at| format!("a{at}: &a{at} [{}]\n", vec![format!("*a{}", at - 1); 10].join(", ")));
        format!("a0: &a0 [x]\n{}development_status:\n  1-1-a: *a9\n", levels.collect::<String>())
    };
    let line = "x".repeat(64 << 10);
    let deep =
        format!("{{\"tasks\": {}{}}}", "[{\"id\": 1, \"title\": \"t\", \"subtasks\": ".repeat(3_000), "]".repeat(9));
    let many = if takes_all() { 20_000 } else { 1_000 };
    let boxes: String = (0..many).map(|at| format!("- [ ] {at}.1 Do it\n")).collect();
    let stories: String = (0..many).map(|at| format!("  {}-{}-s: backlog\n", at / 100, at % 100)).collect();
    let tasks: Vec<String> = (0..many)
        .map(|at| {
            format!("{{\"id\": {at}, \"title\": \"t\", \"status\": \"pending\", \"dependencies\": [{}]}}", at + 1)
        })
        .collect();
    let contains =
        format!("---\nmust_haves:\n  artifacts:\n    - path: src/a.txt\n      contains: \"{explosive}\"\n---\n");
    let plans_of = [
        (PLAN, contains),
        (PLAN, format!("---\n{line}: [\n---\n<task>\n<name>{line}\n")),
        (ROADMAP, format!("# Roadmap\n\n### Phase 1: {line}\n- [ ] 01-02-PLAN.md {line}\n")),
        (SPRINT, bomb),
        (SPRINT, format!("development_status:\n{stories}")),
        (LIST, deep),
        (LIST, format!("{{\"tasks\": [{}]}}", tasks.join(","))),
        (CHANGE, boxes),
        (FEATURE, format!("- [ ] T001 {line}\n")),
        (BUILD, format!("### Task 1: {line}\n\n**Files:**\n- Create: `{line}`\n\n### Task 2: {line}\n")),
    ];
    for (path, text) in sample(2, 0, plans_of) {
        let sandbox = Sandbox::with_git();
        let outside = Outside::of(&sandbox);
        plans(&sandbox, "a");
        sandbox.file("src/a.txt", &"a".repeat(5_000)).file(path, &text);
        sandbox.commit("plans");
        let started = std::time::Instant::now();
        read_each(&sandbox, &outside, &READS[..2], path);
        assert!(started.elapsed().as_secs() < 300, "{path}: {:?}", started.elapsed());
    }
}
