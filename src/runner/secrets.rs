//! Secrets and environment files. The values of secrets reach the steps only, never the journal, a log or a message.

use std::collections::BTreeMap;

use camino::Utf8Path;

use super::{error::RunError, files};
use crate::{model::No, ops::Exit, store, workflow::Secret};

/// Shorter values would match unrelated text.
const SHORTEST: usize = 6;
/// An environment variable of the runner whose name contains one of these holds a secret.
const SECRET_NAMES: [&str; 7] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "ACCESS_KEY", "CREDENTIAL"];
const MASK: &str = "[masked]";

/// The values to mask in everything that is written.
#[derive(Clone, Default)]
pub(super) struct Masks {
    /// The longest first, so that no value masks a part of another.
    values: Vec<(String, String)>,
}

impl std::fmt::Debug for Masks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.values.len())
    }
}

impl Masks {
    /// Collects the declared secrets and those of the environment.
    pub(super) fn of(declared: &BTreeMap<String, String>, environment: impl Iterator<Item = (String, String)>) -> Self {
        let is_secret = |name: &str| SECRET_NAMES.iter().any(|part| name.to_ascii_uppercase().contains(part));
        let found = environment.filter(|(name, _)| is_secret(name));
        let all = declared.iter().map(|(name, value)| (name.clone(), value.clone())).chain(found);
        // A value of several lines may be printed line by line.
        let lines = |(name, value): (String, String)| {
            let whole = value.trim().to_owned();
            let lines: Vec<String> =
                whole.lines().skip(1).chain(whole.lines().take(1)).map(str::trim).map(str::to_owned).collect();
            std::iter::once(whole).chain(lines).map(move |value| (value, name.clone()))
        };
        let mut values: Vec<(String, String)> =
            all.flat_map(lines).filter(|(value, _)| value.len() >= SHORTEST).collect();
        values.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup_by(|(a, _), (b, _)| a == b);
        Self { values }
    }

    /// Returns a text with all values masked.
    pub(super) fn hide(&self, text: &str) -> String {
        let hidden = |text: String, (value, _): &(String, String)| match text.contains(value.as_str()) {
            true => text.replace(value.as_str(), MASK),
            false => text,
        };
        crate::model::mask_secrets(&self.values.iter().fold(text.to_owned(), hidden)).into_owned()
    }

    /// Masks the values in a stream of bytes that arrives in pieces. Keeps back in `held` what may be the beginning of a value, except at the
    /// end.
    pub(super) fn hide_piece(&self, held: &mut Vec<u8>, piece: &[u8], is_end: bool) -> Vec<u8> {
        held.extend_from_slice(piece);
        let mut shown = Vec::with_capacity(held.len());
        let mut rest = held.as_slice();
        while !rest.is_empty() {
            let values = || self.values.iter().map(|(value, _)| value.as_bytes());
            if let Some(value) = values().find(|value| rest.starts_with(value)) {
                shown.extend_from_slice(MASK.as_bytes());
                rest = &rest[value.len()..];
            } else if !is_end && values().any(|value| value.starts_with(rest)) {
                break;
            } else {
                shown.push(rest[0]);
                rest = &rest[1..];
            }
        }
        *held = rest.to_vec();
        shown
    }

    /// Returns the name of a secret whose value a text contains.
    pub(super) fn found_in(&self, text: &str) -> Option<&str> {
        self.values.iter().find(|(value, _)| text.contains(value.as_str())).map(|(_, name)| name.as_str())
    }
}

/// Fetches the declared secrets.
///
/// # Errors
///
/// When one is missing. The message never contains a value.
pub(super) fn fetch(
    declared: &BTreeMap<String, Secret>,
    root: &Utf8Path,
) -> Result<BTreeMap<String, String>, RunError> {
    let mut found = BTreeMap::new();
    for (name, secret) in declared {
        let value = match secret {
            Secret::Env(variable) => store::variable(variable).ok_or_else(|| {
                let message = format!("the secret `{name}` is not set: the environment has no {variable}");
                RunError::new(
                    Exit::No(No::Invalid),
                    message,
                    [format!("export {variable}=TEXT, then run the command again").into()],
                )
            })?,
            Secret::File(path) => {
                files::read(&root.join(path)).map(|text| text.trim_end().to_owned()).map_err(|why| {
                    let message = format!("the secret `{name}` cannot be read: {why}");
                    RunError::new(
                        Exit::No(No::Invalid),
                        message,
                        [format!("correct the `key` of `{name}` in the workflow file").into()],
                    )
                })?
            }
        };
        found.insert(name.clone(), value);
    }
    Ok(found)
}

/// Parses a file of variables: `NAME=value` lines, with an optional `export` and optional quotes.
///
/// # Errors
///
/// In one sentence, with the line.
pub(super) fn env_file(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or_else(|| format!("line {number} is not `NAME=value`"))?;
        let name = name.trim();
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !plain || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || name.starts_with("PITON_") {
            return Err(format!("line {number}: not a usable variable name"));
        }
        found.push((name.to_owned(), unquoted(value.trim())));
    }
    Ok(found)
}

fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner.to_owned();
        }
    }
    // A comment starts after a space.
    value.split_once(" #").map_or(value, |(value, _)| value).trim_end().to_owned()
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
