//! The kinds of run, one file each: what the kind is called, how it is read and how it is written, in the vocabulary of its own
//! runner (docs/formats/aios.md#writing). The kinds that are only read are in one file, `others`. Stories and artifacts are never
//! written.

mod dev_cycle;
mod engine_state;
pub(super) mod epic;
mod guided;
pub(super) mod others;
mod qa_loop;
pub(super) mod spec;
pub(super) mod story_cycle;
mod unsaved;

use super::kind::{Descriptor, Kind};

impl Kind {
    /// Returns what is known of the kind.
    pub(super) fn descriptor(self) -> &'static Descriptor {
        match self {
            Self::Epic => &epic::EPIC,
            Self::QaLoop => &qa_loop::QA_LOOP,
            Self::Guided => &guided::GUIDED,
            Self::Engine => &engine_state::ENGINE,
            Self::DevCycle => &dev_cycle::DEV_CYCLE,
            Self::Paused => &others::PAUSED,
            Self::Ade => &others::ADE,
            Self::Phases => &others::PHASES,
            Self::Bob => &others::BOB,
            Self::Build => &others::BUILD,
            Self::Record => &others::RECORD,
            Self::Pipeline => &epic::PIPELINE,
            Self::StoryCycle => &story_cycle::STORY_CYCLE,
            Self::Spec => &spec::SPEC,
        }
    }
}

#[cfg(test)]
#[path = "writing_tests.rs"]
mod tests;
