//! Settings of a project (`piton.toml`) and of its user (`~/.config/piton/config.toml`), all optional. `store` reads the files.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The content of `piton.toml`, and of the user's own file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// The default of `--mode`: `autopilot`, `interactive` or `preflight`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<super::Mode>,
    #[serde(rename = "nine-step")]
    pub(crate) nine_step: NineStepConfig,
    pub(crate) limits: Limits,
    pub(crate) gates: GatesConfig,
    pub(crate) age: AgeBands,
}

/// Approvals given in advance. Only the user's own file may give them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GatesConfig {
    /// Gates that are approved when a run reaches them, as `WORKFLOW/STEP`: `dotagent/REQUIREMENTS:approval`.
    pub(crate) approve: Vec<String>,
}

/// Values of the placeholders in the nine-step plugin; the defaults are those its files use
/// (docs/formats/nine-step.md#placeholders-and-defaults).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NineStepConfig {
    pub(crate) worktree_dir: String,
    pub(crate) state_file: String,
    pub(crate) plan_dir: String,
    pub(crate) branch_prefixes: Vec<String>,
    /// Detected from git if missing.
    pub(crate) main_branch: Option<String>,
    pub(crate) backup_dir: String,
    /// The step at which a later phase begins: 1 or 3 (docs/formats/nine-step.md#where-a-later-phase-begins).
    pub(crate) phase_entry_step: u8,
    /// Other names for the agents, by role: `planner`, `plan_reviewer`, `backend_developer`, ...
    pub(crate) agents: BTreeMap<String, String>,
}

impl Default for NineStepConfig {
    fn default() -> Self {
        Self {
            worktree_dir: ".worktree".to_owned(),
            state_file: ".workflow-state.json".to_owned(),
            plan_dir: ".plan".to_owned(),
            branch_prefixes: ["feature", "fix", "refactor"].map(str::to_owned).to_vec(),
            main_branch: None,
            backup_dir: ".workflow-backups".to_owned(),
            phase_entry_step: 1,
            agents: BTreeMap::new(),
        }
    }
}

/// Limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// Number of failures of one step before a person has to decide.
    pub(crate) attempts: u32,
    /// Number of archives to keep, of systems that limit it.
    pub(crate) archives: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { attempts: 3, archives: 5 }
    }
}

/// Bounds of the age bands, in seconds. Above the last one a state is stale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgeBands {
    /// Exclusive.
    pub(crate) fresh_below: i64,
    /// Exclusive.
    pub(crate) recent_below: i64,
    /// Inclusive.
    pub(crate) moderate_up_to: i64,
}

impl Default for AgeBands {
    fn default() -> Self {
        Self { fresh_below: 3_600, recent_below: 86_400, moderate_up_to: 604_800 }
    }
}
