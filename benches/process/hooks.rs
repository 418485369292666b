//! Events of the client in a project with 20 runs; a person waits for each of these processes.

use std::process::{Command, Stdio};

use super::{
    budget::{Budget, Line},
    contest::{self, Contender},
    fixture::Scratch,
    report::Report,
    tools::Tools,
};

const LAUNCHER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bin/piton");

pub(crate) fn measure(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    let forest = scratch.forest("hooks", 20, 1_000);
    let tree = forest.as_path();
    let empty = || tools.empty();
    let hook = |words: &'static [&'static str], session: &'static str| {
        move || {
            let mut command = tools.piton(tree, words);
            command.env("CLAUDE_CODE_SESSION_ID", session);
            command
        }
    };
    let known = scratch.event(tree, "known", "startup");
    let unknown = scratch.event(tree, "unknown", "startup");
    let first = hook(&["hook", "session-start"], "known");
    super::run(first().stdin(std::fs::File::open(&known).unwrap()).stdout(Stdio::null()));
    super::run(hook(&["begin", "1:3", "--run", "run-7", "--quiet"], "known")().stdout(Stdio::null()));
    let launched = || {
        let mut command = Command::new("sh");
        command.arg(LAUNCHER).args(["hook", "prompt"]).current_dir(tree);
        command.env("PITON_BIN", &tools.piton).env("CLAUDE_CODE_SESSION_ID", "unknown");
        command
    };
    let start = hook(&["hook", "session-start"], "known");
    let stranger = hook(&["hook", "prompt"], "unknown");
    let prompt = hook(&["hook", "prompt"], "known");
    let agent = hook(&["hook", "subagent-start"], "known");
    let agent_ends = hook(&["hook", "subagent-stop"], "known");
    let compacted = scratch.event(tree, "known", "compact");
    let compaction = hook(&["hook", "session-start"], "known");
    let asks = hook(&["hook", "permission-request"], "known");
    let line = hook(&["statusline"], "known");
    let budget = Budget::ms(Line::Hooks, 10.0);
    let contenders = vec![
        Contender::new("empty Rust process", &empty),
        Contender::piton("hook: a session begins", &start).reads(&known).may_take(budget),
        Contender::piton("hook: a prompt, session without runs", &stranger).reads(&unknown).may_take(budget),
        Contender::new("the same through `sh bin/piton`", &launched).reads(&unknown),
        Contender::piton("hook: a prompt, session that drives a run", &prompt).reads(&known).may_take(budget),
        Contender::piton("hook: a subagent starts", &agent).reads(&known).may_take(budget),
        Contender::piton("hook: a subagent ends", &agent_ends).reads(&known).may_take(budget),
        Contender::piton("hook: a compaction", &compaction).reads(&compacted).may_take(budget),
        Contender::piton("hook: the client would ask", &asks).reads(&known).may_take(budget),
        Contender::piton("statusline, session that drives a run", &line).reads(&known),
    ];
    report.group("Hooks, 20 runs in the project", &contest::hold(30, contenders));
    ends(scratch, tools, report);
}

/// What ends the work of a session gives its run back, so each of these calls is made with the run taken again.
fn ends(scratch: &Scratch, tools: &Tools, report: &mut Report) {
    let tree = scratch.forest("hook-ends", 20, 1_000);
    let state = tree.join(".worktree/run-8/.workflow-state.json");
    let content = std::fs::read(&state).unwrap();
    let known = scratch.event(&tree, "known", "startup");
    let call = |words: &[&str]| {
        let mut command = tools.piton(&tree, words);
        command.env("CLAUDE_CODE_SESSION_ID", "known");
        command
    };
    let take = || {
        std::fs::write(&state, &content).unwrap();
        super::run(call(&["begin", "1:3", "--run", "run-8", "--quiet"]).stdout(Stdio::null()));
    };
    let (fails, ends) = (|| call(&["hook", "stop-failure"]), || call(&["hook", "session-end"]));
    super::run(call(&["hook", "session-start"]).stdin(std::fs::File::open(&known).unwrap()).stdout(Stdio::null()));
    let empty = || tools.empty();
    let budget = Budget::ms(Line::Hooks, 10.0);
    let contenders = vec![
        Contender::new("empty Rust process", &empty),
        Contender::piton("hook: a turn ends in an error", &fails).reads(&known).before(&take).may_take(budget),
        Contender::piton("hook: the session ends", &ends).reads(&known).before(&take).may_take(budget),
    ];
    report.group("Hooks that give a run back", &contest::hold(20, contenders));
}
