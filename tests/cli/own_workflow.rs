//! Custom workflows, from a file to the last step, through the program.

use std::collections::BTreeMap;

use crate::support::{Output, Sandbox, sample, takes_all};

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
            let plan = piton(self.sandbox, &["plan", "--exit-code"]);
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
                    piton(self.sandbox, &["decide", step, "approve", "--by", "Ann"]).expect_code(0);
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

/// At every sixth step, with `PITON_TESTS=all` at each.
#[test]
fn interrupted_at_each_step_in_turn_nothing_is_done_twice() {
    let every = if takes_all() { 1 } else { 6 };
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
    for step in sample(2, 1, ["note", "api", "ui", "ui-test", "join", "pack"]) {
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

/// What was recorded is never written again: each change is one more line.
#[test]
fn each_change_adds_one_record() {
    let sandbox = started("steps: [{id: a}, {id: b}]\n");
    let mut before = journal(&sandbox);
    for arguments in [["begin", "a"], ["finish", "a"], ["begin", "b"], ["decide", "b"]] {
        let more: &[&str] = if arguments[0] == "decide" { &["skip", "--note", "late", "--by", "Ann"] } else { &[] };
        piton(&sandbox, &[arguments.as_slice(), more].concat()).expect_code(0);
        let after = journal(&sandbox);
        assert!(after.starts_with(&before), "{arguments:?}");
        assert_eq!(after.lines().count(), before.lines().count() + 1, "{arguments:?}");
        before = after;
    }
}

#[test]
fn templates_are_printed_and_valid() {
    let sandbox = Sandbox::new();
    for name in ["dotagent", "nine-step"] {
        let printed = piton(&sandbox, &["start", "--print", name]).expect_code(0);
        assert!(printed.stdout.starts_with(&format!("name: {name}\n")), "{printed}");
        sandbox.file("flow.yaml", &printed.stdout);
        piton(&sandbox, &["validate", "flow.yaml"]).expect_code(0);
    }
    assert!(!sandbox.exists("memory"));
    assert_eq!(piton(&sandbox, &["schema", "workflow"]).expect_code(0).at("/title"), "Piton workflow");
}
