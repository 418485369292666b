//! Tests of the driver itself: it refuses what asserts nothing, notices what is wrong, and updates wording alone.

use libtest_mimic::Failed;
use serde_json::json;

use crate::{
    case::{Case, Step},
    support::Output,
    texts::facts,
};

/// A test, which panics where something is wrong.
type Test = fn() -> Result<(), Failed>;

pub(crate) const TESTS: [(&str, Test); 3] = [
    ("driver/a-case-that-asserts-nothing-is-refused", what_asserts_nothing_is_refused),
    ("driver/every-check-can-fail", every_check_can_fail),
    ("driver/an-update-changes-wording-alone", an_update_changes_wording_alone),
];

fn what_asserts_nothing_is_refused() -> Result<(), Failed> {
    for (steps, problem) in [
        ("", "asserts nothing"),
        ("{piton: plan}", "asserts nothing"),
        ("{piton: plan, code: 9}", "asserts nothing"),
        ("{piton: plan, has: []}", "asserts nothing"),
        ("{write: {a: b}}", "asserts nothing"),
        ("{after: {}}", "asserts nothing"),
        ("{has: [x]}", "no variant of enum Action"),
        ("{piton: plan, commit: a, has: [x]}", "unknown field"),
        ("{commit: a, has: [x]}", "checks of an answer without a call"),
        ("{piton: plan, hass: [x]}", "unknown field"),
        ("{after: {a: {hass: [x]}}}", "did not match"),
        ("{piton: plan, lacks: ['98']}", "by chance"),
        ("{piton: plan, json_lacks: {/a: [cd34]}}", "by chance"),
    ] {
        let found = Case::parse(&format!("steps: [{steps}]")).expect_err(steps);
        assert!(found.contains(problem), "{steps}: {found}");
    }
    for steps in ["{piton: plan, has: [x]}", "{piton: plan}, {after: {a: null}}"] {
        Case::parse(&format!("steps: [{steps}]")).expect(steps);
    }
    Ok(())
}

fn every_check_can_fail() -> Result<(), Failed> {
    let output = Output { code: 3, stdout: r#"{"a":[{"b":"cd"}]}"#.to_owned(), stderr: "e".to_owned() };
    for (checks, is_right) in [
        (json!({"piton": [], "code": 3}), true),
        (json!({"piton": []}), false),
        (json!({"piton": [], "code": 3, "json": {"/a/*/b": ["cd"], "/c": null}}), true),
        (json!({"piton": [], "code": 3, "json": {"/a/*/b": ["c"]}}), false),
        (json!({"piton": [], "code": 3, "json_has": {"/a/0/b": ["c"]}, "json_lacks": {"/a/0/b": ["x"]}}), true),
        (json!({"piton": [], "code": 3, "json_has": {"/a/0/b": ["x"]}}), false),
        (json!({"piton": [], "code": 3, "json_lacks": {"/a/0/b": ["c"]}}), false),
        (json!({"piton": [], "code": 3, "findings": ["x"]}), false),
        (json!({"piton": [], "code": 3, "has": ["cd", "e"], "lacks": ["x"], "changes": ["+ x"]}), true),
        (json!({"piton": [], "code": 3, "has": ["x"]}), false),
        (json!({"piton": [], "code": 3, "lacks": ["cd"]}), false),
        (json!({"piton": [], "code": 3, "changes": []}), false),
        (json!({"piton": [], "code": 3, "prints": "{\"a\":[{\"b\":\"cd\"}]}\n"}), true),
        (json!({"piton": [], "code": 3, "prints": "{}"}), false),
    ] {
        let step = Step::read(&checks.to_string()).expect("a step of our own");
        assert_eq!(step.check(&output, &["+ x".to_owned()]).is_ok(), is_right, "{checks}");
    }
    Ok(())
}

fn an_update_changes_wording_alone() -> Result<(), Failed> {
    let source = "steps: [{id: build}, {id: test, name: \"ship\"}]";
    let old = "resume: build comes next, with `piton begin build` (exit 9).";
    for (new, is_accepted) in [
        ("resume: the next one is build; use `piton begin build`, exit 9", true),
        ("confirm: build comes next, with `piton begin build` (exit 9).", false),
        ("resume: test comes next, with `piton begin build` (exit 9).", false),
        ("resume: build comes next, with `piton begin test` (exit 9).", false),
        ("resume: build comes next, with `piton begin build` (exit 7).", false),
        ("resume: build comes next to ship, with `piton begin build` (exit 9).", false),
    ] {
        assert_eq!(facts(old, source) == facts(new, source), is_accepted, "{new}");
    }
    Ok(())
}
