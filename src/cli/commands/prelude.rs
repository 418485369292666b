//! What every file of a verb begins with: the traits that it implements, and the types in their signatures.

pub(super) use clap::Args;

pub(super) use crate::cli::call::Call;
pub(super) use crate::cli::call::Command;
pub(super) use crate::cli::error::CommandError;
pub(super) use crate::cli::output::Tone;
pub(super) use crate::cli::render::Shown;
pub(super) use crate::cli::render::text_page::Page;
pub(super) use crate::cli::shared_args::RunArg;
pub(super) use crate::hook::CalledVerb;
pub(super) use crate::model::Finding;
pub(super) use crate::ops;
pub(super) use crate::ops::Exit;
