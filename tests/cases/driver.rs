//! Tests of the driver itself: it refuses what asserts nothing, notices what is wrong, and updates wording alone.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use serde_json::json;

use crate::{
    answer::{Answer, Checks, WholeText},
    case::Case,
    support::Output,
};

/// A test of the driver, with its name in the list of cases.
type Test = (&'static str, fn() -> Result<(), String>);

pub(crate) const TESTS: [Test; 3] = [
    ("driver/a-case-that-asserts-nothing-is-refused", what_asserts_nothing_is_refused),
    ("driver/every-check-can-fail", every_check_can_fail),
    ("driver/an-update-changes-wording-alone", an_update_changes_wording_alone),
];

fn what_asserts_nothing_is_refused() -> Result<(), String> {
    for (text, problem) in [
        ("steps: []", "asserts nothing"),
        ("steps: [{piton: plan}]", "asserts nothing"),
        ("steps: [{piton: plan, code: 9}]", "asserts nothing"),
        ("steps: [{piton: plan, has: []}]", "asserts nothing"),
        ("steps: [{write: {a: b}}]", "asserts nothing"),
        ("steps: [{piton: plan, commit: a, has: [x]}]", "2 actions"),
        ("steps: [{commit: a, has: [x]}]", "checks of an answer without a call"),
        ("steps: [{piton: plan, hass: [x]}]", "unknown field"),
        ("steps: [{piton: plan, lacks: ['98']}]", "by chance"),
        ("steps: [{piton: plan, json_lacks: {/a: [cd34]}}]", "by chance"),
    ] {
        match Case::parse(text) {
            Err(found) if found.contains(problem) => {}
            other => return Err(format!("{text}: {other:?}, expected {problem:?}")),
        }
    }
    for text in ["steps: [{piton: plan, has: [x]}]", "steps: [{piton: plan}, {after: {a: null}}]"] {
        Case::parse(text).map_err(|problem| format!("{text}: {problem}"))?;
    }
    Ok(())
}

fn every_check_can_fail() -> Result<(), String> {
    let output = Output { code: 3, stdout: "{\"a\":[{\"b\":\"cd\"}]}\n".to_owned(), stderr: String::new() };
    let texts = |text: &str| BTreeMap::from([("/a/0/b".to_owned(), vec![text.to_owned()])]);
    let check = |change: fn(&mut Checks), right: bool| {
        let mut checks = Checks { code: 3, ..Checks::default() };
        change(&mut checks);
        let answer = Answer { output: &output, changes: Some(vec!["+ x".to_owned()]) };
        (answer.check(&checks).is_ok() == right).then_some(()).ok_or("a check does not notice what is wrong")
    };
    check(|_| {}, true)?;
    check(|checks| checks.code = 0, false)?;
    check(|checks| checks.json = BTreeMap::from([("/a/*/b".to_owned(), json!(["cd"]))]), true)?;
    check(|checks| checks.json = BTreeMap::from([("/a/*/b".to_owned(), json!(["c"]))]), false)?;
    check(|checks| checks.findings = Some(vec!["x".to_owned()]), false)?;
    check(|checks| checks.has = vec!["xx".to_owned()], false)?;
    check(|checks| checks.lacks = vec!["cd".to_owned()], false)?;
    check(|checks| checks.changes = Some(vec!["+ x".to_owned()]), true)?;
    check(|checks| checks.changes = Some(Vec::new()), false)?;
    let answer = Answer { output: &output, changes: None };
    let of =
        |json_has, json_lacks| answer.check(&Checks { code: 3, json_has, json_lacks, ..Checks::default() }).is_ok();
    let found = [of(texts("c"), texts("x")), of(texts("x"), texts("x")), of(texts("c"), texts("c"))];
    if found == [true, false, false] { Ok(()) } else { Err(format!("texts of a value: {found:?}")) }
}

fn an_update_changes_wording_alone() -> Result<(), String> {
    let ids = BTreeSet::from(["build".to_owned()]);
    let text = WholeText { file: Utf8PathBuf::new(), text: String::new(), ids };
    let old = "resume: build comes next, with `piton begin build` (exit 9).";
    for (new, is_accepted) in [
        ("resume: the next one is build; use `piton begin build`, exit 9", true),
        ("confirm: build comes next, with `piton begin build` (exit 9).", false),
        ("resume: test comes next, with `piton begin build` (exit 9).", false),
        ("resume: build comes next, with `piton begin test` (exit 9).", false),
        ("resume: build comes next, with `piton begin build` (exit 7).", false),
    ] {
        if (text.facts(old) == text.facts(new)) != is_accepted {
            return Err(format!("{new:?} is {}", if is_accepted { "refused" } else { "accepted" }));
        }
    }
    Ok(())
}
