//! `completions` and `man`: the command line as a script for shells and as a page.

use clap::Args;

use crate::cli::call::Call;
use crate::cli::call::Command;
use crate::cli::error::CommandError;
use crate::ops::Body;
use crate::ops::Exit;
use crate::ops::Report;

#[derive(Debug, Args)]
pub(in crate::cli) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Man;

impl Command for Completions {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut (call.line.grammar)(), "piton", &mut script);
        call.answer(Ok(Report::ok(Body::Document(String::from_utf8_lossy(&script).into_owned()))))
    }
}

impl Command for Man {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let mut page = Vec::new();
        clap_mangen::Man::new((call.line.grammar)()).render(&mut page)?;
        call.answer(Ok(Report::ok(Body::Document(String::from_utf8_lossy(&page).into_owned()))))
    }
}
