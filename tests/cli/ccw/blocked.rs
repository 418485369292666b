//! Tasks that wait for a person, lost files, and what a task's file says about how to do it.

use serde_json::json;

use super::session::Session;

/// N-D15: a task that the state calls blocked with a reason waits for a person; the reason is quoted.
#[test]
fn a_task_that_is_blocked_with_a_reason_waits_for_a_person() {
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "blocked", "blocked_reason": "waiting for \u{1b}[31mvendor"}));
    let plan = session.plan("").expect_code(9);
    let message = "nothing can start: 1 open; IMPL-1 is blocked: waiting for [31mvendor";
    assert_eq!(plan.at("/findings/0/message"), message);
    let refused = session.call("begin IMPL-1").run().expect_code(9);
    assert_eq!(refused.at("/error/message"), "IMPL-1 is blocked: waiting for [31mvendor");
    session.call("override IMPL-1 --by Ana --note delivered").run().expect_code(0);
    let brief = session.ok("begin IMPL-1");
    assert_eq!(brief.at("/data/brief/decisions/0/despite"), "IMPL-1 is blocked: waiting for [31mvendor");
    session.ok("finish IMPL-1 --summary ok");
    assert_eq!(session.plan("").at("/data/verdict"), "complete");
}

/// N-D15: while others go on it is named; without a reason it is looked at first.
#[test]
fn a_blocked_task_beside_others_is_named_and_one_without_a_reason_is_looked_at() {
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "blocked", "blocked_reason": "vendor"}));
    session.task("IMPL-2", &json!({"status": "pending"}));
    let plan = session.plan("").expect_code(0);
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/1")), (json!("IMPL-2"), json!(null)));
    assert!(plan.findings().contains(&"step-held".to_owned()), "{plan}");
    session.call("skip IMPL-1 --reason late").run().expect_code(0);
    assert!(!session.plan("").expect_code(0).findings().contains(&"step-held".to_owned()));
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "blocked"}));
    let plan = session.plan("").expect_code(9);
    assert_eq!((plan.at("/data/verdict"), plan.at("/data/next/0/step")), (json!("confirm"), json!("IMPL-1")));
    assert!(plan.findings().contains(&"block-unexplained".to_owned()), "{plan}");
}

/// N-D28: a line of the checklist whose task file is missing is not proposed as work.
#[test]
fn a_line_without_its_task_file_is_not_proposed_as_work() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &[])]).todo(&[("IMPL-1", ' '), ("IMPL-7", ' ')]);
    let plan = session.plan("").expect_code(0);
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/1")), (json!("IMPL-1"), json!(null)), "{plan}");
    session.ok("begin IMPL-1");
    session.ok("finish IMPL-1 --summary ok");
    let text = session.call("--format text plan").run().expect_code(9).stdout;
    assert!(text.contains("❌ Task IMPL-7 referenced but JSON file missing\n→ Use: /workflow:plan"), "{text}");
    assert!(!text.contains("begin IMPL-7"), "{text}");
    session.call("begin IMPL-7").run().expect_code(9);
    session.call("skip IMPL-7 --reason gone").run().expect_code(0);
    assert!(session.sandbox.read(&session.path("TODO_LIST.md")).contains("- [-] **IMPL-7**"));
    assert_eq!(session.plan("").at("/data/verdict"), "complete");
    // The other way out: a person lets it be done from its line.
    let session = Session::new();
    session.tasks(&[("IMPL-1", "completed", &[])]).todo(&[("IMPL-1", 'x'), ("IMPL-7", ' ')]).summaries(&["IMPL-1"]);
    session.call("override IMPL-7 --by Ana --note known").run().expect_code(0);
    session.ok("begin IMPL-7");
    session.ok("finish IMPL-7 --summary ok");
    assert!(session.sandbox.read(&session.path("TODO_LIST.md")).contains("- [x] **IMPL-7**"));
}

/// N-D13: a running task that lost what tells about it has its context rebuilt; a recorded reason chooses its own row.
#[test]
fn a_lost_context_is_rebuilt() {
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "in_progress"}));
    for file in ["workflow-session.json", "IMPL_PLAN.md"] {
        session.sandbox.remove(&session.path(file));
    }
    let plan = session.plan("--native").expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "confirm");
    assert_eq!(plan.at("/data/next/0/strategy"), "rebuild_full_context");
    assert_eq!(plan.at("/data/native/interruption_analysis/interruption_type"), "context_loss");
    assert!(plan.findings().contains(&"part-missing".to_owned()), "{plan}");
    for (reason, strategy) in [
        ("context_loss", "rebuild_full_context"),
        ("dependency_block", "resolve_dependencies"),
        ("agent_timeout", "retry_with_enhanced_context"),
    ] {
        for status in ["in_progress", "failed"] {
            let session = Session::new();
            session.task(
                "IMPL-1",
                &json!({"status": status, "execution": {"attempts": 1, "interruption_reason": reason}}),
            );
            let plan = session.plan("--native");
            assert_eq!(plan.at("/data/next/0/strategy"), strategy, "{reason}, {status}\n{plan}");
            assert_eq!(plan.at("/data/native/interruption_analysis/interruption_type"), reason);
        }
    }
}

/// N-D16, N-D17: the brief says how the task is to be done, and what a skipped dependency leaves to read.
#[test]
fn the_brief_says_how_and_passes_over_a_skipped_task() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "completed", &[]), ("IMPL-2", "pending", &["IMPL-1"])]).summaries(&["IMPL-1"]);
    let approach =
        json!({"task_description": "Write it", "modification_points": ["MODPOINT"], "logic_flow": ["LOGIC"]});
    session.task(
        "IMPL-3",
        &json!({
            "status": "pending",
            "context": {"depends_on": ["IMPL-2"], "artifacts": [{"path": "spec.md", "type": "synthesis"}]},
            "flow_control": {"implementation_approach": approach, "pre_analysis": [{"step": "look", "command": "rg x"}]},
        }),
    );
    session.call("skip IMPL-2 --reason").arguments(["blocked by vendor"]).run().expect_code(0);
    let brief = session.ok("context --step IMPL-3");
    let instructions = brief.at("/data/instructions");
    for said in ["look (command: rg x)", "- MODPOINT", "- LOGIC", "- spec.md (synthesis)"] {
        assert!(instructions.as_str().unwrap().contains(said), "{said}\n{instructions}");
    }
    assert_eq!(brief.at("/data/decisions/0/note"), "blocked by vendor");
    let reading = brief.at("/data/required_reading").to_string();
    assert!(reading.contains("IMPL-1-summary.md"), "{reading}");
}

/// N-D34: the checklist says what the tasks say, with its links, and an archived session leaves no marker.
#[test]
fn marks_links_and_markers_follow_the_tasks() {
    let session = Session::at(".workflow/WFS-x");
    session.tasks(&[("IMPL-1", "pending", &[]), ("IMPL-2", "pending", &[])]).todo(&[("IMPL-1", ' '), ("IMPL-2", ' ')]);
    session.sandbox.file(".workflow/.active-WFS-x", "").file(".workflow/.active-WFS-y", "");
    session.ok("begin IMPL-1");
    session.ok("finish IMPL-1 --summary ok");
    session.ok("skip IMPL-2 --reason late");
    let lines = || session.sandbox.read(&session.path("TODO_LIST.md"));
    let link = "- [x] **IMPL-1**: Title of IMPL-1 → [📋](./.task/IMPL-1.json) | [✅](./.summaries/IMPL-1-summary.md)\n";
    assert!(lines().contains(link) && lines().contains("- [-] **IMPL-2**"), "{}", lines());
    session.ok("redo IMPL-2 --by Ana --note now");
    session.ok("begin IMPL-2");
    assert!(lines().contains("- [ ] **IMPL-2**"), "{}", lines());
    session.ok("finish IMPL-2 --summary ok");
    assert_eq!(lines().matches("[✅]").count(), 2);
    session.ok("complete WFS-x");
    session.ok("archive WFS-x --yes");
    assert!(!session.sandbox.exists(".workflow/.active-WFS-x") && session.sandbox.exists(".workflow/.active-WFS-y"));
}

/// N-D37: the shape of a folder makes it a session.
#[test]
fn a_session_of_another_name_is_found_by_its_shape() {
    let session = Session::at(".workflow/pay");
    session.tasks(&[("IMPL-1", "pending", &[])]);
    assert_eq!(session.call("list").run().expect_code(0).at("/data/runs/0/id"), "pay");
    // A folder with only one of the two is another tool's.
    let other = Session::at(".workflow/other");
    other.call("list").run().expect_code(3);
}

/// N-D39: an option that names a part is named as the reason, not another one.
#[test]
fn a_reason_names_the_option_that_was_typed() {
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "pending", "flow_control": {"pre_analysis": [{"step": "look"}]}}));
    let plan = session.plan("--skip-step look IMPL-1");
    assert!(plan.at("/data/next/0/reason").as_str().unwrap().starts_with("chosen with --skip-step"), "{plan}");
    assert!(!plan.stdout.contains("with --from;"), "{plan}");
}

/// Text 19: what cut an attempt off is no finding to address.
#[test]
fn what_cut_an_attempt_off_is_no_finding() {
    let session = Session::new();
    let cut_off = json!({"attempts": 1, "interruption_reason": "agent_timeout"});
    session.task("IMPL-1", &json!({"status": "in_progress", "execution": cut_off}));
    let brief = session.ok("context");
    assert_eq!(brief.at("/data/findings_to_address"), json!(null), "{brief}");
    assert_eq!(session.plan("").at("/data/interruption/reason"), "agent_timeout");
}
