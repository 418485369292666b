//! What every file of a verb begins with: the traits that it implements, and the types in their signatures.

pub(super) use clap::Args;

pub(super) use crate::{
    cli::{
        call::{Call, Command},
        error::CommandError,
        output::Tone,
        render::{Shown, text_page::Page},
        shared_args::RunArg,
    },
    hook::CalledVerb,
    model::Finding,
    ops::{self, Exit},
};
