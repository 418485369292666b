//! The form of an answer: what was asked for, else text for a person and JSON for a program.

use std::ffi::OsString;

use clap::ValueEnum;

use super::output;
use crate::ops;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
    Markdown,
    /// Only for `context` and `resume`
    Yaml,
    /// Only for `show`
    Junit,
}

impl Format {
    /// Returns text for a person and JSON for a program.
    pub(super) fn usual() -> Self {
        if output::is_terminal() { Self::Text } else { Self::Json }
    }

    /// Returns the format requested by a command line that could not be parsed.
    pub(super) fn of_words(words: impl Iterator<Item = OsString>) -> Self {
        let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
        let mut asked = words.iter().enumerate().filter_map(|(at, word)| match word.strip_prefix("--format") {
            Some("") => words.get(at + 1).map(String::as_str),
            Some(value) => value.strip_prefix('='),
            None => None,
        });
        let asked = asked.next().map(str::to_owned).or_else(ops::wanted_format);
        asked.and_then(|text| <Self as ValueEnum>::from_str(&text, true).ok()).unwrap_or_else(Self::usual)
    }
}
