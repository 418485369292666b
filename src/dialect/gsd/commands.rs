//! The commands of GSD, in the spelling of the project (docs/formats/gsd.md#commands).

use serde_json::{Map, Value};

use crate::{
    dialect::guest::{self, Spelling},
    model::{FileSet, Listing, RelPath},
};

const SPELLINGS: [Spelling; 3] = [
    (".claude/skills/gsd-{}/SKILL.md", "/gsd-{}"),
    (".claude/commands/gsd-{}.md", "/gsd-{}"),
    (".claude/commands/gsd/{}.md", "/gsd:{}"),
];
const COMMANDS: [&str; 6] =
    ["execute-phase", "plan-phase", "verify-work", "resume-work", "complete-milestone", "progress"];

/// Returns the files of the project that define commands of GSD.
pub(super) fn files(listing: &Listing) -> impl Iterator<Item = RelPath> {
    guest::command_files(listing, &SPELLINGS, &COMMANDS).into_iter()
}

/// Returns a command as the project spells it.
pub(super) fn spelled<'a>(files: impl Iterator<Item = &'a str>, command: &str) -> String {
    guest::spelled(files, &SPELLINGS, command).unwrap_or_else(|| format!("/gsd-{command}"))
}

/// The commands as the project spells them, by name.
pub(super) struct Commands(Map<String, Value>);

impl Commands {
    pub(super) fn of(files: &FileSet) -> Self {
        let paths = || files.files.keys().map(RelPath::as_str).filter(|path| path.starts_with(".claude/"));
        Self(COMMANDS.iter().map(|name| ((*name).to_owned(), Value::from(spelled(paths(), name)))).collect())
    }

    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}
