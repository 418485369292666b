//! One run that agents and Piton drive in turn, killed at random moments: nothing that is done is done again, nothing is skipped, and no gate is
//! passed without its approval.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    kills::Chance,
    support::{Stage, kill, until},
};
use crate::support::{Output, read, takes_all};

/// How many kills there are; `PITON_TESTS=all` makes it [`ALL`].
const SOME: usize = 12;
const ALL: usize = 300;
/// The longest time before a kill, in milliseconds.
const LONGEST: u64 = 70;

/// Eight kinds of steps.
const FLOW: &str = r#"name: mixed
steps:
- {id: draft, agent: writer, outputs: draft.md, validate: {shell: "echo rest >> LOG; echo '{\"completion_percentage\": 100}'"}}
- {id: review, agent: reviewer, reviews: draft}
- {id: build, shell: echo begin build >> LOG; echo end build >> LOG}
- {id: notes, write_file: {path: notes.txt, content: text}}
- {id: ask, claude: /go}
- {id: each, foreach: [a, b, c], shell: 'echo begin each ${item} >> LOG; echo end each ${item} >> LOG'}
- {id: check, shell: ':', validate: {shell: "echo '{\"completion_percentage\": 100}'"}}
- {id: go, gate: Ann}
- id: publish
  shell: echo begin publish >> LOG; echo end publish >> LOG
  idempotent: false
  probe: 'while read line; do [ "$line" = "end publish" ] && exit 0; done < LOG; exit 1'
"#;

const CLAUDE: &str = r#"for prompt; do :; done
report() { printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.\\n\\nSTEP: %s\\nSTATUS: DONE%s"}\n' "$1" "$2"; }
case "$prompt" in
"Do step draft"*) echo begin draft >> LOG; echo text > draft.md; echo end draft >> LOG; report draft "" ;;
"Do step review"*) echo begin review >> LOG; echo end review >> LOG; report review "\nVERDICT: APPROVED" ;;
*) echo begin ask >> LOG; echo end ask >> LOG; report ask "" ;;
esac"#;

/// The run, with what happened to it so far.
struct Play {
    stage: Stage,
    chance: Chance,
    kills: usize,
    is_approved: bool,
}

impl Play {
    fn new(seed: u64) -> Self {
        let stage = Stage::in_place(FLOW);
        stage.program("claude", CLAUDE);
        stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
        Self { stage, chance: Chance(seed), kills: 0, is_approved: false }
    }

    /// Calls piton and kills it after a random time; `None` if it was killed.
    fn call(&mut self, words: &[&str]) -> Option<Output> {
        let limit = self.chance.limit(LONGEST, self.kills);
        let output = self.stage.piton(words.iter().copied()).run_within(limit);
        self.kills += usize::from(output.is_none());
        output
    }

    fn plan(&self) -> Output {
        self.stage.piton(["--format", "json", "plan", "x"]).run()
    }

    /// Does what an agent does with the next step.
    fn agent(&mut self) {
        let plan = self.plan();
        let next = plan.at("/data/next/0");
        let (Some(step), Some(action)) = (next["step"].as_str(), next["action"].as_str()) else { return };
        match action {
            "exec" => drop(self.call(&["exec", step, "--run", "x"])),
            "approve" => {
                assert_eq!(self.stage.count("begin publish"), 0, "the gate was passed");
                let approved = self.call(&["decide", step, "approve", "--run", "x", "--by", "Ann"]);
                self.is_approved |= approved.is_none_or(|output| output.code == 0);
            }
            "verify" if self.stage.count("end publish") > 0 => {
                self.call(&["decide", step, "accept", "--run", "x", "--by", "Ann", "--note", "its log says so"]);
            }
            "verify" => {
                drop(self.call(&["decide", step, "redo", "--run", "x", "--by", "Ann", "--note", "it had no effect"]))
            }
            "run" | "retry" => {
                let begun = self.call(&["begin", step, "--run", "x"]);
                if begun.is_none_or(|output| output.code != 0) {
                    return;
                }
                self.stage.append(&format!("begin {step}\nend {step}\n"));
                if step == "draft" {
                    self.stage.sandbox.file("draft.md", "text\n");
                }
                let verdict: &[&str] = if step == "review" { &["--verdict", "APPROVED"] } else { &[] };
                self.call(&[&["finish", step, "--run", "x"], verdict].concat());
            }
            other => panic!("{other}: {plan}"),
        }
    }

    /// Has Piton run the rest.
    fn runner(&mut self) {
        if let Some(output) = self.call(&["resume", "x", "--unattended"]) {
            let is_over = output.code == 1 && output.stderr.contains("is complete already");
            assert!(matches!(output.code, 0 | 9) || is_over, "{output}");
        }
    }

    /// Returns the steps that are recorded as done, with how often each was begun.
    fn done(&self) -> BTreeMap<String, usize> {
        let journal = self.journal();
        let records = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let done = records.filter(|record| {
            let change = &record["change"];
            change["change"] == "finish" && change["status"] == "completed" && change["part"].is_null()
        });
        let steps = done.filter_map(|record| Some(record["change"]["step"].as_str()?.to_owned()));
        steps.map(|step| (step.clone(), self.begun(&step))).collect()
    }

    fn journal(&self) -> String {
        read(&self.stage.folder("x").join("journal.jsonl"))
    }

    fn begun(&self, step: &str) -> usize {
        let begin = format!("begin {step}");
        self.stage.executions().iter().filter(|line| line.starts_with(&begin)).count()
    }
}

#[test]
fn agents_and_piton_take_turns_at_a_run_that_is_killed_anywhere() {
    let wanted = if takes_all() { ALL } else { SOME };
    let mut kills = 0;
    for seed in 1.. {
        let mut play = Play::new(0x9e37_79b9_7f4a_7c15 ^ (seed << 20));
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for turn in 0.. {
            assert!(turn < 400, "seed {seed}: it does not end\n{}", play.plan());
            if play.plan().at("/data/verdict") == "complete" {
                break;
            }
            if play.chance.next().is_multiple_of(2) {
                play.agent()
            } else {
                play.runner()
            }
            for (step, times) in &known {
                let journal = play.journal();
                assert_eq!(
                    play.begun(step),
                    *times,
                    "seed {seed}: step {step} was done, and was begun again\n{journal}"
                );
            }
            known.extend(play.done());
            assert!(play.is_approved || play.stage.count("begin publish") == 0, "seed {seed}: the gate was passed");
        }
        for step in ["draft", "review", "build", "ask", "each a", "each b", "each c"] {
            assert!(play.stage.count(&format!("end {step}")) > 0, "seed {seed}: {step} was skipped");
        }
        assert_eq!(play.stage.count("end publish"), 1, "seed {seed}");
        kills += play.kills;
        if kills >= wanted {
            break;
        }
    }
}

/// The digests of what a step left say that it is done: without the record that it is, a later plan would take the state for an older one.
#[test]
fn the_digests_of_a_step_come_after_its_end() {
    let flow = "steps:\n- {id: draft, agent: writer, outputs: draft.md, validate: {shell: 'echo rest >> LOG; echo >> $(cat LOG.journal); echo ''{\"completion_percentage\": 100}'''}}\n- {id: next, agent: writer}\n";
    let stage = Stage::in_place(flow);
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    let journal = stage.folder("x").join("journal.jsonl");
    std::fs::write(format!("{}.journal", stage.log()), journal.as_str()).unwrap();
    stage.piton(["begin", "draft", "--run", "x"]).run().expect_code(0);
    stage.sandbox.file("draft.md", "text\n");
    stage.piton(["finish", "draft", "--run", "x"]).run().expect_code(0);
    // The journal is another one than Piton knows, so that the end of the step is not recorded.
    stage.piton(["exec", "draft", "--run", "x"]).run().expect_code(6);
    assert_eq!(stage.executions(), ["rest"]);
    let text = read(&journal);
    std::fs::write(&journal, text.trim_end_matches('\n').to_owned() + "\n").unwrap();
    let plan = stage.piton(["--format", "json", "plan", "x"]).run();
    assert_eq!(plan.at("/data/next/0/action"), "exec", "{plan}");
    assert_eq!(plan.at("/findings"), Value::Array(Vec::new()), "{plan}");
}

/// A command that was killed may have written a part of its output: only its end says that it is done.
#[test]
fn the_output_of_a_command_that_was_cut_off_proves_nothing() {
    let flow = "steps:\n- id: build\n  shell: echo build >> LOG; echo part > out.txt; until [ -e LOG.go ] || [ $((n+=1)) -gt 3000 ]; do sleep 0.02; done\n  outputs: out.txt\n- {id: next, shell: echo next >> LOG}\n";
    for attended in [true, false] {
        let stage = Stage::in_place(flow);
        let words: &[&str] = if attended {
            stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
            &["exec", "build", "--run", "x"]
        } else {
            &["run", "w.yml"]
        };
        let mut child = stage.piton(words.iter().copied()).spawn();
        until("the output is there", || stage.sandbox.exists("out.txt"));
        kill(child.id());
        child.wait().unwrap();
        let next = stage.piton(["--format", "json", "plan"]).run().at("/data/next/0");
        let action = if attended { "exec" } else { "retry" };
        assert_eq!((&next["step"], &next["action"]), (&"build".into(), &action.into()), "{next}");
        std::fs::write(format!("{}.go", stage.log()), "").unwrap();
        let on: &[&str] = if attended { &["resume", "x", "--unattended"] } else { &["resume"] };
        stage.piton(on.iter().copied()).run().expect_code(0);
        assert_eq!(stage.executions(), ["build", "build", "next"], "attended: {attended}");
    }
}
