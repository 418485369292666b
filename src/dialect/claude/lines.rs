//! Access to the values of a line, where every field is optional.

use serde_json::Value;

use crate::{document::json_value, model::Timestamp};

/// How the records of the client begin.
const BEGINNINGS: [&str; 2] = ["{\"parentUuid\"", "{\"type\""];
/// Number of places of a line that are tried.
const PLACES: usize = 32;

/// Returns the record of a line, and whether the line has something else. A client that was killed leaves a part of a line, to
/// which the next one appends.
pub(super) fn record(line: &[u8]) -> (Option<Value>, bool) {
    let parsed = |bytes: &[u8]| json_value(bytes).ok().filter(Value::is_object);
    if let Some(value) = parsed(line) {
        return (Some(value), false);
    }
    let Ok(line) = str::from_utf8(line) else { return (None, true) };
    let mut places: Vec<usize> =
        BEGINNINGS.iter().flat_map(|begins| line.match_indices(begins).map(|(at, _)| at).take(PLACES)).collect();
    places.sort_unstable();
    (places.into_iter().filter(|at| *at > 0).find_map(|at| parsed(&line.as_bytes()[at..])), true)
}

/// Returns a member that is text.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// Returns a member that is text, shortened to `limit` bytes.
pub(super) fn short(value: &Value, key: &str, limit: usize) -> String {
    text(value, key).map(|text| cut(text, limit)).unwrap_or_default()
}

/// Shortens a text to at most `limit` bytes, at a boundary of characters.
pub(super) fn cut(text: &str, limit: usize) -> String {
    text[..text.floor_char_boundary(limit)].to_owned()
}

/// Returns a member that is a list; empty if it is not one.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the texts of a list.
pub(super) fn texts(value: &Value, key: &str) -> Vec<String> {
    list(value, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns a member that is a time stamp.
pub(super) fn time(value: &Value, key: &str) -> Option<Timestamp> {
    Timestamp::parse(text(value, key)?, 0).ok()
}

/// Returns a member that counts milliseconds since 1970.
pub(super) fn milliseconds(value: &Value, key: &str) -> Option<Timestamp> {
    let milliseconds = value.get(key)?.as_i64()?;
    let nanoseconds = u32::try_from(milliseconds.rem_euclid(1000)).ok()? * 1_000_000;
    Timestamp::from_unix(milliseconds.div_euclid(1000), nanoseconds)
}
