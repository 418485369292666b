//! Sprints of BMAD through the binary.

mod broken;
mod table;

use crate::support::Sandbox;

pub(in crate::cli) const FOLDER: &str = "_bmad-output/implementation-artifacts";
const STATE: &str = "_bmad-output/implementation-artifacts/sprint-status.yaml";

/// Writes a sprint with these lines.
fn sprint(sandbox: &Sandbox, lines: &str) {
    sandbox.file(
        STATE,
        &format!("# generated: 2026-01-01\nproject: shop\nstory_location: {FOLDER}\n\ndevelopment_status:\n{lines}"),
    );
}

/// Writes a story with a status, and its tasks.
fn story(sandbox: &Sandbox, key: &str, status: &str, boxes: &str) {
    let tasks: String =
        boxes.chars().enumerate().map(|(at, mark)| format!("- [{mark}] Task {}: do it\n", at + 1)).collect();
    sandbox.file(
        &format!("{FOLDER}/{key}.md"),
        &format!(
            "# Story: {key}\n\nStatus: {status}\n\n## Story\n\nAs a user, I want it.\n\n## Tasks / Subtasks\n\n{tasks}"
        ),
    );
}
