//! Reads and edits JSON files of other programs: lenient reading, and edits that preserve all other bytes.
//!
//! Values are those of `serde_json`. [`position`] locates a value in a text, for findings. A [`Document`] is a text being edited.
//! [`additions()`] returns the parts of a text that are not in an earlier version. Byte offsets are computed on demand ([`span`]).

mod additions;
mod document;
mod span;

pub(crate) use additions::additions;
pub(crate) use document::Document;

use serde_json::Value;

use super::salvage;

/// The position and reason at which a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: String,
}

const BOM: &str = "\u{feff}";

/// Parses a text into a value.
///
/// # Errors
///
/// With line and column, when the bytes are not UTF-8 or not JSON, or nest deeper than 128 levels.
pub(crate) fn parse_value(bytes: &[u8]) -> Result<Value, JsonError> {
    let text = utf8(bytes)?;
    serde_json::from_str(text.strip_prefix(BOM).unwrap_or(text)).map_err(|error| describe(text, &error))
}

/// Returns line and column, from 1, of the value at a JSON pointer in a text that [`parse_value`] accepts.
pub(crate) fn position(bytes: &[u8], pointer: &str) -> Option<(u32, u32)> {
    let text = utf8(bytes).ok()?;
    span::position(text.strip_prefix(BOM).unwrap_or(text), pointer)
}

/// Escapes a key for use in a JSON pointer.
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn utf8(bytes: &[u8]) -> Result<&str, JsonError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        JsonError { line: to_u32(line), column: to_u32(column), message: "not UTF-8 text".to_owned() }
    })
}

fn describe(text: &str, error: &serde_json::Error) -> JsonError {
    if let Some((line, message)) = salvage::conflict(text.as_bytes()) {
        return JsonError { line, column: 1, message };
    }
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(head, _)| head).to_owned();
    let message = match message.as_str() {
        _ if text.trim().is_empty() => "the file is empty".to_owned(),
        "recursion limit exceeded" => "it is nested too deep".to_owned(),
        cause if cause.starts_with("EOF") => format!("the file ends too early ({cause})"),
        _ => message,
    };
    JsonError { line: to_u32(error.line().max(1)), column: to_u32(error.column().max(1)), message }
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
