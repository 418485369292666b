//! The commands with which each system continues, in the spelling of the project (docs/formats/checklist.md#commands).

use camino::Utf8Path;

use super::kind::ListKind;
use crate::{
    dialect::guest::{self, Spelling},
    model::{Listing, RelPath, Suggested, Verb},
};

/// How projects spell the command to continue, newest spelling first.
const SPEC_KIT: [Spelling; 5] = [
    (".claude/commands/speckit.{}.md", "/speckit.{}"),
    (".claude/skills/speckit-{}/SKILL.md", "/speckit-{}"),
    (".claude/commands/speckit/{}.md", "/speckit:{}"),
    (".claude/commands/speckit-{}.md", "/speckit-{}"),
    (".claude/commands/{}.md", "/{}"),
];
const OPEN_SPEC: [Spelling; 5] = [
    (".claude/commands/opsx/{}.md", "/opsx:{}"),
    (".claude/commands/opsx-{}.md", "/opsx-{}"),
    (".claude/skills/openspec-{}-change/SKILL.md", "/openspec-{}-change"),
    (".claude/commands/openspec/{}.md", "/openspec:{}"),
    (".claude/commands/openspec-{}.md", "/openspec-{}"),
];

/// Returns the name of the command to continue, and how projects spell it.
const fn command(kind: ListKind) -> (&'static str, &'static [Spelling]) {
    match kind {
        ListKind::SpecKit => ("implement", &SPEC_KIT),
        ListKind::OpenSpec => ("apply", &OPEN_SPEC),
        ListKind::Superpowers | ListKind::PlanMode => ("", &[]),
    }
}

/// Returns the file of the project that defines the command to continue.
pub(super) fn command_file(kind: ListKind, listing: &Listing) -> Option<RelPath> {
    let (name, spellings) = command(kind);
    guest::command_files(listing, spellings, &[name]).pop()
}

/// Returns the command to continue. `files` are those that a run reads.
pub(super) fn proceed<'a>(
    kind: ListKind,
    files: impl Iterator<Item = &'a str>,
    root: &Utf8Path,
    state: &RelPath,
) -> String {
    let (name, spellings) = command(kind);
    let spelled = |usual: &str| guest::spelled(files, spellings, name).unwrap_or_else(|| usual.to_owned());
    let folder = state.parent();
    let subject = folder.as_ref().map_or("", RelPath::name);
    match kind {
        ListKind::SpecKit => spelled("/speckit.implement"),
        ListKind::OpenSpec => format!("{} {subject}", spelled("/opsx:apply")),
        ListKind::Superpowers => format!("execute {state} with subagent-driven-development"),
        ListKind::PlanMode => Suggested::of(Verb::Context, state.under(root)).into(),
    }
}
