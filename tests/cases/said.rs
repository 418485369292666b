//! What was said, to whom it matters, in which format: the cells of `said.yaml`, each a test with a project of its own.

use std::collections::BTreeMap;

use libtest_mimic::{Failed, Trial};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    case::Case,
    scene::Scene,
    support::{self, repository},
};

/// The word of every row. No instruction and no name has it.
const WORD: &str = "vermilion";

/// The table as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    receivers: Vec<String>,
    /// The columns.
    formats: Vec<String>,
    /// The projects that plays begin in, by name: one for each format, and further ones.
    projects: BTreeMap<String, Value>,
    #[serde(rename = "plays")]
    _plays: Value,
    rows: Vec<Row>,
}

/// A kind of word.
#[derive(Debug, Deserialize)]
struct Row {
    word: String,
    #[serde(flatten)]
    formats: BTreeMap<String, Value>,
}

/// One kind of word for one receiver in one format.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cell {
    project: Option<String>,
    #[serde(default)]
    said: Value,
    #[serde(default)]
    then: Value,
    /// The step of the receiver.
    step: Option<String>,
    /// Why there is no receiver.
    absent: Option<String>,
}

/// Returns a test for each cell, and one that no cell is missing.
pub(crate) fn trials() -> Vec<Trial> {
    let table: Table =
        serde_saphyr::from_str(&support::read(&repository().join("tests/cases/said.yaml"))).expect("a table");
    let mut missing = Vec::new();
    let mut trials = Vec::new();
    for row in &table.rows {
        for format in &table.formats {
            for receiver in &table.receivers {
                let name = format!("said/{}/{format}/{receiver}", row.word.replace(' ', "-"));
                let Some(cell) = cell(row, format, receiver) else {
                    missing.push(name);
                    continue;
                };
                if cell.absent.is_none() {
                    let project = table.projects[cell.project.as_ref().unwrap_or(format)].clone();
                    trials.push(Trial::test(name, move || check(project, &cell).map_err(Failed::from)));
                }
            }
        }
    }
    let whole =
        move || if missing.is_empty() { Ok(()) } else { Err(format!("no cell for {}", missing.join(", ")).into()) };
    trials.push(Trial::test("said/every-cell-is-there", whole));
    trials
}

/// Reads a cell: what its row says for the whole format, and over that what it says itself.
fn cell(row: &Row, format: &str, receiver: &str) -> Option<Cell> {
    let mut whole = row.formats.get(format)?.as_object()?.clone();
    let own = whole.remove(receiver);
    whole.retain(|key, _| ["project", "said", "absent"].contains(&key.as_str()));
    match own {
        Some(Value::Object(own)) => whole.extend(own),
        Some(step) => _ = whole.insert("step".to_owned(), step),
        None if whole.contains_key("absent") => {}
        None => return None,
    }
    let cell: Cell = serde_json::from_value(Value::Object(whole)).unwrap_or_else(|error| panic!("{receiver}: {error}"));
    (cell.step.is_some() != cell.absent.is_some()).then_some(cell)
}

/// Says the word in a project, and looks for it in the brief of the receiver.
fn check(mut project: Value, cell: &Cell) -> Result<(), String> {
    let mut steps = flat(&project["steps"].take());
    steps.extend([&cell.said, &cell.then].into_iter().flat_map(flat));
    let step = cell.step.as_deref().unwrap_or_default();
    steps.push(json!({"piton": ["context", "--step", step, "--format", "text"], "has": [WORD]}));
    project["steps"] = steps.into();
    // Without a time of their own, what was recorded last would not be the latest.
    project["now"] = "real".into();
    let case = Case::parse(&project.to_string().replace("WORD", WORD))?;
    let folder = repository().join("tests/cases");
    let mut scene = Scene::new(&case, &folder, false);
    case.steps.iter().try_for_each(|step| scene.step(step).map_err(|problem| format!("{step}: {problem}")))
}

/// Returns the steps of a play and of those in it, in order; a text is a call.
fn flat(play: &Value) -> Vec<Value> {
    match play {
        Value::Array(plays) => plays.iter().flat_map(flat).collect(),
        Value::String(call) => vec![json!({"piton": call})],
        Value::Null => Vec::new(),
        step @ (Value::Object(_) | Value::Bool(_) | Value::Number(_)) => vec![step.clone()],
    }
}
