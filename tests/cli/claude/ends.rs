//! What ended a session, which sessions are offered, and the ways back.

use serde_json::{Value, json};

use super::{
    plan,
    trace::{RUN, SESSION, Trace, task},
};
use crate::support::{Output, Sandbox};

fn listed(sandbox: &Sandbox) -> Output {
    sandbox.piton(["--format", "json", "list"]).run()
}

fn cost(trace: Trace, started_at: u64) -> Trace {
    trace
        .line(json!({"type": "last-prompt", "lastPrompt": "x"}))
        .line(json!({"type": "atis-latch"}))
        .line(json!({"type": "cost-state", "totalCostUSD": 1.0, "startTime": started_at}))
}

#[test]
fn the_first_cause_that_holds_is_published() {
    type Write = fn(Trace) -> Trace;
    let cases: [(&str, Write, &str, &str); 12] = [
        ("killed", |trace| trace, "killed", "killed: no clean end"),
        ("clean", |trace| trace.quits(), "session_ended", "the session ended"),
        ("latch only", |trace| trace.quits().line(json!({"type": "atis-latch"})), "killed", "killed"),
        ("cost", |trace| cost(trace, 1), "session_ended", "the session ended"),
        ("request lines last", |trace| trace.line(json!({"type": "api-request", "messages": []})), "killed", "killed"),
        (
            "Esc",
            |trace| trace.call("b", "Bash", json!({"command": "x"})).esc_in("b").quits(),
            "stopped",
            "stopped by hand (Esc) during Bash",
        ),
        (
            "limit",
            |trace| trace.api_error("rate_limit", "You've hit your session limit · resets 5:40pm (Europe/Madrid)"),
            "limit",
            "resets 5:40pm",
        ),
        (
            "older limit",
            |trace| trace.ends("Claude AI usage limit reached|1760000000"),
            "limit",
            "Claude AI usage limit reached",
        ),
        (
            "billing",
            |trace| trace.api_error("billing_error", "Credit balance is too low").quits(),
            "limit",
            "Credit balance",
        ),
        (
            "failure",
            |trace| trace.api_error("invalid_request", "Prompt is too long"),
            "failure",
            "the service failed: invalid_request, Prompt is too long",
        ),
        ("an error that was overcome", |trace| trace.api_error("rate_limit", "x").prompt("again"), "killed", "killed"),
        (
            "resumed and left",
            |trace| {
                trace.user("Continue from where you left off.", json!({"isMeta": true})).line(json!({
                "type": "assistant", "timestamp": "2026-01-31T11:30:00Z", "isApiErrorMessage": false,
                "message": {"model": "<synthetic>", "content": [{"type": "text", "text": "No response requested."}]},
            })).quits()
            },
            "session_ended",
            "the session ended",
        ),
    ];
    for (name, write, kind, words) in cases {
        let sandbox = Sandbox::with_git();
        write(Trace::new(&sandbox).prompt("Build it").tool("r", "Read", json!({}), Value::Null)).write(&sandbox);
        task(&sandbox, SESSION, "1", "Open", "pending", &[]);
        let plan = plan(&sandbox);
        assert_eq!(plan.at("/data/native/ended/cause"), kind, "{name}\n{plan}");
        assert_eq!(plan.at("/data/interruption/cause/kind"), kind, "{name}\n{plan}");
        let detail = plan.at("/data/native/ended/detail");
        assert!(detail.as_str().unwrap().contains(words), "{name}: {detail}");
        assert_eq!(listed(&sandbox).at("/data/runs/0/cause/kind"), kind, "{name}");
    }
}

#[test]
fn a_session_is_offered_while_something_is_open_and_not_after_a_clean_end() {
    type Write = fn(Trace) -> Trace;
    let cases: [(&str, Write, bool); 6] = [
        ("clean", |trace| trace.ends("ok").quits(), false),
        ("at rest, killed", |trace| trace.ends("ok"), true),
        ("limit, clean", |trace| trace.api_error("rate_limit", "limit").quits(), true),
        ("a prompt without an answer", |trace| trace.prompt("and?").quits(), true),
        (
            "compacted by hand",
            |trace| {
                trace.ends("ok")
                .line(json!({"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "manual"}}))
                .user("This session is being continued", json!({"isCompactSummary": true}))
                .user("<command-name>/compact</command-name>", Value::Null).quits()
            },
            false,
        ),
        ("marks in the middle", |trace| trace.ends("ok").quits().prompt("more").ends("ok"), true),
    ];
    for (name, write, is_offered) in cases {
        let sandbox = Sandbox::with_git();
        write(Trace::new(&sandbox).prompt("Build it")).write(&sandbox);
        let list = listed(&sandbox);
        let found = list.at("/data/runs/0/id") == RUN;
        assert_eq!(found, is_offered, "{name}\n{list}");
        let all = sandbox.piton(["--format", "json", "list", "--all"]).run().expect_code(0);
        assert_eq!(all.at("/data/runs/0/id"), RUN, "{name}");
    }
}

#[test]
fn an_unclean_end_at_rest_waits_for_the_person_with_the_way_back() {
    let sandbox = Sandbox::with_git();
    Trace::new(&sandbox).prompt("Build it").ends("what next?").write(&sandbox);
    let list = listed(&sandbox).expect_code(0);
    assert_eq!(list.at("/data/runs/0/position"), "waited for you");
    assert_eq!(list.at("/data/runs/0/cause/kind"), "killed");
    let status = sandbox.piton(["--format", "json", "status", RUN]).run();
    assert_eq!(status.at("/data/next_command"), format!("claude --resume {SESSION}"));
}

#[test]
fn only_local_commands_and_agents_alone_are_no_sessions() {
    let sandbox = Sandbox::with_git();
    Trace::new(&sandbox).user("<command-name>/help</command-name>", Value::Null).write(&sandbox);
    listed(&sandbox).expect_code(3);
    Trace::new(&sandbox).user("x", json!({"isSidechain": true})).write(&sandbox);
    listed(&sandbox).expect_code(3);
}

#[test]
fn sessions_older_than_a_week_are_only_in_the_full_list() {
    let sandbox = Sandbox::with_git();
    Trace::new(&sandbox).prompt("Build it").write(&sandbox);
    let at = |now: &str, arguments: &[&str]| {
        let arguments = ["--format", "json", "list"].iter().chain(arguments).copied().collect::<Vec<_>>();
        sandbox.piton(arguments).now(now).run()
    };
    at("2026-02-07T10:59:00Z", &[]).expect_code(0);
    at("2026-02-07T11:59:00Z", &[]).expect_code(3);
    at("2026-02-07T11:59:00Z", &["--all"]).expect_code(0);
}

#[test]
fn both_ways_back_have_their_price_and_the_better_one_comes_first() {
    let sandbox = Sandbox::with_git();
    let main =
        Trace::new(&sandbox).prompt("Build it").creates_task("1", "One").sets_task("1", "pending", "in_progress");
    main.write(&sandbox);
    let back = plan(&sandbox).at("/data/native/back");
    assert_eq!(back[0]["way"], "resume");
    assert_eq!(back[0]["command"], format!("claude --resume {SESSION}"));
    assert_eq!(back[0]["tokens"], 15);
    assert_eq!((&back[1]["way"], &back[1]["command"]), (&json!("brief"), &json!(format!("piton context {RUN}"))));
    assert_eq!(back[1]["estimate"], true);
    main.api_error("invalid_request", "Prompt is too long").write(&sandbox);
    assert_eq!(plan(&sandbox).at("/data/native/back/0/way"), "brief");
}

#[test]
fn tokens_are_counted_once_per_answer() {
    let sandbox = Sandbox::with_git();
    let text = |text: &str| json!({"type": "text", "text": text});
    let main = Trace::new(&sandbox).prompt("go").block("m1", text("a"), None).block("m1", text("b"), Some("end_turn"));
    main.prompt("more").block("m2", text("c"), Some("end_turn")).write(&sandbox);
    assert_eq!(plan(&sandbox).at("/data/native/session/tokens"), 30);
}

#[test]
fn verbs_that_write_refuse_and_name_the_ways_out() {
    let sandbox = Sandbox::with_git();
    Trace::new(&sandbox).prompt("go").creates_task("1", "One").write(&sandbox);
    let before = sandbox.everything();
    let verbs: [&[&str]; 9] = [
        &["begin", "T1", "--run", RUN],
        &["finish", "T1", "--run", RUN],
        &["skip", "T1", "--run", RUN, "--note", "x"],
        &["pause", RUN],
        &["abort", RUN, "--note", "x"],
        &["archive", RUN, "--yes"],
        &["repair", RUN],
        &["restore", RUN],
        &["redo", "T1", "--run", RUN, "--note", "x"],
    ];
    for arguments in verbs {
        let output = sandbox.piton(["--format", "json"].iter().chain(arguments).copied()).run();
        let said = format!("{}{}", output.stdout, output.stderr);
        assert_ne!(output.code, 0, "{arguments:?}\n{output}");
        assert!(said.contains("belongs to Claude Code"), "{arguments:?}\n{output}");
        assert!(said.contains(&format!("claude --resume {SESSION}")), "{arguments:?}\n{output}");
    }
    assert_eq!(before.changes(&sandbox.everything()), [] as [&str; 0]);
}

#[test]
fn resume_prints_the_brief_and_the_command_and_records_nothing() {
    let sandbox = Sandbox::with_git();
    let plan = "# Plan\n\n1. one\n2. two\n";
    let approved = json!({"plan": plan, "filePath": "/home/x/.claude/plans/a-b-c.md", "planWasEdited": true});
    let main = Trace::new(&sandbox).prompt("Build the parser").call("p", "ExitPlanMode", json!({"plan": "other"}));
    let main = main.result("p", "User has approved your plan. You can now start", approved);
    main.creates_task("1", "One").sets_task("1", "pending", "in_progress").writes("w", "made.txt").write(&sandbox);
    task(&sandbox, SESSION, "1", "One", "in_progress", &[]);
    let before = sandbox.everything();
    let resumed = sandbox.piton(["--format", "json", "resume", RUN]).run().expect_code(0);
    assert_eq!(resumed.at("/schema"), "resume/2");
    assert_eq!(resumed.at("/data/commands/resume"), format!("claude --resume {SESSION}"));
    let context = resumed.at("/data/context");
    assert_eq!(context["goal"], "Build the parser");
    assert_eq!(context["agent_context"]["plan"], plan);
    assert_eq!(context["agent_context"]["open"], json!(["T1 One (made.txt)", "turn Build the parser"]));
    assert!(resumed.json().to_string().len() < 16_384);
    let text = sandbox.piton(["--format", "text", "resume", RUN]).run().expect_code(0);
    assert!(text.stdout.contains(&format!("claude --resume {SESSION}")), "{text}");
    assert_eq!(before.changes(&sandbox.everything()), [] as [&str; 0]);
}

#[test]
fn a_brief_stays_within_its_budget() {
    let sandbox = Sandbox::with_git();
    let long = "word ".repeat(3_000);
    let approved = json!({"plan": long, "filePath": "/x/plans/p.md"});
    let mut main = Trace::new(&sandbox).prompt(&long).call("p", "ExitPlanMode", json!({}));
    main = main.result("p", "User has approved your plan.", approved);
    for number in 1..60 {
        main = main.creates_task(&number.to_string(), "A task with a rather long subject, as they often have them");
    }
    main.sets_task("1", "pending", "in_progress").write(&sandbox);
    for budget in ["1500", "4096", "20000"] {
        let context = sandbox.piton(["--format", "json", "context", RUN, "--budget", budget]).run().expect_code(0);
        let size = context.at("/data").to_string().len();
        assert!(size <= budget.parse::<usize>().unwrap(), "{budget}: {size}\n{context}");
        assert!(
            !context.stdout.contains("only reads"),
            "the transcript of an ended session takes no report: {context}"
        );
    }
}

#[test]
fn doctor_says_what_was_cut_off_how_and_which_clients_are_known() {
    let sandbox = Sandbox::with_git();
    let main = Trace::new(&sandbox).prompt("Build it").launches("call-aaaaaaaa", "aaaaaaaa", "one");
    let main = main.launches("call-bbbbbbbb", "bbbbbbbb", "two").launches("call-cccccccc", "cccccccc", "three");
    let main = main.line(json!({"type": "brand-new"})).api_error("rate_limit", "You've hit your session limit");
    main.write(&sandbox);
    main.agent("aaaaaaaa").prompt("go").ends("done").write(&sandbox);
    main.agent("bbbbbbbb").prompt("go").tool("r", "Read", json!({}), Value::Null).write(&sandbox);
    main.agent("cccccccc").prompt("go").call("b", "Bash", json!({"command": "git push"})).write(&sandbox);
    let doctor = sandbox.piton(["--format", "json", "doctor"]).run();
    let checks = doctor.at("/data/checks");
    let detail = |name: &str| {
        let check = checks.as_array().unwrap().iter().find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("no check {name}\n{doctor}"))["detail"].as_str().unwrap().to_owned()
    };
    let line = "The session of 11:00 was cut by the usage limit: 2 of 3 agents did not end, 1 may have acted. /workflow-resume";
    assert!(detail("last session").starts_with(line), "{doctor}");
    assert!(detail("sessions").contains("2.1.197 (known): 1"), "{doctor}");
    assert!(detail("sessions").contains("1 line of unknown types (brand-new 1)"), "{doctor}");
}

#[test]
fn after_a_compaction_the_own_session_has_a_brief() {
    let sandbox = Sandbox::with_git();
    let main =
        Trace::new(&sandbox).prompt("Build it").creates_task("1", "One").sets_task("1", "pending", "in_progress");
    main.write(&sandbox);
    task(&sandbox, SESSION, "1", "One", "in_progress", &[]);
    let brief = sandbox.piton(["--format", "json", "context"]).session(SESSION).run().expect_code(0);
    assert_eq!(brief.at("/data/step"), "T1", "{brief}");
    assert!(brief.at("/data").to_string().len() <= 4_096);
}
