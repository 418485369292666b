//! Plans of public projects with their right answers, where they are beside the repository; otherwise left out, with a line that says so.
//! `fuzz/checks/tests/damaged_plans.rs` damages them.

use std::{io::Write as _, process::Command};

use camino::Utf8PathBuf;
use serde_json::Value;

use crate::support::{Sandbox, read, repository, takes_all};

/// The dialects whose answers are compared here.
const SYSTEMS: [&str; 2] = ["gsd", "taskmaster"];

fn samples() -> Option<Utf8PathBuf> {
    let found = repository().ancestors().map(|above| above.join("shared/real/plans")).find(|path| path.is_dir());
    if found.is_none() {
        let _ = writeln!(std::io::stderr(), "left out: there is no shared/real/plans beside the repository");
    }
    found
}

fn texts(case: &Value, key: &str) -> Vec<String> {
    case[key].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Tells whether a step is one that an answer names: itself or a piece of it.
fn is_of(step: &str, named: &str) -> bool {
    step.strip_prefix(named).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}

/// Returns what is wrong with a plan by its answer.
fn wrong(case: &Value, document: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let data = &document["data"];
    let verdict = data["verdict"].as_str().unwrap_or_default();
    if !texts(case, "verdict_in").iter().any(|one| one == verdict) {
        wrong.push(format!("the verdict is {verdict}"));
    }
    let next: Vec<(&str, &str)> = data["next"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|next| (next["action"].as_str().unwrap_or_default(), next["step"].as_str().unwrap_or_default()))
        .collect();
    let runs: Vec<&str> =
        next.iter().filter(|(action, _)| ["run", "retry"].contains(action)).map(|(_, step)| *step).collect();
    if case["runs_nothing"] == true && !runs.is_empty() {
        wrong.push(format!("{runs:?} would run"));
    }
    for named in texts(case, "never_run") {
        wrong.extend(runs.iter().filter(|step| is_of(step, &named)).map(|step| format!("{step} would run")));
    }
    for named in texts(case, "next_has").iter().chain(&texts(case, "parallel_has")) {
        if !runs.contains(&named.as_str()) {
            wrong.push(format!("{named} would not run"));
        }
    }
    for named in texts(case, "verify_has") {
        if !next.iter().any(|(action, step)| ["verify", "approve"].contains(action) && is_of(step, &named)) {
            wrong.push(format!("{named} would not be looked at"));
        }
    }
    let first = texts(case, "first");
    if !first.is_empty() && !next.first().is_some_and(|(_, step)| first.iter().any(|named| is_of(step, named))) {
        wrong.push(format!("the first is {:?}", next.first()));
    }
    let done: Vec<&str> =
        data["steps"]["completed"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    wrong.extend(
        texts(case, "done_has").iter().filter(|id| !done.contains(&id.as_str())).map(|id| format!("{id} is not done")),
    );
    wrong.extend(
        texts(case, "not_done").iter().filter(|id| done.contains(&id.as_str())).map(|id| format!("{id} is done")),
    );
    let said = document["findings"].to_string();
    for named in texts(case, "said").iter().filter(|text| !text.contains(['[', '\\'])) {
        if !said.contains(named.as_str()) {
            wrong.push(format!("{named} is not said"));
        }
    }
    wrong
}

#[test]
fn plans_of_public_projects_are_read_as_their_answers_say() {
    let Some(samples) = samples() else { return };
    let answers: Value = serde_json::from_str(&read(&samples.join("answers.json"))).unwrap();
    let mut failures = Vec::new();
    for case in answers["cases"].as_array().unwrap() {
        let (system, Some(run)) = (case["system"].as_str().unwrap(), case["run"].as_str()) else { continue };
        if !SYSTEMS.contains(&system) {
            continue;
        }
        let sandbox = Sandbox::new();
        let root = sandbox.root();
        let archive = samples.join(format!("{}.tar.gz", case["repo"].as_str().unwrap().replace('/', "+")));
        let tar = Command::new("tar").args(["-xzf", archive.as_str(), "-C", root.as_str()]).status().unwrap();
        let git = Command::new("git").args(["-C", root.as_str(), "checkout", "-qf", "main"]).status().unwrap();
        assert!(tar.success() && git.success(), "{archive}");
        let time = Command::new("git").args(["-C", root.as_str(), "log", "-1", "--format=%ct"]).output().unwrap();
        let seconds: i64 = String::from_utf8_lossy(&time.stdout).trim().parse().unwrap();
        let now = chrono::DateTime::from_timestamp(seconds + 1800, 0).unwrap().to_rfc3339();
        let before = sandbox.tree();
        let output = sandbox.piton(["plan", run, "--steps"]).now(&now).run();
        let id = case["id"].as_str().unwrap();
        failures.extend(wrong(case, &output.json()).into_iter().map(|what| format!("{id}: {what}")));
        let patch = sandbox.piton(["plan", run, "--patch"]).now(&now).run();
        for line in texts(case, "patch_has") {
            let line = line.replace('\\', "");
            if !patch.at("/data/patch/diff").as_str().is_some_and(|diff| diff.contains(&line)) {
                failures.push(format!("{id}: the patch has no {line}"));
            }
        }
        assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0], "{id}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns what git prints in a project.
fn git(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output =
        Command::new("git").arg("-C").arg(sandbox.root().as_str()).args(arguments).output().expect("git is there");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the steps whose work a history has since their state was added: a commit names them and touches more than the state.
fn worked_on(sandbox: &Sandbox, system: &str, run: &str, commit: &str) -> Vec<String> {
    let state = if system == "gsd" { ".planning" } else { run.rsplit_once('/').map_or(run, |(folder, _)| folder) };
    let added = git(sandbox, &["log", "--diff-filter=A", "--format=%H", commit, "--", run]);
    let from = added.lines().last().filter(|_| system != "gsd").map(|added| format!("{added}..{commit}"));
    let log = git(sandbox, &["log", "--format=%x00%s", "--name-only", from.as_deref().unwrap_or(commit)]);
    let mut found = Vec::new();
    for entry in log.split('\0').skip(1) {
        let (subject, files) = entry.split_once('\n').unwrap_or((entry, ""));
        let is_work = files.lines().any(|file| !file.is_empty() && !file.starts_with(&format!("{state}/")));
        found.extend(named_by(system, subject).into_iter().filter(|_| is_work));
    }
    found
}

/// Returns the steps that the subject of a commit names, in the words of each system.
fn named_by(system: &str, subject: &str) -> Vec<String> {
    let lower = subject.to_lowercase();
    let number = |text: &str| text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect::<String>();
    let after = |noun: &str| -> Vec<String> {
        let found = lower.match_indices(noun).map(|(at, _)| number(&lower[at + noun.len()..]));
        found.map(|id| id.trim_end_matches('.').to_owned()).filter(|id| !id.is_empty()).collect()
    };
    match system {
        "gsd" => {
            let scope = subject.split_once('(').and_then(|(_, rest)| Some(rest.split_once("):")?.0));
            scope.map(str::to_owned).into_iter().collect()
        }
        "speckit" => {
            let words = subject.split(|c: char| !c.is_ascii_alphanumeric());
            let is_id =
                |word: &&str| word.len() == 4 && word.starts_with('T') && word[1..].bytes().all(|b| b.is_ascii_digit());
            words.filter(is_id).map(str::to_owned).collect()
        }
        "taskmaster" => after("task "),
        "superpowers" => after("task ").into_iter().map(|id| format!("task-{id}")).collect(),
        "bmad" => {
            ["story ", "story-"].iter().flat_map(|noun| after(noun)).map(|id| id.replace('.', "-") + "-").collect()
        }
        _ => Vec::new(),
    }
}

/// Tells whether the state itself says that a step is done; `None` for systems that say it in several ways.
fn is_recorded(sandbox: &Sandbox, system: &str, run: &str, id: &str) -> Option<bool> {
    let lines = |says: &dyn Fn(&str) -> bool| sandbox.read(run).lines().any(says);
    match system {
        "gsd" => {
            let files = git(sandbox, &["ls-files", ".planning/phases"]);
            Some(files.lines().any(|file| file.ends_with(&format!("/{id}-SUMMARY.md"))))
        }
        "bmad" => Some(lines(&|line| line.trim().starts_with(&format!("{id}: done")))),
        "openspec" | "speckit" => Some(lines(&|line| {
            let line = line.trim_start().to_lowercase();
            line.contains(&id.to_lowercase()) && (line.contains("[x]") || line.starts_with('#'))
        })),
        _ => None,
    }
}

/// Returns what is wrong with the plan of one commit.
fn wrong_at(sandbox: &Sandbox, system: &str, run: &str, commit: &str) -> Option<Vec<String>> {
    let time: i64 = git(sandbox, &["log", "-1", "--format=%ct"]).trim().parse().expect("a time");
    let now = chrono::DateTime::from_timestamp(time + 1800, 0).expect("a time").to_rfc3339();
    let output = sandbox.piton(["plan", run, "--steps"]).now(&now).run();
    let data = output.json()["data"].clone();
    data.get("verdict")?;
    let mut wrong = Vec::new();
    let worked_on = worked_on(sandbox, system, run, commit);
    let is_worked_on =
        |id: &str| worked_on.iter().any(|done| done == id || (done.ends_with('-') && id.starts_with(done.as_str())));
    for next in data["next"].as_array().into_iter().flatten() {
        let id = next["step"].as_str().unwrap_or_default().to_owned();
        let begins_again = next["action"] == "run" && is_worked_on(&id);
        wrong.extend(begins_again.then(|| format!("{id} would begin again")));
    }
    let completed = data["steps"]["completed"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let unrecorded = completed.filter(|id| is_recorded(sandbox, system, run, id) == Some(false));
    wrong.extend(unrecorded.map(|id| format!("{id} is called done before its record")));
    Some(wrong)
}

#[test]
fn no_commit_of_a_real_history_repeats_work_or_calls_a_step_done_before_its_record() {
    let Some(samples) = samples() else { return };
    let every = if takes_all() { 1 } else { 20 };
    let answers: Value = serde_json::from_str(&read(&samples.join("answers.json"))).unwrap();
    let mut failures = Vec::new();
    let mut looked_at = 0;
    for case in answers["cases"].as_array().unwrap() {
        let (system, Some(run)) = (case["system"].as_str().unwrap(), case["run"].as_str()) else { continue };
        if !run.contains(['/', '.']) {
            continue;
        }
        let archive = samples.join(format!("{}.tar.gz", case["repo"].as_str().unwrap().replace('/', "+")));
        let sandbox = Sandbox::new();
        let root = sandbox.root();
        let tar = Command::new("tar").args(["-xzf", archive.as_str(), "-C", root.as_str()]).status().unwrap();
        assert!(tar.success(), "{archive}");
        for commit in git(&sandbox, &["log", "--format=%H", "-40", "main"]).lines().step_by(every) {
            git(&sandbox, &["checkout", "-qf", commit]);
            let Some(wrong) = wrong_at(&sandbox, system, run, commit) else { continue };
            looked_at += 1;
            failures.extend(wrong.into_iter().map(|what| format!("{} {commit}: {what}", case["id"])));
        }
    }
    assert!(failures.is_empty() && looked_at > 10, "{looked_at} commits: {}", failures.join("\n"));
}
