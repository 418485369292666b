//! Steps of agents and gates in a run that Piton drives: the agent's report ends the step, a refusal goes back, a gate waits for a person.

use serde_json::json;

use super::support::Stage;
use super::support::session_of;

const FLOW: &str = "\
inputs: {version: {}}
steps:
- {id: draft, agent: writer, instructions: 'Write the notes of ${version}.', outputs: draft.md}
- {id: review, agent: reviewer, reviews: draft}
- {id: approval, gate: the release manager}
- {id: publish, shell: echo publish >> LOG}
";

/// Answers as the agent of the step that the prompt names. Each `review` takes its verdict from the next line of `verdicts`.
const CLAUDE: &str = r#"for prompt; do :; done
printf '%s\n' "$prompt" >> TMP/prompts
report() { printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.\\n\\nSTEP: %s\\nSTATUS: DONE\\nSUMMARY: as asked%s"}\n' "$1" "$2"; }
case "$prompt" in
"Do step draft"*) echo draft >> LOG; echo text > draft.md; report draft "" ;;
"Do step review"*)
  echo review >> LOG
  read verdict < TMP/verdicts
  { read skipped; /bin/cat; } < TMP/verdicts > TMP/rest
  /bin/cat TMP/rest > TMP/verdicts
  report review "$verdict" ;;
esac"#;

fn stage(verdicts: &str) -> Stage {
    let stage = Stage::new(FLOW);
    stage.program("claude", CLAUDE);
    stage.outside("verdicts", verdicts);
    stage
}

const NO: &str = "\\\\nVERDICT: NEEDS_REVISION\\\\nFINDINGS:\\\\n- add dates\n";
const YES: &str = "\\\\nVERDICT: APPROVED\n";

#[test]
fn agents_review_and_return_and_a_gate_waits_for_its_approval() {
    let stage = stage(&[NO, YES].concat());
    let (output, id) = stage.run(&["--input", "version=1.4"]);
    let output = output.expect_code(9);
    assert_eq!(stage.executions(), ["draft", "review", "draft", "review"], "{output}");
    assert!(output.stderr.contains("review, ended with NEEDS_REVISION: the run goes back"), "{output}");
    let approve = format!("piton approve approval --run {id} --by NAME --note WHY");
    assert!(output.to_string().contains(&approve), "{output}");
    let prompts = std::fs::read_to_string(stage.sandbox.top().join("tmp/prompts")).unwrap();
    assert!(prompts.contains("Write the notes of 1.4.") && prompts.contains("Write draft.md: "), "{prompts}");
    assert_eq!(prompts.matches("Address what the last attempt left open:\nadd dates").count(), 1, "{prompts}");

    let plan = stage.piton(["--format", "json", "plan", &id]).run().expect_code(9);
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/0/action")), (json!("approval"), json!("approve")));
    assert_eq!(stage.resume(&id).code, 9, "a gate is never passed");
    assert_eq!(stage.count("publish"), 0);
    stage.piton(["approve", "approval", "--run", &id, "--by", "Ann", "--note", "ship it"]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["draft", "review", "draft", "review", "publish"]);
}

#[test]
fn a_review_that_refuses_three_times_is_for_a_person() {
    let stage = stage(&NO.repeat(5));
    let output = stage.piton(["run", "w.yml", "--input", "version=1.4", "--events"]).run().expect_code(9);
    assert_eq!((stage.count("draft"), stage.count("review")), (3, 3), "{output}");
    let end = output.stdout.lines().last().unwrap_or_default();
    let end: serde_json::Value = serde_json::from_str(end).expect("an event");
    let id = session_of(end["session"].as_str().unwrap_or_default());
    assert_eq!((&end["status"], &end["waits_for"]["step"]), (&json!("waiting"), &json!("review")), "{output}");
    stage.piton(["accept", "review", "--run", &id, "--by", "Ann", "--note", "good enough"]).run().expect_code(0);
    assert_eq!(stage.resume(&id).code, 9);
    assert_eq!((stage.count("draft"), stage.count("review")), (3, 3), "what a person accepted is not done again");
}

#[test]
fn a_review_without_a_verdict_failed() {
    let stage = stage("\n");
    let (output, id) = stage.run(&["--input", "version=1.4"]);
    let output = output.expect_code(7);
    assert!(output.stderr.contains("it ended without a verdict"), "{output}");
    stage.outside("verdicts", YES);
    assert_eq!(stage.resume(&id).code, 9);
    assert_eq!((stage.count("draft"), stage.count("review")), (1, 2), "what was done is not done again");
}
