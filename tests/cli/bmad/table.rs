//! Sprint and story file beside each other, row by row.

use super::{FOLDER, STATE, sprint, story};
use crate::{
    cli::checklist::{findings, next, plan, reason, steps},
    support::Sandbox,
};

#[test]
fn sprint_and_story_decide_together() {
    for (word, file, action) in [
        ("backlog", None, "run"),
        ("backlog", Some(("backlog", "   ")), "run"),
        ("backlog", Some(("ready-for-dev", "   ")), "run"),
        ("backlog", Some(("in-progress", "x  ")), "verify"),
        ("backlog", Some(("done", "xxx")), "verify"),
        ("backlog", Some(("ready-for-dev", "x  ")), "verify"),
        ("ready-for-dev", Some(("ready-for-dev", "   ")), "run"),
        ("drafted", Some(("drafted", "   ")), "run"),
        ("ready-for-dev", Some(("ready-for-dev", "xx ")), "retry"),
        ("ready-for-dev", Some(("in-progress", "   ")), "retry"),
        ("ready-for-dev", Some(("ready-for-dev", "xxx")), "verify"),
        ("in-progress", Some(("in-progress", "x  ")), "retry"),
        ("in-progress", Some(("in-progress", "   ")), "retry"),
        ("in-progress", None, "retry"),
        ("contexted", Some(("review", "x  ")), "verify"),
        ("in-progress", Some(("done", "xxx")), "verify"),
        ("review", Some(("review", "xxx")), "verify"),
        ("review", Some(("done", "xxx")), "verify"),
        ("review", None, "verify"),
        ("review", Some(("in-progress", "x  ")), "verify"),
        ("awaiting-operator", None, "approve"),
        ("mostly finished", None, "verify"),
        ("done", Some(("done", "xxx")), ""),
        ("done", None, ""),
        ("done", Some(("review", "xxx")), ""),
        ("done", Some(("review", "xx ")), ""),
        ("done", Some(("review", "   ")), "verify"),
        ("done", Some(("in-progress", "xxx")), "verify"),
        ("done", Some(("ready-for-dev", "   ")), "verify"),
        ("done", Some(("blocked", "x  ")), "verify"),
        ("done", Some(("cancelled", "x  ")), "verify"),
        ("done", Some(("fertig", "x  ")), "verify"),
        ("done", Some(("blocked", "xxx")), ""),
        ("done", Some(("cancelled", "xxx")), ""),
        ("done -> reopened", None, "verify"),
        ("done - needs QA", None, "verify"),
        ("wont-fix", None, ""),
        ("SUPERSEDED", Some(("in-progress", "x  ")), ""),
    ] {
        let sandbox = Sandbox::with_git();
        sprint(&sandbox, &format!("  epic-1: in-progress\n  1-1-login: \"{word}\"\n"));
        if let Some((status, boxes)) = file {
            story(&sandbox, "1-1-login", status, boxes);
        }
        sandbox.commit("chore: sprint");
        let output = plan(&sandbox, "bmad");
        let expected: Vec<String> = if action.is_empty() { vec![] } else { vec![format!("{action} 1-1-login")] };
        let next: Vec<String> = next(&output).into_iter().filter(|step| !step.starts_with("archive")).collect();
        assert_eq!(next, expected, "{word} {file:?}: {output}");
        let done = steps(&sandbox, "bmad", "completed");
        assert_eq!(!done.is_empty(), word == "done" && action.is_empty(), "{word} {file:?}");
        assert_eq!(output.at("/data/verdict") == "complete", action.is_empty(), "{word} {file:?}");
    }
}

#[test]
fn a_finished_story_whose_file_lags_is_proved_by_a_commit_that_names_it() {
    for (subject, looked_at) in [
        ("feat: login (story 1.1)", false),
        ("feat(1-1): login", false),
        ("STORY-1.1 login", false),
        ("feat: story 1-1", false),
        ("feat: 1-1-login", false),
        ("feat: they won 1-1", true),
        ("1-1: login", true),
        ("feat: login", true),
        ("feat: story 1.11", true),
    ] {
        let sandbox = Sandbox::with_git();
        sprint(&sandbox, "  epic-1: done\n  1-1-login: done\n");
        story(&sandbox, "1-1-login", "review", "   ");
        sandbox.commit("chore: sprint");
        sandbox.file("src/login.rs", "x");
        sandbox.commit(subject);
        let output = plan(&sandbox, "bmad");
        assert_eq!(next(&output).iter().any(|step| step == "verify 1-1-login"), looked_at, "{subject}: {output}");
        assert!(findings(&output).contains("1-1-login"), "{subject}");
    }
}

#[test]
fn files_of_its_list_say_that_a_story_was_begun() {
    let begun = |commits: &[&str]| {
        let sandbox = Sandbox::with_git();
        sandbox.file("src/app.rs", "old");
        sandbox.commit("feat: app");
        sprint(&sandbox, "  epic-1: in-progress\n  1-1-login: ready-for-dev\n");
        story(&sandbox, "1-1-login", "ready-for-dev", "  ");
        let path = format!("{FOLDER}/1-1-login.md");
        sandbox.file(&path, &format!("{}\n## File List\n\n- src/app.rs\n- src/login.rs\n", sandbox.read(&path)));
        sandbox.commit("chore: sprint");
        for file in commits {
            sandbox.file(file, "new");
            sandbox.commit("feat: more");
        }
        let output = plan(&sandbox, "bmad");
        (next(&output), reason(&output))
    };
    assert_eq!(begun(&[]).0, ["run 1-1-login"]);
    assert_eq!(begun(&["src/other.rs"]).0, ["run 1-1-login"]);
    for commits in [["src/login.rs"].as_slice(), &["src/app.rs"], &["src/app.rs", "src/login.rs"]] {
        let (next, reason) = begun(commits);
        assert_eq!(next, ["retry 1-1-login"], "{commits:?}");
        assert!(reason.contains("src/app.rs") && reason.contains("src/login.rs"), "{reason}");
    }
}

#[test]
fn what_is_in_progress_behind_an_open_story_is_never_left_out() {
    for (first, expected) in [
        ("backlog", ["run 1-1-a", "verify 1-2-b"]),
        ("ready-for-dev", ["run 1-1-a", "verify 1-2-b"]),
        ("in-progress", ["retry 1-1-a", "verify 1-2-b"]),
        ("review", ["verify 1-1-a", "retry 1-2-b"]),
    ] {
        let sandbox = Sandbox::new();
        sprint(&sandbox, &format!("  epic-1: in-progress\n  1-1-a: {first}\n  1-2-b: in-progress\n  1-3-c: backlog\n"));
        assert_eq!(next(&plan(&sandbox, "bmad")), expected, "{first}");
    }
}

#[test]
fn a_story_that_only_commits_show_as_begun_is_never_left_out() {
    for (first, expected) in [
        ("ready-for-dev", vec!["run 1-1-a", "verify 1-2-b"]),
        ("in-progress", vec!["retry 1-1-a", "verify 1-2-b"]),
        ("done", vec!["retry 1-2-b"]),
    ] {
        let sandbox = Sandbox::with_git();
        sprint(
            &sandbox,
            &format!("  epic-1: in-progress\n  1-1-a: {first}\n  1-2-b: ready-for-dev\n  1-3-c: backlog\n"),
        );
        story(&sandbox, "1-2-b", "ready-for-dev", "  ");
        sandbox.commit("chore: sprint");
        sandbox.file("src/b.rs", "x").commit("feat: story 1.2 begins");
        let output = plan(&sandbox, "bmad");
        assert_eq!(next(&output), expected, "{first}");
    }
}

#[test]
fn work_before_the_story_file_and_work_behind_a_finished_story_are_seen() {
    let sandbox = Sandbox::with_git();
    let lines = "  epic-1: in-progress\n  1-1-a: done\n  1-2-b: backlog\n  1-3-c: backlog\n";
    sprint(&sandbox, lines);
    sandbox.commit("chore: sprint");
    sandbox.file("src/b.rs", "x").commit("feat: story 1.2");
    story(&sandbox, "1-2-b", "ready-for-dev", "  ");
    sprint(&sandbox, &lines.replace("1-2-b: backlog", "1-2-b: ready-for-dev"));
    sandbox.commit("docs: story 1.2");
    assert_eq!(next(&plan(&sandbox, "bmad")), ["retry 1-2-b"]);
    // The one behind it was built: so was this one, as it seems.
    sprint(&sandbox, &lines.replace("1-2-b: backlog", "1-2-b: ready-for-dev").replace("1-3-c: backlog", "1-3-c: done"));
    assert_eq!(next(&plan(&sandbox, "bmad")), ["verify 1-2-b"]);
}

#[test]
fn a_story_in_which_a_merge_stopped_is_looked_at() {
    for word in ["backlog", "in-progress", "done"] {
        let sandbox = Sandbox::with_git();
        sprint(&sandbox, &format!("  epic-1: in-progress\n  1-1-a: {word}\n"));
        let path = format!("{FOLDER}/1-1-a.md");
        let text = "<<<<<<< HEAD\nStatus: in-progress\n=======\nStatus: done\n>>>>>>> x\n\n## Tasks\n\n- [x] one\n";
        sandbox.file(&path, text).commit("chore: merge");
        let output = plan(&sandbox, "bmad");
        assert_eq!(next(&output), ["verify 1-1-a"], "{word}: {output}");
        assert!(findings(&output).contains("part-unreadable"), "{word}: {output}");
        sandbox.file(&path, "Story\n=======\n\nStatus: done\n\n## Tasks\n\n- [x] one\n");
        assert!(!findings(&plan(&sandbox, "bmad")).contains("part-unreadable"), "{word}");
    }
}

#[test]
fn a_sprint_of_more_stories_than_are_read_is_never_complete() {
    let stories: String = (1..=20_001).map(|at| format!("  story-{at}: done\n")).collect();
    let sandbox = Sandbox::new();
    sprint(&sandbox, &format!("  epic-1: in-progress\n{stories}"));
    let output = plan(&sandbox, "bmad");
    assert_eq!(next(&output), ["verify rest"]);
    assert_eq!(output.at("/data/verdict"), "confirm");
    let said = findings(&output);
    assert!(said.contains("part-unreadable") && !said.contains("all stories of these epics"), "{said}");
    assert!(!sandbox.piton(["plan", "bmad", "--patch"]).run().stdout.contains("epic-1: done"));
}

#[test]
fn answers_keep_to_the_words_of_a_sprint() {
    for (word, status, answer, expected) in [
        ("review", "in-progress", "done", "Status: review"),
        ("backlog", "review", "open", "Status: ready-for-dev"),
        ("in-progress", "In Review", "open", "Status: in-progress"),
        ("done", "cancelled", "open", "1-1-a: in-progress"),
    ] {
        let sandbox = Sandbox::with_git();
        sprint(&sandbox, &format!("  epic-1: in-progress\n  1-1-a: {word}\n"));
        story(&sandbox, "1-1-a", status, "x  ");
        sandbox.commit("chore: sprint");
        let patch = sandbox.piton(["plan", "bmad", "--patch", "--answer", &format!("1-1-a={answer}")]).run();
        let diff = patch.at("/data/patch/diff").as_str().unwrap_or_default().to_owned();
        let added = diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++"));
        let added: Vec<&str> = added.map(|line| line[1..].trim()).collect();
        assert_eq!(added, [expected], "{word} {status}: {patch}");
    }
}

#[test]
fn stories_come_in_the_order_of_the_file() {
    let sandbox = Sandbox::new();
    let lines = "  epic-2: in-progress\r\n  2-2-b: done\r\n  # 2-9-x: backlog\r\n  1a-1-a: ready-for-dev # 2026-01-02\r\n  td-001-clean: backlog\r\n  \
                 epic-2-retrospective: optional\r\n  epic-3: backlog\r\n  3-1-c: backlog\r\n";
    sprint(&sandbox, lines);
    story(&sandbox, "1a-1-a", "ready-for-dev", "  ");
    let before = sandbox.everything();
    let output = plan(&sandbox, "bmad").expect_code(0);
    assert_eq!(next(&output), ["run 1a-1-a"]);
    assert_eq!(output.at("/data/progress"), serde_json::json!({"done": 1, "total": 4}));
    assert_eq!(output.at("/data/native/next"), "/bmad-bmm-dev-story 1a-1-a");
    assert_eq!(output.at("/data/run/title"), "shop: sprint");
    let context = sandbox.piton(["context", "bmad"]).run().expect_code(0);
    assert!(context.stdout.contains("Task 1: do it") && context.stdout.contains("1a-1-a.md"), "{context}");
    for verb in [["begin", "1a-1-a"], ["skip", "1a-1-a"], ["archive", "bmad"]] {
        assert_ne!(sandbox.piton(verb).run().code, 0, "{verb:?}");
    }
    assert!(sandbox.piton(["list"]).run().stdout.contains("\"bmad\""));
    assert_eq!(before.changes(&sandbox.everything()), [""; 0]);
}

#[test]
fn a_story_in_review_is_reviewed_and_the_next_one_waits() {
    let sandbox = Sandbox::new();
    sprint(&sandbox, "  epic-1: in-progress\n  1-1-a: review\n  1-2-b: backlog\n");
    story(&sandbox, "1-1-a", "review", "xx");
    let output = plan(&sandbox, "bmad").expect_code(9);
    assert_eq!(next(&output), ["verify 1-1-a"]);
    assert!(reason(&output).contains("in a fresh session"), "{}", reason(&output));
    assert_eq!(output.at("/data/native/next"), "/bmad-bmm-code-review 1-1-a");
}

#[test]
fn a_story_waits_for_the_one_before_it_and_not_for_a_review_further_ahead() {
    let sandbox = Sandbox::new();
    sprint(&sandbox, "  1-1-a: review\n  1-2-b: done\n  2-1-c: backlog\n  2-2-d: backlog\n");
    let output = plan(&sandbox, "bmad").expect_code(9);
    assert_eq!(next(&output), ["verify 1-1-a", "run 2-1-c"]);
    assert_eq!(output.at("/data/verdict"), "confirm");
}

#[test]
fn an_epic_without_stories_is_planned_after_them_and_never_forgotten() {
    for (word, action) in [
        ("backlog", Some("run epic-2")),
        ("in-progress", Some("run epic-2")),
        ("maybe", Some("verify epic-2")),
        ("done", None),
        ("cut", None),
    ] {
        let sandbox = Sandbox::new();
        let lines = format!(
            "  epic-1: done\n  1-1-a: done\n  epic-2: {word}\n  epic-2-retrospective: optional\n  3-1-b: done\n"
        );
        sprint(&sandbox, &lines);
        let output = plan(&sandbox, "bmad");
        let next: Vec<String> = next(&output).into_iter().filter(|step| !step.starts_with("archive")).collect();
        assert_eq!(next, action.map(str::to_owned).into_iter().collect::<Vec<_>>(), "{word}");
        assert_eq!(output.at("/data/verdict") == "complete", action.is_none(), "{word}");
        let is_run = action.is_some_and(|action| action.starts_with("run"));
        let command = output.at("/data/native/next") == "/bmad-bmm-create-epics-and-stories";
        assert_eq!(command, is_run, "{word}: {output}");
        let listed = sandbox.piton(["list"]).run();
        assert_eq!(listed.at("/data/runs/0/id") == "bmad", action.is_some(), "{word}");
        sprint(&sandbox, &lines.replace("3-1-b: done", "3-1-b: backlog"));
        assert_eq!(
            self::next(&plan(&sandbox, "bmad")).iter().filter(|step| step.starts_with("run")).count(),
            1,
            "{word}"
        );
    }
}

#[test]
fn stories_are_found_where_another_machine_says_that_they_are() {
    for location in [
        format!("C:\\Users\\me\\shop\\{}\\more", FOLDER.replace('/', "\\")),
        format!("/home/me/shop/{FOLDER}/more"),
        format!("\"{{project-root}}/{FOLDER}/more\""),
        format!("{FOLDER}/more"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file(STATE, &format!("story_location: {location}\ndevelopment_status:\n  1-1-a: ready-for-dev\n"));
        sandbox.file(&format!("{FOLDER}/more/1-1-a.md"), "# Story\n\nStatus: done\n\n## Tasks\n\n- [x] one\n");
        assert_eq!(next(&plan(&sandbox, "bmad")), ["verify 1-1-a"], "{location}");
    }
}

#[test]
fn contradictions_of_epics_and_keys_are_named() {
    let sandbox = Sandbox::new();
    sprint(&sandbox, "  epic-1: done\n  1-1-a: backlog\n  epic-2: in-progress\n  2-1-b: review\n  2-1-b: done\n");
    story(&sandbox, "2-2-lost", "done", "x");
    let output = plan(&sandbox, "bmad").expect_code(9);
    let said = findings(&output);
    for part in [
        "epics are done, but stories in them are open: epic-1",
        "the epics are open: epic-2",
        "keys occur more than once, the last one counts: 2-1-b",
        "does not name: 2-2-lost",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert_eq!(steps(&sandbox, "bmad", "completed"), ["2-1-b"]);
}

#[test]
fn a_story_that_a_repeated_key_calls_done_is_not_begun_again() {
    for (first, last, expected) in [
        ("done", "backlog", "verify 1-1-a"),
        ("'done' # 2026-01-02", "in-progress", "verify 1-1-a"),
        ("backlog", "ready-for-dev", "run 1-1-a"),
        ("in-progress", "done", "run 1-2-b"),
    ] {
        let sandbox = Sandbox::new();
        sprint(&sandbox, &format!("  epic-1: in-progress\n  1-1-a: {first}\n  1-1-a: {last}\n  1-2-b: backlog\n"));
        let output = plan(&sandbox, "bmad");
        assert_eq!(next(&output).first().map(String::as_str), Some(expected), "{first} {last}: {output}");
        assert!(findings(&output).contains("duplicate-id"), "{first} {last}");
    }
}

#[test]
fn a_mapping_in_one_line_is_a_sprint_and_two_mappings_are_named() {
    let sandbox = Sandbox::new();
    sandbox.file(STATE, "development_status: {epic-1: in-progress, 1-1-a: done, 1-2-b: backlog}\n");
    assert_eq!(next(&plan(&sandbox, "bmad")), ["run 1-2-b"]);
    let list = "development_status:\n  1-1-a: done\n";
    sandbox.file(STATE, &format!("{list}{list}"));
    let output = sandbox.piton(["plan", "bmad"]).run();
    assert!(output.stdout.contains("duplicate mapping key: development_status"), "{output}");
}

#[test]
fn claims_of_epics_are_compared_with_their_stories() {
    for (claim, word, said) in [
        ("cancelled", "backlog", "status-conflict epics are cancelled, but stories in them are open: epic-1"),
        ("cancelled", "done", ""),
        ("backlog", "done", "witness-behind epics are in the backlog, but stories in them are begun: epic-1"),
        ("backlog", "backlog", ""),
    ] {
        let sandbox = Sandbox::new();
        sprint(&sandbox, &format!("  epic-1: {claim}\n  1-1-a: {word}\n  1-2-b: {word}\n"));
        let found = findings(&plan(&sandbox, "bmad"));
        assert!(found.contains(said), "{claim} {word}: {found}");
        assert_eq!(found.contains("epics are"), !said.is_empty(), "{claim} {word}: {found}");
    }
}

#[test]
fn an_epic_with_a_disputed_story_is_not_called_done() {
    let sandbox = Sandbox::new();
    sprint(&sandbox, "  epic-1: in-progress\n  1-1-a: done\n");
    story(&sandbox, "1-1-a", "in-progress", "x ");
    assert!(!findings(&plan(&sandbox, "bmad")).contains("all stories of these epics are done"));
    story(&sandbox, "1-1-a", "done", "xx");
    assert!(findings(&plan(&sandbox, "bmad")).contains("all stories of these epics are done"));
}

#[test]
fn what_lags_behind_is_a_patch_that_applies() {
    let sandbox = Sandbox::with_git();
    sprint(&sandbox, "  epic-1: in-progress # ä\n  1-1-a: done\n");
    story(&sandbox, "1-1-a", "review", "xx");
    sandbox.commit("sprint");
    let patch = sandbox.piton(["plan", "bmad", "--patch"]).run().expect_code(0);
    sandbox.file("lags.diff", patch.at("/data/patch/diff").as_str().unwrap());
    sandbox.git(["apply", "lags.diff"]);
    assert!(sandbox.read(STATE).contains("  epic-1: done # ä\n"));
    assert!(sandbox.read(&format!("{FOLDER}/1-1-a.md")).contains("Status: done\n"));
    let output = plan(&sandbox, "bmad").expect_code(0);
    assert!(!findings(&output).contains("witness-behind"), "{}", findings(&output));
}

#[test]
fn a_patch_opens_an_epic_again_whose_stories_are_open() {
    for (claim, words, expected) in [
        ("done", ["done", "in-progress"], Some("in-progress")),
        ("done", ["done", "review"], Some("in-progress")),
        ("done", ["done", "cancelled"], None),
        ("cancelled", ["done", "backlog"], None),
        ("backlog", ["done", "backlog"], Some("in-progress")),
        ("backlog", ["backlog", "backlog"], None),
        ("in-progress", ["done", "backlog"], None),
        ("in-progress", ["done", "cut"], Some("done")),
    ] {
        let sandbox = Sandbox::with_git();
        let [first, second] = words;
        sprint(&sandbox, &format!("  epic-1: {claim}\r\n  1-1-a: {first}\r\n  1-2-b: {second}\r\n"));
        sandbox.commit("sprint");
        let patch = sandbox.piton(["plan", "bmad", "--patch"]).run();
        let diff = patch.at("/data/patch/diff").as_str().unwrap_or_default().to_owned();
        let added = diff.lines().find_map(|line| line.strip_prefix("+  epic-1: "));
        assert_eq!(added.map(str::trim), expected, "{claim} {words:?}: {patch}");
        if expected.is_some() {
            sandbox.file("a.diff", &diff);
            sandbox.git(["apply", "a.diff"]);
            let said = findings(&plan(&sandbox, "bmad"));
            assert!(!said.contains("epics"), "{claim} {words:?}: {said}");
        }
    }
    // A story that its file calls done may be done: the epic is left as it is.
    let sandbox = Sandbox::with_git();
    sprint(&sandbox, "  epic-1: done\n  1-1-a: in-progress\n");
    story(&sandbox, "1-1-a", "done", "xx");
    sandbox.commit("sprint");
    assert!(!sandbox.piton(["plan", "bmad", "--patch"]).run().stdout.contains("+  epic-1"));
}

#[test]
fn stories_of_a_sprint_are_not_offered_a_second_time() {
    let sandbox = Sandbox::with_git();
    let story = |key: &str| {
        format!("# Story {key}\n\nStatus: InProgress\n\n## Story\n\nAs a user, I want it.\n\n## Tasks\n\n- [ ] one\n")
    };
    sandbox.file(
        "docs/sprint-artifacts/sprint-status.yaml",
        "story_location: docs/stories\ndevelopment_status:\n  1-1-a: done\n  1-2-b: in-progress\n",
    );
    sandbox.file("docs/stories/1-2-b.md", &story("1.2")).commit("chore: sprint");
    let ids = || {
        let list = sandbox.piton(["list"]).run();
        let rows = list.at("/data/runs").as_array().cloned().unwrap_or_default();
        rows.iter().map(|row| row["id"].as_str().unwrap_or_default().to_owned()).collect::<Vec<String>>()
    };
    assert_eq!(ids(), ["bmad"]);
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/run/id"), "bmad");
    // A story that the sprint does not name is a run of its own.
    sandbox.file("docs/stories/1-9-z.md", &story("1.9"));
    assert_eq!(ids(), ["sdc-1.9", "bmad"]);
    assert_eq!(sandbox.piton(["plan", "docs/stories/1-2-b.md"]).run().at("/data/run/dialect"), "aios");
}

#[test]
fn two_sprints_have_names_of_their_own() {
    let sandbox = Sandbox::new();
    sprint(&sandbox, "  epic-1: in-progress\n  1-1-a: in-progress\n");
    sandbox.file(
        "docs/sprint-artifacts/sprint-status.yaml",
        "development_status:\n  epic-1: in-progress\n  1-1-b: in-progress\n",
    );
    let list = sandbox.piton(["list"]).run();
    for id in ["bmad-_bmad-output-implementation-artifacts", "bmad-docs-sprint-artifacts"] {
        assert!(list.stdout.contains(id), "{list}");
    }
    assert_eq!(next(&plan(&sandbox, "docs/sprint-artifacts/sprint-status.yaml")), ["retry 1-1-b"]);
}

#[test]
fn a_story_of_a_newer_version_is_found_by_its_key_or_number() {
    for (name, is_found) in [
        ("spec-1-1-login", true),
        ("spec-1-1-log-in-with-mail", true),
        ("spec-1-10-login", false),
        ("spec-login", false),
        ("notes-1-1-login", false),
    ] {
        let sandbox = Sandbox::with_git();
        sprint(&sandbox, "  epic-1: in-progress\n  1-1-login: in-progress\n");
        let spec = "---\ntitle: 'Log in'\nstatus: 'done' # draft | done\n---\n\n## Tasks & Acceptance\n\n- [x] `src/a.rs` -- write it\n";
        sandbox.file(&format!("{FOLDER}/{name}.md"), spec).commit("chore: sprint");
        let expected = if is_found { "verify 1-1-login" } else { "retry 1-1-login" };
        assert_eq!(next(&plan(&sandbox, "bmad")), [expected], "{name}");
    }
    // Of two files with one number, neither counts.
    let sandbox = Sandbox::with_git();
    sprint(&sandbox, "  epic-1: in-progress\n  1-1-login: in-progress\n");
    for name in ["spec-1-1-a", "spec-1-1-b"] {
        sandbox.file(&format!("{FOLDER}/{name}.md"), "---\nstatus: done\n---\n");
    }
    assert_eq!(next(&plan(&sandbox, "bmad")), ["retry 1-1-login"]);
}
