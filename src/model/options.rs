//! What a caller may ask of the planner.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::AgeBands;
use super::PartRef;
use super::StepId;
use super::Timestamp;

/// Says how much a person wants to be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// Goes on by itself when all is clean and fresh, else asks.
    Autopilot,
    /// Asks before it goes on.
    #[default]
    Interactive,
    /// Shows every check and wants the word "proceed".
    Preflight,
}

impl Mode {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Autopilot => "autopilot",
            Self::Interactive => "interactive",
            Self::Preflight => "preflight",
        }
    }

    /// Reads the word by which a state says in which mode its run was started; AIOS calls autopilot `yolo`
    /// (docs/formats/aios.md#modes).
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let letters: String = word.chars().filter(char::is_ascii_alphabetic).collect();
        match letters.to_ascii_lowercase().as_str() {
            "yolo" | "autopilot" => Some(Self::Autopilot),
            "interactive" => Some(Self::Interactive),
            "preflight" => Some(Self::Preflight),
            _ => None,
        }
    }
}

/// Is what a caller asks of the planner. The clock is an input like any other.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) now: Timestamp,
    pub(crate) mode: Mode,
    /// `--from`: go on at these steps.
    pub(crate) from: Vec<StepId>,
    /// `--retry [ID]`: the failed step, or `Some(None)` for the first one that failed.
    pub(crate) retry: Option<Option<StepId>>,
    pub(crate) skip: Vec<StepId>,
    /// `--to-step`: where a failed review sends the run back to.
    pub(crate) to_step: Option<StepId>,
    pub(crate) force: bool,
    pub(crate) parallel: bool,
    pub(crate) if_dependencies_met: bool,
    pub(crate) refresh_analysis: bool,
    pub(crate) from_part: Option<PartRef>,
    pub(crate) retry_part: Option<PartRef>,
    pub(crate) skip_part: Option<PartRef>,
    pub(crate) attempt_limit: u32,
    pub(crate) age: AgeBands,
}

impl Options {
    /// Returns the options of a caller who asks for nothing in particular.
    pub(crate) fn at(now: Timestamp) -> Self {
        Self {
            now,
            mode: Mode::default(),
            from: Vec::new(),
            retry: None,
            skip: Vec::new(),
            to_step: None,
            force: false,
            parallel: false,
            if_dependencies_met: false,
            refresh_analysis: false,
            from_part: None,
            retry_part: None,
            skip_part: None,
            attempt_limit: 3,
            age: AgeBands::default(),
        }
    }
}
