//! How an epic ends: gates that say no, merges, an archive and what is left over from it.

use super::doubts::{STATE, epic, story};
use crate::support::{Output, Sandbox};

fn run(sandbox: &Sandbox, command: &str) -> Output {
    sandbox.piton(command.split(' ')).run().expect_code(0)
}

fn text(sandbox: &Sandbox, command: &str) -> Output {
    sandbox.piton(["--format", "text"].into_iter().chain(command.split(' '))).run()
}

fn next(sandbox: &Sandbox) -> String {
    let first = sandbox.piton(["plan"]).run().at("/data/next/0");
    format!("{} {}", first["action"].as_str().unwrap_or_default(), first["step"].as_str().unwrap_or_default())
}

fn finding(output: &Output, code: &str) -> serde_json::Value {
    let findings = output.at("/findings");
    let found = findings.as_array().into_iter().flatten().find(|finding| finding["code"] == code).cloned();
    found.unwrap_or_else(|| panic!("no {code}: {output}"))
}

/// An epic whose first wave is developed.
fn at_the_gate() -> Sandbox {
    let sandbox = epic();
    run(&sandbox, "begin 5.2");
    run(&sandbox, "finish 5.2");
    story(&sandbox, "5.2", "Done");
    sandbox
}

fn says_no(sandbox: &Sandbox, verdict: &str, why: &str) {
    run(sandbox, "begin gate-1");
    sandbox.piton(["finish", "gate-1", "--verdict", verdict, "--error", why]).run().expect_code(0);
}

/// A-D31: what an archived epic leaves behind is named, is not taken up by autopilot, and the patch that sets it back is printed.
#[test]
fn a_restart_names_what_is_left_over() {
    let sandbox = epic();
    let before = sandbox.read("docs/stories/5.2.story.md");
    let archived = run(&sandbox, "archive epic-5 --yes");
    assert_eq!(archived.at("/data/start"), "start it anew with `orchestrate`");
    let patch = archived.at("/data/patch/diff").as_str().unwrap_or_default().to_owned();
    assert!(patch.contains("-**Status:** InProgress\n+**Status:** Ready\n"), "{archived}");
    assert_eq!(sandbox.read("docs/stories/5.2.story.md"), before, "stories are never written");
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    let left = finding(&plan, "state-leftover");
    assert_eq!((plan.at("/data/run/id"), &left["severity"]), ("sdc-5.2".into(), &"warning".into()));
    assert!(left["message"].as_str().unwrap().starts_with("left over from epic-5, which was archived"), "{plan}");
    let list = sandbox.piton(["list"]).run();
    assert_eq!(finding(&list, "state-leftover")["message"], left["message"], "{list}");
    sandbox.piton(["resume", "--mode", "autopilot"]).run().expect_code(9);
    // The archive still has the patch.
    let folder = archived.at("/data/to").as_str().unwrap_or_default().to_owned();
    let again = sandbox.piton(["plan", "--patch", &format!("./{folder}")]).run().expect_code(0);
    assert_eq!(again.at("/data/patch/diff"), patch.as_str());
    // Another story in progress is taken instead.
    story(&sandbox, "7.1", "InProgress");
    let plan = sandbox.piton(["plan", "--mode", "autopilot"]).run();
    assert_eq!(plan.at("/data/run/id"), "sdc-7.1", "{plan}");
    // Set back, nothing is left over.
    story(&sandbox, "5.2", "Ready");
    story(&sandbox, "7.1", "Done");
    sandbox.piton(["plan"]).run().expect_code(3);
}

/// A-D31, at a terminal.
#[test]
fn a_person_who_restarts_reads_how() {
    let sandbox = epic();
    let Some(output) = sandbox.piton(["--format", "text", "resume"]).on_terminal("2\n") else { return };
    let output = output.expect_code(0);
    assert!(output.stderr.contains("(1-3, Enter: 1)"), "{output}");
    assert!(output.stdout.contains("To begin again, start it anew with `orchestrate`."), "{output}");
    assert!(output.stdout.contains("+**Status:** Ready"), "{output}");
}

/// A-D21: NEEDS_REVISION, for which an epic has no word, sends the wave back without a person; REJECTED waits for one.
#[test]
fn a_revision_goes_back_to_the_wave_and_a_rejection_waits() {
    let sandbox = at_the_gate();
    says_no(&sandbox, "NEEDS_REVISION", "the total is wrong");
    assert!(sandbox.read(STATE).contains("status: rejected"));
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!((plan.at("/data/verdict"), next(&sandbox)), ("confirm".into(), "return 5.1".to_owned()), "{plan}");
    let open = finding(&plan, "story-stopped");
    assert_eq!(open["message"], "the verdict of wave 1 names no story");
    let fix = "after NEEDS_REVISION, begin the one that it is about (5.1 or 5.2); after REJECTED, a person's redo opens all of them";
    assert_eq!(open["fix"], fix);
    // The agent may take the other story, and is told why.
    let brief = run(&sandbox, "begin 5.2").to_string();
    assert!(brief.contains("gate-1 sent the work back") && brief.contains("the total is wrong"), "{brief}");
    assert!(sandbox.read(STATE).contains("gate_verdicts: {}"));
    // Finished and begun again within a second: nothing was put back.
    assert!(!sandbox.piton(["plan"]).run().to_string().contains("state-older-than-log"));
    run(&sandbox, "finish 5.2");
    assert_eq!(next(&sandbox), "run gate-1");
    says_no(&sandbox, "REJECTED", "start over");
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "blocked", "{plan}");
    let refused = sandbox.piton(["begin", "5.2"]).run().expect_code(1);
    assert!(refused.to_string().contains("piton redo 5.2"), "{refused}");
}

/// A-D21: the third revision of one gate is for a person, although the state counts none.
#[test]
fn revisions_of_a_gate_are_counted() {
    let sandbox = at_the_gate();
    for round in 1..=3 {
        says_no(&sandbox, "NEEDS_REVISION", "no");
        let plan = sandbox.piton(["plan"]).run().expect_code(9);
        assert_eq!(plan.at("/data/verdict"), if round < 3 { "confirm" } else { "blocked" }, "{round}: {plan}");
        if round < 3 {
            run(&sandbox, "begin 5.2");
            run(&sandbox, "finish 5.2");
        }
    }
    let plan = sandbox.piton(["plan"]).run();
    assert!(finding(&plan, "attempt-limit")["message"].as_str().unwrap().contains("failed 3 times"), "{plan}");
}

/// Partial resume: what a person reopened is not blamed on a phase before it.
#[test]
fn a_reopened_story_says_who_reopened_it() {
    let sandbox = at_the_gate();
    says_no(&sandbox, "REJECTED", "slow");
    sandbox.piton(["redo", "gate-1", "--by", "Ana", "--note", "cache it"]).run().expect_code(0);
    let plan = text(&sandbox, "plan").expect_code(9);
    assert!(plan.stdout.contains("Wave 1: 5.1 S1 -- Ana asked for it to be done again: cache it"), "{plan}");
}

/// A-M22: a merge is a step from the start, so the total stays the same on the way.
#[test]
fn the_total_of_an_epic_stays() {
    let sandbox = epic();
    let total = |sandbox: &Sandbox| {
        let plan = sandbox.piton(["plan", "--steps"]).run();
        assert!(plan.to_string().contains("merge-2"), "{plan}");
        plan.at("/data/progress/total")
    };
    let first = total(&sandbox);
    assert_eq!(first, 8);
    for command in ["begin 5.2", "finish 5.2", "begin gate-1", "finish gate-1 --verdict APPROVED"] {
        run(&sandbox, command);
        assert_eq!(total(&sandbox), first, "{command}");
    }
    story(&sandbox, "5.2", "Done");
    run(&sandbox, "begin merge-1");
    run(&sandbox, "finish merge-1");
    assert_eq!((total(&sandbox), next(&sandbox)), (first, "run 5.3".to_owned()));
    // Work that is reopened is merged again.
    sandbox.piton(["redo", "5.2", "--by", "Ana", "--note", "bug"]).run().expect_code(0);
    run(&sandbox, "begin 5.2");
    assert!(sandbox.read(STATE).contains("name: One\n      status: in_progress"), "{}", sandbox.read(STATE));
}

/// A failed story names the ways on, and `redo` does not contradict it.
#[test]
fn a_failed_story_names_what_can_be_done() {
    let sandbox = epic();
    run(&sandbox, "begin 5.2");
    sandbox.piton(["finish", "5.2", "--status", "failed", "--error", "no net"]).run().expect_code(0);
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    let stopped = finding(&plan, "story-stopped");
    assert_eq!(stopped["message"], "story 5.2 is failed");
    let fix = stopped["fix"].as_str().unwrap_or_default();
    assert!(fix.contains("`piton begin 5.2 --run epic-5`") && fix.contains("`piton abort epic-5`"), "{fix}");
    let redo = sandbox.piton(["redo", "5.2", "--by", "Ana", "--note", "x"]).run().expect_code(0);
    assert!(redo.to_string().contains("piton begin 5.2 --run epic-5"), "{redo}");
    run(&sandbox, "skip 5.2 --run epic-5 --reason later");
}

/// After the last gate every verb that finds no open run names the one that puts the epic away.
#[test]
fn a_completed_epic_is_put_away() {
    let sandbox = epic();
    for command in [
        "begin 5.2",
        "finish 5.2",
        "begin gate-1",
        "finish gate-1 --verdict APPROVED",
        "begin merge-1",
        "finish merge-1",
        "begin 5.3",
        "finish 5.3",
        "begin gate-2",
        "finish gate-2 --verdict APPROVED",
        "begin merge-2",
        "finish merge-2",
        "begin final-gate",
        "finish final-gate --verdict APPROVED",
    ] {
        run(&sandbox, command);
    }
    for verb in ["plan", "list", "status"] {
        let none = sandbox.piton([verb]).run().expect_code(3);
        let hints = none.at("/error/hints");
        let is_there =
            hints.as_array().is_some_and(|hints| hints.contains(&"piton archive epic-5   # it is over".into()));
        assert!(is_there, "{verb}: {none}");
    }
    let archived = run(&sandbox, "archive epic-5");
    assert!(archived.at("/data/patch/diff").as_str().unwrap_or_default().contains("+**Status:** Done"), "{archived}");
}

/// A-D15: the options of a state that cannot be resumed are asked under the numbers that the message gives them.
#[test]
fn the_options_of_a_conflict_have_one_numbering() {
    let sandbox = epic();
    story(&sandbox, "5.2", "Done");
    for typed in ["2\n", "4\n", "\n", "n\n"] {
        let before = sandbox.tree();
        let Some(output) = sandbox.piton(["--format", "text", "resume"]).on_terminal(typed) else { return };
        let output = output.expect_code(9);
        assert!(output.stderr.contains("1. start from scratch") && output.stderr.contains("3. clean up"), "{output}");
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{typed:?}");
    }
    let output = sandbox.piton(["--format", "text", "resume"]).on_terminal("3\n").expect("there was one");
    assert!(output.expect_code(0).stdout.contains("epic-5 is archived"));
}

/// A-T8: a broken state with a good copy offers the repair among its options.
#[test]
fn a_broken_state_with_a_copy_offers_its_repair() {
    let sandbox = epic();
    let state = sandbox.read(STATE);
    sandbox.file(&format!("{STATE}.bak"), &state).file(STATE, &format!("{state}x: {{"));
    let plan = sandbox.piton(["plan"]).run().expect_code(4);
    let options = plan.at("/data/question/options");
    let repair = options.as_array().into_iter().flatten().find(|option| option["id"] == "repair").cloned();
    let command = repair.unwrap_or_else(|| panic!("{plan}"))["command"].as_str().unwrap_or_default().to_owned();
    assert_eq!(command, "piton repair ./.aios/epic-5-state.yaml");
    let text = text(&sandbox, "plan").stdout;
    assert!(text.contains("Reason: the state cannot be read\n") && text.contains("is a good copy\n"), "{text}");
}

/// A-D32: an agent that is missing is wanted where the others are.
#[test]
fn a_missing_agent_is_added_to_the_folder_of_the_others() {
    let sandbox = epic();
    sandbox.file(".claude/agents/pm.md", "pm");
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!(finding(&plan, "agent-missing")["fix"], "add .claude/agents/dev.md, or use another agent", "{plan}");
}
