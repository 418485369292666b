//! `completions` and `man`: the command line as a script for shells and as a page.

use super::prelude::*;

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
        Ok(call.print(&String::from_utf8_lossy(&script)))
    }
}

impl Command for Man {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let mut page = Vec::new();
        clap_mangen::Man::new((call.line.grammar)()).render(&mut page)?;
        Ok(call.print(&String::from_utf8_lossy(&page)))
    }
}
