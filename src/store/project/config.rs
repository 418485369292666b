//! The user's own `config.toml`, the project's `piton.toml`, and the `PITON_*` variables, each over the one before. An unknown key is an
//! error that names the nearest valid one. What weakens a decision counts only from the user: a repository may come from anywhere.

use std::collections::BTreeMap;

use camino::Utf8Path;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::{
    model::{Config, Mode, edit_distance},
    store::fs::{error::StoreError, platform},
};

pub(super) const FILE_NAME: &str = "piton.toml";
/// The user's own file, for messages: home paths are not repeated.
pub(super) const USER_FILE: &str = "~/.config/piton/config.toml";
/// Bytes.
const SIZE_LIMIT: u64 = 1 << 20;
/// The table with arbitrary keys.
const FREE_TABLE: &str = "nine-step.agents";

/// The configuration of a root.
#[derive(Debug)]
pub(super) struct LoadedConfig {
    pub(super) config: Config,
    /// Settings of the project that only its user may make, as sentences.
    pub(super) ignored: Vec<String>,
}

/// Reads the configuration of a root; a missing file counts as empty. `user`: the user's own file.
pub(super) fn load(
    root: &Utf8Path,
    user: Option<&Utf8Path>,
    overrides: &BTreeMap<String, String>,
) -> Result<LoadedConfig, StoreError> {
    let own = user.map(read).transpose()?.flatten();
    let project = read(&root.join(FILE_NAME))?;
    let mut ignored = Vec::new();
    let config = match (own, project) {
        (None, None) => Config::default(),
        (own, project) => {
            let mut value = own.map_or_else(|| Ok(Value::Null), |text| settings(USER_FILE, &text))?;
            if let Some(text) = project {
                let mut stated = settings(FILE_NAME, &text)?;
                ignored = weakening(&mut stated);
                merge(&mut value, stated);
            }
            let value = if value.is_null() { Value::Object(serde_json::Map::new()) } else { value };
            serde_json::from_value(value).map_err(|error| invalid(FILE_NAME, "", None, &error.to_string()))?
        }
    };
    let config = if overrides.is_empty() { config } else { overridden(&config, overrides)? };
    Ok(LoadedConfig { config, ignored })
}

fn read(path: &Utf8Path) -> Result<Option<String>, StoreError> {
    let bytes =
        platform::read_data_file(path.as_std_path(), SIZE_LIMIT).map_err(|source| StoreError::io(path, source))?;
    let text = |bytes| String::from_utf8(bytes).map_err(|_| StoreError::NotText { path: path.to_owned() });
    bytes.map(text).transpose()
}

/// Returns the settings in a text as they are written, after checking them.
fn settings(file: &str, text: &str) -> Result<Value, StoreError> {
    parse_file(file, text)?;
    toml::from_str(text).map_err(|error| invalid(file, text, error.span(), error.message()))
}

/// Takes out of a project's settings what would weaken a decision, and says what it was.
fn weakening(stated: &mut Value) -> Vec<String> {
    let mut ignored = Vec::new();
    let Some(map) = stated.as_object_mut() else { return Vec::new() };
    if map.get("mode").and_then(Value::as_str) == Some(Mode::Autopilot.as_str()) {
        map.remove("mode");
        ignored.push("mode = \"autopilot\"");
    }
    if map.remove("gates").is_some() {
        ignored.push("[gates]");
    }
    let default = u64::from(Config::default().limits.attempts);
    if let Some(limits) = map.get_mut("limits").and_then(Value::as_object_mut)
        && limits.get("attempts").and_then(Value::as_u64).is_some_and(|attempts| attempts > default)
    {
        limits.remove("attempts");
        ignored.push("limits.attempts above the default");
    }
    ignored
        .into_iter()
        .map(|what| format!("`{what}` in {FILE_NAME} is ignored: it counts only in {USER_FILE}"))
        .collect()
}

/// Lays settings over others, key by key.
fn merge(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                merge(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above,
    }
}

/// Parses the configuration of a project.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn parse(text: &str) -> Result<Config, StoreError> {
    parse_file(FILE_NAME, text)
}

fn parse_file(file: &str, text: &str) -> Result<Config, StoreError> {
    let table = DeTable::parse(text).map_err(|error| invalid(file, text, error.span(), error.message()))?;
    if table.get_ref().is_empty() {
        return Ok(Config::default());
    }
    let known = known_keys(&Config::default());
    check_keys(file, text, table.get_ref(), "", &known)?;
    toml::from_str(text).map_err(|error| invalid(file, text, error.span(), error.message()))
}

fn invalid(file: &str, text: &str, span: Option<std::ops::Range<usize>>, message: &str) -> StoreError {
    let line = span.map(|span| {
        let before = text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count();
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    });
    StoreError::Config { file: file.to_owned(), line, message: message.trim_end().to_owned() }
}

fn check_keys(
    file: &str,
    text: &str,
    table: &DeTable<'_>,
    prefix: &str,
    known: &BTreeMap<String, Value>,
) -> Result<(), StoreError> {
    for (key, value) in table {
        let dotted = if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
        if !known.contains_key(&dotted) {
            let nearest = nearest(&dotted, known.keys().map(String::as_str));
            let message = format!("unknown key `{dotted}`; the nearest valid key is `{nearest}`");
            return Err(invalid(file, text, Some(key.span()), &message));
        }
        if let DeValue::Table(inner) = value.get_ref()
            && dotted != FREE_TABLE
        {
            check_keys(file, text, inner, &dotted, known)?;
        }
    }
    Ok(())
}

/// Returns every valid key, dotted, with its value. Tables are keys too.
fn known_keys(config: &Config) -> BTreeMap<String, Value> {
    let mut known = BTreeMap::from([("mode".to_owned(), Value::Null)]);
    let value = serde_json::to_value(config).expect("a configuration is plain data");
    collect_keys("", &value, &mut known);
    known
}

fn collect_keys(prefix: &str, value: &Value, known: &mut BTreeMap<String, Value>) {
    let Value::Object(map) = value else { return };
    for (key, value) in map {
        let dotted = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        if dotted != FREE_TABLE {
            collect_keys(&dotted, value, known);
        }
        known.insert(dotted, value.clone());
    }
}

/// Finds the most similar key, here or in another table: `attempts` means `limits.attempts`.
fn nearest<'a>(wrong: &str, keys: impl Iterator<Item = &'a str>) -> &'a str {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let wrong_last = last(wrong);
    let score = |key: &&str| edit_distance(wrong, key).min(edit_distance(&wrong_last, &last(key)) + 1);
    keys.min_by_key(score).unwrap_or_default()
}

/// Applies `PITON_LIMITS_ATTEMPTS=5` and the like. Variables that match no key are ignored.
fn overridden(config: &Config, overrides: &BTreeMap<String, String>) -> Result<Config, StoreError> {
    let mut value = serde_json::to_value(config).expect("a configuration is plain data");
    let defaults = known_keys(&Config::default());
    let mut result = config.clone();
    for (key, default) in &defaults {
        let name = format!("PITON_{}", key.replace(['-', '.'], "_").to_uppercase());
        let Some(text) = overrides.get(&name) else { continue };
        let refuse = |message: String| StoreError::Config { file: name.clone(), line: None, message };
        let new = match default {
            Value::Object(_) => continue,
            Value::Number(_) => text
                .trim()
                .parse::<i64>()
                .map(Value::from)
                .map_err(|_| refuse(format!("`{text}` is not a whole number")))?,
            Value::Array(_) => text.split(',').map(|part| Value::from(part.trim())).collect(),
            Value::Null | Value::Bool(_) | Value::String(_) => Value::from(text.as_str()),
        };
        let (table, last) = match key.rsplit_once('.') {
            Some((table, last)) => (&mut value[table], last),
            None => (&mut value, key.as_str()),
        };
        table[last] = new;
        result = serde_json::from_value(value.clone()).map_err(|error| refuse(error.to_string()))?;
    }
    Ok(result)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
