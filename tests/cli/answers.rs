//! Steps of other systems that witnesses disagree about: one question, and a patch for each answer.

use serde_json::{Value, json};

use crate::{
    cli::checklist,
    support::{Output, Sandbox},
};

/// A disputed step, with what is next once the patch of each answer is applied.
struct Dispute {
    name: &'static str,
    run: &'static str,
    step: &'static str,
    files: Vec<(&'static str, String)>,
    answers: Vec<(&'static str, &'static [&'static str])>,
}

const SPRINT: &str = "_bmad-output/implementation-artifacts/sprint-status.yaml";
const STORY: &str = "_bmad-output/implementation-artifacts/1-1-a.md";
const LIST: &str = ".taskmaster/tasks/tasks.json";

fn sprint(word: &str) -> (&'static str, String) {
    (SPRINT, format!("development_status:\r\n  epic-1: in-progress\r\n  1-1-a: {word} # ä\r\n"))
}

fn story(status: &str, boxes: &str) -> (&'static str, String) {
    (STORY, format!("# Story 1.1: A\n\nStatus: {status}\n\n## Tasks / Subtasks\n\n{boxes}"))
}

fn tasks(list: &str) -> (&'static str, String) {
    (LIST, format!("{{\n  \"tasks\": [\n{list}\n  ]\n}}\n"))
}

fn disputes() -> Vec<Dispute> {
    let plan = "---\r\nwave: 1\r\n---\r\n\r\n<objective>\r\nCut.\r\n</objective>\r\n";
    let roadmap =
        "# Roadmap\n\n- [x] **Phase 1: Sail**\n\n### Phase 1: Sail\n\n- [x] 01-01-PLAN.md\n- [ ] 01-02-PLAN.md\n";
    let done_with_pieces = "    {\"id\": 1, \"title\": \"a\", \"status\": \"done\", \"subtasks\": [\n      {\"id\": 1, \"title\": \"b\", \"status\": \"pending\"},\n      {\"id\": 2, \"title\": \"c\", \"status\": \"done\"}\n    ]}";
    vec![
        Dispute {
            name: "a box that only the roadmap ticks",
            run: "gsd",
            step: "01-01",
            files: vec![
                (".planning/ROADMAP.md", roadmap.to_owned()),
                (".planning/phases/01-sail/01-01-PLAN.md", plan.to_owned()),
                (".planning/phases/01-sail/01-02-PLAN.md", plan.replace("wave: 1", "wave: 2\r\nstatus: superseded")),
            ],
            answers: vec![("done", &[]), ("open", &["run 01-01"]), ("dropped", &[])],
        },
        Dispute {
            name: "a done task with an open subtask",
            run: "taskmaster-master",
            step: "1",
            files: vec![tasks(done_with_pieces)],
            answers: vec![("done", &[]), ("open", &["run 1.1"])],
        },
        Dispute {
            name: "a task in review",
            run: "taskmaster-master",
            step: "1",
            files: vec![tasks("    {\"id\": 1, \"title\": \"a\", \"status\": \"review\"}")],
            answers: vec![("done", &[]), ("open", &["run 1"])],
        },
        Dispute {
            name: "a mark of another program",
            run: "speckit-001-a",
            step: "T002",
            files: vec![("specs/001-a/tasks.md", "# Tasks\n\n- [x] T001 a\n* [✓] T002 b\n- [x] T003 c\n".to_owned())],
            answers: vec![("done", &[]), ("open", &["run T002"])],
        },
        Dispute {
            name: "a check mark of another program",
            run: "openspec-a",
            step: "1.2",
            files: vec![("openspec/changes/a/tasks.md", "## 1. A\n- [x] 1.1 a\n- [✔] 1.2 b\n".to_owned())],
            answers: vec![("done", &[]), ("open", &["run 1.2"])],
        },
        Dispute {
            name: "done in the sprint only",
            run: "bmad",
            step: "1-1-a",
            files: vec![sprint("done"), story("in-progress", "- [x] one\n- [ ] two\n")],
            answers: vec![("done", &[]), ("open", &["retry 1-1-a"])],
        },
        Dispute {
            name: "in review",
            run: "bmad",
            step: "1-1-a",
            files: vec![sprint("review"), story("review", "- [x] one\n")],
            answers: vec![("done", &[]), ("open", &["verify 1-1-a"])],
        },
        Dispute {
            name: "backlog in the sprint only",
            run: "bmad",
            step: "1-1-a",
            files: vec![sprint("backlog"), story("review", "- [ ] one\n")],
            answers: vec![("done", &["verify 1-1-a"]), ("open", &["run 1-1-a"])],
        },
    ]
}

fn made(dispute: &Dispute) -> Sandbox {
    let sandbox = Sandbox::with_git();
    for (path, text) in &dispute.files {
        sandbox.file(path, text);
    }
    sandbox.commit("plans");
    sandbox
}

fn answers(output: &Output) -> Vec<Value> {
    output.at("/data/patch/answers").as_array().cloned().unwrap_or_default()
}

/// What is to be done, without what follows the last step.
fn work(output: &Output) -> Vec<String> {
    checklist::next(output).into_iter().filter(|step| !step.starts_with("archive")).collect()
}

#[test]
fn each_answer_is_a_patch_that_applies_and_decides_the_step() {
    for dispute in disputes() {
        let (name, run) = (dispute.name, dispute.run);
        let before = checklist::plan(&made(&dispute), run);
        assert_eq!(work(&before), [format!("verify {}", dispute.step)], "{name}: {before}");
        let options = before.at("/data/question/options");
        let words: Vec<&str> = dispute.answers.iter().map(|(word, _)| *word).collect();
        let asked: Vec<&str> = options.as_array().into_iter().flatten().filter_map(|one| one["id"].as_str()).collect();
        assert_eq!(asked, words, "{name}: {before}");
        for (word, expected) in &dispute.answers {
            let sandbox = made(&dispute);
            let tree = sandbox.everything();
            let all = sandbox.piton(["plan", run, "--patch"]).run();
            let said = format!("{}={word}", dispute.step);
            let one = sandbox.piton(["plan", run, "--patch", "--answer", &said]).run().expect_code(0);
            assert_eq!(tree.changes(&sandbox.everything()), [""; 0], "{name} {word}");
            let diff = one.at("/data/patch/diff").as_str().unwrap_or_default().to_owned();
            let listed = answers(&all).into_iter().find(|one| one["answer"] == *word);
            assert_eq!(listed.map(|one| one["diff"].clone()), Some(Value::from(diff.clone())), "{name} {word}: {all}");
            assert!(!all.at("/data/patch/diff").as_str().is_some_and(|all| all.contains(&diff)), "{name} {word}");
            sandbox.file("answer.diff", &diff);
            sandbox.git(["apply", "answer.diff"]);
            let after = checklist::plan(&sandbox, run);
            assert_eq!(work(&after), *expected, "{name} {word}\n{diff}\n{after}");
        }
    }
}

#[test]
fn what_was_built_and_not_recorded_is_one_patch_with_the_answers_that_it_does_not_give() {
    let plan =
        "---\nwave: 1\nmust_haves:\n  artifacts:\n    - path: src/a.js\n---\n\n<objective>\nCut.\n</objective>\n";
    let list = "    {\n      \"id\": 1,\n      \"title\": \"a\",\n      \"status\": \"pending\"\n    }";
    for (run, step, file, subject, suggested, listed) in [
        (
            "gsd",
            "01-01",
            (".planning/phases/01-sail/01-01-PLAN.md", plan.to_owned()),
            "feat(01-01): a",
            false,
            &["done", "dropped"][..],
        ),
        ("taskmaster-master", "1", tasks(list), "feat: a (task 1)", true, &[]),
        (
            "speckit-001-a",
            "T001",
            ("specs/001-a/tasks.md", "# Tasks\n- [ ] T001 a in src/a.js\n".to_owned()),
            "T001 a",
            true,
            &[],
        ),
    ] {
        let sandbox = Sandbox::with_git();
        sandbox.file(file.0, &file.1);
        sandbox.commit("plan");
        sandbox.file("src/a.js", "x");
        sandbox.commit(subject);
        let before = checklist::plan(&sandbox, run);
        assert_eq!(work(&before), [format!("verify {step}")], "{run}: {before}");
        let options = before.at("/data/question/options");
        let asked: Vec<&str> = options.as_array().into_iter().flatten().filter_map(|one| one["id"].as_str()).collect();
        assert_eq!((asked.first(), asked.last()), (Some(&"done"), Some(&"open")), "{run}: {before}");
        let brief = sandbox.piton(["context", run, "--step", step]).run().expect_code(0);
        assert_eq!(brief.at("/data/step"), step, "{run}");
        let all = sandbox.piton(["plan", run, "--patch"]).run();
        let words: Vec<Value> = answers(&all).into_iter().map(|one| one["answer"].clone()).collect();
        assert_eq!(words, listed, "{run}: {all}");
        let all = all.at("/data/patch/diff").as_str().unwrap_or_default().to_owned();
        let said = format!("{step}=done");
        let one = sandbox.piton(["plan", run, "--patch", "--answer", &said]).run().expect_code(0);
        let one = one.at("/data/patch/diff").as_str().unwrap_or_default().to_owned();
        assert_eq!(all == one, suggested, "{run}: {all}{one}");
        sandbox.file("answer.diff", &one);
        sandbox.git(["apply", "answer.diff"]);
        assert_eq!(work(&checklist::plan(&sandbox, run)), [""; 0], "{run}\n{one}");
    }
}

#[test]
fn line_ends_and_comments_survive_an_answer() {
    let dispute = disputes().into_iter().find(|dispute| dispute.name == "done in the sprint only").unwrap();
    let sandbox = made(&dispute);
    let patch = sandbox.piton(["plan", "bmad", "--patch", "--answer", "1-1-a=open"]).run().expect_code(0);
    sandbox.file("a.diff", patch.at("/data/patch/diff").as_str().unwrap());
    sandbox.git(["apply", "a.diff"]);
    assert_eq!(sandbox.read(SPRINT), sprint("in-progress").1);
}

#[test]
fn a_wrong_answer_is_named_with_those_that_there_are() {
    let dispute = &disputes()[0];
    let sandbox = made(dispute);
    let output = sandbox.piton(["plan", "gsd", "--patch", "--answer", "01-01=built"]).run().expect_code(1);
    assert!(
        output.stdout.contains("01-01=built is no answer; there are 01-01=done, 01-01=open, 01-01=dropped"),
        "{output}"
    );
    assert_eq!(sandbox.piton(["plan", "gsd", "--answer", "01-01=open"]).run().code, 2);
}

#[test]
fn a_person_reads_the_question_with_its_commands_and_a_patch_without_answers_applies() {
    let dispute = disputes().into_iter().find(|dispute| dispute.name == "done in the sprint only").unwrap();
    let sandbox = made(&dispute);
    let text = sandbox.piton(["--format", "text", "plan", "bmad"]).run();
    assert!(text.stdout.contains("Is 1-1-a (Story 1.1: A) done or open?"), "{text}");
    assert!(text.stdout.contains("→ piton plan bmad --patch --answer '1-1-a=open'   # it is open"), "{text}");
    let patch = sandbox.piton(["--format", "text", "plan", "bmad", "--patch"]).run();
    assert!(patch.stdout.contains("# 1-1-a, if it is done: piton plan bmad --patch --answer '1-1-a=done'"), "{patch}");
    assert!(patch.stdout.lines().all(|line| line.starts_with('#')), "{patch}");
}

/// REC 25, 35: what was built and not ticked is one patch behind one question.
#[test]
fn boxes_that_were_not_kept_are_ticked_by_one_answer() {
    let sandbox = Sandbox::with_git();
    let boxes: String = ["a", "b", "c", "d"]
        .iter()
        .zip(1..)
        .map(|(name, at)| format!("- [ ] T00{at} Create src/{name}.rs\n"))
        .collect();
    sandbox.file("specs/001-login/tasks.md", &format!("# Tasks: login\n## Phase 1: Setup\n{boxes}"));
    sandbox.commit("tasks");
    for name in ["a", "b", "c", "d"] {
        sandbox.file(&format!("src/{name}.rs"), "x\n");
    }
    sandbox.commit("work");
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!(plan.at("/data/question/text"), json!("Are T001, T002, T003, T004 done?"), "{plan}");
    let options = plan.at("/data/question/options");
    let ids: Vec<&str> = options.as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(ids, ["all", "done", "open"], "{plan}");
    assert_eq!(options[0]["command"], json!("piton plan speckit-001-login --patch"));
    let patch = sandbox.piton(["plan", "speckit-001-login", "--patch"]).run().expect_code(0).at("/data/patch/diff");
    let patch = patch.as_str().unwrap();
    assert_eq!(patch.matches("\n+- [x] ").count(), 4, "{patch}");
    let one = options[1]["command"].as_str().unwrap();
    assert_eq!(one, "piton plan speckit-001-login --patch --answer 'T001=done'");
}
