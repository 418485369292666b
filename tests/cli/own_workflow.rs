//! Custom workflows, from a file to the last step, through the program.

use std::collections::BTreeMap;

use crate::support::{Output, Sandbox, takes_all};

/// Two branches side by side, two reviews that return, a gate, a schema-checked output, parts: twelve steps.
const FLOW: &str = "\
name: release
description: From a note to a release.
steps:
  - {id: note, agent: writer, outputs: out/note.md}
  - {id: api, agent: coder, depends_on: note, outputs: out/api.txt}
  - {id: api-test, agent: tester, depends_on: api}
  - {id: ui, agent: coder, depends_on: note, outputs: out/ui.txt}
  - {id: ui-test, agent: tester, depends_on: ui, outputs: out/ui-test.txt}
  - id: join
    agent: coder
    depends_on: [api-test, ui-test]
    outputs:
      path: out/join.json
      schema: {type: object, required: [ok], properties: {ok: {type: boolean}}}
  - {id: review, agent: reviewer, depends_on: join, returns_to: join}
  - {id: approval, gate: Ann, depends_on: review}
  - {id: docs, agent: writer, depends_on: approval, parts: [outline, text]}
  - {id: docs-review, agent: reviewer, depends_on: docs, returns_to: docs}
  - {id: pack, agent: coder, depends_on: docs-review, outputs: out/pack.txt}
  - {id: notes, agent: writer, depends_on: pack}
";
const STEPS: [&str; 12] =
    ["note", "api", "api-test", "ui", "ui-test", "join", "review", "approval", "docs", "docs-review", "pack", "notes"];

fn piton<'a>(sandbox: &'a Sandbox, arguments: &[&'a str]) -> Output {
    sandbox.piton(arguments.iter().copied()).real_clock().run()
}

fn started(flow: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("flow.yaml", flow);
    piton(&sandbox, &["start", "flow.yaml", "--feature", "demo"]).expect_code(0);
    sandbox
}

/// Returns the records of the only run.
fn journal(sandbox: &Sandbox) -> String {
    sandbox.read(".piton/runs/demo/journal.jsonl")
}

/// When in a step the agent and the program are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    BeforeWork,
    AfterWork,
}

/// An agent that drives a run with a new process per command: it asks for the plan and follows it.
struct AgentLoop<'a> {
    sandbox: &'a Sandbox,
    cut: Option<(&'static str, Cut)>,
    /// The first verdict of `review` sends the run back once.
    rejects: bool,
}

impl AgentLoop<'_> {
    /// Continues until the run is cut off (false) or done (true).
    fn drive(&mut self) -> bool {
        for _ in 0..60 {
            let plan = piton(self.sandbox, &["plan"]);
            if plan.at("/data/verdict") == "complete" {
                return true;
            }
            let next = plan.at("/data/next/0");
            let (step, action) = (next["step"].as_str().unwrap_or_default(), next["action"].as_str());
            let step = *STEPS.iter().find(|known| **known == step).unwrap_or_else(|| panic!("no next step\n{plan}"));
            match action {
                Some("approve") => {
                    plan.expect_code(9);
                    assert_eq!(step, "approval");
                    self.count(step);
                    piton(self.sandbox, &["approve", step, "--by", "Ann"]).expect_code(0);
                }
                Some("run" | "retry" | "return") => {
                    plan.expect_code(0);
                    if !self.work(step) {
                        return false;
                    }
                }
                _ => panic!("{plan}"),
            }
        }
        panic!("the run does not end");
    }

    fn work(&mut self, step: &'static str) -> bool {
        piton(self.sandbox, &["begin", step]).expect_code(0);
        if self.cut == Some((step, Cut::BeforeWork)) {
            return false;
        }
        self.count(step);
        let output = match step {
            "note" => Some("out/note.md"),
            "api" => Some("out/api.txt"),
            "ui" => Some("out/ui.txt"),
            "ui-test" => Some("out/ui-test.txt"),
            "pack" => Some("out/pack.txt"),
            _ => None,
        };
        if let Some(path) = output {
            self.sandbox.file(path, step);
        }
        if step == "join" {
            // Rework has to touch the output.
            let rounds = counts(self.sandbox)["join"] as usize;
            self.sandbox.file("out/join.json", &format!("{{\"ok\": true}}{}", "\n".repeat(rounds)));
        }
        if self.cut == Some((step, Cut::AfterWork)) {
            return false;
        }
        match step {
            "review" if std::mem::take(&mut self.rejects) => {
                piton(self.sandbox, &["finish", step, "--verdict", "needs revision", "--error", "add a test"])
            }
            "review" | "docs-review" => piton(self.sandbox, &["finish", step, "--verdict", "approved"]),
            _ => piton(self.sandbox, &["finish", step]),
        }
        .expect_code(0);
        true
    }

    fn count(&self, step: &str) {
        let path = self.sandbox.root().join("count");
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(path, format!("{before}{step}\n")).expect("a file of the sandbox");
    }
}

fn counts(sandbox: &Sandbox) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for line in sandbox.read("count").lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    counts
}

fn each(times: u32) -> BTreeMap<String, u32> {
    STEPS.iter().map(|step| ((*step).to_owned(), times)).collect()
}

/// At every third step, with `PITON_FAULTS=all` at each.
#[test]
fn interrupted_at_each_step_in_turn_nothing_is_done_twice() {
    let every = if takes_all("PITON_FAULTS") { 1 } else { 3 };
    for step in STEPS.into_iter().skip(every / 2).step_by(every) {
        let sandbox = started(FLOW);
        let first = AgentLoop { sandbox: &sandbox, cut: Some((step, Cut::BeforeWork)), rejects: false }.drive();
        assert_eq!(first, step == "approval", "{step}");
        if !first {
            let resumed = piton(&sandbox, &["resume", "--yes"]).expect_code(0);
            assert_eq!(resumed.at("/data/context/step"), step, "{resumed}");
            assert!(AgentLoop { sandbox: &sandbox, cut: None, rejects: false }.drive(), "{step}");
        }
        assert_eq!(counts(&sandbox), each(1), "{step}");
        assert_eq!(piton(&sandbox, &["plan"]).at("/data/verdict"), "complete", "{step}");
    }
}

#[test]
fn a_step_that_left_its_output_before_it_was_cut_off_is_not_done_again() {
    for step in ["note", "api", "ui", "ui-test", "join", "pack"] {
        let sandbox = started(FLOW);
        assert!(!AgentLoop { sandbox: &sandbox, cut: Some((step, Cut::AfterWork)), rejects: false }.drive());
        let resumed = piton(&sandbox, &["resume", "--yes"]).expect_code(0);
        assert!(resumed.findings().contains(&"completed-by-evidence".to_owned()), "{resumed}");
        assert!(AgentLoop { sandbox: &sandbox, cut: None, rejects: false }.drive(), "{step}");
        assert_eq!(counts(&sandbox), each(1), "{step}");
    }
}

#[test]
fn a_review_that_returns_reopens_only_what_it_judged() {
    for cut in [None, Some(("join", Cut::BeforeWork))] {
        let sandbox = started(FLOW);
        let mut driver = AgentLoop { sandbox: &sandbox, cut: None, rejects: true };
        if cut.is_some() {
            // Up to the review that rejects, then a rework that is cut off: the outputs of the first attempt prove nothing.
            driver.cut = Some(("review", Cut::BeforeWork));
            assert!(!driver.drive());
            piton(&sandbox, &["finish", "review", "--verdict", "needs revision", "--error", "add a test"])
                .expect_code(0);
            driver.count("review");
            driver.cut = cut;
            driver.rejects = false;
            assert!(!driver.drive());
            let context = piton(&sandbox, &["context"]).expect_code(0);
            assert_eq!(context.at("/data/step"), "join", "{context}");
            assert_eq!(context.at("/data/findings_to_address/0"), "add a test");
            driver.cut = None;
        }
        assert!(driver.drive());
        let mut expected = each(1);
        expected.insert("join".to_owned(), 2);
        expected.insert("review".to_owned(), 2);
        assert_eq!(counts(&sandbox), expected);
    }
}

#[test]
fn an_output_that_violates_its_schema_is_not_a_proof() {
    let flow = "steps:\n- id: a\n  outputs: {path: a.json, schema: {type: object, properties: {n: {type: integer}}}}\n- id: b\n";
    let sandbox = started(flow);
    piton(&sandbox, &["begin", "a"]).expect_code(0);
    sandbox.file("a.json", "{\"n\": \"x\"}");
    piton(&sandbox, &["finish", "a"]).expect_code(1);
    sandbox.file("a.json", "{\"n\": 1}");
    piton(&sandbox, &["finish", "a"]).expect_code(0);
    sandbox.file("a.json", "{\"n\": \"x\"}");
    let plan = piton(&sandbox, &["plan"]);
    let expected = "the output a.json of a does not satisfy its schema: /n is text, a whole number is needed";
    assert_eq!(plan.at("/findings/0/code"), "output-invalid", "{plan}");
    assert_eq!(plan.at("/findings/0/message"), expected);
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/0/action")), ("a".into(), "retry".into()));
    sandbox.file("a.json", "{\"n\": 1}");
    piton(&sandbox, &["finish", "a"]).expect_code(0);
    assert_eq!(piton(&sandbox, &["plan"]).expect_code(0).at("/data/next/0/step"), "b");
}

/// A result that the next plan would not accept is not recorded; a failure, a part and a person's decision are.
#[test]
fn a_step_without_what_it_declares_is_not_finished() {
    let flow = "steps:\n- id: a\n  parts: [x]\n  outputs: [out/a.txt, {path: a.json, schema: {type: object, required: [n]}}]\n- id: b\n";
    let sandbox = started(flow);
    piton(&sandbox, &["begin", "a"]).expect_code(0);
    piton(&sandbox, &["finish", "a", "--part", "x"]).expect_code(0);
    for (path, text, problems) in [
        ("note", "", "out/a.txt is missing; a.json is missing"),
        ("out/a.txt", "", "out/a.txt is empty; a.json is missing"),
        ("out/a.txt", "text", "a.json is missing"),
        ("a.json", "{\"n\"", "a.json does not parse"),
        ("a.json", "{}", "a.json does not satisfy its schema: the top level lacks the field `n`"),
    ] {
        sandbox.file(path, text);
        let before = sandbox.tree();
        let refused = piton(&sandbox, &["finish", "a"]).expect_code(1);
        assert_eq!(refused.at("/error/message"), format!("declared outputs of a are not valid: {problems}"));
        let hints = [
            "fix that, then: `piton finish a --run demo --status completed`",
            "piton finish a --run demo --status failed --error TEXT",
            "piton override a --run demo --by NAME --note WHY",
        ];
        assert_eq!(refused.at("/error/hints"), serde_json::json!(hints), "{problems}");
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{problems}");
    }
    sandbox.file("a.json", "{\"n\": 1}");
    piton(&sandbox, &["finish", "a"]).expect_code(0);
    assert_eq!(piton(&sandbox, &["plan"]).expect_code(0).at("/data/next/0/step"), "b");
    let sandbox = started(flow);
    piton(&sandbox, &["begin", "a"]).expect_code(0);
    piton(&sandbox, &["finish", "a", "--status", "failed", "--error", "no idea"]).expect_code(0);
    piton(&sandbox, &["begin", "a"]).expect_code(0);
    piton(&sandbox, &["finish", "a"]).expect_code(1);
    piton(&sandbox, &["override", "a", "--by", "Ana", "--note", "by mail"]).expect_code(0);
    piton(&sandbox, &["finish", "a"]).expect_code(0);
    let plan = piton(&sandbox, &["plan"]).expect_code(0);
    assert_eq!(plan.at("/data/next/0/step"), "b", "a person took it without its outputs\n{plan}");
    let despite = "out/a.txt is missing; a.json is missing";
    assert_eq!(plan.at("/data/decisions/0/despite"), despite, "{plan}");
}

#[test]
fn a_changed_file_reopens_what_changed_and_what_was_built_on_it() {
    let flow = |instructions: &str, more: &str| {
        format!(
            "steps:\n- {{id: a}}\n- {{id: b, depends_on: a, instructions: {instructions}}}\n- {{id: c, depends_on: b}}\n- {{id: d, depends_on: a, title: D}}\n{more}"
        )
    };
    let sandbox = started(&flow("old", "- {id: e, depends_on: a}\n"));
    for step in ["a", "b", "c", "d"] {
        piton(&sandbox, &["begin", step]).expect_code(0);
        piton(&sandbox, &["finish", step]).expect_code(0);
    }
    sandbox.file("flow.yaml", &flow("new", "- {id: f, depends_on: d}\n").replace("title: D", "title: Better"));
    let plan = piton(&sandbox, &["plan", "--steps"]);
    assert_eq!(plan.at("/data/steps/completed"), serde_json::json!(["a", "d"]), "{plan}");
    assert_eq!(plan.at("/data/steps/invalid"), serde_json::json!(["b", "c"]), "{plan}");
    assert_eq!(plan.at("/data/steps/pending"), serde_json::json!(["f"]), "{plan}");
    let message = "the workflow file changed; removed: e; added: f";
    assert!(plan.stdout.contains(message), "{plan}");
    for step in ["b", "c", "f"] {
        piton(&sandbox, &["begin", step]).expect_code(0);
        piton(&sandbox, &["finish", step]).expect_code(0);
    }
    assert_eq!(piton(&sandbox, &["plan"]).expect_code(0).at("/data/verdict"), "complete");
    sandbox.remove("flow.yaml");
    assert_eq!(piton(&sandbox, &["plan"]).expect_code(0).at("/data/verdict"), "complete");
}

/// What was recorded is never written again: each change is one more line.
#[test]
fn each_change_adds_one_record() {
    let sandbox = started("steps: [{id: a}, {id: b}]\n");
    let mut before = journal(&sandbox);
    for arguments in [["begin", "a"], ["finish", "a"], ["begin", "b"], ["skip", "b"]] {
        let more: &[&str] = if arguments[0] == "skip" { &["--reason", "late"] } else { &[] };
        piton(&sandbox, &[arguments.as_slice(), more].concat()).expect_code(0);
        let after = journal(&sandbox);
        assert!(after.starts_with(&before), "{arguments:?}");
        assert_eq!(after.lines().count(), before.lines().count() + 1, "{arguments:?}");
        before = after;
    }
}

#[test]
fn a_failed_step_can_be_skipped() {
    let sandbox = started("steps: [{id: a}, {id: b, depends_on: [a]}]\n");
    piton(&sandbox, &["begin", "a"]).expect_code(0);
    piton(&sandbox, &["finish", "a", "--error", "no"]).expect_code(0);
    piton(&sandbox, &["skip", "a", "--reason", "not needed"]).expect_code(0);
    assert_eq!(piton(&sandbox, &["plan"]).expect_code(0).at("/data/next/0/step"), "b");
    piton(&sandbox, &["validate"]).expect_code(0);
}

#[test]
fn parts_pause_abort_and_complete_are_recorded() {
    let sandbox = started("steps: [{id: a, parts: [x, y]}, {id: g, gate: true}]\n");
    piton(&sandbox, &["begin", "a", "--part", "x"]).expect_code(0);
    piton(&sandbox, &["finish", "a", "--part", "x", "--set", "found=3"]).expect_code(0);
    let plan = piton(&sandbox, &["plan"]).expect_code(0);
    assert_eq!(plan.at("/data/next/0/parts/0/action"), "done", "{plan}");
    assert_eq!(piton(&sandbox, &["context"]).at("/data/variables/found"), 3);
    piton(&sandbox, &["pause", "--reason", "lunch"]).expect_code(0);
    assert_eq!(piton(&sandbox, &["plan"]).at("/data/interruption/reason"), "lunch");
    piton(&sandbox, &["finish", "a"]).expect_code(1);
    piton(&sandbox, &["skip", "a", "--part", "y", "--reason", "not needed"]).expect_code(0);
    piton(&sandbox, &["finish", "a"]).expect_code(0);
    piton(&sandbox, &["begin", "g"]).expect_code(9);
    piton(&sandbox, &["skip", "g", "--reason", "no"]).expect_code(9);
    piton(&sandbox, &["complete"]).expect_code(1);
    piton(&sandbox, &["complete", "--force"]).expect_code(9);
    let help = piton(&sandbox, &["complete", "--help"]).expect_code(0);
    assert!(help.stdout.contains("never over an open gate or review"), "{help}");
    piton(&sandbox, &["approve", "g", "--by", "Ann"]).expect_code(0);
    let approved: serde_json::Value =
        serde_json::from_str(journal(&sandbox).lines().last().unwrap_or_default()).expect("a record");
    assert_eq!((&approved["change"]["change"], &approved["change"]["by"]), (&"approve".into(), &"Ann".into()));
    piton(&sandbox, &["complete"]).expect_code(0);
    piton(&sandbox, &["abort"]).expect_code(1);
    let sandbox = started("steps: [{id: a}]\n");
    piton(&sandbox, &["abort"]).expect_code(0);
    piton(&sandbox, &["begin", "a"]).expect_code(9);
    piton(&sandbox, &["resume", "--force", "--yes"]).expect_code(0);
    piton(&sandbox, &["begin", "a"]).expect_code(0);
}

#[test]
fn a_step_of_the_only_run_is_skipped_or_waits_for_approval() {
    let sandbox = started("steps: [{id: a}, {id: b}]\n");
    piton(&sandbox, &["skip", "a", "--reason", "not needed"]).expect_code(0);
    piton(&sandbox, &["begin", "b"]).expect_code(0);
    piton(&sandbox, &["finish", "b", "--status", "waiting_approval"]).expect_code(0);
    let plan = piton(&sandbox, &["plan", "--steps"]);
    assert_eq!(plan.at("/data/steps/skipped/0"), "a", "{plan}");
    assert_eq!(
        (plan.at("/data/next/0/step"), plan.at("/data/next/0/action")),
        ("b".into(), "approve".into()),
        "{plan}"
    );
    piton(&sandbox, &["validate"]).expect_code(0);
    piton(&sandbox, &["approve", "b"]).expect_code(0);
}

#[test]
fn a_second_run_has_a_folder_of_its_own() {
    let sandbox = started("steps: [{id: a}]\n");
    sandbox.file(".claude/piton/small.yaml", "steps: [{id: b}]\n");
    piton(&sandbox, &["start", "small", "--feature", "other"]).expect_code(0);
    piton(&sandbox, &["plan"]).expect_code(8);
    assert_eq!(piton(&sandbox, &["plan", "other"]).expect_code(0).at("/data/next/0/step"), "b");
    piton(&sandbox, &["start", "small", "--feature", "other"]).expect_code(1);
    piton(&sandbox, &["start", "small", "--feature", "other", "--archive"]).expect_code(0);
}

#[test]
fn workflows_are_printed_listed_and_refused() {
    let sandbox = Sandbox::new();
    for name in ["dotagent", "nine-step"] {
        let printed = piton(&sandbox, &["start", "--print", name]).expect_code(0);
        assert!(printed.stdout.starts_with(&format!("name: {name}\n")), "{printed}");
        sandbox.file("flow.yaml", &printed.stdout);
        piton(&sandbox, &["validate", "flow.yaml"]).expect_code(0);
    }
    sandbox.file(".claude/piton/mine.yaml", "steps: [{id: a}]\n");
    assert_eq!(piton(&sandbox, &["start", "--print", "mine"]).expect_code(0).stdout, "steps: [{id: a}]\n");
    let unknown = piton(&sandbox, &["start", "nothing", "--feature", "x"]).expect_code(2);
    assert_eq!(unknown.at("/error/hints/1"), "in .claude/piton: mine");
    sandbox
        .file("bad.yaml", "steps:\n- id: a\n  agnet: x\n  outputs: {path: a.json, schema: {type: objekt}}\n- id: a\n");
    for arguments in [["start", "bad.yaml", "--feature", "x"].as_slice(), &["validate", "bad.yaml"]] {
        let output = piton(&sandbox, arguments).expect_code(1);
        assert_eq!(output.findings(), ["definition-invalid"; 3], "{output}");
        let places: Vec<_> = (0..3)
            .map(|at| (output.at(&format!("/findings/{at}/line")), output.at(&format!("/findings/{at}/column"))))
            .collect();
        assert_eq!(places, [(3.into(), 3.into()), (4.into(), 35.into()), (5.into(), 7.into())]);
        assert_eq!(output.at("/findings/0/file"), "bad.yaml");
    }
    assert!(!sandbox.exists("memory"));
    assert_eq!(piton(&sandbox, &["schema", "workflow"]).expect_code(0).at("/title"), "Piton workflow");
}

#[test]
fn workflows_are_listed_with_their_inputs_and_the_commands_that_begin_them() {
    let sandbox = Sandbox::new();
    sandbox.file(".claude/piton/release.yaml", "description: From a note to a release.\ninputs:\n  version: {pattern: '^[0-9.]+$', description: what is released}\n  target: {choices: [linux, macos], default: linux}\n  count: {type: number, default: 3}\nsteps:\n- {id: note, agent: writer}\n- {id: test, shell: 'true'}\n");
    sandbox.file("piton/nightly.yml", "steps: [{shell: echo done > done.txt}]\nmerge: [{shell: 'true'}]\n");
    sandbox.file("piton/broken.yaml", "steps: [{id: a, agnet: b}]\n");
    sandbox.file("piton/release.yaml", "steps: [{shell: 'true'}]\n");
    sandbox.file("piton/deeper/no.yaml", "steps: [{shell: 'true'}]\n");
    let listed = piton(&sandbox, &["--format", "json", "workflows"]).expect_code(0);
    let all = listed.at("/data/workflows").as_array().expect("a list").clone();
    let names: Vec<&str> = all.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["release", "broken", "nightly", "piton/release.yaml", "dotagent", "nine-step"]);
    assert_eq!(all[0]["description"], "From a note to a release.");
    let inputs = serde_json::json!([
        {"name": "version", "type": "string", "required": true, "pattern": "^[0-9.]+$", "description": "what is released"},
        {"name": "target", "type": "string", "required": false, "default": "linux", "choices": ["linux", "macos"]},
        {"name": "count", "type": "number", "required": false, "default": 3},
    ]);
    assert_eq!(all[0]["inputs"], inputs);
    let commands = |at: usize| all[at]["commands"].clone();
    assert_eq!(
        commands(0),
        serde_json::json!([
            "piton start release --feature NAME --input version=VALUE",
            "piton run release --input version=VALUE",
        ])
    );
    assert_eq!(commands(1), serde_json::json!(["piton validate broken"]));
    let mistake = all[1]["mistake"].as_str().expect("its first mistake");
    assert!(mistake.starts_with("1:17 ") && mistake.contains("`agnet`"), "{mistake}");
    assert_eq!(commands(2), serde_json::json!(["piton start nightly --feature NAME --worktree", "piton run nightly"]));
    assert_eq!(commands(5), serde_json::json!(["piton start nine-step --feature NAME"]));
    assert!(all[5]["step_count"].as_u64() > Some(5) && all[5]["file"].is_null(), "{}", all[5]);
    let text = piton(&sandbox, &["--format", "text", "workflows"]).expect_code(0).stdout;
    assert!(
        text.contains("  --input version=VALUE  string, required, matches ^[0-9.]+$, what is released\n"),
        "{text}"
    );
    assert!(text.contains("  --input target=VALUE  linux|macos, default \"linux\"\n"), "{text}");
    assert!(text.contains("  → piton run nightly\n") && text.contains(mistake), "{text}");
}

#[test]
fn a_workflow_in_either_folder_is_shown_validated_started_and_run_by_its_name() {
    let sandbox = Sandbox::new();
    sandbox.file("piton/nightly.yml", "inputs: {word: {}}\nsteps:\n- {id: say, shell: 'echo ${word} > said.txt'}\n- {id: look, agent: reader, instructions: 'Read ${word}.'}\n");
    sandbox.file("piton/broken.yaml", "steps: [{id: a, agnet: b}]\n");
    sandbox.file("piton/plain.yaml", "inputs: {word: {}}\nsteps: [{shell: 'echo ${word} > plain.txt'}]\n");
    let shown = piton(&sandbox, &["--format", "json", "workflows", "nightly"]).expect_code(0);
    assert_eq!(
        shown.at("/data/workflows/0/steps/1"),
        serde_json::json!({"id": "look", "kind": "agent", "title": "look", "depends_on": ["say"]})
    );
    let by_path = piton(&sandbox, &["--format", "json", "workflows", "piton/nightly.yml"]).expect_code(0);
    assert_eq!(by_path.at("/data/workflows/0/steps"), shown.at("/data/workflows/0/steps"));
    let text = piton(&sandbox, &["--format", "text", "workflows", "nightly"]).expect_code(0).stdout;
    assert!(text.contains("  look (agent) look  after say\n"), "{text}");
    piton(&sandbox, &["validate", "nightly"]).expect_code(0);
    piton(&sandbox, &["validate", "broken"]).expect_code(1);
    piton(&sandbox, &["workflows", "broken"]).expect_code(1);
    let unknown = piton(&sandbox, &["workflows", "nothing"]).expect_code(2);
    assert!(unknown.to_string().contains("in piton: broken, nightly, plain"), "{unknown}");
    let needed = piton(&sandbox, &["run", "plain", "--dry-run"]).expect_code(2);
    assert!(needed.to_string().contains("the input `word` is needed"), "{needed}");
    piton(&sandbox, &["run", "plain", "--input", "word=there", "--no-worktree"]).expect_code(0);
    assert_eq!(sandbox.read("plain.txt"), "there\n");
    piton(&sandbox, &["start", "nightly", "--feature", "x", "--input", "word=hello"]).expect_code(0);
    piton(&sandbox, &["exec", "say"]).expect_code(0);
    assert_eq!(sandbox.read("said.txt"), "hello\n");
    for verb in ["start", "run"] {
        let help = piton(&sandbox, &[verb, "--help"]).expect_code(0).stdout;
        assert!(help.contains("`piton workflows NAME|FILE`"), "{help}");
    }
}

/// A folder of a repository that is a project of its own has its own runs, its outputs are looked for in it, and both move with the repository.
#[test]
fn projects_in_one_repository_have_their_own_runs() {
    let sandbox = Sandbox::new();
    for part in ["a", "b"] {
        sandbox.file(&format!("{part}/piton.toml"), "");
        sandbox.file(&format!("{part}/flow.yaml"), "steps:\n- {id: draft, outputs: d.md}\n- {id: look, shell: pwd}\n");
    }
    sandbox.git_init();
    let within = |part: &str, words: &[&str]| sandbox.piton(words.iter().copied()).folder(part.into()).run();
    for part in ["a", "b"] {
        within(part, &["start", "flow.yaml", "--feature", "demo"]).expect_code(0);
    }
    within("a", &["begin", "draft"]).expect_code(0);
    sandbox.file("a/d.md", "text\n");
    within("a", &["finish", "draft"]).expect_code(0);
    let runs = |part: &str| within(part, &["list"]).at("/data/runs").as_array().map(Vec::len);
    assert_eq!((runs("a"), runs("b")), (Some(1), Some(1)));
    assert_eq!(within("b", &["plan"]).at("/data/next/0/step"), "draft");
    let (here, there) = (sandbox.root(), sandbox.top().join("moved"));
    std::fs::rename(&here, &there).expect("the sandbox is ours");
    let moved = sandbox.piton(["plan", "--project", there.join("a").as_str()]).folder(sandbox.top()).run();
    assert_eq!(moved.expect_code(0).at("/data/next/0/step"), "look");
    std::fs::rename(&there, &here).expect("the sandbox is ours");
}
