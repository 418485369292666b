//! Plans of public projects with their right answers, where they are beside the repository; otherwise left out, with a line that says so.

use std::io::Write as _;
use std::process::Command;

use camino::Utf8PathBuf;
use serde_json::Value;

use crate::support::Sandbox;
use crate::support::read;
use crate::support::repository;
use crate::support::takes_all;

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

/// Returns the plans of GSD whose work a history has: a commit names them and touches more than `.planning`.
fn worked_on(sandbox: &Sandbox, commit: &str) -> Vec<String> {
    let log = git(sandbox, &["log", "--format=%x00%s", "--name-only", commit]);
    let mut found = Vec::new();
    for entry in log.split('\0').skip(1) {
        let (subject, files) = entry.split_once('\n').unwrap_or((entry, ""));
        let is_work = files.lines().any(|file| !file.is_empty() && !file.starts_with(".planning/"));
        let scope = subject.split_once('(').and_then(|(_, rest)| Some(rest.split_once("):")?.0));
        found.extend(scope.filter(|_| is_work).map(str::to_owned));
    }
    found
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
    let worked_on = if system == "gsd" { worked_on(sandbox, commit) } else { Vec::new() };
    for next in data["next"].as_array().into_iter().flatten() {
        let id = next["step"].as_str().unwrap_or_default().to_owned();
        let begins_again = next["action"] == "run" && worked_on.contains(&id);
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
    let every = if takes_all("PITON_PLANS") { 1 } else { 6 };
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
    assert!(failures.is_empty() && looked_at > 20, "{looked_at} commits: {}", failures.join("\n"));
}

/// Where files of real plans are damaged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Places {
    /// At so many places of each file at the top of the state.
    Some(usize),
    /// At every tenth byte and every line of every file.
    Every,
}

impl Places {
    fn asked_for() -> Self {
        match std::env::var("PITON_PLANS").as_deref() {
            Ok("every") => Self::Every,
            Ok("all") => Self::Some(60),
            Ok(_) | Err(_) => Self::Some(3),
        }
    }

    /// Returns the places among so many bytes or lines.
    fn among(self, total: usize, step: usize) -> Vec<usize> {
        match self {
            Self::Some(count) => (0..count).map(|at| total * at / count).collect(),
            Self::Every => (0..total).step_by(step).collect(),
        }
    }
}

/// Returns the files of the state that a case is about: the one that is planned, and for a folder those at its top, or all of them.
fn state_files(sandbox: &Sandbox, run: &str, places: Places) -> Vec<String> {
    let files = git(sandbox, &["ls-files", "--", run]);
    let depth = run.matches('/').count() + 1;
    let is_asked = |file: &&str| places == Places::Every || *file == run || file.matches('/').count() == depth;
    files.lines().filter(is_asked).map(str::to_owned).collect()
}

/// Returns versions of a text that are cut off, lack a line or have conflict markers.
fn damaged(text: &str, places: Places) -> impl Iterator<Item = (String, String)> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let cuts = places.among(text.len(), 10).into_iter().map(|place| {
        let end = (0..=place).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        (format!("cut at {end}"), text[..end].to_owned())
    });
    let at_lines = places.among(lines.len(), 1).into_iter().flat_map(move |line| {
        let (before, behind) = lines.split_at(line);
        let (before, rest) = (before.concat(), behind.iter().skip(1).copied().collect::<String>());
        let markers = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n";
        [
            (format!("without line {}", line + 1), format!("{before}{rest}")),
            (format!("conflict at line {}", line + 1), format!("{before}{markers}{}", behind.concat())),
        ]
    });
    cuts.chain(at_lines)
}

#[test]
fn damaged_files_of_real_plans_say_nothing_wrong() {
    let Some(samples) = samples() else { return };
    let places = Places::asked_for();
    let answers: Value = serde_json::from_str(&read(&samples.join("answers.json"))).unwrap();
    let mut failures = Vec::new();
    for case in answers["cases"].as_array().unwrap() {
        let Some(run) = case["run"].as_str().filter(|run| run.contains(['/', '.'])) else { continue };
        let sandbox = Sandbox::new();
        let root = sandbox.root();
        let archive = samples.join(format!("{}.tar.gz", case["repo"].as_str().unwrap().replace('/', "+")));
        let tar = Command::new("tar").args(["-xzf", archive.as_str(), "-C", root.as_str()]).status().unwrap();
        assert!(tar.success(), "{archive}");
        git(&sandbox, &["checkout", "-qf", "main"]);
        let completed = |output: &crate::support::Output| -> Vec<String> {
            serde_json::from_value(output.json()["data"]["steps"]["completed"].clone()).unwrap_or_default()
        };
        let plan = || sandbox.piton(["plan", run, "--steps"]).run();
        let whole = plan();
        let done = completed(&whole);
        // A cut may leave a shorter id of a finished step, and without a line the ids that are made of places move.
        let is_known =
            |id: &String| done.iter().any(|one| one.starts_with(id.as_str()) || id.starts_with(one.as_str()));
        for file in state_files(&sandbox, run, places) {
            let text = sandbox.read(&file);
            for (what, text) in damaged(&text, places) {
                sandbox.file(&file, &text);
                let output = plan();
                let name = format!("{} {file} {what}", case["id"]);
                if ![0, 3, 4, 9].contains(&output.code) {
                    failures.push(format!("{name}: exit {}", output.code));
                }
                let wrong: Vec<String> = completed(&output).into_iter().filter(|id| !is_known(id)).collect();
                if !wrong.is_empty() {
                    failures.push(format!("{name}: {wrong:?} are done"));
                }
                let is_whole = whole.at("/data/verdict") == "complete";
                if !is_whole && !what.starts_with("cut") && output.json()["data"]["verdict"] == "complete" {
                    failures.push(format!("{name}: complete"));
                }
            }
            git(&sandbox, &["checkout", "-qf", "main", "--", &file]);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
