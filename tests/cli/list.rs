use super::projects::{self, SESSION, document};
use crate::support::Sandbox;

#[test]
fn runs_come_newest_first_with_numbers_that_other_verbs_take() {
    let sandbox = projects::both();
    let list = document(&sandbox.piton(["list"]).run().expect_code(0));
    let runs = list["data"]["runs"].as_array().unwrap();
    let ids: Vec<_> = runs.iter().map(|run| (run["number"].as_u64(), run["id"].as_str())).collect();
    assert_eq!(ids, [(Some(1), Some("user-auth")), (Some(2), Some("WFS-user-auth"))]);
    insta::assert_snapshot!(sandbox.piton(["list", "--format", "text"]).run(), @"
    code: 0
    ----- stdout -----
    Found interrupted workflows:
     1. user-auth (Phase 2: Step 4 failed, next: return 2:3 (Implementation)) - 30 minutes ago  resume  nine-step 13/20  .worktree/user-auth/.workflow-state.json
     2. WFS-user-auth (retry IMPL-002 (Implement JWT authentication)) - 2 hours ago  resume  ccw 1/3  .workflow/active/WFS-user-auth
    → piton plan NUMBER
    ");
    let quiet = sandbox.piton(["list", "--format", "text", "-q"]).run().expect_code(0);
    assert_eq!(quiet.stdout.lines().count(), 3, "{quiet}");
}

#[test]
fn no_run_is_an_answer_with_the_next_command() {
    let sandbox = Sandbox::with_git();
    insta::assert_snapshot!(sandbox.piton(["list", "--format", "text"]).run(), @"
    code: 3
    ----- stderr -----
    ❌ No interrupted workflow found.
    → searched $ROOT
    → to look elsewhere: `piton --project DIR list`
    → to start one: `piton start nine-step --feature NAME`, or /workflow-exec
    ");
    document(&sandbox.piton(["list"]).run().expect_code(3));
}

#[test]
fn finished_runs_are_counted_and_shown_on_demand() {
    let sandbox = projects::both();
    sandbox.piton(["abort", "user-auth"]).run().expect_code(0);
    let list = sandbox.piton(["list"]).run().expect_code(0);
    assert_eq!((list.at("/data/hidden"), list.at("/data/runs/1")), (1.into(), serde_json::Value::Null));
    let all = sandbox.piton(["list", "--all"]).run().expect_code(0);
    assert_eq!((all.at("/data/hidden"), all.at("/data/runs/1/id")), (0.into(), "user-auth".into()));
    let number = all.at("/data/runs/1/number").to_string();
    assert_eq!(sandbox.piton(["plan", &number]).run().at("/data/run/id"), "user-auth");
    let text = sandbox.piton(["list", "--format", "text"]).run();
    assert!(text.stdout.contains("1 finished run left out; --all shows them"), "{text}");

    sandbox.piton(["archive", "WFS-user-auth", "--yes"]).run().expect_code(0);
    let none = sandbox.piton(["list"]).run().expect_code(3);
    assert!(none.at("/error/hints/0").as_str().unwrap().contains("piton list --all"), "{none}");
}

#[test]
fn an_unreadable_run_is_listed_too() {
    let sandbox = projects::both();
    sandbox.file(projects::NINE_STEP, "{\"feature_name\": ");
    let list = document(&sandbox.piton(["list"]).run().expect_code(0));
    let runs = list["data"]["runs"].as_array().unwrap();
    let broken = runs.iter().find(|run| run["dialect"] == "nine-step").unwrap();
    assert_eq!(broken["verdict"], "blocked");
    assert!(broken["position"].as_str().unwrap().starts_with("unreadable: "), "{broken}");
}

#[test]
fn one_broken_project_folder_does_not_hide_the_others() {
    let sandbox = projects::both();
    std::fs::remove_file(sandbox.root().join(projects::NINE_STEP)).unwrap();
    sandbox.dir(projects::NINE_STEP).file(&format!("{SESSION}/.piton"), "a file, not a folder");
    let list = sandbox.piton(["list"]).run().expect_code(0);
    assert!(list.stdout.contains("WFS-user-auth"), "{list}");
}

#[test]
fn environment_variables_replace_flags() {
    let sandbox = projects::ccw();
    let text = sandbox.piton(["list"]).env("PITON_FORMAT", "text").run().expect_code(0);
    assert!(text.stdout.starts_with("Found interrupted workflows:"), "{text}");
    let flag_wins = sandbox.piton(["list", "--format", "json"]).env("PITON_FORMAT", "text").run();
    document(&flag_wins);
    let wrong = document(&sandbox.piton(["list"]).env("PITON_FORMAT", "xml").run().expect_code(2));
    assert!(wrong["error"]["message"].as_str().unwrap().contains("PITON_FORMAT"), "{wrong}");
    let wrong = document(&sandbox.piton(["list"]).env("PITON_MODE", "wild").run().expect_code(2));
    assert!(wrong["error"]["message"].as_str().unwrap().contains("PITON_MODE"), "{wrong}");

    let aged = sandbox.piton(["list"]).real_clock().env("PITON_NOW", "2026-03-01T10:00:00Z").run().expect_code(0);
    assert_eq!(aged.at("/data/runs/0/age_band"), "stale");
    let flag_wins = sandbox.piton(["list"]).env("PITON_NOW", "2026-03-01T10:00:00Z").run().expect_code(0);
    assert_eq!(flag_wins.at("/data/runs/0/age_band"), "recent");
    let wrong = document(&sandbox.piton(["list"]).real_clock().env("PITON_NOW", "noon").run().expect_code(2));
    assert!(wrong["error"]["message"].as_str().unwrap().contains("noon"), "{wrong}");
}

#[test]
fn a_wrong_setting_names_its_line_and_the_nearest_key() {
    for (toml, says) in [
        (
            "[limits]\nattemps = 5\n",
            "piton.toml:2: unknown key `limits.attemps`; the nearest valid key is `limits.attempts`",
        ),
        ("\n\nmood = 1\n", "piton.toml:3: unknown key `mood`; the nearest valid key is `mode`"),
        ("[limits]\nattempts = \"many\"\n", "piton.toml:2: "),
        ("mode = [", "piton.toml:1: "),
        ("mode = \"wild\"\n", "piton.toml:1: "),
    ] {
        let sandbox = projects::ccw();
        sandbox.file("piton.toml", toml);
        for words in [&["list"][..], &["plan"], &["begin", "IMPL-002"], &["validate"]] {
            let error = document(&sandbox.piton(words.iter().copied()).run().expect_code(2));
            assert!(error["error"]["message"].as_str().unwrap().starts_with(says), "{error}");
        }
    }
    let sandbox = projects::ccw();
    let error = document(&sandbox.piton(["list"]).env("PITON_LIMITS_ATTEMPTS", "many").run().expect_code(2));
    assert!(error["error"]["message"].as_str().unwrap().starts_with("PITON_LIMITS_ATTEMPTS: "), "{error}");
    sandbox.bytes("piton.toml", b"mode = \"\xff\"\n").piton(["list"]).run().expect_code(4);
}

/// N-D19.
#[test]
fn a_run_on_the_wrong_branch_has_the_verdict_of_its_plan() {
    let sandbox = Sandbox::with_git();
    sandbox.worktree(".worktree/user-auth", "feature/user-auth");
    let state = projects::nine_step().read(projects::NINE_STEP);
    sandbox.file(projects::NINE_STEP, &state.replacen('{', "{\"branch_name\": \"feature/user-auth\",", 1));
    let verdicts = |code: i32| {
        // Without git on the PATH: the list reads files only.
        let listed = sandbox.piton(["list"]).without_git().run().expect_code(0).at("/data/runs/0/verdict");
        let planned = sandbox.piton(["plan"]).run().expect_code(code).at("/data/verdict");
        (listed, planned)
    };
    assert_eq!(verdicts(9), ("confirm".into(), "confirm".into()));
    sandbox.file(".plan/user-auth_plan.md", "# Plan\n");
    assert_eq!(verdicts(0), ("resume".into(), "resume".into()));
    sandbox.git_in(".worktree/user-auth", ["checkout", "--quiet", "-b", "other"]);
    assert_eq!(verdicts(9), ("blocked".into(), "blocked".into()));
    assert_eq!(sandbox.piton(["status", "other"]).run().expect_code(9).at("/data/run"), "user-auth");
}

/// Starts nine-step runs in a repository.
fn started(features: &[&str]) -> Sandbox {
    let sandbox = Sandbox::with_git();
    for feature in features {
        sandbox.piton(["start", "nine-step", "--feature", feature, "--phases", "1"]).run().expect_code(0);
    }
    sandbox
}

#[test]
fn each_line_says_whether_a_run_is_paused_aborted_or_finished() {
    let sandbox = started(&["waits", "stopped", "fresh"]);
    projects::add_ccw(&sandbox);
    sandbox.file("flow.yaml", "name: flow\nsteps:\n  - {id: one, agent: a}\n");
    sandbox.piton(["start", "flow.yaml", "--feature", "done"]).run().expect_code(0);
    sandbox.piton(["finish", "one", "--run", "done"]).run().expect_code(0);
    sandbox.piton(["pause", "waits", "--reason", "lunch"]).run().expect_code(0);
    sandbox.piton(["abort", "stopped", "--note", "no budget"]).run().expect_code(0);
    insta::assert_snapshot!(sandbox.piton(["list", "--all", "--format", "text"]).run(), @"
    code: 0
    ----- stdout -----
    Runs:
     1. fresh (Phase 1: run 1:1 (Planning)) - 0 seconds ago  resume  nine-step 0/10  .plan/fresh.workflow-state.json
     2. waits (Phase 1: run 1:1 (Planning)) - paused: lunch, 0 seconds ago  resume  nine-step 0/10  .plan/waits.workflow-state.json
     3. WFS-user-auth (retry IMPL-002 (Implement JWT authentication)) - 2 hours ago  resume  ccw 1/3  .workflow/active/WFS-user-auth
     4. stopped - aborted: no budget, 0 seconds ago  nine-step 0/10  .plan/stopped.workflow-state.json
     5. done - finished, 0 seconds ago  flow 1/1  $ROOT/.git/piton/runs/done/journal.jsonl
    → piton plan NUMBER
    ");
    insta::assert_snapshot!(sandbox.piton(["status", "stopped", "--format", "text"]).run(), @"
    code: 9
    ----- stdout -----
    Where you are  stopped (aborted: no budget): 0 of 10 steps done
    What's stale   the run was aborted; it continues only on explicit request (last change 0 seconds ago)
    Next command   piton archive stopped
    ");
    insta::assert_snapshot!(sandbox.piton(["status", "waits", "--format", "text"]).run(), @"
    code: 0
    ----- stdout -----
    Where you are  waits (paused: lunch): 0 of 10 steps done, next: run 1:1 (Planning)
    What's stale   nothing (last change 0 seconds ago)
    Next command   piton resume waits
    ");
    insta::assert_snapshot!(sandbox.piton(["status", "done", "--format", "text"]).run(), @"
    code: 0
    ----- stdout -----
    Where you are  done (finished): 1 of 1 steps done
    What's stale   nothing (last change 0 seconds ago)
    Next command   piton archive done
    ");
    let list = document(&sandbox.piton(["list", "--all"]).run().expect_code(0));
    let runs = list["data"]["runs"].as_array().unwrap();
    let stages: Vec<_> = runs.iter().map(|run| (run["id"].as_str().unwrap(), run["lifecycle"].clone())).collect();
    let stage = |stage: &str| serde_json::json!({"stage": stage});
    let because = |stage: &str, reason: &str| serde_json::json!({"stage": stage, "reason": reason});
    let expected = [
        ("fresh", stage("open")),
        ("waits", because("paused", "lunch")),
        ("WFS-user-auth", stage("open")),
        ("stopped", because("aborted", "no budget")),
        ("done", stage("finished")),
    ];
    assert_eq!(stages, expected);
}

#[test]
fn runs_of_which_none_was_cut_off_are_not_called_interrupted() {
    let sandbox = started(&["fresh"]);
    let heading = |sandbox: &Sandbox, now: &str| {
        let text = sandbox.piton(["list", "--format", "text"]).now(now).run().expect_code(0).stdout;
        text.lines().next().unwrap().to_owned()
    };
    assert_eq!(heading(&sandbox, crate::support::NOW), "Runs:");
    let next_day = "2026-02-01T12:00:00Z";
    assert_eq!(heading(&sandbox, next_day), "Found interrupted workflows:");
    sandbox.piton(["pause", "fresh"]).run().expect_code(0);
    assert_eq!(heading(&sandbox, next_day), "Runs:");
}

#[test]
fn start_names_the_stage_of_the_run_that_is_there() {
    let sandbox = started(&["waits", "stopped"]);
    sandbox.piton(["pause", "waits", "--reason", "lunch"]).run().expect_code(0);
    sandbox.piton(["abort", "stopped", "--note", "no budget"]).run().expect_code(0);
    for (feature, says, code) in [
        ("waits", "a paused run of waits already exists: .plan/waits.workflow-state.json (paused: lunch, Phase 1", 0),
        (
            "stopped",
            "the state of an aborted run of stopped already exists: .plan/stopped.workflow-state.json (aborted: no budget)",
            9,
        ),
    ] {
        let refused = sandbox.piton(["start", "nine-step", "--feature", feature]).run().expect_code(1);
        assert!(refused.at("/error/message").as_str().unwrap().starts_with(says), "{refused}");
        let commands = projects::hints(&refused);
        projects::run_printed(&sandbox, &commands[0]).expect_code(code);
        projects::run_printed(&sandbox, &commands[1]).expect_code(0);
    }
}

#[test]
fn a_project_without_runs_names_what_can_be_started_there() {
    let own = Sandbox::new();
    own.file(".claude/piton/release.yaml", "name: release\nsteps:\n  - {id: one, agent: a}\n");
    let dotagent = Sandbox::new();
    dotagent.dir("memory/state");
    let ccw = Sandbox::new();
    ccw.dir(".workflow/active");
    for (sandbox, starts) in [
        (Sandbox::new(), &["to start one: `piton start nine-step --feature NAME`, or /workflow-exec"][..]),
        (own, &["to start one: `piton start release --feature NAME`"]),
        (dotagent, &["to start one: `piton start dotagent --feature NAME`"]),
        (ccw, &[]),
    ] {
        for words in [&["list"][..], &["plan"], &["status", "x"], &["begin", "one"], &["validate"]] {
            let none = sandbox.piton(words.iter().copied()).run().expect_code(3);
            let hints = projects::hints(&none);
            let found: Vec<&String> = hints.iter().filter(|hint| hint.contains("start one")).collect();
            assert_eq!(found, starts, "{none}");
            assert!(!hints.iter().any(|hint| hint.contains("list --all")), "{none}");
        }
        for start in starts {
            let command = start.split('`').nth(1).unwrap();
            projects::run_printed(&sandbox, command).expect_code(0);
        }
    }
}

/// T-D6: on a clone, where files are new and commits are old, list and plan agree on age and verdict; the hook says that it does not know.
#[test]
fn list_and_plan_agree_on_a_fresh_clone() {
    let sandbox = Sandbox::with_git();
    for (name, status) in [("4.2.map", "InProgress"), ("4.3.tide", "InProgress")] {
        let open = "## Tasks\n- [x] Draw the coast\n- [ ] Place the harbours\n";
        sandbox.file(
            &format!("docs/stories/{name}.story.md"),
            &format!("# Story {name}\n\n**Status:** {status}\n\n{open}"),
        );
    }
    sandbox.commit("stories");
    // The clock of the test is at the commit; two weeks later the plan is stale.
    let later = "2026-02-20T12:00:00Z";
    for name in ["4.2.map", "4.3.tide"] {
        sandbox.modified(&format!("docs/stories/{name}.story.md"), 1_771_588_000);
    }
    sandbox.file("docs/stories/4.4.new.story.md", "# Story 4.4\n\n**Status:** InProgress\n\n## Tasks\n- [ ] Begin\n");
    sandbox.modified("docs/stories/4.4.new.story.md", 1_771_588_000);
    let list = sandbox.piton(["list"]).now(later).run().expect_code(0);
    let runs = list.at("/data/runs").as_array().cloned().unwrap();
    assert_eq!(runs.len(), 3, "{list}");
    for (at, run) in runs.iter().enumerate() {
        let number = (at + 1).to_string();
        let plan = sandbox.piton(["plan", &number]).now(later).run();
        assert_eq!(plan.at("/data/run/id"), run["id"], "{list}");
        assert_eq!(
            (&plan.at("/data/verdict"), &plan.at("/data/age/band")),
            (&run["verdict"], &run["age_band"]),
            "{plan}"
        );
    }
    let verdicts: Vec<&str> = runs.iter().map(|run| run["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["resume", "confirm", "confirm"]);
}
