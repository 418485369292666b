//! What an agent that Piton starts is told, what it may do, and what becomes of its report.

use serde_json::json;

use super::support::Stage;
use crate::support::read;

/// Writes its prompt, its place in the run and the flags before the prompt, then reports for the step that the prompt names. What `TMP/do` has
/// is done first.
const CLAUDE: &str = r#"for prompt; do :; done
printf '%s\n=====\n' "$prompt" >> TMP/prompts
step=${prompt#Do step }; step=${step%% of the run*}
echo "$step $PITON_STEP" >> LOG
last=; for word; do [ "$word" = "$prompt" ] || last="$last $word"; done; echo "$last" >> TMP/flags
[ ! -e TMP/do ] || . TMP/do
printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.\\n\\nSTEP: %s\\nSTATUS: DONE\\nSUMMARY: %s is as asked\\nFILES: a.txt"}\n' "$step" "$step""#;

fn stage(flow: &str) -> Stage {
    let stage = Stage::in_place(flow);
    stage.program("claude", CLAUDE);
    stage
}

fn outside(stage: &Stage, name: &str) -> String {
    read(&stage.sandbox.top().join("tmp").join(name))
}

/// The prompt of a step.
fn prompt(stage: &Stage, step: &str) -> String {
    let prompts = outside(stage, "prompts");
    let begins = format!("Do step {step} of the run ");
    let found = prompts.split("=====\n").filter(|prompt| prompt.starts_with(&begins));
    found.last().unwrap_or_else(|| panic!("{step} was not begun:\n{prompts}")).to_owned()
}

#[test]
fn reports_and_decisions_reach_the_agents_that_piton_starts() {
    let stage = stage(
        "steps:\n- {id: draft, agent: writer, outputs: []}\n- {id: go, gate: Ann}\n- {id: edit, agent: editor, instructions: Edit it.}\n",
    );
    let (output, id) = stage.run(&[]);
    output.expect_code(9);
    stage.piton(["approve", "go", "--run", &id, "--by", "Ann", "--note", "in blue"]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    let told = prompt(&stage, "edit");
    for said in ["Edit it.", "draft is completed by writer: draft is as asked", "Note: in blue", "STEP: edit\n"] {
        assert_eq!(told.matches(said).count(), 1, "{said}\n{told}");
    }
    assert!(told.contains("run neither `piton begin` nor `piton finish`"), "{told}");
    let status = stage.piton(["--format", "json", "-v", "status", &id]).run().expect_code(0);
    assert_eq!(status.at("/data/reports/1/summary"), json!("edit is as asked\nFiles: a.txt"), "{status}");
    assert_eq!(outside(&stage, "flags").lines().next(), Some(" -p --output-format stream-json --verbose"));
}

/// The driver changes, and what was said before is still known.
#[test]
fn an_agent_takes_over_a_step_of_a_session_and_gives_it_back() {
    let stage = stage(
        "steps:\n- {id: draft, agent: writer}\n- {id: go, gate: Ann}\n- {id: edit, agent: editor}\n- {id: last, agent: editor}\n- {id: ship, shell: echo ship >> LOG}\n",
    );
    let (output, id) = stage.run(&[]);
    output.expect_code(9);
    stage.piton(["approve", "go", "--run", &id, "--by", "Ann"]).run().expect_code(0);
    let begun = stage.piton(["--format", "json", "begin", "edit", "--run", &id]).run().expect_code(0);
    assert_eq!(begun.at("/data/brief/reports/0/summary"), json!("draft is as asked\nFiles: a.txt"), "{begun}");
    let command = stage.piton(["begin", "ship", "--run", &id]).run().expect_code(1);
    assert!(command.to_string().contains("step ship is a command"), "{command}");
    stage.piton(["finish", "edit", "--run", &id, "--summary", "by hand"]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["draft draft", "last last", "ship"]);
    assert!(prompt(&stage, "last").contains("edit is completed: by hand"), "{}", prompt(&stage, "last"));
}

#[test]
fn agents_work_on_items_each_with_its_brief_and_their_reports_go_on() {
    let stage = stage(
        "steps:\n- id: look\n  foreach: {items: [a, b], continue_on_error: true}\n  agent: reviewer\n  instructions: Look at ${item}.\n\
         - id: mend\n  foreach: {items: [x]}\n  steps:\n  - {id: fix, agent: writer}\n  - {shell: echo shell >> LOG}\n\
         - {id: sum, agent: writer}\n",
    );
    stage.outside(
        "do",
        "[ \"$step\" != 'look[b]' ] || { rm TMP/do; exit 1; }"
            .replace("TMP", stage.sandbox.top().join("tmp").as_str())
            .as_str(),
    );
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(7);
    assert!(output.stderr.contains("items failed, first b: look.1: exit code 1"), "{output}");
    stage.resume(&id).expect_code(0);
    let begun = ["look[a] look", "look[b] look", "look[b] look", "mend[x].fix mend", "shell", "sum sum"];
    assert_eq!(stage.executions(), begun, "only the item that failed is done again");
    assert!(prompt(&stage, "look[a]").contains("Look at a."), "{}", prompt(&stage, "look[a]"));
    assert!(prompt(&stage, "look[b]").contains("Agent: reviewer"), "{}", prompt(&stage, "look[b]"));
    let told = prompt(&stage, "sum");
    for said in ["x: mend[x].fix is as asked", "a: look[a] is as asked"] {
        assert_eq!(told.matches(said).count(), 1, "{said}\n{told}");
    }
    let gate = "steps: [{id: a, foreach: [x], steps: [{id: b, gate: Ann}]}]\n";
    let output = stage.workflow(gate).piton(["validate", "w.yml"]).run().expect_code(1);
    assert!(output.stdout.contains("`gate` is for a step of the workflow, and this one is inside another"), "{output}");
}

/// The runner records the step: an agent that it started changes nothing of the run, and reads as it likes.
#[test]
fn an_agent_of_a_run_changes_nothing_of_it() {
    let stage = stage("steps:\n- {id: draft, agent: writer}\n- {id: go, gate: Ann}\n");
    let calls = [
        "finish draft",
        "begin draft",
        "approve go --by Ann",
        "skip go --reason x",
        "pause",
        "abort",
        "history",
        "context",
    ];
    let call = |call: &str| {
        let (verb, more) = call.split_once(' ').unwrap_or((call, ""));
        let run = if more.is_empty() { "$PITON_RUN" } else { "--run $PITON_RUN" };
        format!("piton {call} {run} >> TMP/said 2>&1; echo \"{verb} $?\" >> LOG\n")
    };
    let script: String = calls.into_iter().map(call).collect();
    let tmp = stage.sandbox.top().join("tmp");
    stage.outside("do", &script.replace("TMP", tmp.as_str()).replace("LOG", stage.log().as_str()));
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_piton"), stage.sandbox.top().join("bin/piton")).unwrap();
    let (output, id) = stage.run(&[]);
    output.expect_code(9);
    let codes = ["finish 6", "begin 6", "approve 6", "skip 6", "pause 6", "abort 6", "history 0", "context 0"];
    assert_eq!(stage.executions()[1..], codes, "{}", outside(&stage, "said"));
    let said = outside(&stage, "said");
    assert!(said.contains(&format!("`piton run` carries out step draft of {id} and records it")), "{said}");
    let plan = stage.piton(["--format", "json", "plan", &id]).run().expect_code(9);
    assert_eq!(plan.at("/data/next/0/action"), json!("approve"), "{plan}");
}

/// The client of such an agent hears nothing but its brief.
#[test]
fn hooks_give_an_agent_of_a_run_its_brief_and_nothing_else() {
    let stage = Stage::new("steps:\n- {id: draft, agent: writer, instructions: Write it.}\n- {shell: 'false'}\n");
    stage.program("claude", CLAUDE);
    let event = |source: &str| json!({"hook_event_name": "SessionStart", "session_id": "s", "source": source, "cwd": stage.sandbox.root()});
    for source in ["startup", "compact"] {
        stage.outside(source, &event(source).to_string());
    }
    let tmp = stage.sandbox.top().join("tmp");
    let script = "for source in startup compact; do piton hook session-start < TMP/$source > TMP/$source.said; done";
    stage.outside("do", &script.replace("TMP", tmp.as_str()));
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_piton"), stage.sandbox.top().join("bin/piton")).unwrap();
    stage.run(&[]).0.expect_code(7);
    assert_eq!(outside(&stage, "startup.said"), "");
    let said: serde_json::Value = serde_json::from_str(&outside(&stage, "compact.said")).unwrap();
    let text = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
    assert!(text.contains("Write it.") && text.contains("STEP: draft"), "{said}");
    let after = stage.sandbox.piton(["hook", "session-start"]).env("PITON_HOME", stage.state().as_str());
    let after = after.stdin(event("startup").to_string()).run().expect_code(0);
    assert!(after.stdout.contains("interrupted run"), "any other session hears of the run\n{after}");
}

#[test]
fn a_file_says_how_the_agents_of_a_run_are_called() {
    let stage = stage(
        "steps: [{id: a, agent: writer, model: opus, permission_mode: acceptEdits, allowed_tools: [Read], max_budget_usd: 2, retry: 3}]\n",
    );
    let preview = stage.piton(["--format", "json", "run", "w.yml", "--dry-run"]).run().expect_code(0);
    let step = preview.at("/data/would_run/steps/0");
    assert_eq!(
        step["claude"],
        json!(["--model opus", "--permission-mode acceptEdits", "--allowedTools Read", "--max-budget-usd 2"]),
        "{preview}"
    );
    assert_eq!(preview.at("/data/would_run/cost/at_most_usd"), json!(6.0), "{preview}");
    stage.run(&[]).0.expect_code(0);
    let flags = " -p --output-format stream-json --verbose --model=opus --permission-mode=acceptEdits --allowedTools=Read --max-budget-usd=2\n";
    assert_eq!(outside(&stage, "flags"), flags);
}

/// A command that is skipped by its condition takes along what depends on it, also where an agent drives the run.
#[test]
fn an_agent_does_nothing_that_depends_on_a_skipped_command() {
    let stage = stage(
        "steps:\n- {id: look, shell: 'true', when: \"'a' == 'b'\"}\n- {id: mend, agent: writer}\n- {id: test, shell: 'true'}\n- {id: end, agent: writer, if_skipped: run}\n",
    );
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    stage.piton(["exec", "look", "--run", "x"]).run().expect_code(0);
    let plan = stage.piton(["--format", "json", "plan", "x"]).run().expect_code(0);
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/1")), (json!("end"), json!(null)), "{plan}");
    assert_eq!(plan.at("/data/steps/skipped"), json!(["look", "mend", "test"]), "{plan}");
}

/// The agent is told a secret that its instructions name; nothing that is kept has it.
#[test]
fn a_secret_in_the_instructions_of_an_agent_is_in_no_file() {
    let stage = stage("secrets: {T: MYSEC}\nsteps: [{id: draft, agent: writer, instructions: 'Use ${T}.'}]\n");
    let tmp = stage.sandbox.top().join("tmp");
    stage.outside("do", &format!("cat \"$PITON_BRIEF\" > {tmp}/kept"));
    let output = stage.piton(["run", "w.yml"]).env("MYSEC", "hunter2unique").run().expect_code(0);
    let told = prompt(&stage, "draft");
    assert!(told.contains("Use hunter2unique.") && !told.contains("not set"), "{told}");
    assert!(outside(&stage, "kept").contains("Use [masked]."), "{output}");
    let id = super::support::session_of(&output.stderr);
    let kept = ["json", "jsonl", "log", "md"].map(|kind| crate::support::files_below(&stage.folder(&id), kind));
    for file in kept.into_iter().flatten() {
        assert!(!String::from_utf8_lossy(&std::fs::read(&file).unwrap()).contains("hunter2unique"), "{file}");
    }
}
