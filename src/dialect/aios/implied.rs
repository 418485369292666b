//! Finds runs without a saved state: stories in progress and artifacts of spec pipelines
//! (docs/formats/aios.md#which-state-counts).

use std::collections::{BTreeMap, BTreeSet};

use super::{
    gate,
    kind::Kind,
    kinds::{
        spec::{Pipeline, SPEC},
        story_cycle,
    },
    layout::{self, Area},
};
use crate::{
    dialect::story::{self, Story, StoryStatus},
    model::{
        Candidate, Claim, DialectId, Finding, FindingCode, Listing, ListingEntry, ReadSpec, RelPath, Severity,
        clean_line,
    },
};

/// Maximum number of stories that a finding names.
const NAMED: usize = 5;

/// Returns the implied runs of a listing. `explicit` are the stories with a saved state, by project and lowercase id; the state
/// takes precedence. `covered` are the files that saved states read.
pub(super) fn candidates(
    listing: &Listing,
    explicit: &BTreeSet<(String, String)>,
    covered: &BTreeSet<RelPath>,
    findings: &mut Vec<Finding>,
) -> Vec<Candidate> {
    let files = || listing.entries.iter().filter(|entry| !entry.is_dir);
    let stories: Vec<(&RelPath, Story<'_>)> = files().filter_map(story_of).collect();
    let is_implied = |(path, story): &&(&RelPath, Story<'_>)| {
        let base = layout::base_of(path);
        !explicit.contains(&(base.to_owned(), story.id.to_lowercase()))
    };
    let mut found = cycles(listing, stories.iter().filter(is_implied));
    findings.extend(unknown(stories.iter().filter(is_implied).filter(|(path, _)| !covered.contains(*path))));
    for finding in duplicates(&stories, covered) {
        match found.iter_mut().find(|candidate| finding.file.as_ref() == Some(&candidate.state)) {
            Some(candidate) => candidate.findings.push(finding),
            None => findings.push(finding),
        }
    }
    let mut folders: BTreeSet<RelPath> = BTreeSet::new();
    let mut derived = None;
    for pipeline in files().filter_map(|entry| Pipeline::of_artifact(&entry.path)) {
        if layout::is_archived(pipeline.folder.as_str()) || !folders.insert(pipeline.folder.clone()) {
            continue;
        }
        let derived = derived.get_or_insert_with(|| files().filter_map(any_story).flatten().collect());
        if !is_derived(&pipeline, derived) {
            found.extend(spec(listing, &pipeline));
        }
    }
    tell_apart(&mut found);
    found
}

/// Gives runs that would have the same id those of their files: the name, and where that is shared too, the whole path. A printed
/// command names one run.
fn tell_apart(candidates: &mut [Candidate]) {
    for name in [name_of_file as fn(&Candidate) -> String, name_of_path] {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for candidate in candidates.iter() {
            *counts.entry(candidate.name.to_lowercase()).or_default() += 1;
        }
        for candidate in candidates.iter_mut().filter(|candidate| counts[&candidate.name.to_lowercase()] > 1) {
            candidate.name = name(candidate);
        }
    }
}

fn kind_of(candidate: &Candidate) -> Kind {
    if candidate.state.name().ends_with(".md") { Kind::StoryCycle } else { Kind::Spec }
}

/// Returns the id of a run from the name of its file, or of the folder of a file that has the name of every story.
fn name_of_file(candidate: &Candidate) -> String {
    let name = candidate.state.name();
    let folder = candidate.state.parent();
    let name = if matches!(name, "story.md" | "spec") { folder.as_ref().map_or(name, RelPath::name) } else { name };
    kind_of(candidate).descriptor().run_id(story::name_of(name))
}

fn name_of_path(candidate: &Candidate) -> String {
    let path = candidate.state.as_str();
    let path = ["/story.md", "/spec", ".md"].iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path);
    kind_of(candidate).descriptor().run_id(&path.replacen("docs/stories/", "", 1).replace('/', "-"))
}

/// Returns the names of a story: its id, and the name of its file. A story in an archive counts too.
fn any_story(entry: &ListingEntry) -> Option<[String; 2]> {
    let story = story_in(entry)?;
    let stem = entry.path.name().strip_suffix(".md").unwrap_or_default();
    Some([story.id.as_str(), stem.strip_suffix(".story").unwrap_or(stem)].map(story::bare_id))
}

/// Tells whether a story was derived from a pipeline already, which ends it (docs/formats/aios-stories.md#spec-pipeline). Its folder
/// has the name of the story, or begins with the id.
fn is_derived(pipeline: &Pipeline, stories: &BTreeSet<String>) -> bool {
    let of_folder = pipeline.folder.parent().and_then(|folder| folder.join("story.md").ok());
    let id = of_folder.map(|path| story::bare_id(&story::id_of_path(&path)));
    // `v2` is the beginning of many names, and the id of none.
    let is_id = |id: &String| id.contains(['.', '-']);
    stories.contains(&story::bare_id(&pipeline.id)) || id.filter(is_id).is_some_and(|id| stories.contains(&id))
}

/// Returns what a story that implies no run says about itself.
pub(super) fn describe(path: &RelPath, bytes: &[u8]) -> Option<Finding> {
    if !path.name().ends_with(".md") || layout::split(path.as_str()).is_none_or(|parts| parts.area != Area::Stories) {
        return None;
    }
    let story = story::parse(path, bytes);
    let id = clean_line(&story.id, 100);
    let finding = |message: String| Finding::new(FindingCode::NoRunHere, message).at(path);
    if !story.is_story() {
        return Some(finding(format!("{path} is no story: it has no story id and no user story")));
    }
    let Some(mention) = story.status() else { return Some(finding(format!("story {id} has no status"))) };
    let what = match mention.status {
        StoryStatus::Done | StoryStatus::TerminalOther => "nothing is left to resume",
        StoryStatus::Draft | StoryStatus::Ready => "it was not started",
        StoryStatus::Blocked => "a person lets it go on",
        StoryStatus::Unknown => "that is not a known status, so nothing is resumed from it",
        StoryStatus::InProgress | StoryStatus::InReview => return None,
    };
    Some(
        finding(format!("story {id} is {}: {what}", clean_line(&mention.raw, 60)))
            .line(mention.line, Some(mention.column)),
    )
}

/// Reports the stories whose status is not in the vocabulary: nothing is resumed from them.
fn unknown<'a>(stories: impl Iterator<Item = &'a (&'a RelPath, Story<'a>)>) -> Option<Finding> {
    let words: Vec<(&RelPath, u32, String)> = stories
        .filter_map(|(path, story)| {
            let mention = story.status().filter(|mention| mention.status == StoryStatus::Unknown)?;
            let named = format!("{} (`{}`)", clean_line(&story.id, 100), clean_line(&mention.raw, 40));
            Some((*path, mention.line, named))
        })
        .collect();
    let (path, line, _) = words.first()?;
    let named: Vec<&str> = words.iter().take(NAMED).map(|(.., named)| named.as_str()).collect();
    let more = words.len() - named.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let message = format!("status not known, so nothing is resumed from it: story {}{more}", named.join(", "));
    let finding = Finding::new(FindingCode::StatusUnknown, message).at(path).line(*line, None);
    let finding =
        finding.fix("if the work goes on, write one of Draft, Ready, InProgress, InReview, Done as its status");
    Some(Finding { severity: Severity::Info, ..finding })
}

/// Reports a story in progress that shares its id with other files. The file that a saved state reads comes first.
fn duplicates(stories: &[(&RelPath, Story<'_>)], covered: &BTreeSet<RelPath>) -> Vec<Finding> {
    let mut by_id: BTreeMap<(&str, String, &str), Vec<_>> = BTreeMap::new();
    for candidate in stories {
        let (path, story) = candidate;
        // Stories of a version or an area share the beginning of their names; a number is that of one story.
        let is_number = story.id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let title = if is_number { "" } else { story.title.as_deref().unwrap_or_default() };
        by_id.entry((layout::base_of(path), story.id.to_lowercase(), title)).or_default().push(candidate);
    }
    let is_active = |candidate: &&(&RelPath, Story<'_>)| story_cycle::implied(&candidate.1).is_some();
    let shared = by_id.into_values().filter(|all| all.len() > 1);
    let duplicate = |all: Vec<&(&RelPath, Story<'_>)>| {
        let active = all.iter().copied().find(is_active)?;
        let (path, story) = all.iter().copied().find(|candidate| covered.contains(candidate.0)).unwrap_or(active);
        let others: Vec<&str> =
            all.iter().map(|candidate| candidate.0.as_str()).filter(|other| *other != path.as_str()).collect();
        let message = format!("story {} is in {} too", clean_line(&story.id, 100), others.join(", "));
        let finding = Finding::new(FindingCode::DuplicateId, message).at(path);
        Some(finding.fix("keep one of them, or give each a unique id"))
    };
    shared.filter_map(duplicate).collect()
}

fn story_of(entry: &ListingEntry) -> Option<(&RelPath, Story<'_>)> {
    if layout::is_archived(entry.path.as_str()) {
        return None;
    }
    Some((&entry.path, story_in(entry)?))
}

/// Returns the story in a file, which may be in an archive.
fn story_in(entry: &ListingEntry) -> Option<Story<'_>> {
    let path = entry.path.as_str();
    if !path.ends_with(".md") {
        return None;
    }
    // A story outside the known areas is listed only if a setting names its folder.
    let is_elsewhere = layout::split(path).is_some_and(|parts| parts.area != Area::Stories);
    if is_elsewhere || Pipeline::of_artifact(&entry.path).is_some() {
        return None;
    }
    let story = story::parse(&entry.path, entry.content.as_deref()?);
    story.is_story().then_some(story)
}

fn cycles<'a>(listing: &Listing, stories: impl Iterator<Item = &'a (&'a RelPath, Story<'a>)>) -> Vec<Candidate> {
    let active: Vec<_> = stories
        .filter_map(|(path, story)| story_cycle::implied(story).map(|priority| (*path, story, priority)))
        .collect();
    if active.is_empty() {
        return Vec::new();
    }
    let gates = gates(listing);
    let candidate = |(path, story, priority): &(&RelPath, &Story<'_>, u8)| {
        let about = gates.get(&story.id.to_lowercase()).into_iter().flatten();
        let reads = std::iter::once(*path).chain(about.copied()).cloned().map(ReadSpec::File).collect();
        let name = story_cycle::STORY_CYCLE.run_id(&story.id);
        Some(Candidate {
            claim: Claim::Implied { priority: *priority },
            may_be_replaced: true,
            ..Candidate::new(DialectId::Aios, name, (*path).clone(), reads)
        })
    };
    active.iter().filter_map(candidate).collect()
}

/// Returns the gate files by story.
pub(super) fn gates(listing: &Listing) -> BTreeMap<String, Vec<&RelPath>> {
    let mut gates: BTreeMap<String, Vec<&RelPath>> = BTreeMap::new();
    for entry in listing.entries.iter().filter(|entry| gate::is_gate(&entry.path)) {
        if let Some(bytes) = &entry.content {
            gates.entry(gate::story_of(&entry.path, bytes).to_lowercase()).or_default().push(&entry.path);
        }
    }
    gates
}

/// Returns the pipeline if it is under way: it has artifacts but not its final one.
fn spec(listing: &Listing, pipeline: &Pipeline) -> Option<Candidate> {
    let look = |path: &RelPath| {
        let at = listing.entries.binary_search_by(|entry| entry.path.cmp(path)).ok()?;
        listing.entries[at].content.as_deref()
    };
    let is_there = |path: &RelPath| listing.entries.binary_search_by(|entry| entry.path.cmp(path)).is_ok();
    if pipeline.is_over(&is_there, &look) {
        return None;
    }
    let reads = pipeline.artifacts().filter(|path| is_there(path)).map(ReadSpec::File).collect();
    Some(Candidate {
        claim: Claim::Implied { priority: SPEC.priority },
        may_be_replaced: true,
        ..Candidate::new(DialectId::Aios, SPEC.run_id(&pipeline.id), pipeline.folder.clone(), reads)
    })
}

#[cfg(test)]
#[path = "implied_tests.rs"]
mod tests;
