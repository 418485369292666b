//! Finds sprints (docs/formats/bmad.md#finding-runs).

use super::sprint::{self, KeyKind, Sprint};
use crate::{
    dialect::{
        Probed,
        guest::{self, Spelling},
    },
    model::{Candidate, DialectId, Listing, ListingEntry, Rank, ReadSpec, RelPath, clean_line},
};

/// Levels of folders above a sprint.
const DEPTH: usize = 6;
/// How the commands of a project are spelled.
const SPELLINGS: [Spelling; 4] = [
    (".claude/commands/bmad-bmm-{}.md", "/bmad-bmm-{}"),
    (".claude/skills/bmad-{}/SKILL.md", "/bmad-{}"),
    (".claude/commands/bmad/bmm/workflows/{}.md", "/bmad:bmm:workflows:{}"),
    (".claude/commands/bmad-{}.md", "/bmad-{}"),
];
const COMMANDS: [&str; 5] = ["create-epics-and-stories", "create-story", "dev-story", "code-review", "retrospective"];

/// Tells whether a file may be a sprint.
pub(super) fn marks(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    matches!(name, "sprint-status.yaml" | "sprint-status.yml") && folder.split('/').count() <= DEPTH
}

/// Finds the runs of a listing.
pub(super) fn probe(listing: &Listing) -> Probed {
    let mut probed = Probed::default();
    let found: Vec<(&ListingEntry, Sprint)> = listing
        .entries
        .iter()
        .filter(|entry| !entry.is_dir && marks(entry.path.as_str()))
        .filter_map(|entry| Some((entry, sprint_of(entry.content.as_ref()?)?)))
        .collect();
    let is_listed = |entry: &ListingEntry| {
        let is_copy = entry.path.parent().is_some_and(|folder| guest::has_copies(folder.as_str().split('/')));
        guest::is_listed(listing, &entry.path, is_copy)
    };
    let listed = found.iter().filter(|(entry, _)| is_listed(entry)).count();
    for (at, (entry, sprint)) in found.iter().enumerate() {
        let is_listed = is_listed(entry);
        let name = match entry.path.parent() {
            Some(folder) if listed > 1 || !is_listed => {
                format!("bmad-{}", clean_line(folder.as_str(), 120).replace('/', "-"))
            }
            Some(_) | None => "bmad".to_owned(),
        };
        probed.add(candidate(listing, entry, sprint, name, at == 0), is_listed);
    }
    probed
}

/// Returns a sprint. One that does not parse is one all the same.
fn sprint_of(bytes: &[u8]) -> Option<Sprint> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let has_key = |line: &str| {
        let key = line.split(':').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        !matches!(sprint::kind_of(key), KeyKind::Other) && !key.starts_with('#')
    };
    if !text.lines().any(|line| line.starts_with(sprint::STATUSES)) {
        return None;
    }
    let sprint = sprint::read(bytes).unwrap_or_default();
    // The mapping may be written in one line.
    let has_stories = !(sprint.stories.is_empty() && sprint.epics.is_empty());
    (has_stories || text.lines().any(has_key)).then_some(sprint)
}

fn candidate(listing: &Listing, entry: &ListingEntry, sprint: &Sprint, name: String, is_first: bool) -> Candidate {
    let mut reads = vec![ReadSpec::File(entry.path.clone())];
    let folder = entry.path.parent();
    for dir in story_folders(&entry.path, sprint.story_location.as_deref()) {
        reads.push(ReadSpec::Contents { dir, suffix: ".md" });
    }
    reads.extend(guest::command_files(listing, &SPELLINGS, &COMMANDS).into_iter().map(ReadSpec::File));
    Candidate {
        rank: folder.map(|home| Rank { home, order: u8::from(!is_first) }),
        // The commands of the project, and another sprint, lie elsewhere.
        may_be_replaced: listing.named.is_some(),
        ..guest::candidate(DialectId::Bmad, name, entry.path.clone(), reads)
    }
}

/// Returns the spelling of a command, by the files of the project.
pub(super) fn command<'a>(files: impl Iterator<Item = &'a str>, command: &str) -> String {
    guest::spelled(files, &SPELLINGS, command).unwrap_or_else(|| format!("/bmad-bmm-{command}"))
}

/// Returns the folders that may hold the stories: the one that the sprint names, its own, and `stories` in it.
pub(super) fn story_folders(state: &RelPath, location: Option<&str>) -> Vec<RelPath> {
    let mut folders: Vec<RelPath> = Vec::new();
    let location = location.map(|text| text.trim().trim_start_matches("{project-root}").replace('\\', "/"));
    // The folder on the machine of its author: what is behind the folder that the sprint is in too.
    let top = state.as_str().split('/').next().unwrap_or_default();
    let behind = |text: &String| text.split_once(&format!("/{top}/")).map(|(_, rest)| format!("{top}/{rest}"));
    let of_project = location.as_ref().map(|text| behind(text).unwrap_or_else(|| text.clone()));
    folders.extend(of_project.and_then(|text| RelPath::parse(text.trim_start_matches('/')).ok()));
    if let Some(folder) = state.parent() {
        let below = folder.join("stories").ok();
        folders.push(folder);
        folders.extend(below);
    }
    let mut kept: Vec<RelPath> = Vec::new();
    for folder in folders {
        if !kept.contains(&folder) {
            kept.push(folder);
        }
    }
    kept
}
