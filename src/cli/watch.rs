//! `show --watch`.

use std::time::Duration;

use super::{call::Call, error::CommandError, format::Format, output, render, terminal::Screen};
use crate::{
    model::{Suggested, Verb},
    ops::{self, Exit},
    page::{Scene, View, Wish, keys},
    runner::{Signals, Stop, Woken},
};

/// How often it is checked whether something changed.
const TICK: Duration = Duration::from_secs(1);

/// Shows a run live until the person or a signal ends it; without a run, all runs of the project.
pub(super) fn watch(call: &Call<'_>, run: Option<&String>, all: bool) -> Result<Exit, CommandError> {
    let has_format = call.global.format.is_some_and(|it| it != Format::Text);
    if !output::is_terminal() || !output::is_input_terminal() || has_format {
        let show = Suggested::new(Verb::Show);
        return Err(CommandError::usage(format!(
            "--watch needs a terminal; `{show}` prints the same once, in any format"
        )));
    }
    let mut live = Live::open(call, run.cloned(), all)?;
    let signals = Signals::listen_for_screen()?;
    let end = follow(&mut live, &signals);
    // The screen is left by now.
    Ok(match end? {
        None => Exit::Ok,
        Some(Stop::HangUp) => Exit::HungUp,
        Some(Stop::Interrupt) => Exit::Interrupted,
        Some(Stop::Terminate) => Exit::Terminated,
    })
}

/// What is shown, and what it was read from.
struct Live<'a> {
    call: &'a Call<'a>,
    list: Option<ops::WatchedList>,
    run: Option<ops::WatchedRun>,
    /// The run as typed, or as it was opened from the list.
    name: Option<String>,
    brief: Option<String>,
    /// Since when what is shown cannot be read again, and why.
    unread: Option<String>,
    view: View,
}

impl<'a> Live<'a> {
    fn open(call: &'a Call<'a>, name: Option<String>, all: bool) -> Result<Self, CommandError> {
        let mut live = Self { call, list: None, run: None, name, brief: None, unread: None, view: View::new(all) };
        if all {
            live.read_list()?;
        } else {
            live.read_run()?;
        }
        Ok(live)
    }

    fn read_run(&mut self) -> Result<(), CommandError> {
        let run = ops::watch(&self.call.project(self.name.as_ref())?)?;
        self.brief = run.report.body.brief.as_ref().map(render::context);
        self.run = Some(run);
        Ok(())
    }

    fn read_list(&mut self) -> Result<(), CommandError> {
        self.list = Some(ops::watch_all(&self.call.project(None)?)?);
        Ok(())
    }

    /// Reads again what was changed, and tells whether there is something new. What cannot be read stays as it was, with a word about that.
    fn refresh(&mut self) -> bool {
        let done = match (&self.run, &self.list) {
            (Some(run), _) if run.is_outdated() => self.read_run(),
            (None, Some(list)) if list.is_outdated() => self.read_list(),
            (Some(_), _) | (None, _) => return false,
        };
        match done {
            Ok(()) => self.unread = None,
            Err(_) if self.unread.is_some() => return false,
            Err(error) => {
                let clock = self.call.project(None).map(|ctx| ctx.clock);
                let local = clock.map(|clock| clock.now.plus_seconds(i64::from(clock.utc_offset_seconds)).in_seconds());
                let since =
                    local.ok().and_then(|time| Some(format!(" since {}", time.get(11..19)?))).unwrap_or_default();
                self.unread = Some(format!("It cannot be read{since}: {}", error.message()));
            }
        }
        true
    }

    fn draw(&mut self, screen: &mut Screen, size: (usize, usize)) -> std::io::Result<()> {
        let scene = match (&self.run, &self.list) {
            (Some(run), _) => Scene::Run { run, brief: self.brief.as_deref() },
            (None, Some(list)) => Scene::List(&list.report.body),
            (None, None) => return Ok(()),
        };
        let lines = self.view.screen(&scene, self.unread.as_deref(), size);
        screen.draw(&lines, size)
    }

    /// Opens a run of the list.
    fn enter(&mut self, at: usize) {
        let run = self.list.as_ref().and_then(|list| list.report.body.runs.get(at));
        let Some(run) = run else { return };
        self.name = Some(run.path.clone());
        if self.read_run().is_ok() {
            self.view.enter();
        }
    }
}

/// Draws until the person or a signal ends it.
fn follow(live: &mut Live<'_>, signals: &Signals) -> Result<Option<Stop>, CommandError> {
    let mut screen = Screen::open()?;
    let (mut is_new, mut drawn) = (true, (0, 0));
    loop {
        let size = Screen::size();
        // The picture of a thousand steps is not computed again for nothing.
        if is_new || drawn != size {
            live.draw(&mut screen, size)?;
            drawn = size;
        }
        is_new = true;
        match signals.wait_within(std::io::stdin(), TICK)? {
            Woken::Stop(stop) => return Ok(Some(stop)),
            Woken::Time if signals.was_continued() => screen.enter()?,
            Woken::Time => is_new = live.refresh(),
            Woken::Input => {
                let typed = Screen::typed()?;
                if typed.is_empty() {
                    // The terminal is gone.
                    return Ok(Some(Stop::HangUp));
                }
                for key in keys(&typed) {
                    match live.view.press(key) {
                        Wish::Draw => {}
                        Wish::Quit => return Ok(None),
                        Wish::Interrupt => return Ok(Some(Stop::Interrupt)),
                        Wish::Suspend => screen.suspend()?,
                        Wish::Redraw => screen.enter()?,
                        Wish::Open(at) => live.enter(at),
                        Wish::List => live.run = None,
                    }
                }
            }
        }
    }
}
