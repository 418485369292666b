//! What deserves a look because another file names it: stories that a setting keeps elsewhere, and the plans of epics.

use super::epic;
use super::epic::State;
use super::execution::word;
use super::kind;
use super::kind::get;
use super::places;
use super::places::Area;
use crate::model::Listing;
use crate::model::ListingEntry;
use crate::model::RelPath;

/// Names the files.
pub(super) fn further(listing: &Listing) -> Vec<RelPath> {
    let mut found = Vec::new();
    for entry in listing.entries.iter().filter(|entry| !entry.is_dir) {
        let Some(look) = entry.look.as_deref() else { continue };
        let path = entry.path.as_str();
        let place = places::place(path);
        if matches!(entry.path.name(), "config.yaml" | "config.yml") {
            let base =
                place.map_or_else(|| path.strip_suffix(entry.path.name()).unwrap_or_default(), |place| place.base);
            for folder in
                story_folders(look).iter().filter_map(|folder| RelPath::parse(&format!("{base}{folder}")).ok())
            {
                found.extend(
                    listing.entries.iter().filter(|other| is_story(other, &folder)).map(|other| other.path.clone()),
                );
            }
        } else if place.is_some_and(|place| matches!(place.area, Area::Runtime | Area::WorkflowState)) {
            let base = place.map_or("", |place| place.base);
            let node = kind::parse(look).ok();
            let state = node.and_then(|node| State::read(&node, &entry.path));
            found.extend(state.and_then(|state| epic::plan_path(base, &state)));
        }
    }
    found.retain(|path| !places::is_marked(path.as_str()));
    found.sort_unstable();
    found.dedup();
    found
}

fn is_story(entry: &ListingEntry, folder: &RelPath) -> bool {
    !entry.is_dir && entry.path.as_str().ends_with(".md") && entry.path.starts_with(folder)
}

/// Returns the folders of stories that a configuration names; tasks and packs of AIOS use different keys for them.
fn story_folders(bytes: &[u8]) -> Vec<String> {
    let Ok(node) = kind::parse(bytes) else { return Vec::new() };
    let nested = get(&node, "stories").and_then(|stories| word(stories, "location"));
    let keys = ["storiesDir", "epicsDir"];
    keys.iter().filter_map(|key| word(&node, key)).chain(nested).collect()
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
