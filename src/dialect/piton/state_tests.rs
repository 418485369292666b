use serde_json::{Value, json};

use super::{ExecutionState, RunPhase, State};
use crate::{
    dialect::piton::{
        facts::Captured,
        record::{JournalEnd, Record},
    },
    model::{Status, StepId},
};

/// Plays records that are written as the lines of a journal without their chains.
fn play(lines: &[Value]) -> State {
    let records: Vec<Record> = lines
        .iter()
        .zip(1..)
        .map(|(line, seq)| {
            let mut line = line.clone();
            line["seq"] = json!(seq);
            line["id"] = json!(format!("{seq:032x}"));
            if let Some(change) = line.get_mut("change") {
                change["at"] = json!(format!("2026-01-01T00:00:{seq:02}Z"));
            }
            serde_json::from_value(line).unwrap()
        })
        .collect();
    let (mut state, mut end) = (State::default(), JournalEnd::of(b""));
    for Record { about, event, facts, .. } in records {
        let record = end.next(&state.standing, about, event, facts);
        end = end.append(&record).1;
        state.apply(&record);
    }
    state
}

fn start() -> Value {
    let step = |id: &str| json!({"id": id, "title": id, "definition": {"shell": id}});
    let definition = json!({"name": "w", "sha256": "0", "head": "0", "steps": [step("1"), step("2"), step("3")]});
    json!({"change": {"change": "start", "workflow": "w", "feature": "w"}, "definition": definition, "head": "abc"})
}

fn begin(step: &str, attempt: u32) -> Value {
    json!({"change": {"change": "begin", "step": step, "attempt": attempt}})
}

fn done(step: &str) -> Value {
    json!({"change": {"change": "finish", "step": step, "attempt": 1}, "digest": "d", "variables": {"out": {"value": "v"}}})
}

fn failed(step: &str, failures: u32) -> Value {
    let change = json!({"change": "finish", "step": step, "status": "failed", "error": "exit 1", "failures": failures});
    json!({"change": change, "exit_code": 1, "retryable": false})
}

fn pause() -> Value {
    json!({"change": {"change": "pause", "reason": "SIGINT"}, "signal": "SIGINT"})
}

#[test]
fn a_state_is_the_sum_of_its_records() {
    let id = StepId::new;
    let stopped =
        |step: Option<&str>, in_progress| ExecutionState::Interrupted { step: step.map(StepId::new), in_progress };
    let failure = ExecutionState::Failed { step: id("2"), error: "exit 1".to_owned(), retryable: false };
    for (name, lines, phase, last) in [
        ("started", vec![], RunPhase::Active, ExecutionState::Created),
        ("before", vec![begin("1", 1)], RunPhase::Active, ExecutionState::BeforeStep { step: id("1") }),
        ("done", vec![begin("1", 1), done("1")], RunPhase::Active, ExecutionState::Completed { step: id("1") }),
        ("failed", vec![begin("2", 1), failed("2", 1)], RunPhase::Active, failure),
        ("stopped in a step", vec![begin("1", 1), pause()], RunPhase::Paused, stopped(Some("1"), true)),
        ("stopped between", vec![begin("1", 1), done("1"), pause()], RunPhase::Paused, stopped(Some("1"), false)),
        ("stopped at once", vec![pause()], RunPhase::Paused, stopped(None, false)),
        ("over", vec![json!({"change": {"change": "complete"}})], RunPhase::Completed, ExecutionState::Created),
        ("given up", vec![json!({"change": {"change": "abort"}})], RunPhase::Aborted, ExecutionState::Created),
    ] {
        let state = play(&[vec![start()], lines].concat());
        assert_eq!((state.run.status, state.execution), (phase, last), "{name}");
    }
}

#[test]
fn what_a_step_went_through_is_kept() {
    let resume = json!({"change": {"change": "resume", "steps": ["2"], "interruption": null}});
    let lines =
        [start(), begin("1", 1), done("1"), begin("2", 1), failed("2", 1), resume, begin("2", 2), failed("2", 2)];
    let state = play(&lines);
    let (one, two) = (&state.steps["1"], &state.steps["2"]);
    assert_eq!((one.status, one.digest.clone(), one.attempts), (Status::Completed, Some("d".into()), 1));
    assert_eq!((two.status, two.attempts, two.failures, two.exit_code), (Status::Failed, 2, 2, Some(1)));
    assert_eq!(two.errors, ["exit 1", "exit 1"]);
    assert_eq!((state.run.resumes, state.run.head.as_deref(), state.seq), (1, Some("abc"), 8));
    assert_eq!(state.variables["out"], Captured::Inline { value: json!("v") });
    let again = play(&[&lines[..], &[begin("2", 3), done("2")]].concat());
    assert!(again.steps["2"].errors.is_empty());
    let cleared = json!({"change": {"change": "finish", "step": "2"}, "variables": {"out": {"value": null}}});
    assert!(play(&[&lines[..], &[cleared]].concat()).variables.is_empty());
}

#[test]
fn the_parts_of_a_step_have_records_of_their_own() {
    let part = |change: &str, part: &str| json!({"change": {"change": change, "step": "3", "part": part}});
    let mut first = part("begin", "a");
    first["items"] = json!(["a", "b"]);
    let state = play(&[start(), first, part("finish", "a"), part("begin", "b")]);
    let step = &state.steps["3"];
    assert_eq!(step.status, Status::InProgress);
    assert_eq!((step.parts["a"], step.parts["b"]), (Status::Completed, Status::InProgress));
    assert_eq!(step.items, Some(vec![json!("a"), json!("b")]));
}

#[test]
fn how_far_the_measurement_of_a_step_came_outlives_a_cut_and_no_failure() {
    let part = |change: &str, part: &str, measured: Option<u32>| {
        let mut line = json!({"change": {"change": change, "step": "1", "part": part}});
        if let Some(measured) = measured {
            line["measured"] = json!(measured);
        }
        line
    };
    let work = [start(), begin("1", 1), part("begin", "work", Some(0)), part("finish", "work", Some(1))];
    let round = [part("begin", "on_incomplete 1", None), part("finish", "on_incomplete 1", Some(2))];
    for (more, expected) in [
        (vec![], 1),
        (vec![pause(), begin("1", 2)], 1),
        (vec![round[0].clone(), begin("1", 2)], 1),
        (vec![round[0].clone(), round[1].clone(), begin("1", 2)], 2),
        (vec![begin("1", 2), part("begin", "work", Some(0))], 0),
        (vec![failed("1", 1), begin("1", 2)], 0),
        (vec![done("1"), begin("1", 2)], 0),
    ] {
        let lines: Vec<Value> = work.iter().cloned().chain(more).collect();
        assert_eq!(play(&lines).steps["1"].measured, expected, "{lines:?}");
    }
}

#[test]
fn the_newer_of_journal_and_snapshot_counts() {
    let lines = [start(), begin("1", 1), done("1")];
    let (older, newer) = (play(&lines[..2]), play(&lines));
    assert_eq!(State::newest(older.clone(), Some(newer.clone())), newer);
    assert_eq!(State::newest(older.clone(), None), older);
    assert_eq!(State::newest(older.clone(), Some(play(&lines[..1]))), older);
}

#[test]
fn an_item_knows_the_steps_of_its_group_that_are_over() {
    let act = |act: Value| json!({"runner": {"at": "2026-01-01T00:01:00Z", "act": act}});
    let over = |passed: usize, ended: &str, variable: &str| {
        let act = act(json!({"item_step": {"step": "1", "item": "a", "passed": passed, "ended": ended}}));
        let mut record = act.as_object().unwrap().clone();
        record.insert("variables".to_owned(), json!({variable: {"value": 1}}));
        Value::Object(record)
    };
    let begins = act(json!({"item_step_begins": {"step": "1", "item": "a", "begun": {"number": 3, "name": "x"}}}));
    let part = |status: &str, more: Value| {
        let mut record = json!({"change": {"change": "finish", "step": "1", "part": "a", "status": status}});
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record
    };
    let lines = [begin("1", 1), over(1, "completed", "v"), over(2, "skipped", "w"), begins];
    let of_item = |more: &[Value]| {
        let all: Vec<Value> = std::iter::once(start()).chain(lines.clone()).chain(more.to_vec()).collect();
        play(&all).steps["1"].item_progress.get("a").cloned()
    };
    let known = |more: &[Value]| {
        let item = of_item(more).unwrap_or_default();
        let passed: Vec<Status> = item.passed.iter().map(|step| step.ended).collect();
        let set: Vec<String> = item.passed.iter().flat_map(|step| step.variables.keys().cloned()).collect();
        (passed, set.join(" "), item.begun.is_some(), item.left_out)
    };
    let both = vec![Status::Completed, Status::Skipped];
    assert_eq!(known(&[]), (both.clone(), "v w".to_owned(), true, vec![]));
    assert_eq!(known(&[part("failed", json!({"error": "no"}))]), (both, "v w".to_owned(), false, vec![]));
    let back = over(1, "completed", "v");
    assert_eq!(known(&[back]), (vec![Status::Completed], "v".to_owned(), false, vec![]));
    assert!(known(&[over(usize::MAX, "completed", "v")]).0.len() < 100_000);
    assert_eq!(of_item(&[part("completed", json!({}))]), None);
    assert_eq!(known(&[part("completed", json!({"left_out": [1]}))]), (vec![], String::new(), false, vec![1]));
}
