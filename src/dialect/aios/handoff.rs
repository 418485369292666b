//! What the last agent left for the next one when it handed a story over (docs/formats/aios.md#hand-overs). Evidence only.

use super::{kind, layout};
use crate::{
    dialect::story::same_id,
    document::{Kind, Node},
    model::{Candidate, FileSet, Listing, ReadSpec, RelPath, clean_line},
};

/// The folder of the hand-overs in `.aios` or `.aiox`.
const FOLDER: &str = "handoffs";
const SUFFIX: &str = ".yaml";
const TEXT_CHARS: usize = 300;
/// Maximum number of blockers that are repeated.
const BLOCKERS: usize = 5;

/// Adds the hand-overs of its project to the files that a run reads.
pub(super) fn link_reads(listing: &Listing, candidates: &mut [Candidate]) {
    let folders: Vec<&RelPath> = listing
        .entries
        .iter()
        .filter(|entry| entry.is_dir && is_folder(&entry.path))
        .map(|entry| &entry.path)
        .collect();
    for candidate in candidates {
        let base = layout::base_of(&candidate.state).to_owned();
        let own = folders.iter().filter(|folder| {
            let project = folder.as_str().strip_prefix(base.as_str());
            project.is_some_and(|rest| rest.matches('/').count() == 1)
        });
        candidate.reads.extend(own.map(|folder| ReadSpec::Contents { dir: (*folder).clone(), suffix: SUFFIX }));
    }
}

fn is_folder(path: &RelPath) -> bool {
    let is_home = |home: RelPath| matches!(home.name(), ".aios" | ".aiox");
    path.name() == FOLDER && path.parent().is_some_and(is_home)
}

/// Returns what the newest hand-over of a story says, as remarks.
pub(super) fn remarks(files: &FileSet, story: &str) -> Vec<String> {
    let of_story = files.files.keys().filter_map(|path| {
        let bytes = files.bytes(path).filter(|_| path.parent().is_some_and(|folder| is_folder(&folder)))?;
        let node = kind::parse(bytes).ok()?;
        let handoff = node.get("handoff")?;
        let about = handoff.get("story_context")?.get("story_id").and_then(Node::scalar)?;
        let at = handoff.get("timestamp").and_then(Node::scalar).and_then(|stamp| files.time(stamp));
        same_id(about, story).then(|| (at, path.clone(), remarks_of(handoff)))
    });
    let newest = of_story.max_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
    newest.map_or_else(Vec::new, |(_, path, remarks)| {
        remarks.into_iter().map(|remark| format!("{remark} (hand-over {})", path.name())).collect()
    })
}

fn remarks_of(handoff: &Node) -> Vec<String> {
    let text = |node: &Node| node.scalar().map(|text| clean_line(text, TEXT_CHARS)).filter(|text| !text.is_empty());
    let blockers = match handoff.get("blockers").map(|blockers| &blockers.kind) {
        Some(Kind::List(blockers)) => blockers.iter().filter_map(text).take(BLOCKERS).collect(),
        Some(Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_)) | None => Vec::new(),
    };
    let next = handoff.get("next_action").and_then(text);
    let blockers = blockers.into_iter().map(|blocker| format!("Blocker: {blocker}"));
    blockers.chain(next.map(|next| format!("Next action: {next}"))).collect()
}
