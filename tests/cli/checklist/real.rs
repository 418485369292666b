//! Plans of public projects with their right answers, if they are present beside the repository.

use std::process::Command;

use serde_json::Value;

use super::next;
use crate::support::{Output, Sandbox, repository};

/// Tells whether a step has an id of the answers, which leave out what an id of the system adds.
fn is_step(step: &str, id: &str) -> bool {
    step == id
        || step.starts_with(&format!("{id}-"))
        || (step.starts_with("task-") && step.ends_with(&format!("-{id}")))
}

fn texts(case: &Value, key: &str) -> Vec<String> {
    case[key].as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

#[test]
fn the_plans_of_public_projects_are_answered_right() {
    let places = ["../shared/real/plans", "../../shared/real/plans"].map(|place| repository().join(place));
    let Some(place) = places.into_iter().find(|place| place.join("answers.json").is_file()) else {
        eprintln!("left out: the plans of public projects are not there");
        return;
    };
    let answers: Value = serde_json::from_str(&crate::support::read(&place.join("answers.json"))).unwrap();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for case in answers["cases"].as_array().unwrap() {
        if !matches!(case["system"].as_str(), Some("checklist" | "bmad")) {
            continue;
        }
        checked += 1;
        let archive = place.join(format!("{}.tar.gz", case["repo"].as_str().unwrap().replace('/', "+")));
        let sandbox = Sandbox::new();
        let root = sandbox.root();
        let unpacked = Command::new("tar").args(["-xzf", archive.as_str(), "-C", root.as_str()]).status().unwrap();
        assert!(unpacked.success(), "{archive}");
        sandbox.git(["checkout", "-qf", "main"]);
        let committed: i64 = sandbox.git(["log", "-1", "--format=%ct"]).trim().parse().unwrap();
        let now = at(committed + 1800);
        let before = sandbox.tree();
        let id = case["id"].as_str().unwrap();
        check(&sandbox, case, &now, &mut |problem| wrong.push(format!("{id}: {problem}")));
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{id}");
    }
    assert!(checked >= 10 && wrong.is_empty(), "{checked} cases\n{}", wrong.join("\n"));
}

fn check(sandbox: &Sandbox, case: &Value, now: &str, wrong: &mut dyn FnMut(String)) {
    let Some(run) = case["run"].as_str() else {
        let list = sandbox.piton(["list"]).now(now).run();
        for name in texts(case, "list_has") {
            if !list.stdout.contains(&name) {
                wrong(format!("not listed: {name}"));
            }
        }
        let runs = list.at("/data/runs").to_string();
        texts(case, "list_not")
            .into_iter()
            .filter(|name| runs.contains(name))
            .for_each(|name| wrong(format!("listed: {name}")));
        return;
    };
    let output = sandbox.piton(["plan", run, "--steps"]).now(now).run();
    let verdict = output.at("/data/verdict").as_str().unwrap_or_default().to_owned();
    if !texts(case, "verdict_in").contains(&verdict) {
        wrong(format!("verdict {verdict}"));
    }
    let steps = next(&output);
    let first = steps.first().cloned().unwrap_or_default();
    let names = |step: &str, id: &str| step.split_once(' ').is_some_and(|(_, step)| is_step(step, id));
    if !texts(case, "first").is_empty() && !texts(case, "first").iter().any(|id| names(&first, id)) {
        wrong(format!("first {first}"));
    }
    let parallel = next(&sandbox.piton(["plan", run, "--parallel"]).now(now).run());
    let work: Vec<&String> = steps
        .iter()
        .chain(&parallel)
        .filter(|step| !step.starts_with("verify") && !step.starts_with("approve"))
        .collect();
    let work_has = |id: &str| work.iter().any(|step| names(step, id));
    if case["runs_nothing"] == true && work.iter().any(|step| !step.starts_with("archive")) {
        wrong(format!("runs {work:?}"));
    }
    texts(case, "never_run").into_iter().filter(|id| work_has(id)).for_each(|id| wrong(format!("runs {id}")));
    let wanted = texts(case, "next_has").into_iter().chain(texts(case, "parallel_has"));
    wanted.filter(|id| !work_has(id)).for_each(|id| wrong(format!("does not run {id}")));
    groups(case, &output, &steps, wrong);
}

fn groups(case: &Value, output: &Output, next: &[String], wrong: &mut dyn FnMut(String)) {
    let completed: Vec<String> = texts(&output.json()["data"]["steps"], "completed");
    let is_done = |id: &str| completed.iter().any(|step| is_step(step, id));
    texts(case, "done_has").into_iter().filter(|id| !is_done(id)).for_each(|id| wrong(format!("not done: {id}")));
    texts(case, "not_done").into_iter().filter(|id| is_done(id)).for_each(|id| wrong(format!("done: {id}")));
    let all = output.at("/data/steps").to_string();
    texts(case, "steps_absent")
        .into_iter()
        .filter(|id| all.contains(&format!("\"{id}\"")))
        .for_each(|id| wrong(format!("a step: {id}")));
    let loud = |finding: &&Value| finding["severity"] != "info";
    let findings: Vec<Value> = output.json()["findings"].as_array().cloned().unwrap_or_default();
    let said: String = findings.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let loudly: String = findings.iter().filter(loud).map(Value::to_string).collect::<Vec<_>>().join("\n");
    for id in texts(case, "verify_has") {
        let is_looked_at = next
            .iter()
            .any(|step| (step.starts_with("verify ") || step.starts_with("approve ")) && is_step(&step[7..], &id));
        if !is_looked_at && !loudly.contains(&id) {
            wrong(format!("not looked at: {id}"));
        }
    }
    texts(case, "said")
        .into_iter()
        .filter(|text| !said.contains(&text.replace('\\', "")))
        .for_each(|text| wrong(format!("not said: {text}")));
    texts(case, "loud")
        .into_iter()
        .filter(|text| !loudly.contains(&text.replace('\\', "")))
        .for_each(|text| wrong(format!("not loud: {text}")));
}

/// Returns a time stamp.
fn at(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (mut year, mut day) = (1970, days);
    let length = |year: i64| if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) { 366 } else { 365 };
    while day >= length(year) {
        day -= length(year);
        year += 1;
    }
    let months = [31, length(year) - 337, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= months[month] {
        day -= months[month];
        month += 1;
    }
    format!("{year:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", month + 1, day + 1, rest / 3600, rest % 3600 / 60, rest % 60)
}
