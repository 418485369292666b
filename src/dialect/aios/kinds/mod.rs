//! The kinds of run, one file each: what the kind is called, how it is read and how it is written, in the vocabulary of its own
//! runner (docs/formats/aios.md#writing). Stories and artifacts are never written.

mod ade;
mod bob;
mod build;
mod dev_cycle;
mod engine_state;
pub(super) mod epic;
mod guided;
mod paused;
mod phases;
mod qa_loop;
mod record;
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
            Self::Paused => &paused::PAUSED,
            Self::Ade => &ade::ADE,
            Self::Phases => &phases::PHASES,
            Self::Bob => &bob::BOB,
            Self::Build => &build::BUILD,
            Self::Record => &record::RECORD,
            Self::Pipeline => &epic::PIPELINE,
            Self::StoryCycle => &story_cycle::STORY_CYCLE,
            Self::Spec => &spec::SPEC,
        }
    }
}
