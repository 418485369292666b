//! Options of the planner.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgeBands, FindingCode, PartRef, StepId, Timestamp, words};

words! {
    /// How often a person is asked.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub(crate) enum Mode: serde {
        /// Continues without asking if the plan is clean and fresh, else asks.
        Autopilot = "autopilot",
        /// Asks before it continues.
        #[default]
        Interactive = "interactive",
        /// Shows every check and asks for the word "proceed".
        Preflight = "preflight",
    }
}

impl Mode {
    /// Parses the mode that a state records; AIOS calls autopilot `yolo`
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

/// The options of the planner. The clock is an input like the others.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) now: Timestamp,
    pub(crate) mode: Mode,
    /// `--from`: plan exactly these steps.
    pub(crate) from: Vec<StepId>,
    /// `--retry [ID]`: the failed step; `Some(None)` is the first one that failed.
    pub(crate) retry: Option<Option<StepId>>,
    /// `--skip`: plan as if these steps were skipped.
    pub(crate) skip: Vec<StepId>,
    /// `--to-step`: the step that a failed review sends the run back to.
    pub(crate) to_step: Option<StepId>,
    /// `--force`: ignore unmet dependencies and attempt limits, never a gate.
    pub(crate) force: bool,
    pub(crate) parallel: bool,
    pub(crate) if_dependencies_met: bool,
    /// The findings with which a person says that the run goes on.
    pub(crate) agreed: AgreedFindings,
    pub(crate) refresh_analysis: bool,
    pub(crate) from_part: Option<PartRef>,
    pub(crate) retry_part: Option<PartRef>,
    pub(crate) skip_part: Option<PartRef>,
    /// Number of failures of one step before a person has to decide.
    pub(crate) attempt_limit: u32,
    pub(crate) age: AgeBands,
}

impl Options {
    /// Returns the default options at this time.
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
            agreed: AgreedFindings::None,
            refresh_analysis: false,
            from_part: None,
            retry_part: None,
            skip_part: None,
            attempt_limit: 3,
            age: AgeBands::default(),
        }
    }
}

/// The findings with which a person says in this call that the run goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AgreedFindings {
    #[default]
    None,
    /// Those of some codes, which the caller asks about itself.
    Of(&'static [FindingCode]),
    All,
}

impl AgreedFindings {
    pub(crate) fn includes(self, code: FindingCode) -> bool {
        match self {
            Self::None => false,
            Self::Of(codes) => codes.contains(&code),
            Self::All => true,
        }
    }
}
