//! A session that is made into a run: what is kept of it, that it is a run like any other, and what is refused.

use serde_json::{Value, json};

use super::trace::{RUN, SESSION, Trace, client, process, put, slug, task};
use crate::support::{Output, Sandbox, Tree};

/// The run that the session of the tests becomes.
const ADOPTED: &str = "adopted-5e551011";

/// A session that was killed at its second of three tasks, with an agent that wrote a file.
fn cut_off(sandbox: &Sandbox) -> Trace {
    sandbox.file("made.txt", "x");
    let trace = Trace::new(sandbox)
        .prompt("Build it with my words")
        .creates_task("1", "Make it")
        .creates_task("2", "Print it")
        .creates_task("3", "Ship it")
        .sets_task("1", "pending", "in_progress")
        .writes("w1", "made.txt")
        .sets_task("1", "in_progress", "completed")
        .sets_task("2", "pending", "in_progress")
        .writes("w2", "half.txt")
        .launches("call-a1b2c3d4", "a1b2c3d4", "long helper");
    trace.agent("a1b2c3d4").prompt("the words for the agent").writes("w3", "b.txt").write(sandbox);
    task(sandbox, SESSION, "1", "Make it", "completed", &[]);
    task(sandbox, SESSION, "2", "Print it", "in_progress", &["1"]);
    task(sandbox, SESSION, "3", "Ship it", "pending", &["2"]);
    trace
}

fn left(sandbox: &Sandbox) {
    cut_off(sandbox).write(sandbox);
}

fn json(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    sandbox.piton(["--format", "json"].into_iter().chain(arguments.iter().copied())).run()
}

fn adopt(sandbox: &Sandbox) -> Output {
    json(sandbox, &["adopt", RUN])
}

/// Returns the actions of a plan of the run, each as `retry T2`.
fn next(sandbox: &Sandbox) -> Vec<String> {
    super::actions(&json(sandbox, &["plan", ADOPTED]))
}

fn record(sandbox: &Sandbox, file: &str) -> String {
    sandbox.read(&format!(".git/piton/runs/{ADOPTED}/{file}"))
}

#[test]
fn done_open_and_unknown_steps_keep_their_state_their_order_and_their_evidence() {
    let sandbox = Sandbox::with_git();
    left(&sandbox);
    let before = Tree::of(&client(&sandbox));
    let adopted = adopt(&sandbox).expect_code(0);
    assert_eq!(adopted.at("/schema"), "adopt/1");
    let data = adopted.at("/data");
    assert_eq!((&data["session"], &data["run"]), (&json!(SESSION), &json!(ADOPTED)));
    assert_eq!(data["progress"], json!({"done": 1, "total": 4}));
    assert_eq!((&data["interrupted"], &data["to_look_at"]), (&json!(["T2"]), &json!(["A-a1b2c3"])));
    assert_eq!(data["next"], "piton plan adopted-5e551011");
    assert_eq!(before.changes(&Tree::of(&client(&sandbox))), [] as [&str; 0], "the client's files are not touched");
    assert_eq!(next(&sandbox), ["retry T2", "verify A-a1b2c3"]);
    let plan = json(&sandbox, &["plan", ADOPTED, "--steps"]);
    assert_eq!(plan.at("/data/steps/completed"), json!(["T1"]));
    assert!(plan.findings().contains(&"outcome-unknown".to_owned()), "{plan}");
    let evidence: Value = serde_json::from_str(&record(&sandbox, "evidence.jsonl")).expect("one record");
    assert_eq!(evidence["step"], "T1");
    let x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    assert_eq!(evidence["outputs"], json!([{"path": "made.txt", "sha256": x, "bytes": 1}]));
    let report: Value = serde_json::from_str(&record(&sandbox, "reports.jsonl")).expect("one report");
    assert!(report["summary"].as_str().is_some_and(|text| text.contains(SESSION)), "{report}");
    let definition: Value = serde_json::from_str(&record(&sandbox, "workflow.json")).expect("a definition");
    assert_eq!(definition["steps"][2]["depends_on"], json!(["T2"]));
    sandbox.remove("made.txt");
    assert_eq!(next(&sandbox)[0], "retry T1", "what is done is proved again, as in every run");
}

#[test]
fn an_adopted_session_is_a_run_like_any_other() {
    let sandbox = Sandbox::with_git();
    left(&sandbox);
    adopt(&sandbox).expect_code(0);
    let brief = json(&sandbox, &["begin", "T2"]).expect_code(0);
    assert!(brief.stdout.contains("taken over from it") && brief.stdout.contains("half.txt"), "{brief}");
    sandbox.file("half.txt", "whole");
    json(&sandbox, &["finish", "T2", "--summary", "printed", "--output", "half.txt"]).expect_code(0);
    let context = json(&sandbox, &["context", ADOPTED, "--step", "T3"]).expect_code(0);
    assert!(context.stdout.contains("printed"), "{context}");
    json(&sandbox, &["finish", "A-a1b2c3", "--status", "completed"]).expect_code(0);
    json(&sandbox, &["begin", "T3"]).expect_code(0);
    json(&sandbox, &["finish", "T3"]).expect_code(0);
    assert_eq!(json(&sandbox, &["plan", ADOPTED]).expect_code(0).at("/data/verdict"), "complete");
    for verb in ["status", "show", "history", "validate"] {
        json(&sandbox, &[verb, ADOPTED]).expect_code(0);
    }
    json(&sandbox, &["archive", ADOPTED]).expect_code(0);
    let again = adopt(&sandbox).expect_code(1);
    assert!(again.stdout.contains("already adopted as adopted-5e551011, which is archived"), "{again}");
    assert!(again.stdout.contains("piton restore adopted-5e551011"), "{again}");
    assert_eq!(json(&sandbox, &["list"]).code, 3, "the session is not offered again");
}

#[test]
fn an_adopted_session_is_offered_once_and_names_its_run() {
    let sandbox = Sandbox::with_git();
    left(&sandbox);
    adopt(&sandbox).expect_code(0);
    let listed = |arguments: &[&str]| {
        let runs = json(&sandbox, arguments).at("/data/runs");
        let id = |run: &Value| {
            format!("{} {}", run["id"].as_str().expect("an id"), run["position"].as_str().expect("a text"))
        };
        runs.as_array().into_iter().flatten().map(id).collect::<Vec<String>>()
    };
    assert_eq!(listed(&["list"]), ["adopted-5e551011 retry T2 (Print it)"]);
    assert!(listed(&["list", "--all"]).contains(&"claude-5e551011 adopted as adopted-5e551011".to_owned()));
    let note = sandbox.piton(["hook", "session-start"]);
    let event = json!({"hook_event_name": "SessionStart", "session_id": "another-session", "source": "startup", "cwd": sandbox.root().as_str()});
    let note = note.stdin(event.to_string()).run();
    assert!(!note.stdout.contains("The session of"), "{note}");
    let plan = json(&sandbox, &["plan", RUN, "--native"]);
    assert_eq!(plan.at("/data/native/session/adopted_as"), ADOPTED);
    assert!(plan.findings().contains(&"session-adopted".to_owned()), "{plan}");
    for arguments in [["adopt", RUN], ["resume", RUN], ["pause", RUN]] {
        let refused = json(&sandbox, &arguments).expect_code(1);
        assert!(refused.stdout.contains("already adopted as adopted-5e551011"), "{refused}");
        assert!(refused.stdout.contains("piton plan adopted-5e551011"), "{refused}");
    }
    json(&sandbox, &["resume", ADOPTED, "--yes"]).expect_code(9);
}

#[test]
fn a_session_is_found_by_its_id_its_number_and_its_transcript_and_the_run_has_the_name_that_is_given() {
    for session in [RUN, SESSION, "1", "TRANSCRIPT"] {
        let sandbox = Sandbox::with_git();
        let trace = cut_off(&sandbox);
        trace.write(&sandbox);
        let path = client(&sandbox).join(trace.path(&sandbox)).into_string();
        let word = if session == "TRANSCRIPT" { path.as_str() } else { session };
        let adopted = json(&sandbox, &["adopt", word, "--name", "printer"]).expect_code(0);
        assert_eq!(adopted.at("/data/run"), "printer", "{session}");
        json(&sandbox, &["plan", "printer"]).expect_code(9);
    }
}

#[test]
fn a_task_whose_files_are_gone_is_looked_at_and_not_done_again_by_itself() {
    let sandbox = Sandbox::with_git();
    left(&sandbox);
    sandbox.remove("made.txt");
    let adopted = adopt(&sandbox).expect_code(0);
    assert_eq!(adopted.at("/data/progress/done"), 0);
    assert_eq!(adopted.at("/data/to_look_at"), json!(["T1", "A-a1b2c3"]));
    assert_eq!(next(&sandbox), ["verify T1", "verify A-a1b2c3"]);
    let context = json(&sandbox, &["context", ADOPTED, "--step", "T1"]);
    assert!(context.stdout.contains("not all is there that it left: made.txt"), "{context}");
    let redo = ["redo", "T1", "--by", "me", "--note", "it is gone"];
    json(&sandbox, &redo).expect_code(0);
    assert_eq!(next(&sandbox)[0], "retry T1");
}

#[test]
fn prompts_are_not_copied_secrets_are_masked_and_no_text_is_a_variable() {
    let sandbox = Sandbox::with_git();
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let trace = Trace::new(&sandbox)
        .prompt("the words of the person")
        .creates_task("1", &format!("Use {secret}"))
        .launches("call-a1b2c3d4", "a1b2c3d4", "");
    trace.write(&sandbox);
    let agent = trace.agent("a1b2c3d4").prompt("the words for the agent");
    put(&sandbox, &agent.path(&sandbox), &agent.text());
    let text = json!({
        "id": "1", "subject": format!("Use {secret}"), "status": "pending", "blockedBy": [],
        "description": format!("Print ${{HOME}} and ${{open with {secret}"),
    });
    put(&sandbox, &format!("tasks/{SESSION}/1.json"), &text.to_string());
    adopt(&sandbox).expect_code(0);
    let runs = Tree::of(&sandbox.root().join(".git/piton")).without_folders();
    for words in [secret, "the words"] {
        for path in runs.paths() {
            assert!(!sandbox.read(&format!(".git/piton/{path}")).contains(words), "{path} has `{words}`");
        }
    }
    let context = json(&sandbox, &["context", ADOPTED, "--step", "T1"]).expect_code(0);
    assert!(context.stdout.contains("Print $ {HOME} and $ {open"), "{context}");
    assert_eq!(json(&sandbox, &["validate", ADOPTED]).code, 0);
}

#[test]
fn calls_of_a_workflow_are_steps_with_ids_that_a_definition_may_have() {
    let sandbox = Sandbox::with_git();
    let launched = json!({"taskType": "local_workflow", "workflowName": "mini", "runId": "wf_1", "status": "async_launched", "taskId": "w1"});
    let trace = Trace::new(&sandbox).prompt("go").tool("wf", "Workflow", json!({"script": "x"}), launched);
    trace.write(&sandbox);
    trace.agent("aaa1").prompt("first").ends("result").write_in_workflow(&sandbox, "wf_1");
    trace
        .agent("aaa2")
        .prompt("second")
        .call("b1", "Bash", json!({"command": "x"}))
        .write_in_workflow(&sandbox, "wf_1");
    let journal = [
        json!({"type": "started", "key": "v2:1", "agentId": "aaa1"}),
        json!({"type": "result", "key": "v2:1", "agentId": "aaa1", "result": "fine"}),
        json!({"type": "started", "key": "v2:2", "agentId": "aaa2"}),
    ];
    let journal: String = journal.iter().map(|line| format!("{line}\n")).collect();
    let folder = format!("projects/{}/{SESSION}/subagents/workflows/wf_1", slug(sandbox.root().as_str()));
    put(&sandbox, &format!("{folder}/journal.jsonl"), &journal);
    let adopted = adopt(&sandbox).expect_code(0);
    assert_eq!(adopted.at("/data/progress"), json!({"done": 1, "total": 2}));
    assert_eq!(adopted.at("/data/to_look_at"), json!(["W1.2"]));
    assert!(record(&sandbox, "workflow.json").contains("call 2 of the workflow mini"));
}

#[test]
fn a_turn_whose_outcome_is_unknown_stays_unknown() {
    let sandbox = Sandbox::with_git();
    cut_off(&sandbox).call("b1", "Bash", json!({"command": "git push", "description": "Push it"})).write(&sandbox);
    let adopted = adopt(&sandbox).expect_code(0);
    assert_eq!(adopted.at("/data/to_look_at"), json!(["A-a1b2c3", "turn"]));
    assert!(next(&sandbox).contains(&"verify turn".to_owned()), "{:?}", next(&sandbox));
}

#[test]
fn a_living_session_is_refused_and_so_is_one_that_may_live() {
    let sandbox = Sandbox::with_git();
    left(&sandbox);
    let stat = std::fs::read_to_string("/proc/self/stat").expect("linux");
    let start = stat.rsplit_once(") ").expect("a name").1.split(' ').nth(19).expect("a start").to_owned();
    process(&sandbox, std::process::id(), &start, json!({}));
    let refused = adopt(&sandbox).expect_code(6);
    assert!(refused.stdout.contains("driving"), "{refused}");
    process(
        &sandbox,
        std::process::id(),
        &start,
        json!({"pidDomain": "linux:other:pid:[1]", "updatedAt": 1_769_860_740_000_u64}),
    );
    let refused = adopt(&sandbox).expect_code(9);
    assert!(refused.stdout.contains("may be alive"), "{refused}");
    assert!(!sandbox.exists(".git/piton/runs"), "nothing was written");
}

#[test]
fn what_is_no_session_with_work_of_this_project_is_refused_with_the_next_command() {
    let sandbox = Sandbox::with_git();
    Trace::new(&sandbox).prompt("only a question").write(&sandbox);
    let refused = adopt(&sandbox).expect_code(1);
    assert!(refused.stdout.contains("left no task, agent or workflow open"), "{refused}");
    assert!(refused.stdout.contains(&format!("claude --resume {SESSION}")), "{refused}");
    let refused = json(&sandbox, &["pause", RUN]).expect_code(1);
    assert!(!refused.stdout.contains("piton adopt"), "it could not be adopted: {refused}");
    let other = "0ther000-aaaa-4bbb-8ccc-0123456789ab";
    let elsewhere = Trace::of(&sandbox, other).cwd("/somewhere/else").prompt("x").creates_task("1", "One");
    put(&sandbox, &format!("projects/-somewhere-else/{other}.jsonl"), &elsewhere.text());
    let refused = json(&sandbox, &["adopt", other]).expect_code(3);
    assert!(refused.stdout.contains("worked in another project"), "{refused}");
    assert!(refused.stdout.contains(&format!("piton --project DIR adopt {other}")), "{refused}");
    json(&sandbox, &["adopt", "claude-nothing1"]).expect_code(3);
    json(&sandbox, &["start", "nine-step", "--feature", "login"]).expect_code(0);
    let refused = json(&sandbox, &["adopt", "login"]).expect_code(1);
    assert!(refused.stdout.contains("is no session of Claude Code"), "{refused}");
}

#[test]
fn a_name_that_is_taken_or_unusable_is_refused_before_anything_is_written() {
    let sandbox = Sandbox::with_git();
    left(&sandbox);
    json(&sandbox, &["start", "nine-step", "--feature", "login"]).expect_code(0);
    let refused = json(&sandbox, &["adopt", RUN, "--name", "login"]).expect_code(1);
    assert!(refused.stdout.contains("the name login is taken"), "{refused}");
    json(&sandbox, &["adopt", RUN, "--name", "../x"]).expect_code(2);
    assert!(!sandbox.exists(".git/piton/runs"), "nothing was written");
    adopt(&sandbox).expect_code(0);
}

#[test]
fn verbs_that_record_name_adopt_first() {
    let sandbox = Sandbox::with_git();
    left(&sandbox);
    for arguments in [&["begin", "T2", "--run", RUN][..], &["pause", RUN], &["archive", RUN]] {
        let refused = json(&sandbox, arguments).expect_code(1);
        let hints = refused.at("/error/hints");
        assert_eq!(hints[0], "piton adopt claude-5e551011   # makes a run of it, which can be recorded", "{refused}");
        assert_eq!(hints[1], format!("claude --resume {SESSION}"), "{refused}");
    }
    let shown = sandbox.piton(["--format", "text", "plan", RUN]).run();
    assert!(shown.stdout.contains("piton adopt claude-5e551011"), "{shown}");
}

#[test]
fn without_git_and_after_a_move_the_run_has_its_definition() {
    let sandbox = Sandbox::new();
    left(&sandbox);
    adopt(&sandbox).expect_code(0);
    assert!(sandbox.exists(".piton/runs/adopted-5e551011/workflow.json"));
    let sandbox = Sandbox::with_git();
    left(&sandbox);
    adopt(&sandbox).expect_code(0);
    let moved = sandbox.top().join("tmp/moved");
    std::fs::rename(sandbox.root(), &moved).expect("the sandbox is ours");
    std::fs::create_dir(sandbox.root()).expect("the sandbox is ours");
    let plan = json(&sandbox, &["--project", moved.as_str(), "plan", ADOPTED]);
    assert_eq!(super::actions(&plan)[0], "retry T2", "{plan}");
    assert!(!plan.findings().contains(&"definition-unreadable".to_owned()), "{plan}");
}
