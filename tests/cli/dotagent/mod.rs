//! Dotagent projects through the program: plans, writes, archives.

mod after;
mod archives;
mod lost;
mod phases;
mod recovery;
mod small;
mod state;
mod writes;

use serde_json::{Value, json};

use crate::support::{Output, Sandbox};

pub(super) const PHASE: &str = "memory/state/phase.json";
pub(super) const EXECUTION: &str = "memory/state/execution.json";
pub(super) const PHASES: [&str; 5] = ["REQUIREMENTS", "ARCHITECTURE", "IMPLEMENTATION", "VERIFICATION", "REFLECTION"];

/// Ten in the morning; the tests take place at noon.
pub(super) const STARTED: &str = "2026-01-31T10:00:00Z";
const STARTED_UNIX: u64 = 1_769_853_600;

/// Writes a file that was last changed half an hour after the run began.
pub(super) fn fresh(sandbox: &Sandbox, path: &str, text: &str) {
    sandbox.file(path, text).modified(path, STARTED_UNIX + 1_800);
}

/// Writes a file that was last changed a month before the run began.
pub(super) fn old(sandbox: &Sandbox, path: &str, text: &str) {
    sandbox.file(path, text).modified(path, STARTED_UNIX - 30 * 86_400);
}

/// Makes a phase file at a phase with everything before it completed and, if requested, approved.
pub(super) fn phase(current: &str, status: &str) -> Value {
    let before: Vec<&str> = PHASES.into_iter().take_while(|phase| *phase != current).collect();
    let completed: Vec<Value> = before
        .iter()
        .map(|phase| {
            let mut entry = json!({ "phase": phase, "completed_at": "2026-01-31T11:00:00Z" });
            if let Some(output) = output_of(phase) {
                entry["output"] = json!(output);
            }
            entry
        })
        .collect();
    let approved: Vec<Value> = before
        .iter()
        .filter(|phase| ["REQUIREMENTS", "ARCHITECTURE"].contains(phase))
        .map(|phase| json!({ "phase": phase, "approved_at": "2026-01-31T11:00:00Z" }))
        .collect();
    json!({
        "workflow_id": "user-auth",
        "started_at": STARTED,
        "last_updated": "2026-01-31T11:30:00Z",
        "current_phase": current,
        "phase_status": status,
        "completed_phases": completed,
        "user_checkpoints": approved,
        "interruption_safe": true,
    })
}

pub(super) fn approve(phase: &mut Value, name: &str) {
    let entry = json!({ "phase": name, "approved_at": "2026-01-31T11:10:00Z" });
    phase["user_checkpoints"].as_array_mut().expect("a list").push(entry);
}

pub(super) fn output_of(phase: &str) -> Option<&'static str> {
    match phase {
        "REQUIREMENTS" => Some("memory/reports/demand.json"),
        "ARCHITECTURE" => Some("memory/reports/final_design.json"),
        "VERIFICATION" => Some("memory/reports/verification.json"),
        _ => None,
    }
}

/// Makes a project at a phase, with the outputs of the phases before it.
pub(super) fn project(phase: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(PHASE, &phase.to_string());
    for done in phase["completed_phases"].as_array().expect("a list") {
        if let Some(output) = done["phase"].as_str().and_then(output_of) {
            fresh(&sandbox, output, r#"{"title":"done"}"#);
        }
    }
    sandbox
}

/// Makes a project in IMPLEMENTATION with these tasks.
pub(super) fn implementing(tasks: &Value) -> Sandbox {
    let sandbox = project(&phase("IMPLEMENTATION", "in_progress"));
    sandbox.file(EXECUTION, &json!({ "tasks": tasks }).to_string());
    sandbox
}

pub(super) fn task_output(id: &str, status: &str) -> String {
    json!({
        "task_id": id,
        "status": status,
        "files_modified": [],
        "knowledge_updates": [],
        "reflection": { "what_worked": [], "what_failed": [], "patterns_noticed": [] },
    })
    .to_string()
}

pub(super) fn plan(sandbox: &Sandbox) -> Output {
    sandbox.piton(["plan"]).run()
}

/// Returns the verdict and the next step, such as `resume: retry REQUIREMENTS pm`.
pub(super) fn outcome(output: &Output) -> String {
    let next = output.at("/data/next");
    let next = next.as_array().into_iter().flatten().map(|next| {
        let agent = next["agent"].as_str().map_or_else(String::new, |agent| format!(" {agent}"));
        format!("{} {}{agent}", next["action"].as_str().expect("text"), next["step"].as_str().expect("text"))
    });
    let next: Vec<String> = next.collect();
    format!("{}: {}", output.at("/data/verdict").as_str().unwrap_or("?"), next.join(", "))
}
