//! What an agent that Piton starts is told, what it may do, and what becomes of its report.

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
