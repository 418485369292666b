//! The lines of docs/performance.md#the-budgets, and what each allows beside what was measured in the same turns.

use super::contest::Taken;

/// Is a line of docs/performance.md#the-budgets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Writes,
    Plan,
    LargePlan,
    Checkpoint,
    List,
    Runner,
    Hooks,
    Size,
    Memory,
}

impl Line {
    pub(crate) const ALL: [Self; 9] = [
        Self::Writes,
        Self::Plan,
        Self::LargePlan,
        Self::Checkpoint,
        Self::List,
        Self::Runner,
        Self::Hooks,
        Self::Size,
        Self::Memory,
    ];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Writes => "cold `begin`/`finish`, 100 steps, durable",
            Self::Plan => "cold `plan`, 100 steps, no git",
            Self::LargePlan => "cold `plan`, 1,000 and 10,000 steps",
            Self::Checkpoint => "one durable checkpoint as a cold call, 5 ms where the C floor is 2",
            Self::List => "`list`, 1,000 runs in 100,000 files",
            Self::Runner => "runner, per `true` step, two durable records",
            Self::Hooks => "`hook` verbs, 20 runs in the project",
            Self::Size => "checkpoint size, linear in steps and captured bytes",
            Self::Memory => "peak memory of all of the above",
        }
    }
}

/// Is what a contender may take: milliseconds, so many times another of its group, and others on top.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) line: Line,
    ms: f64,
    times: Option<(f64, usize)>,
    beside: [Option<usize>; 2],
}

impl Budget {
    pub(crate) const fn ms(line: Line, ms: f64) -> Self {
        Self { line, ms, times: None, beside: [None; 2] }
    }

    /// Allows `factor` times what the contender at `of` took.
    pub(crate) const fn times(line: Line, factor: f64, of: usize) -> Self {
        Self { line, ms: 0.0, times: Some((factor, of)), beside: [None; 2] }
    }

    /// Allows what the contender at `of` took on top; twice at most.
    pub(crate) const fn beside(mut self, of: usize) -> Self {
        let [first, second] = &mut self.beside;
        *(if first.is_none() { first } else { second }) = Some(of);
        self
    }

    pub(crate) fn allows(&self, group: &[Taken]) -> f64 {
        let times = self.times.map_or(0.0, |(factor, of)| factor * group[of].ms());
        self.ms + times + self.beside.iter().flatten().map(|of| group[*of].ms()).sum::<f64>()
    }

    /// Says it in words, with the names of those that it depends on.
    pub(crate) fn text(&self, group: &[Taken]) -> String {
        let fixed = (self.ms > 0.0).then(|| format!("{} ms", self.ms));
        let times = self.times.map(|(factor, of)| format!("{factor} × {}", group[of].name));
        let beside = self.beside.iter().flatten().map(|of| group[*of].name.clone());
        let text = fixed.into_iter().chain(times).chain(beside).collect::<Vec<_>>().join(" + ");
        if self.times.is_none() && self.beside == [None; 2] {
            text
        } else {
            format!("{text} = {:.2} ms", self.allows(group))
        }
    }
}
