//! Runs programs in turns and says how long each took.

use std::{
    fs::File,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::budget::{Budget, Taken};

/// A program that takes part.
pub(crate) struct Contender<'a> {
    name: String,
    command: &'a dyn Fn() -> Command,
    before: Option<&'a dyn Fn()>,
    is_piton: bool,
    budget: Option<Budget>,
    /// What it reads from its standard input.
    input: Option<&'a Path>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: impl Into<String>, command: &'a dyn Fn() -> Command) -> Self {
        Self { name: name.into(), command, before: None, is_piton: false, budget: None, input: None }
    }

    /// Makes piton itself a contender, whose peak memory counts, and which may answer that a person decides.
    pub(crate) fn piton(name: impl Into<String>, command: &'a dyn Fn() -> Command) -> Self {
        Self { is_piton: true, ..Self::new(name, command) }
    }

    /// Does something before each run that is not measured.
    pub(crate) fn before(mut self, before: &'a dyn Fn()) -> Self {
        self.before = Some(before);
        self
    }

    pub(crate) fn reads(mut self, file: &'a Path) -> Self {
        self.input = Some(file);
        self
    }

    pub(crate) fn may_take(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    fn stdin(&self) -> Stdio {
        self.input.map_or_else(Stdio::null, |file| File::open(file).unwrap().into())
    }

    fn run_once(&self) -> Duration {
        if let Some(before) = self.before {
            before();
        }
        let mut command = (self.command)();
        command.stdin(self.stdin()).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let status = command.status();
        let took = start.elapsed();
        let code = status.unwrap_or_else(|error| panic!("{command:?}: {error}")).code();
        assert!(code == Some(0) || self.is_piton && code == Some(9), "{}: {command:?} ended with {code:?}", self.name);
        took
    }

    /// Returns the peak memory of one more run in KiB, where GNU time can tell it.
    fn peak(&self) -> Option<u64> {
        let time = Path::new("/usr/bin/time");
        if !time.exists() {
            return None;
        }
        if let Some(before) = self.before {
            before();
        }
        let inner = (self.command)();
        let mut command = Command::new(time);
        command.args(["-f", "%M"]).arg(inner.get_program()).args(inner.get_args());
        command.current_dir(inner.get_current_dir().unwrap_or(Path::new(".")));
        for (name, value) in inner.get_envs() {
            command.envs(value.map(|value| (name, value)));
        }
        let output = command.stdin(self.stdin()).stdout(Stdio::null()).output().ok()?;
        String::from_utf8_lossy(&output.stderr).lines().last()?.trim().parse().ok()
    }
}

/// Runs the contenders in turns, after two rounds that do not count.
pub(crate) fn hold(rounds: usize, contenders: Vec<Contender<'_>>) -> Vec<Taken> {
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..rounds + 2 {
        for (contender, times) in contenders.iter().zip(&mut times) {
            let took = contender.run_once();
            if round >= 2 {
                times.push(took.as_secs_f64() * 1_000.0);
            }
        }
    }
    let taken = contenders.into_iter().zip(times).map(|(contender, rounds)| {
        let peak = contender.peak();
        Taken { rounds, peak, name: contender.name, is_piton: contender.is_piton, budget: contender.budget }
    });
    taken.collect()
}
