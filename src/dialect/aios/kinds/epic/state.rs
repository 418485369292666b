//! The state of an epic (docs/formats/aios.md#epic-state).

use crate::{
    dialect::aios::{
        execution::{agent, members, word},
        kind,
    },
    document::Node,
    model::{RelPath, StepId},
};

/// Maximum number of waves for states that only count them.
const WAVE_LIMIT: u32 = 100;

/// The state of an epic. Status words stay as written.
#[derive(Debug)]
pub(in crate::dialect::aios) struct EpicState {
    pub(in crate::dialect::aios) id: String,
    pub(in crate::dialect::aios) plan: Option<String>,
    /// `active`, `completed` or `aborted`.
    pub(in crate::dialect::aios) status: Option<String>,
    pub(in crate::dialect::aios) mode: Option<String>,
    pub(in crate::dialect::aios) started_at: Option<String>,
    pub(in crate::dialect::aios) updated_at: Option<String>,
    pub(super) current_wave: Option<String>,
    /// Ordered by number; keys that are not numbers come last.
    pub(in crate::dialect::aios) waves: Vec<Wave>,
    pub(super) gates: Vec<GateVerdict>,
}

/// One wave.
#[derive(Clone, Debug)]
pub(in crate::dialect::aios) struct Wave {
    pub(in crate::dialect::aios) number: String,
    pub(super) name: Option<String>,
    pub(super) tag: Option<String>,
    pub(in crate::dialect::aios) status: Option<String>,
    /// In file order, which has no meaning.
    pub(in crate::dialect::aios) stories: Vec<StoryState>,
    /// Only its number is recorded: its stories have the status of the wave.
    pub(in crate::dialect::aios) is_counted: bool,
}

/// One story of a wave.
#[derive(Clone, Debug)]
pub(in crate::dialect::aios) struct StoryState {
    pub(in crate::dialect::aios) id: String,
    pub(in crate::dialect::aios) status: Option<String>,
    pub(in crate::dialect::aios) line: u32,
    pub(super) executor: Option<String>,
    /// Who reviews the story.
    pub(super) quality_gate: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) note: Option<String>,
    pub(super) started_at: Option<String>,
    pub(super) completed_at: Option<String>,
}

/// The verdict of a wave's gate.
#[derive(Debug)]
pub(super) struct GateVerdict {
    pub(super) wave: String,
    pub(super) status: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) at: Option<String>,
    pub(super) notes: Option<String>,
    pub(super) line: u32,
}

impl EpicState {
    /// Returns whether the state only counts its waves: nothing but their number can be recorded in it.
    pub(in crate::dialect::aios) fn only_counts_waves(&self) -> bool {
        self.waves.iter().any(|wave| wave.is_counted)
    }

    /// Reads the state of the execution task or the pipeline of the orchestration template; `None` if it is neither. An epic
    /// without an id takes it from `path`.
    pub(in crate::dialect::aios) fn read(node: &Node, path: &RelPath) -> Option<Self> {
        let is_pipeline = kind::is_pipeline(node);
        let root = node.get("epic_state").or(is_pipeline.then_some(node))?;
        let mut waves: Vec<Wave> = members(root.get("waves")).map(|(number, node)| wave(number, node)).collect();
        if waves.is_empty() && is_pipeline {
            waves = counted(root);
        }
        waves.sort_by_key(Wave::rank);
        let verdicts = members(root.get("gate_verdicts"));
        Some(Self {
            id: word(root, "epicId")
                .or_else(|| word(root, "epic_id"))
                .filter(|id| !id.is_empty())
                .unwrap_or_else(|| id_of(path)),
            plan: word(root, "execution_plan"),
            status: word(root, "status"),
            mode: word(root, "mode"),
            started_at: word(root, "started_at"),
            updated_at: word(root, "updated_at"),
            current_wave: word(root, "current_wave"),
            waves,
            gates: verdicts.map(|(wave, node)| verdict(wave, node)).collect(),
        })
    }

    /// Returns whether the epic is completed or aborted. Such an epic is evidence, not a run
    /// (docs/formats/aios.md#which-state-counts).
    pub(in crate::dialect::aios) fn is_ended(&self) -> bool {
        matches!(self.status.as_deref(), Some("completed" | "aborted"))
    }

    /// Returns all stories in wave order.
    pub(in crate::dialect::aios) fn stories(&self) -> impl Iterator<Item = &StoryState> {
        self.waves.iter().flat_map(|wave| &wave.stories)
    }
}

impl Wave {
    /// Sort key of a wave: its number; keys that are not numbers come last.
    pub(super) fn rank(&self) -> (bool, StepId) {
        (self.number.parse::<u64>().is_err(), StepId::new(self.number.as_str()))
    }
}

/// Returns the id in the name of a file.
pub(in crate::dialect::aios) fn id_of(path: &RelPath) -> String {
    let name = path.name();
    let name = name.strip_prefix("epic-").unwrap_or(name);
    let stem = ["-state.yaml", "-pipeline.json"].iter().find_map(|end| name.strip_suffix(end));
    stem.unwrap_or(name).to_owned()
}

/// Returns the waves of a state that only counts them.
fn counted(root: &Node) -> Vec<Wave> {
    let number = |key: &str| word(root, key).and_then(|number| number.parse::<u32>().ok()).unwrap_or(0).min(WAVE_LIMIT);
    let done = number("last_completed_wave");
    let wave = |at: u32| Wave {
        number: at.to_string(),
        name: None,
        tag: None,
        status: Some(if at <= done { "completed" } else { "pending" }.to_owned()),
        stories: Vec::new(),
        is_counted: true,
    };
    (1..=number("total_waves").max(number("current_wave")).max(done)).map(wave).collect()
}

fn wave(number: &str, node: &Node) -> Wave {
    let stories = members(node.get("stories")).map(|(id, node)| StoryState {
        id: id.to_owned(),
        // Some states have only the status here.
        status: word(node, "status").or_else(|| node.scalar().map(str::to_owned)),
        line: node.place.line,
        executor: agent(node, "executor"),
        quality_gate: agent(node, "quality_gate"),
        branch: word(node, "branch"),
        note: word(node, "note"),
        started_at: word(node, "started_at"),
        completed_at: word(node, "completed_at"),
    });
    Wave {
        number: number.to_owned(),
        name: word(node, "name"),
        tag: word(node, "tag"),
        status: word(node, "status"),
        stories: stories.collect(),
        is_counted: false,
    }
}

fn verdict(wave: &str, node: &Node) -> GateVerdict {
    GateVerdict {
        wave: wave.to_owned(),
        status: word(node, "status"),
        agent: agent(node, "agent"),
        at: word(node, "at"),
        notes: word(node, "notes").or_else(|| word(node, "issues")),
        line: node.place.line,
    }
}
