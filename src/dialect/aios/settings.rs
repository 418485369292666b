//! Files to read because another file names them: stories in configured folders and the plans of epics.

use super::{
    execution::word,
    kind::{self, ParseFailure},
    kinds::epic::{self, EpicState},
    layout::{self, Area},
};
use crate::model::{Finding, FindingCode, Listing, ListingEntry, RelPath, Severity, clean_line};

/// A settings file.
struct Settings<'a> {
    path: &'a RelPath,
    content: &'a [u8],
    /// The folder of its project, with a trailing slash.
    base: &'a str,
    /// Whether it lies in a folder of the framework.
    is_marked: bool,
}

impl<'a> Settings<'a> {
    fn of(entry: &'a ListingEntry) -> Option<Self> {
        let (path, name) = (&entry.path, entry.path.name());
        if entry.is_dir || !matches!(name, "config.yaml" | "config.yml") {
            return None;
        }
        let parts = layout::split(path.as_str());
        let beside = || path.as_str().strip_suffix(name).unwrap_or_default();
        let base = parts.as_ref().map_or_else(beside, |parts| parts.base);
        Some(Self { path, content: entry.content.as_deref()?, base, is_marked: parts.is_some() })
    }

    fn folder(&self, folder: &str) -> Option<RelPath> {
        RelPath::parse(&format!("{}{folder}", self.base)).ok()
    }
}

/// Returns the files that other files name.
pub(super) fn extra_probe_paths(listing: &Listing) -> Vec<RelPath> {
    let mut found = Vec::new();
    for settings in listing.entries.iter().filter_map(Settings::of) {
        for folder in story_folders(settings.content).iter().filter_map(|folder| settings.folder(folder)) {
            let stories = listing.entries.iter().filter(|other| is_story(other, &folder));
            found.extend(stories.map(|other| other.path.clone()));
        }
    }
    for entry in listing.entries.iter().filter(|entry| !entry.is_dir) {
        let (Some(look), Some(parts)) = (entry.content.as_deref(), layout::split(entry.path.as_str())) else {
            continue;
        };
        if matches!(parts.area, Area::Runtime | Area::WorkflowState) && Settings::of(entry).is_none() {
            let node = kind::parse(look).ok();
            let state = node.and_then(|node| EpicState::read(&node, &entry.path));
            found.extend(state.and_then(|state| epic::plan_path(parts.base, &state)));
        }
    }
    found.retain(|path| !layout::is_marked(path.as_str()));
    found.sort_unstable();
    found.dedup();
    found
}

/// Reports settings that cannot be used.
pub(super) fn warnings(listing: &Listing) -> Vec<Finding> {
    let mut warnings = Vec::new();
    for settings in listing.entries.iter().filter_map(Settings::of) {
        let mut warn = |code, message: String, fix: &str| {
            let severity = Severity::Warning;
            warnings.push(Finding { severity, ..Finding::new(code, message).at(settings.path).fix(fix) });
        };
        match kind::parse(settings.content) {
            // Other programs also have such a file at the top of a project.
            Err(ParseFailure::Broken(_, problem)) if settings.is_marked => {
                let message =
                    format!("the settings cannot be parsed, so stories are read from docs/stories: {problem}");
                warn(FindingCode::FileUnclassified, message, "correct the file");
            }
            Err(ParseFailure::Empty | ParseFailure::Documents | ParseFailure::Broken(..)) | Ok(_) => {}
        }
        for folder in story_folders(settings.content).iter().filter(|folder| settings.folder(folder).is_none()) {
            let folder = clean_line(folder, 100);
            let message =
                format!("the settings keep stories in `{folder}`, which is outside the project; none are read");
            warn(FindingCode::FieldIgnored, message, "name a folder of the project, relative to it");
        }
    }
    warnings
}

fn is_story(entry: &ListingEntry, folder: &RelPath) -> bool {
    !entry.is_dir && entry.path.as_str().ends_with(".md") && entry.path.starts_with(folder)
}

/// Returns the story folders that a configuration names; AIOS uses several keys for them.
fn story_folders(bytes: &[u8]) -> Vec<String> {
    let Ok(node) = kind::parse(bytes) else { return Vec::new() };
    let nested = node.get("stories").and_then(|stories| word(stories, "location"));
    let keys = ["storiesDir", "epicsDir"];
    keys.iter().filter_map(|key| word(&node, key)).chain(nested).collect()
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
