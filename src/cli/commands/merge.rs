//! `merge`.

use super::prelude::*;
use crate::{
    cli::screen::Screen,
    model::{Suggested, Verb},
    runner::{self, MergeStyle},
};

#[derive(Debug, Args)]
#[command(after_help = "\
  piton merge session-20260131t1200            the branch it came from gets its work
  piton merge session-20260131t1200 --squash   as one commit
  piton merge session-20260131t1200 --branch add-login   a branch to push, for a pull request")]
pub(in crate::cli) struct Merge {
    /// Session id, or an unambiguous part of it (default: the only run that can be merged)
    #[arg(value_name = "RUN")]
    id: Option<String>,
    /// Put the work on the base branch as one commit
    #[arg(long, conflicts_with = "branch")]
    squash: bool,
    /// Merge nothing: give the work a branch of this name
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Merge without asking
    #[arg(short, long)]
    yes: bool,
}

impl Command for Merge {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let style = match (&self.branch, self.squash) {
            (Some(name), _) => MergeStyle::Branch(name.clone()),
            (None, true) => MergeStyle::Squash,
            (None, false) => MergeStyle::Merge,
        };
        let ctx = call.project(self.id.as_ref())?;
        let asked = style.asked(Suggested::new(Verb::Merge));
        let location = ops::run_to_merge(&ctx, &if self.yes { asked.yes() } else { asked })?;
        location.check_writable()?;
        let (home, session) = location.own_run().expect("it is a run of a workflow file");
        let screen = Screen::of_answer(call.global);
        let (now, home, session) = (call.global.now.clone(), home.to_owned(), session.to_owned());
        let request = runner::MergeRequest { now, home, session, style, yes: self.yes };
        Ok(screen.end(runner::merge(&request, &screen)))
    }
}
