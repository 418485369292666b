//! The budgets of the program, each beside what was measured in the same rounds.

/// A row of the table of budgets in docs/performance.md.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Writes,
    Plan,
    LargePlan,
    List,
    Guests,
    Runner,
    Hooks,
    Memory,
}

impl Line {
    pub(crate) const ALL: [Self; 8] =
        [Self::Writes, Self::Plan, Self::LargePlan, Self::List, Self::Guests, Self::Runner, Self::Hooks, Self::Memory];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Writes => "cold `begin`/`finish`, 100 steps, durable",
            Self::Plan => "cold `plan`, 100 steps, no git",
            Self::LargePlan => "cold `plan`, 1,000 and 10,000 steps",
            Self::List => "`list`, 1,000 runs in 100,000 files",
            Self::Guests => "`list`, plans of other systems, with git",
            Self::Runner => "runner, per `true` step, two durable records",
            Self::Hooks => "`hook` verbs, 20 runs in the project",
            Self::Memory => "peak memory of all of the above",
        }
    }
}

/// What a contender may take: milliseconds, a multiple of another of its group, and others on top.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) line: Line,
    ms: f64,
    times: Option<(f64, usize)>,
    beside: Option<usize>,
}

impl Budget {
    pub(crate) const fn ms(line: Line, ms: f64) -> Self {
        Self { line, ms, times: None, beside: None }
    }

    /// Allows `factor` times what the contender at `of` took.
    pub(crate) const fn times(line: Line, factor: f64, of: usize) -> Self {
        Self { line, ms: 0.0, times: Some((factor, of)), beside: None }
    }

    /// Allows what the contender at `of` took on top.
    pub(crate) const fn beside(self, of: usize) -> Self {
        Self { beside: Some(of), ..self }
    }

    /// Returns the share of the budget that a contender used: the median of its rounds, each against what the others took in the same.
    pub(crate) fn share_used(&self, taken: &Taken, group: &[Taken]) -> f64 {
        let share = |(round, ms): (usize, &f64)| {
            let times = self.times.map_or(0.0, |(factor, of)| factor * group[of].rounds[round]);
            ms / (self.ms + times + self.beside.map_or(0.0, |of| group[of].rounds[round]))
        };
        median(taken.rounds.iter().enumerate().map(share).collect())
    }

    /// Says it in words, with the names of those that it depends on.
    pub(crate) fn text(&self, group: &[Taken]) -> String {
        let fixed = (self.ms > 0.0).then(|| format!("{} ms", self.ms));
        let times = self.times.map(|(factor, of)| format!("{factor} × {}", group[of].name));
        let beside = self.beside.map(|of| group[of].name.clone());
        fixed.into_iter().chain(times).chain(beside).collect::<Vec<_>>().join(" + ")
    }
}

/// What one contender took.
pub(crate) struct Taken {
    pub(crate) name: String,
    /// The milliseconds of each round.
    pub(crate) rounds: Vec<f64>,
    /// In KiB.
    pub(crate) peak: Option<u64>,
    pub(crate) is_piton: bool,
    pub(crate) budget: Option<Budget>,
}

impl Taken {
    pub(crate) fn min(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn median(&self) -> f64 {
        median(self.rounds.clone())
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
