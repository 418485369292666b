//! How much is asked, and what counts as a yes.

use super::projects::{self, NINE_STEP, document, foreign, replace};

/// A time at which the state of the example is two days old: not to be resumed without a look.
const LATER: &str = "2026-02-02T12:00:00Z";

#[test]
fn preflight_accepts_only_proceed() {
    for (answer, agrees) in [
        ("proceed\n", true),
        ("Proceed\n", true),
        ("yes\n", false),
        ("y\n", false),
        ("\n", false),
        ("", false),
        ("proceed then\n", false),
    ] {
        for format in ["json", "text"] {
            let sandbox = projects::nine_step();
            let before = sandbox.tree();
            let output = sandbox.piton(["resume", "--mode", "preflight", "--format", format]).stdin(answer).run();
            assert_eq!(output.code, if agrees { 0 } else { 9 }, "{answer:?}\n{output}");
            assert!(output.stderr.contains("proceed"), "{output}");
            assert_eq!(before.changes(&sandbox.tree()).is_empty(), !agrees, "{answer:?}");
            if format == "json" {
                assert_eq!(output.at("/schema"), if agrees { "resume/2" } else { "error/1" });
            }
        }
    }
}

#[test]
fn without_a_person_a_doubtful_run_is_not_changed() {
    for mode in ["interactive", "autopilot"] {
        let sandbox = projects::nine_step();
        replace(&sandbox, NINE_STEP, "\"feature_name\"", "\"branch_name\": \"feature/other\",\n  \"feature_name\"");
        let before = sandbox.tree();
        let output =
            sandbox.piton(["resume", "--mode", mode]).now("2026-02-20T12:00:00Z").stdin("yes\n").run().expect_code(9);
        let plan = document(&output);
        assert_eq!(plan["schema"], "plan/2");
        assert_eq!(plan["data"]["commands"]["resume"], "piton resume user-auth --yes");
        assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
        sandbox.piton(["resume", "--yes", "--mode", mode]).now("2026-02-20T12:00:00Z").run().expect_code(0);
    }
}

#[test]
fn a_clean_and_recent_run_continues_unattended() {
    for mode in ["interactive", "autopilot"] {
        let output = projects::nine_step().piton(["resume"]).env("PITON_MODE", mode).run().expect_code(0);
        assert_eq!(document(&output)["schema"], "resume/2");
    }
}

#[test]
fn the_mode_comes_from_the_flag_then_the_environment_then_the_settings() {
    let sandbox = projects::nine_step();
    let question =
        |output: crate::support::Output| output.at("/data/question/text").as_str().unwrap_or_default().to_owned();
    sandbox.file("piton.toml", "mode = \"preflight\"\n");
    assert!(question(sandbox.piton(["plan"]).run()).contains("proceed"));
    assert!(!question(sandbox.piton(["plan"]).env("PITON_MODE", "interactive").run()).contains("proceed"));
    let flag = sandbox.piton(["plan", "--mode", "preflight"]).env("PITON_MODE", "interactive").run();
    assert!(question(flag).contains("proceed"));
}

#[test]
fn a_yes_does_not_open_a_gate() {
    let sandbox = projects::nine_step();
    replace(
        &sandbox,
        NINE_STEP,
        "\"step\": 4,\n    \"agent\": \"code-reviewer\",\n    \"status\": \"failed\",\n    \"verdict\": \"NEEDS_REVISION\"",
        "\"step\": 2.5,\n    \"agent\": \"user\",\n    \"status\": \"waiting_approval\"",
    );
    replace(&sandbox, NINE_STEP, "\"current_step\": 4", "\"current_step\": 2.5");
    replace(
        &sandbox,
        NINE_STEP,
        "    { \"phase\": 2, \"step\": 2.5, \"agent\": \"user\", \"status\": \"approved\", \"timestamp\": \"2026-01-31T10:15:00Z\" },\n    { \"phase\": 2, \"step\": 3, \"agent\": \"backend-developer\", \"status\": \"completed\", \"timestamp\": \"2026-01-31T11:10:00Z\" }\n",
        "    { \"phase\": 2, \"step\": 2, \"agent\": \"plan-reviewer\", \"status\": \"approved\" }\n",
    );
    let before = foreign(&sandbox);
    for words in [&["resume", "--yes"][..], &["resume", "--yes", "--force"], &["begin", "2:3"], &["override", "2:3"]] {
        let output = sandbox.piton(words.iter().copied()).run().expect_code(9);
        document(&output);
        assert_eq!(before.changes(&foreign(&sandbox)), [] as [&str; 0], "{words:?}\n{output}");
    }
    sandbox.piton(["approve", "2.5"]).run().expect_code(0);
    sandbox.piton(["begin", "2:3"]).run().expect_code(0);
}

#[test]
fn autopilot_becomes_interactive_when_the_state_is_old() {
    let sandbox = projects::nine_step();
    let fresh = document(&sandbox.piton(["plan", "--mode", "autopilot"]).run());
    let old = document(&sandbox.piton(["plan", "--mode", "autopilot"]).now(LATER).run());
    assert_eq!(fresh["data"]["verdict"], old["data"]["verdict"]);
    assert_ne!(old["data"]["question"], serde_json::Value::Null);
    assert_eq!(fresh["data"]["question"], serde_json::Value::Null, "{fresh}");
}

#[test]
fn what_autopilot_may_not_resume_needs_consent() {
    for (words, code) in [
        (&["resume", "--mode", "autopilot"][..], 9),
        (&["resume", "--mode", "autopilot", "--yes"], 0),
        (&["resume", "--mode", "interactive"], 0),
    ] {
        let sandbox = projects::nine_step();
        let output = sandbox.piton(words.iter().copied()).now(LATER).run().expect_code(code);
        assert_eq!(document(&output)["schema"], if code == 0 { "resume/2" } else { "plan/2" }, "{words:?}");
    }
}

#[test]
fn a_resume_is_logged_with_its_mode_and_why_it_was_safe() {
    for (words, mode, why) in [
        (&["resume", "--mode", "autopilot"][..], "autopilot", "nothing blocks"),
        (&["resume"], "interactive", "nothing needs a person"),
        (&["resume", "--yes"], "interactive", "confirmed"),
    ] {
        let sandbox = projects::nine_step();
        sandbox.piton(words.iter().copied()).run().expect_code(0);
        let own = sandbox.root().join(NINE_STEP);
        let own = own.parent().unwrap().join(".piton/log.jsonl");
        let text = std::fs::read_to_string(&own).unwrap_or_else(|error| panic!("{own}: {error}"));
        let line: serde_json::Value = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .find(|line: &serde_json::Value| line["decision"] == "resumed")
            .unwrap();
        assert_eq!(line["mode"], mode, "{line}");
        assert_eq!(line["validation"], "clean", "{line}");
        assert_eq!(line["resume_point"], "2:3", "{line}");
        assert_eq!(line["interruption_seconds"], 1_800, "{line}");
        assert!(line["why"].as_str().unwrap().contains(why), "{line}");
    }
}
