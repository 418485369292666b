//! The commands with which each system continues, in the spelling of the project (docs/formats/checklist.md#commands).

use super::kind::ListKind;
use crate::model::Listing;
use crate::model::RelPath;

/// Files of a project that define the command to continue, with the command, newest spelling first.
const SPEC_KIT: [(&str, &str); 5] = [
    (".claude/commands/speckit.implement.md", "/speckit.implement"),
    (".claude/skills/speckit-implement/SKILL.md", "/speckit-implement"),
    (".claude/commands/speckit/implement.md", "/speckit:implement"),
    (".claude/commands/speckit-implement.md", "/speckit-implement"),
    (".claude/commands/implement.md", "/implement"),
];
const OPEN_SPEC: [(&str, &str); 5] = [
    (".claude/commands/opsx/apply.md", "/opsx:apply"),
    (".claude/commands/opsx-apply.md", "/opsx-apply"),
    (".claude/skills/openspec-apply-change/SKILL.md", "/openspec-apply-change"),
    (".claude/commands/openspec/apply.md", "/openspec:apply"),
    (".claude/commands/openspec-apply.md", "/openspec-apply"),
];

const fn spellings(kind: ListKind) -> &'static [(&'static str, &'static str)] {
    match kind {
        ListKind::SpecKit => &SPEC_KIT,
        ListKind::OpenSpec => &OPEN_SPEC,
        ListKind::Superpowers | ListKind::PlanMode => &[],
    }
}

/// Returns the file of the project that defines the command to continue.
pub(super) fn command_file(kind: ListKind, listing: &Listing) -> Option<RelPath> {
    let has = |path: &str| listing.entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).is_ok();
    let file = spellings(kind).iter().map(|(file, _)| *file).find(|file| has(file));
    file.and_then(|file| RelPath::parse(file).ok())
}

/// Returns the command to continue. `files` are those that a run reads, `subject` is its feature, change or plan.
pub(super) fn proceed<'a>(
    kind: ListKind,
    mut files: impl Iterator<Item = &'a str>,
    id: &str,
    state: &RelPath,
) -> String {
    let of_project = files.find_map(|path| spellings(kind).iter().find(|(file, _)| *file == path));
    let command = of_project.map(|(_, command)| *command);
    let folder = state.parent();
    let subject = folder.as_ref().map_or(id, RelPath::name);
    match kind {
        ListKind::SpecKit => command.unwrap_or("/speckit.implement").to_owned(),
        ListKind::OpenSpec => format!("{} {subject}", command.unwrap_or("/opsx:apply")),
        ListKind::Superpowers => format!("execute {state} with subagent-driven-development"),
        ListKind::PlanMode => format!("piton context {id}"),
    }
}
