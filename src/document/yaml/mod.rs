//! Parses YAML, and JSON as a part of it. The only user of the YAML crate.
//!
//! Scalars keep their spelling: `1.10` stays `1.10`, as a value and as a key. Booleans are only `true` and `false`, duplicate
//! keys are errors, and aliases count towards the limits.

mod build;
mod edit;
mod render;

pub(super) use edit::{push, remove, set};

use super::{
    BOM, Fault, ParseError, salvage,
    tree::{Node, TextPosition},
    utf8,
};

/// Limits for parsing.
#[derive(Clone, Copy, Debug)]
struct YamlLimits {
    bytes: usize,
    depth: usize,
    nodes: usize,
}

/// Limits for definitions, which are written by hand.
const DEFINITION: YamlLimits = YamlLimits { bytes: 1 << 20, depth: 64, nodes: 50_000 };

/// Limits for states, which may have thousands of steps.
const STATE: YamlLimits = YamlLimits { bytes: 4 << 20, depth: 64, nodes: 250_000 };

/// Parses one document that is a definition.
///
/// # Errors
///
/// With line and column, if the bytes are not UTF-8 or not YAML, a key is duplicated, or there are more than 1 MiB, 64 levels or
/// 50,000 values.
pub(crate) fn parse(bytes: &[u8]) -> Result<Node, ParseError> {
    parse_within(bytes, &DEFINITION)
}

/// Parses one document that is a state.
///
/// # Errors
///
/// As [`parse`], with room for 4 MiB and 250,000 values.
pub(super) fn parse_state(bytes: &[u8]) -> Result<Node, ParseError> {
    parse_within(bytes, &STATE)
}

fn parse_within(bytes: &[u8], limits: &YamlLimits) -> Result<Node, ParseError> {
    if bytes.len() > limits.bytes {
        let message = format!("the file has {} bytes, more than the {} that are read", bytes.len(), limits.bytes);
        return Err(ParseError { place: TextPosition { line: 1, column: 1 }, message, fault: Fault::TooMuch });
    }
    let text = utf8(bytes)?;
    let without_bom = text.strip_prefix(BOM).unwrap_or(text);
    build::tree(without_bom, text.len() - without_bom.len(), limits).map_err(|error| match salvage::conflict(bytes) {
        Some((line, message)) if error.fault != Fault::TooMuch => {
            ParseError { place: TextPosition { line, column: 1 }, message, fault: Fault::Syntax }
        }
        Some(_) | None => error,
    })
}

#[cfg(test)]
mod tests;
