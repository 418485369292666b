//! Rebuilds the state of a QA loop from the gate files of its story.

use serde_json::json;

use super::{
    gate::{self, Gate, GateDecision},
    kind,
};
use crate::{
    dialect::EditError,
    document::salvage,
    model::{FileSet, Reconstruction, RelPath, Timestamp, clean_line},
};

/// The default number of reviews in AIOS (docs/formats/aios.md#qa-loop).
const MAX_ITERATIONS: u32 = 5;

/// Returns the story of a loop: from the state, a line of a broken state, or the folder name.
pub(super) fn story_id(state: &RelPath, bytes: Option<&[u8]>) -> Option<String> {
    let node = bytes.and_then(|bytes| kind::parse(bytes).ok());
    let named = node
        .as_ref()
        .and_then(|node| ["storyId", "story_id"].iter().find_map(|key| Some(node.get(key)?.scalar()?.to_owned())));
    let torn = || ["storyId", "story_id"].iter().find_map(|key| salvage::text(bytes?, key));
    let folder = || Some(state.parent()?.name().to_owned()).filter(|name| name != "qa");
    named.or_else(torn).or_else(folder).filter(|id| !id.is_empty() && id != "null")
}

/// Rebuilds the state.
///
/// # Errors
///
/// If nothing names the story or there is no gate file for it.
pub(super) fn reconstruct(files: &FileSet, at: Timestamp) -> Result<Reconstruction, EditError> {
    let broken = files.bytes(&files.state);
    let Some(id) = story_id(&files.state, broken) else {
        return Err(EditError::Unsupported("neither the broken file nor its folder names the story".to_owned()));
    };
    let gates: Vec<Gate> =
        gate::all(files, &id).into_iter().filter(|gate| gate.decision != GateDecision::Unknown).collect();
    if gates.is_empty() {
        return Err(EditError::Unsupported(format!("no gate file has a verdict for {id}")));
    }
    let mut rebuilt = Reconstruction::default();
    rebuilt.say("storyId", &id, vec![format!("{} or its folder, and the gate files", files.state)]);
    let mut history = Vec::new();
    for (at, gate) in gates.iter().enumerate() {
        let number = gate.iteration.unwrap_or_default().max(u32::try_from(at + 1).unwrap_or(u32::MAX));
        let verdict = if gate.decision == GateDecision::Pass { "APPROVE" } else { "REJECT" };
        let evidence = format!("{} says `{}`", gate.file, clean_line(&gate.word, 40));
        rebuilt.say(format!("review {number}"), verdict, vec![evidence]);
        history.push((number, verdict, gate.at));
    }
    let current = history.last().map_or(1, |(number, _, _)| *number);
    let max =
        broken.and_then(|bytes| ["maxIterations", "max_iterations"].iter().find_map(|key| salvage::text(bytes, key)));
    let max = max.and_then(|max| max.parse::<u32>().ok()).filter(|max| (1..=100).contains(max));
    match max {
        Some(max) => {
            rebuilt.say("maxIterations", max.to_string(), vec![format!("a line of the broken {}", files.state)])
        }
        None => rebuilt.not_known(format!("the maximum number of reviews: the default {MAX_ITERATIONS} is written")),
    }
    rebuilt.not_known("whether the last review's findings were fixed: they count as open");
    rebuilt.not_known("the start time: `startedAt` is null");
    let entries = history.iter().map(|(number, verdict, reviewed)| {
        let reviewed = reviewed.unwrap_or(at);
        json!({
            "iteration": number,
            "reviewedAt": reviewed,
            "verdict": verdict,
            "issuesFound": null,
            // Only the last iteration can be open: the loop has moved past the others.
            "fixedAt": if *number < current { json!(reviewed) } else { json!(null) },
            "issuesFixed": null,
            "duration": null,
        })
    });
    let state = json!({
        "storyId": id,
        "currentIteration": current,
        "maxIterations": max.unwrap_or(MAX_ITERATIONS),
        "status": "in_progress",
        "startedAt": null,
        "updatedAt": at,
        "history": entries.collect::<Vec<_>>(),
    });
    // JSON is valid YAML, so it works under either file name.
    let mut text = serde_json::to_string_pretty(&state).unwrap_or_default();
    text.push('\n');
    rebuilt.files.push((files.state.clone(), text.into_bytes()));
    Ok(rebuilt)
}
