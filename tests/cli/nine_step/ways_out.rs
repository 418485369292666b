//! States that used to lead nowhere: each is named, with a way out that works as printed.

use serde_json::{Value, json};

use super::{STATE, piton, project, with_fields};
use crate::support::{Output, Sandbox};

fn call<'a>(sandbox: &'a Sandbox, arguments: &[&'a str]) -> Output {
    sandbox.piton(arguments.iter().copied()).real_clock().run()
}

/// An approved plan without a worktree.
fn approved(phases: &str) -> Sandbox {
    let sandbox = Sandbox::with_git();
    let mut start = vec!["start", "nine-step", "--feature", "pay"];
    if !phases.is_empty() {
        start.extend(["--phases", phases]);
    }
    call(&sandbox, &start).expect_code(0);
    sandbox.file(".plan/pay_plan.md", "# Plan\n");
    call(&sandbox, &["finish", "1", "--output", ".plan/pay_plan.md"]).expect_code(0);
    call(&sandbox, &["finish", "2", "--verdict", "APPROVED"]).expect_code(0);
    call(&sandbox, &["approve", "2.5", "--by", "Ana"]).expect_code(0);
    sandbox
}

/// The same with its worktree.
fn begun(phases: &str) -> Sandbox {
    let sandbox = approved(phases);
    sandbox.worktree(".worktree/pay", "feature/pay");
    sandbox
}

/// Ends steps of a phase as done.
fn done(sandbox: &Sandbox, phase: &str, steps: &[&str]) {
    for step in steps {
        let id = format!("{phase}:{step}");
        let verdict: &[&str] = if ["2", "4", "6", "8"].contains(step) { &["--verdict", "APPROVED"] } else { &[] };
        call(sandbox, &[&["finish", id.as_str()], verdict].concat()).expect_code(0);
    }
}

fn commit(sandbox: &Sandbox, file: &str) -> String {
    sandbox.file(&format!(".worktree/pay/{file}"), file);
    sandbox.git_in(".worktree/pay", ["add", "--all"]);
    sandbox.git_in(".worktree/pay", ["commit", "--quiet", "--message", file]);
    sandbox.git_in(".worktree/pay", ["rev-parse", "HEAD"])
}

#[track_caller]
fn finding(output: &Output, code: &str) -> Value {
    let findings = output.at("/findings");
    let found = findings.as_array().into_iter().flatten().find(|one| one["code"] == code).cloned();
    found.unwrap_or_else(|| panic!("no {code}: {output}"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// N-D1: the commit of a phase that was not recorded is not dropped with the later ones.
#[test]
fn without_a_recorded_commit_a_rollback_prints_no_reset() {
    let sandbox = begun("2");
    done(&sandbox, "1", &["3", "4", "5", "6", "7", "8", "9"]);
    let first = commit(&sandbox, "core.rs");
    done(&sandbox, "2", &["1", "2"]);
    call(&sandbox, &["approve", "2:2.5", "--by", "Ana"]).expect_code(0);
    call(&sandbox, &["begin", "2:3"]).expect_code(0);
    let second = commit(&sandbox, "more.rs");
    let doubtful = call(&sandbox, &["rollback", "--to", "1"]).expect_code(9);
    assert_eq!(doubtful.at("/data/git/method"), "none", "{doubtful}");
    assert_eq!(doubtful.at("/data/git/commands"), json!([]));
    let shas: Vec<String> =
        doubtful.at("/data/commits").as_array().unwrap().iter().map(|one| text(&one["sha"])).collect();
    assert_eq!(shas, [second, first.clone()], "the commits in doubt are listed");
    assert_eq!(doubtful.at("/data/next"), "piton finish 1:9 --run pay --commit SHA");
    call(&sandbox, &["finish", "1:9", "--run", "pay", "--commit", &first]).expect_code(0);
    let known = call(&sandbox, &["rollback", "--to", "1"]).expect_code(9);
    assert_eq!(known.at("/data/git/method"), "reset");
    let commands = known.at("/data/git/commands");
    assert_eq!(commands[1], format!("git -C .worktree/pay reset --hard {}", &first[..12]), "{known}");
}

/// N-D2: after the approval the worktree is made first; nothing begins in the main tree on another branch.
#[test]
fn the_worktree_is_made_before_the_work_goes_on() {
    let sandbox = approved("1");
    let add = "git worktree add .worktree/pay -b feature/pay";
    let plan = call(&sandbox, &["plan"]).expect_code(9);
    assert_eq!(
        (plan.at("/data/verdict"), finding(&plan, "worktree-missing")["fix"].clone()),
        (json!("blocked"), json!(add))
    );
    assert_eq!(plan.at("/data/question/options/0/command"), add);
    assert_eq!(call(&sandbox, &["status"]).at("/data/next_command"), add);
    let refused = call(&sandbox, &["begin", "3"]).expect_code(9);
    assert_eq!(refused.at("/error/hints/0"), add);
    sandbox.git(["worktree", "add", "--quiet", ".worktree/pay", "-b", "feature/pay"]);
    let begun = call(&sandbox, &["begin", "3"]).expect_code(0);
    assert_eq!(begun.at("/data/brief/agent_context/worktree_path"), "$ROOT/.worktree/pay", "{begun}");
}

/// N-D2: a worktree is known by its branch, wherever it lies; its run stays beside the plan.
#[test]
fn a_worktree_is_adopted_by_its_branch() {
    for place in ["trees/anything", "../tmp/outside"] {
        let sandbox = approved("1");
        sandbox.worktree(place, "feature/pay");
        let plan = call(&sandbox, &["plan"]).expect_code(0);
        assert_eq!(plan.at("/data/next/0/step"), "1:3", "{plan}");
        let begun = call(&sandbox, &["begin", "3"]).expect_code(0);
        let folder = text(&begun.at("/data/brief/agent_context/worktree_path"));
        assert!(folder.ends_with(place.trim_start_matches("../")), "{folder}");
        sandbox.read(".plan/pay.workflow-state.json");
        sandbox.git_in(place, ["checkout", "--quiet", "-b", "other"]);
        let plan = call(&sandbox, &["plan"]).expect_code(9);
        assert_eq!(finding(&plan, "worktree-missing")["fix"], "git worktree add .worktree/pay feature/pay");
    }
}

/// N-D2: a project without worktrees works in the main tree, on the branch of the run and on no other.
#[test]
fn the_main_tree_is_accepted_on_the_branch_of_the_run() {
    let sandbox = approved("1");
    sandbox.git(["checkout", "--quiet", "-b", "feature/pay"]);
    call(&sandbox, &["begin", "3"]).expect_code(0);
    sandbox.git(["checkout", "--quiet", "main"]);
    let plan = call(&sandbox, &["plan"]).expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "blocked", "{plan}");
}

/// N-D3: the number of phases is recorded when the plan says it, and a run without one can end.
#[test]
fn a_run_without_a_number_of_phases_can_end() {
    for (phases, next) in [(Some("1"), "merge"), (Some("2"), "run"), (None, "")] {
        let sandbox = begun("");
        done(&sandbox, "1", &["3", "4", "5", "6", "7", "8", "9"]);
        let fix = text(&finding(&call(&sandbox, &["plan"]), "total-missing")["fix"]);
        assert!(fix.contains("`piton finish 1:1 --run pay --phases NUMBER`"), "{fix}");
        assert!(fix.contains("`piton complete pay`"), "{fix}");
        match phases {
            Some(phases) => {
                call(&sandbox, &["finish", "1:1", "--run", "pay", "--phases", phases]).expect_code(0);
                assert_eq!(call(&sandbox, &["plan"]).at("/data/next/0/action"), next);
            }
            None => {
                call(&sandbox, &["complete", "pay"]).expect_code(0);
                call(&sandbox, &["list"]).expect_code(3);
            }
        }
    }
}

/// N-D3: the approval of the plan is the second place for it; a value that would be lost is refused.
#[test]
fn the_approval_takes_the_number_of_phases() {
    let sandbox = Sandbox::with_git();
    call(&sandbox, &["start", "nine-step", "--feature", "pay"]).expect_code(0);
    sandbox.file(".plan/pay_plan.md", "# Plan\n");
    done(&sandbox, "1", &["1", "2"]);
    call(&sandbox, &["approve", "2.5", "--by", "Ana", "--phases", "3"]).expect_code(0);
    assert_eq!(sandbox.read_json(".plan/pay.workflow-state.json")["total_phases"], 3);
    let late = call(&sandbox, &["approve", "2.5", "--by", "Ana", "--phases", "2"]).expect_code(1);
    assert_eq!(late.at("/error/hints/0"), "piton finish 1:1 --run pay --phases 2");
}

/// N-D42: the first resume after the worktree was made moves the state and goes on.
#[test]
fn the_first_resume_in_a_new_worktree_works() {
    let sandbox = begun("1");
    let resumed = call(&sandbox, &["resume", "--yes"]).expect_code(0);
    assert_eq!(resumed.at("/data/context/step"), "1:3", "{resumed}");
    sandbox.read(".worktree/pay/.workflow-state.json");
    call(&sandbox, &["resume", "--yes"]).expect_code(0);
}

/// N-D7: a worktree deleted by hand leaves a blocked run, and each command of its way out works.
#[test]
fn a_run_outlives_its_worktree() {
    let sandbox = begun("1");
    done(&sandbox, "1", &["3", "4"]);
    sandbox.remove(".worktree/pay");
    let plan = call(&sandbox, &["plan"]);
    assert_eq!((plan.at("/data/verdict"), plan.at("/data/next/0/step")), (json!("blocked"), json!("1:5")), "{plan}");
    let fix = "git worktree prune && git worktree add .worktree/pay feature/pay && piton restore pay";
    assert_eq!(finding(&plan, "worktree-gone")["fix"], fix);
    assert_eq!(call(&sandbox, &["list"]).expect_code(0).at("/data/runs/0/verdict"), "blocked");
    for refused in [vec!["begin", "5"], vec!["finish", "5"], vec!["restore", "pay"]] {
        assert_eq!(call(&sandbox, &refused).expect_code(9).at("/error/hints/0"), fix, "{refused:?}");
    }
    let started = call(&sandbox, &["start", "nine-step", "--feature", "pay"]).expect_code(1);
    assert_eq!(started.at("/error/hints/0"), fix);
    sandbox.git(["worktree", "prune"]);
    sandbox.git(["worktree", "add", "--quiet", ".worktree/pay", "feature/pay"]);
    call(&sandbox, &["restore", "pay"]).expect_code(0);
    let plan = call(&sandbox, &["plan"]).expect_code(0);
    assert_eq!(plan.at("/data/next/0/step"), "1:5", "nothing is repeated: {plan}");
    assert!(call(&sandbox, &["history"]).stdout.contains("early-"), "its history is there too");
}

/// N-D7: what was lost with a worktree is done again, although the digests of the files were lost with it.
#[test]
fn what_was_lost_with_the_worktree_is_done_again() {
    let sandbox = begun("1");
    sandbox.file(".worktree/pay/core.rs", "core");
    call(&sandbox, &["finish", "3", "--output", ".worktree/pay/core.rs"]).expect_code(0);
    done(&sandbox, "1", &["4", "5"]);
    sandbox.remove(".worktree/pay");
    sandbox.git(["worktree", "prune"]);
    sandbox.git(["worktree", "add", "--quiet", ".worktree/pay", "feature/pay"]);
    call(&sandbox, &["restore", "pay"]).expect_code(0);
    let plan = call(&sandbox, &["plan"]).expect_code(9);
    assert_eq!((plan.at("/data/verdict"), plan.at("/data/next/0/step")), (json!("confirm"), json!("1:3")), "{plan}");
    assert_eq!(finding(&plan, "output-missing")["file"], ".worktree/pay/core.rs");
    sandbox.file(".worktree/pay/core.rs", "core");
    assert_eq!(call(&sandbox, &["plan"]).expect_code(0).at("/data/next/0/step"), "1:6", "it was brought back");
}

/// N-D7: after the merge and the clean-up the finished run is still listed.
#[test]
fn a_finished_run_outlives_its_worktree() {
    let sandbox = begun("1");
    done(&sandbox, "1", &["3", "4", "5", "6", "7", "8"]);
    let sha = commit(&sandbox, "core.rs");
    call(&sandbox, &["finish", "9", "--commit", &sha]).expect_code(0);
    call(&sandbox, &["complete", "pay"]).expect_code(0);
    sandbox.git(["worktree", "remove", ".worktree/pay"]);
    call(&sandbox, &["list"]).expect_code(3);
    let all = call(&sandbox, &["list", "--all"]).expect_code(0);
    assert_eq!(all.at("/data/runs/0/lifecycle/stage"), "finished", "{all}");
    call(&sandbox, &["archive", "pay"]).expect_code(0);
    let all = call(&sandbox, &["list", "--all"]).expect_code(0);
    assert_eq!(all.at("/data/runs/0/lifecycle/stage"), "archived", "{all}");
}

/// N-D7: an archive of a run in a worktree lasts longer than the worktree.
#[test]
fn an_archive_lasts_longer_than_the_worktree() {
    let sandbox = begun("1");
    done(&sandbox, "1", &["3"]);
    let archived = text(&call(&sandbox, &["archive", "pay", "--yes"]).expect_code(0).at("/data/to"));
    assert!(archived.starts_with(".plan/.piton/pay/archive/"), "{archived}");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "?? .plan/", "only the plan is new to git");
}

/// N-D12: an unknown word for a status is replaced by a person's verb.
#[test]
fn an_unknown_status_has_two_ways_out() {
    for (verb, next) in [("redo", "2:3"), ("accept", "2:4")] {
        let sandbox = project();
        let last = r#""phase": 2, "step": 3, "agent": "backend-developer", "status": "error""#;
        sandbox.file(STATE, &with_fields(last, r#""total_phases": 3, "branch_name": "feature/quotes""#));
        let plan = piton(&sandbox, 9, ["plan"]);
        let fix = text(&finding(&plan, "status-unknown")["fix"]);
        assert!(fix.contains(&format!("`piton {verb} 2:3 --run quotes --by NAME --note WHY`")), "{fix}");
        let refused = piton(&sandbox, 9, ["begin", "2:3"]);
        assert_eq!(refused.at("/error/hints/1"), "piton accept 2:3 --run quotes --by NAME --note WHY");
        call(&sandbox, &[verb, "2:3", "--by", "Ana", "--note", "looked"]).expect_code(0);
        assert_eq!(call(&sandbox, &["plan"]).at("/data/next/0/step"), next, "{verb}");
        if verb == "redo" {
            call(&sandbox, &["begin", "2:3"]).expect_code(0);
            let state = sandbox.read_json(STATE);
            assert_eq!(state["last_execution"]["status"], "in_progress");
        }
    }
}

/// N-D22: a branch that was renamed is renamed back or recorded.
#[test]
fn a_renamed_branch_can_be_recorded() {
    let sandbox = begun("1");
    done(&sandbox, "1", &["3"]);
    sandbox.git(["branch", "-m", "feature/pay", "feature/money"]);
    let plan = call(&sandbox, &["plan"]).expect_code(9);
    let options: Vec<String> =
        plan.at("/data/question/options").as_array().unwrap().iter().map(|one| text(&one["command"])).collect();
    let back = "git -C .worktree/pay branch -m feature/money feature/pay";
    assert_eq!(options, ["piton repair pay --branch feature/money", back, "piton abort pay"]);
    call(&sandbox, &["repair", "pay", "--branch", "feature/none"]).expect_code(1);
    call(&sandbox, &["repair", "pay", "--branch", "feature/money"]).expect_code(0);
    let plan = call(&sandbox, &["plan"]).expect_code(0);
    assert_eq!(plan.at("/data/run/branch"), "feature/money");
    let full = sandbox.read(".worktree/pay/.workflow-state.json").replace("feature/money", "refs/heads/feature/money");
    sandbox.file(".worktree/pay/.workflow-state.json", &full);
    call(&sandbox, &["plan"]).expect_code(0);
}

/// N-D24: the merge is approved, printed, seen, and the clean-up follows.
#[test]
fn the_merge_gate_leads_to_the_end() {
    let sandbox = begun("1");
    done(&sandbox, "1", &["3", "4", "5", "6", "7", "8"]);
    call(&sandbox, &["approve", "merge", "--by", "Ana"]).expect_code(1);
    let sha = commit(&sandbox, "core.rs");
    let finished = call(&sandbox, &["finish", "9", "--commit", &sha]).expect_code(0);
    assert_eq!(finished.at("/data/next"), "piton approve merge --run pay");
    sandbox.file(".worktree/pay/left.rs", "not committed");
    let plan = call(&sandbox, &["plan"]);
    assert_eq!(finding(&plan, "worktree-dirty")["severity"], "warning");
    assert_eq!(plan.at("/data/question/options/0/command"), "piton approve merge --run pay --by NAME");
    sandbox.remove(".worktree/pay/left.rs");
    let merge = "git -C $ROOT switch main && git -C $ROOT merge --no-ff feature/pay";
    let approved = call(&sandbox, &["approve", "merge", "--run", "pay", "--by", "Ana"]).expect_code(0);
    assert_eq!(approved.at("/data/next"), merge);
    assert_eq!(call(&sandbox, &["status"]).at("/data/next_command"), merge);
    let again = call(&sandbox, &["approve", "merge", "--run", "pay", "--by", "Ana"]).expect_code(0);
    assert_eq!(again.at("/data/recorded"), false);
    assert_eq!(call(&sandbox, &["plan"]).at("/data/decisions").as_array().map(Vec::len), Some(2));
    sandbox.git(["merge", "--quiet", "--no-ff", "--no-edit", "feature/pay"]);
    let plan = call(&sandbox, &["plan"]).expect_code(0);
    assert_eq!(plan.at("/data/commands/begin"), "piton complete pay", "{plan}");
    let reason = text(&plan.at("/data/next/0/reason"));
    assert!(reason.starts_with("feature/pay is merged"), "{reason}");
    let complete = call(&sandbox, &["complete", "pay"]).expect_code(0);
    let message = text(&complete.at("/data/message"));
    assert!(message.contains("`git worktree remove .worktree/pay`, `git branch -d feature/pay`"), "{message}");
}

/// N-D27: where failing tests go back to is said by the one who ran them; words are only the fallback.
#[test]
fn failing_tests_return_to_the_step_that_was_named() {
    for (flag, first, other) in [(None, "1:7", "1:3"), (Some("3"), "1:3", "1:7"), (Some("7"), "1:7", "1:3")] {
        let sandbox = begun("1");
        done(&sandbox, "1", &["3", "4", "5", "6"]);
        call(&sandbox, &["begin", "7"]).expect_code(0);
        let mut finish = vec!["finish", "7", "--status", "failed", "--error", "테스트 3건 실패"];
        finish.extend(flag.into_iter().flat_map(|step| ["--to-step", step]));
        call(&sandbox, &finish).expect_code(0);
        let plan = call(&sandbox, &["plan"]);
        assert_eq!(plan.at("/data/next/0/step"), first, "{flag:?}: {plan}");
        let way = format!("piton finish 1:7 --run pay --status failed --to-step {other}");
        assert_eq!(plan.at("/data/question/options/1/command"), way);
        let late = call(&sandbox, &["finish", "1:7", "--run", "pay", "--status", "failed", "--to-step", other]);
        assert_eq!(late.expect_code(0).at("/data/message"), format!("the failure of 1:7 goes back to {other}"));
        let begun = call(&sandbox, &["begin"]).expect_code(0);
        assert_eq!(begun.at("/data/step"), other);
        assert_eq!(begun.at("/data/brief/findings_to_address/0"), "테스트 3건 실패", "{begun}");
    }
    let sandbox = begun("1");
    done(&sandbox, "1", &["3", "4"]);
    call(&sandbox, &["finish", "5", "--status", "failed", "--error", "x", "--to-step", "7"]).expect_code(2);
    call(&sandbox, &["finish", "5", "--to-step", "3"]).expect_code(2);
}

/// N-D35: a gate without a record is approved late, and the run stays where it is.
#[test]
fn a_gate_that_was_jumped_over_is_approved_late() {
    let sandbox = project();
    let entry = |step: &str| format!(r#"{{"phase": 1, "step": {step}, "status": "completed"}}"#);
    let listed = format!(r#""total_phases": 1, "completed_steps": [{}, {}]"#, entry("1"), entry("2"));
    sandbox.file(STATE, &with_fields(r#""phase": 1, "step": 7, "status": "completed""#, &listed));
    let plan = piton(&sandbox, 9, ["plan"]);
    let unrecorded = finding(&plan, "approval-unrecorded");
    assert_eq!(unrecorded["fix"], "`piton approve 1:2.5 --run quotes --by NAME` records the approval");
    call(&sandbox, &["approve", "1:2.5", "--run", "quotes", "--by", "Ana"]).expect_code(0);
    let plan = call(&sandbox, &["plan"]);
    assert_eq!(plan.at("/data/next/0/step"), "1:8");
    assert_eq!(finding(&plan, "approval-unrecorded")["step"], "1:4", "the review is still without a record");
}

/// N-D36 and N-D40: stamps of other programs are read, and the state is no change of the work.
#[test]
fn a_state_of_another_program_is_read_as_it_is_meant() {
    for stamp in [r#""2026-01-31T11:30Z""#, "1769859000", "1769859000123", r#""1769859000""#] {
        let sandbox = project();
        sandbox.file(".git/info/exclude", "");
        let last = r#""phase": 2, "step": 3, "agent": "backend-developer", "status": "completed""#;
        let state = with_fields(last, r#""total_phases": 3, "branch_name": "feature/quotes""#);
        sandbox.file(STATE, &state.replace(r#""2026-01-31T11:30:00Z""#, stamp));
        let plan = piton(&sandbox, 0, ["plan"]);
        assert_eq!(
            (plan.at("/data/age/seconds"), plan.at("/data/age/source")),
            (json!(1800), json!("state")),
            "{stamp}"
        );
        assert_eq!(plan.findings(), [] as [&str; 0], "{stamp}");
    }
}

/// N-D41: `passed` and `failed` are verdicts too.
#[test]
fn reviewers_say_passed_and_failed() {
    let sandbox = begun("1");
    done(&sandbox, "1", &["3"]);
    call(&sandbox, &["finish", "4", "--verdict", "failed", "--error", "x"]).expect_code(0);
    assert_eq!(call(&sandbox, &["plan"]).at("/data/next/0/action"), "return");
    call(&sandbox, &["begin", "3"]).expect_code(0);
    done(&sandbox, "1", &["3"]);
    call(&sandbox, &["finish", "4", "--verdict", "Passed"]).expect_code(0);
    assert_eq!(call(&sandbox, &["plan"]).at("/data/next/0/step"), "1:5");
}

/// N-D10: a state that git put back is named, with the version that brings the work back.
#[test]
fn a_state_that_is_older_than_the_log_is_named() {
    let sandbox = begun("1");
    done(&sandbox, "1", &["3", "4"]);
    let state = ".worktree/pay/.workflow-state.json";
    let older = sandbox.read(state);
    done(&sandbox, "1", &["5", "6"]);
    sandbox.file(state, &older);
    let plan = call(&sandbox, &["plan"]).expect_code(9);
    let finding = finding(&plan, "state-older-than-log");
    assert_eq!((plan.at("/data/verdict"), &finding["step"]), (json!("confirm"), &json!("1:5")), "{plan}");
    assert!(text(&finding["message"]).contains("before 1:5, 1:6 were done"), "{finding}");
    assert_eq!(finding["fix"], "piton restore pay --to copy");
    call(&sandbox, &["restore", "pay", "--to", "copy"]).expect_code(0);
    let plan = call(&sandbox, &["plan"]).expect_code(0);
    assert_eq!((plan.at("/data/next/0/step"), plan.findings()), (json!("1:7"), Vec::new()), "{plan}");
    let restored = call(&sandbox, &["history"]);
    let first = text(&restored.at("/data/checkpoints/1/id"));
    call(&sandbox, &["restore", "pay", "--to", &first, "--yes"]).expect_code(0);
    let plan = call(&sandbox, &["plan"]);
    assert!(!plan.findings().contains(&"state-older-than-log".to_owned()), "a restore is meant: {plan}");
}

/// N-D25: a phase is put off with a record; the next phase goes on, its steps can be reopened, and the merge gate lists them.
#[test]
fn a_phase_is_put_off() {
    let sandbox = begun("2");
    for error in ["e1", "e2", "e3"] {
        call(&sandbox, &["begin", "3"]).expect_code(0);
        call(&sandbox, &["finish", "3", "--status", "failed", "--error", error]).expect_code(0);
    }
    let plan = call(&sandbox, &["plan"]).expect_code(9);
    let commands: Vec<String> =
        plan.at("/data/question/options").as_array().unwrap().iter().map(|one| text(&one["command"])).collect();
    let skip = "piton skip --phase 1 --run pay --reason TEXT --by NAME".to_owned();
    assert!(commands.contains(&skip), "{commands:?}");
    call(&sandbox, &["skip", "--phase", "1", "--run", "pay", "--reason", "later", "--by", "Ana"]).expect_code(0);
    let plan = call(&sandbox, &["plan"]).expect_code(0);
    assert_eq!(plan.at("/data/next/0/step"), "2:1", "{plan}");
    let reopened = call(&sandbox, &["redo", "1:3", "--run", "pay", "--by", "Ana", "--note", "now"]).expect_code(0);
    assert_eq!(reopened.at("/data/recorded"), true);
    call(&sandbox, &["skip", "--phase", "3", "--run", "pay", "--reason", "later"]).expect_code(2);
}

/// N-D23 and N28: the page of the resume command in Markdown says what the plan says; lists are tables.
#[test]
fn a_plan_in_markdown_is_the_page_of_the_plugin() {
    let sandbox = begun("1");
    done(&sandbox, "1", &["3"]);
    sandbox.git_in(".worktree/pay", ["checkout", "--quiet", "-b", "other"]);
    let page = call(&sandbox, &["plan", "--format", "markdown"]).expect_code(9).stdout;
    for line in [
        "# 📋 Workflow Resume Plan",
        "**Feature**: pay",
        "- Phase: 1/1",
        "- Last Step: 3 - completed",
        "- ✅ Phase 1: Step 1-3 completed",
        "- Next Step: 4",
        "- [ ] check out feature/pay: `git -C .worktree/pay checkout feature/pay`",
        "**Verdict**: blocked",
    ] {
        assert!(page.lines().any(|there| there == line), "{line}: {page}");
    }
    assert!(page.contains("- blocking: Worktree state doesn't match workflow state."), "{page}");
    let list = call(&sandbox, &["list", "--format", "markdown"]).expect_code(0).stdout;
    assert!(list.starts_with("| # | Run |") && list.contains("| 1 | pay | Phase 1: run 1:4 (Code review)"), "{list}");
    let status = call(&sandbox, &["status", "--format", "markdown"]).expect_code(9).stdout;
    assert!(status.starts_with("| pay | |") && status.contains("| Verdict | blocked |"), "{status}");
    let shown = call(&sandbox, &["plan", "--format", "text"]).expect_code(9).stdout;
    assert!(shown.contains("  Phase        1/1\n  Last Step    3 - completed\n"), "{shown}");
}

/// N51: the start of a second run says what is open besides it.
#[test]
fn a_start_names_the_runs_that_are_open() {
    let sandbox = begun("1");
    let started = call(&sandbox, &["start", "nine-step", "--feature", "other"]).expect_code(0);
    assert_eq!(started.at("/data/message"), "run other has begun; also open: pay (Phase 1: run 1:3 (Implementation))");
}

/// N-D26: a plan that was not written is not finished, not approved, and can be named where it is.
#[test]
fn a_plan_without_a_document_is_not_approved() {
    let start = ["start", "nine-step", "--feature", "pay", "--phases", "1"];
    let missing = "the plan document .plan/pay_plan.md does not exist";
    let elsewhere = "if it is at another place: `piton finish 1:1 --run pay --output FILE`";
    let sandbox = Sandbox::with_git();
    call(&sandbox, &start).expect_code(0);
    assert_eq!(call(&sandbox, &["plan"]).expect_code(0).findings(), [] as [&str; 0], "it is still to be written");
    let refused = call(&sandbox, &["finish", "1"]).expect_code(1);
    let hints = json!(["write it, then: `piton finish 1:1 --run pay --status completed`", elsewhere]);
    assert_eq!((refused.at("/error/message"), refused.at("/error/hints")), (json!(missing), hints), "{refused}");
    sandbox.file("docs/plan.md", "# Plan\n");
    call(&sandbox, &["finish", "1", "--output", "docs/plan.md"]).expect_code(0);
    assert_eq!(sandbox.read_json(".plan/pay.workflow-state.json")["plan_reference"], "docs/plan.md");
    done(&sandbox, "1", &["2"]);
    call(&sandbox, &["approve", "2.5", "--by", "Ana"]).expect_code(0);

    let sandbox = Sandbox::with_git();
    call(&sandbox, &start).expect_code(0);
    call(&sandbox, &["begin", "1"]).expect_code(0);
    let refused = call(&sandbox, &["finish", "1"]).expect_code(1);
    assert_eq!(refused.at("/error/hints/2"), "piton override 1:1 --run pay --by NAME --note WHY", "{refused}");
    call(&sandbox, &["override", "1", "--by", "Ana", "--note", "it is in the wiki"]).expect_code(0);
    done(&sandbox, "1", &["1", "2"]);
    let plan = call(&sandbox, &["plan"]).expect_code(9);
    finding(&plan, "plan-missing");
    let options = plan.at("/data/question/options");
    let commands: Vec<&str> = options.as_array().unwrap().iter().filter_map(|one| one["command"].as_str()).collect();
    let ways = ["piton redo 1:1 --run pay --by NAME --note WHY", "piton override 1:2.5 --run pay --by NAME --note WHY"];
    assert_eq!((&commands[..2], commands.len()), (&ways[..], 4), "{plan}");
    let refused = call(&sandbox, &["approve", "2.5", "--by", "Ana"]).expect_code(1);
    assert_eq!(refused.at("/error/hints"), json!([ways[0], elsewhere, ways[1]]), "{refused}");
    call(&sandbox, &["override", "2.5", "--by", "Ana", "--note", "it is in the wiki"]).expect_code(0);
    call(&sandbox, &["approve", "2.5", "--by", "Ana"]).expect_code(0);
}

/// N-D26: a plan that was moved is named after its step is done, and the approval finds it there.
#[test]
fn a_plan_that_was_moved_can_be_named() {
    let sandbox = Sandbox::with_git();
    call(&sandbox, &["start", "nine-step", "--feature", "pay", "--phases", "1"]).expect_code(0);
    sandbox.file(".plan/pay_plan.md", "# Plan\n");
    done(&sandbox, "1", &["1", "2"]);
    sandbox.remove(".plan/pay_plan.md").file("plans/pay.md", "# Plan\n");
    let fix = text(&finding(&call(&sandbox, &["plan"]), "plan-missing")["fix"]);
    assert!(fix.ends_with("`piton finish 1:1 --run pay --output FILE`"), "{fix}");
    call(&sandbox, &["finish", "1:1", "--run", "pay", "--output", "plans/pay.md"]).expect_code(0);
    assert_eq!(sandbox.read_json(".plan/pay.workflow-state.json")["plan_reference"], "plans/pay.md");
    call(&sandbox, &["approve", "2.5", "--by", "Ana"]).expect_code(0);
}

/// Changes requested at the gate are an answer with a command, and the approval that follows is what counts.
#[test]
fn changes_of_the_plan_are_requested_at_the_gate() {
    let sandbox = Sandbox::with_git();
    call(&sandbox, &["start", "nine-step", "--feature", "pay", "--phases", "1", "--issue", "12"]).expect_code(0);
    sandbox.file(".plan/pay_plan.md", "# Plan\n");
    done(&sandbox, "1", &["1", "2"]);
    let gate = sandbox.piton(["--format", "text", "plan"]).real_clock().run().expect_code(9);
    assert!(gate.stdout.contains("Verdict      blocked: a person approves first\n"), "{gate}");
    assert!(!gate.stdout.contains("Interrupted"), "nothing was cut off: {gate}");
    let changes = "piton finish 1:2.5 --run pay --verdict NEEDS_REVISION --error TEXT";
    assert!(gate.stdout.contains(&format!("→ {changes}   # request changes\n")), "{gate}");
    call(&sandbox, &["finish", "2.5", "--verdict", "NEEDS_REVISION", "--error", "split it"]).expect_code(0);
    assert_eq!(call(&sandbox, &["plan"]).expect_code(0).at("/data/next/0/step"), "1:1");
    for step in ["1", "2"] {
        call(&sandbox, &["begin", step]).expect_code(0);
        done(&sandbox, "1", &[step]);
    }
    call(&sandbox, &["approve", "2.5", "--by", "Ana"]).expect_code(0);
    sandbox.worktree(".worktree/pay", "feature/pay");
    let begun = sandbox.piton(["--format", "text", "begin", "3", "--agent", "backend-developer"]).real_clock().run();
    let begun = begun.expect_code(0);
    assert!(begun.stdout.contains("\nAgent: backend-developer (attempt 1)\n"), "{begun}");
    assert!(begun.stdout.contains("\nrelated issues: 12\n"), "{begun}");
    assert!(!begun.stdout.contains("split it"), "the approval answered it: {begun}");
}

/// What follows the last step is not named after it, an open condition is named where it is recorded, and a run that was given up asks
/// for no worktree.
#[test]
fn lines_say_what_they_are_about() {
    let sandbox = begun("1");
    done(&sandbox, "1", &["3"]);
    let conditions = ["finish", "4", "--verdict", "APPROVED_WITH_CONDITIONS", "--condition", "name the port"];
    let open = call(&sandbox, &conditions).expect_code(0);
    let message = "1:4 is APPROVED_WITH_CONDITIONS; it stays open until this is met: name the port";
    assert_eq!(open.at("/data/message"), message);
    done(&sandbox, "1", &["4", "5", "6", "7", "8"]);
    let sha = commit(&sandbox, "core.rs");
    call(&sandbox, &["finish", "9", "--commit", &sha]).expect_code(0);
    let text = |arguments: &[&str]| sandbox.piton(arguments.iter().copied()).real_clock().run().stdout;
    let page = text(&["--format", "text", "plan"]);
    assert!(page.contains("\n  merge pay Pre-merge approval and merge — git-worktree-manager\n"), "{page}");
    let list = text(&["--format", "text", "list"]);
    assert!(list.contains("(Phase 1: merge (Pre-merge approval and merge))"), "{list}");

    let sandbox = approved("1");
    call(&sandbox, &["abort", "pay", "--by", "Ana"]).expect_code(0);
    let plan = call(&sandbox, &["plan"]);
    assert!(!plan.findings().contains(&"worktree-missing".to_owned()), "{plan}");
}
