//! The commands that people and agents are shown. This is the only place that spells one.

use std::fmt::{Display, Formatter, Result};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::{
    id::RunId,
    text::{is_plain_word, quoted},
    words::words,
};

words! {
    /// A verb that is printed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Verb {
        Begin = "begin",
        Close = "close",
        Context = "context",
        Decide = "decide",
        Demo = "demo",
        Doctor = "doctor",
        Exec = "exec",
        Finish = "finish",
        History = "history",
        List = "list",
        Logs = "logs",
        Merge = "merge",
        Pause = "pause",
        Plan = "plan",
        Restore = "restore",
        Resume = "resume",
        Rollback = "rollback",
        Run = "run",
        Schema = "schema",
        Setup = "setup",
        Show = "show",
        Start = "start",
        Status = "status",
        Trust = "trust",
        Validate = "validate",
        Workflows = "workflows",
    }

    const ALL;
    impl Display;
}

impl Verb {
    pub(crate) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == word)
    }
}

/// The commands that print the options of the program, and those of a verb.
pub(crate) const HELP: [&str; 2] = ["piton --help", "piton VERB --help"];

/// A command line to be run as it is printed, but for words in capitals, which are filled in first.
///
/// Ids come from untrusted files and end up in commands that agents run: every value is quoted as one word of a shell and can never become an
/// option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Suggested {
    /// `piton VERB ...`.
    Own(Call),
    /// The whole line of another program.
    Other(String),
}

/// A call of `piton`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    verb: Verb,
    project: Option<String>,
    words: Vec<String>,
    /// Names with values.
    options: Vec<(String, Vec<String>)>,
    comment: Option<String>,
}

impl Suggested {
    /// Builds `piton VERB`.
    pub(crate) const fn new(verb: Verb) -> Self {
        Self::Own(Call { verb, project: None, words: Vec::new(), options: Vec::new(), comment: None })
    }

    /// Builds `piton VERB RUN`, where the run may also be a path or a number.
    pub(crate) fn of(verb: Verb, run: impl AsRef<str>) -> Self {
        Self::new(verb).word(run)
    }

    /// Builds `piton VERB STEP --run RUN`.
    pub(crate) fn on_step(verb: Verb, step: impl AsRef<str>, run: &RunId) -> Self {
        Self::of(verb, step).run(run)
    }

    /// Builds the line of a call that was made, with its words as they were given.
    pub(crate) fn made(words: &[&str]) -> Self {
        let word = |word: &&str| if word.starts_with("--") { (*word).to_owned() } else { quoted(word) };
        Self::Other(format!("piton {}", words.iter().map(word).collect::<Vec<_>>().join(" ")))
    }

    /// Changes a call of `piton`; nothing is added to the line of another program.
    fn with(mut self, change: impl FnOnce(&mut Call)) -> Self {
        if let Self::Own(call) = &mut self {
            change(call);
        }
        self
    }

    /// Adds an argument.
    pub(crate) fn word(self, word: impl AsRef<str>) -> Self {
        self.with(|call| call.words.push(word.as_ref().to_owned()))
    }

    /// Adds an option with any number of values.
    pub(crate) fn values<S: AsRef<str>>(self, name: &str, values: &[S]) -> Self {
        let values = values.iter().map(|value| value.as_ref().to_owned()).collect();
        self.with(|call| call.options.push((name.to_owned(), values)))
    }

    /// Adds an option with its value.
    pub(crate) fn option(self, name: &str, value: impl AsRef<str>) -> Self {
        self.values(name, &[value.as_ref()])
    }

    /// Adds an option once for each value.
    pub(crate) fn options<S: AsRef<str>>(self, name: &str, values: impl IntoIterator<Item = S>) -> Self {
        values.into_iter().fold(self, |command, value| command.option(name, value))
    }

    /// Adds an option where there is a value for it.
    pub(crate) fn maybe(self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.option(name, value),
            None => self,
        }
    }

    /// Adds an option with two values.
    pub(crate) fn pair(self, name: &str, first: &str, second: &str) -> Self {
        self.values(name, &[first, second])
    }

    /// Adds an option without a value.
    pub(crate) fn flag(self, name: &str) -> Self {
        self.values::<&str>(name, &[])
    }

    /// Adds options without values.
    pub(crate) fn flags(self, names: impl IntoIterator<Item = &'static str>) -> Self {
        names.into_iter().fold(self, Self::flag)
    }

    /// Adds `--run RUN`.
    pub(crate) fn run(self, run: &RunId) -> Self {
        self.option("run", run)
    }

    /// Adds what a person says who decides: who they are.
    pub(crate) fn by(self) -> Self {
        self.option("by", "NAME")
    }

    /// Adds what a person says who decides: who they are, and why.
    pub(crate) fn by_and_why(self) -> Self {
        self.by().option("note", "WHY")
    }

    /// Adds the consent of the person who types it, once.
    pub(crate) fn yes(self) -> Self {
        if self.has("yes") { self } else { self.flag("yes") }
    }

    /// Names the folder in which the runs are looked for.
    pub(crate) fn project(self, folder: &str) -> Self {
        self.with(|call| call.project = Some(folder.to_owned()))
    }

    /// Adds a comment of a shell.
    pub(crate) fn comment(self, comment: &str) -> Self {
        self.with(|call| call.comment = Some(comment.to_owned()))
    }

    /// Returns the verb; `None` for another program.
    pub(crate) const fn verb(&self) -> Option<Verb> {
        match self {
            Self::Own(call) => Some(call.verb),
            Self::Other(_) => None,
        }
    }

    /// Tells whether it has an option.
    pub(crate) fn has(&self, name: &str) -> bool {
        matches!(self, Self::Own(call) if call.options.iter().any(|option| option.0 == name))
    }

    /// Tells whether another command is this one, or this one with more options.
    pub(crate) fn begins(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Own(one), Self::Own(other)) => {
                (one.verb, &one.words) == (other.verb, &other.words) && other.options.starts_with(&one.options)
            }
            (one, other) => one == other,
        }
    }
}

impl Call {
    /// Returns the words of the command line.
    pub(crate) fn arguments(&self) -> Vec<String> {
        self.line(str::to_owned)
    }

    fn line(&self, word: impl Fn(&str) -> String) -> Vec<String> {
        let mut line = vec!["piton".to_owned()];
        line.extend(self.project.iter().flat_map(|folder| ["--project".to_owned(), word(folder)]));
        line.push(self.verb.as_str().to_owned());
        let words = self.words.iter().map(|one| word(one));
        let options = self.options.iter().flat_map(|(name, values)| match values.as_slice() {
            // Tied, it can be no option.
            [one] if one.starts_with('-') => vec![format!("--{name}={}", word(one))],
            many => [format!("--{name}")].into_iter().chain(many.iter().map(|one| word(one))).collect(),
        });
        match self.words.iter().any(|word| word.starts_with('-')) {
            true => line.extend(options.chain(["--".to_owned()]).chain(words)),
            false => line.extend(words.chain(options)),
        }
        line
    }
}

/// Quotes a word of a shell, but for a value that is filled in.
fn shown(word: &str) -> String {
    let is_open = word.strip_suffix("=VALUE").is_some_and(is_plain_word);
    if is_open { word.to_owned() } else { quoted(word) }
}

impl Display for Suggested {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Own(call) => {
                f.write_str(&call.line(shown).join(" "))?;
                call.comment.iter().try_for_each(|comment| write!(f, "   # {comment}"))
            }
            Self::Other(line) => f.write_str(line),
        }
    }
}

impl From<Suggested> for String {
    fn from(command: Suggested) -> Self {
        command.to_string()
    }
}

impl Serialize for Suggested {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Suggested {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Suggested".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
#[path = "suggested_tests.rs"]
mod tests;
