//! Runs programs in turns and says how long each took.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

/// Is a program that takes part.
pub(crate) struct Contender<'a> {
    name: String,
    command: &'a dyn Fn() -> Command,
    before: Option<&'a dyn Fn()>,
    /// Exit code 9 is an answer, too.
    may_ask: bool,
    /// What it reads from its standard input.
    input: Option<&'a Path>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: String, command: &'a dyn Fn() -> Command) -> Self {
        Self { name, command, before: None, may_ask: false, input: None }
    }

    /// Does something before each run that is not measured.
    pub(crate) fn before(mut self, before: &'a dyn Fn()) -> Self {
        self.before = Some(before);
        self
    }

    pub(crate) fn may_ask(mut self) -> Self {
        self.may_ask = true;
        self
    }

    pub(crate) fn reads(mut self, file: &'a Path) -> Self {
        self.input = Some(file);
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
        assert!(code == Some(0) || self.may_ask && code == Some(9), "{}: {command:?} ended with {code:?}", self.name);
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
        let output = command.stdin(self.stdin()).stdout(Stdio::null()).output().ok()?;
        String::from_utf8_lossy(&output.stderr).lines().last()?.trim().parse().ok()
    }
}

/// Is what one contender took.
pub(crate) struct Taken {
    name: String,
    min: Duration,
    median: Duration,
    peak: Option<u64>,
}

/// Is one line of the table.
pub(crate) struct Row {
    taken: Taken,
    ratio: Option<f64>,
    budget: String,
}

/// Runs the contenders in turns, after two rounds that do not count.
pub(crate) fn hold(rounds: usize, contenders: &mut [Contender<'_>]) -> Vec<Taken> {
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..rounds + 2 {
        for (contender, times) in contenders.iter().zip(&mut times) {
            let took = contender.run_once();
            if round >= 2 {
                times.push(took);
            }
        }
    }
    let taken = contenders.iter().zip(times).map(|(contender, mut times)| {
        times.sort_unstable();
        Taken { name: contender.name.clone(), min: times[0], median: times[times.len() / 2], peak: contender.peak() }
    });
    taken.collect()
}

/// Compares the shortest times with that of one of them.
pub(crate) fn compared(taken: Vec<Taken>, with: usize, budgets: &[&str]) -> Vec<Row> {
    let least = taken[with].min.as_secs_f64();
    let rows = taken.into_iter().enumerate().zip(budgets).map(|((at, taken), budget)| {
        let ratio = (at != with).then(|| taken.min.as_secs_f64() / least);
        Row { taken, ratio, budget: (*budget).to_owned() }
    });
    rows.collect()
}

/// Renders the table in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut table =
        "| what | min ms | median ms | × | budget | peak MiB |\n| --- | ---: | ---: | ---: | --- | ---: |\n".to_owned();
    for Row { taken, ratio, budget } in rows {
        let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
        let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let peak = taken.peak.map_or_else(|| "-".to_owned(), |peak| format!("{:.1}", peak as f64 / 1024.0));
        let (name, min, median) = (&taken.name, ms(taken.min), ms(taken.median));
        let _ = writeln!(table, "| {name} | {min:.2} | {median:.2} | {ratio} | {budget} | {peak} |");
    }
    table
}
