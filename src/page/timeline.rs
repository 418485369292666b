//! The attempts of a run on an axis of time, in a lane per agent. Long pauses are shortened.

use std::collections::BTreeMap;

use crate::{
    model::{AttemptEnd, Timestamp},
    ops::ShowReport,
};

/// The lanes that are shown; further agents share one.
const LANES: usize = 24;
/// The name of the lane of attempts without a named agent, and of the lane that several share.
const UNNAMED: &str = "no agent named";
const OTHERS: &str = "other agents";
/// Pauses up to this many seconds are never shortened.
const PAUSE_SECONDS: i64 = 600;
/// Overlapping attempts of one agent that get a row each.
const ROWS: usize = 8;

/// The timeline of a run.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) scale: Scale,
    /// Moments of the run as a whole, oldest first.
    pub(crate) flags: Vec<Flag>,
    /// Number of attempts without a known beginning.
    pub(crate) undated: usize,
}

/// The attempts of one agent.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) agent: String,
    pub(crate) bars: Vec<Bar>,
    /// Number of rows, from 1.
    pub(crate) rows: usize,
}

/// An attempt.
#[derive(Debug)]
pub(crate) struct Bar {
    /// The position of its step in the report.
    pub(crate) step: usize,
    pub(crate) number: u32,
    pub(crate) end: AttemptEnd,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// The row in its lane, from 0.
    pub(crate) row: usize,
}

/// A moment with a meaning.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    pub(crate) at: Timestamp,
    pub(crate) kind: FlagKind,
    pub(crate) text: String,
}

/// What a flag stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlagKind {
    Interruption,
    Decision,
}

/// An axis of time whose long pauses are shortened.
#[derive(Debug, Default)]
pub(crate) struct Scale {
    /// Stretches of work with the position at which each begins, in seconds of the axis.
    stretches: Vec<(Timestamp, Timestamp, i64)>,
    /// Length of the axis in its own seconds, at least 1.
    length: i64,
    /// Seconds of the axis that stand for a pause.
    pause: i64,
}

impl Scale {
    fn of(mut spans: Vec<(Timestamp, Timestamp)>) -> Self {
        spans.sort_unstable();
        let work: i64 = spans.iter().map(|(from, to)| to.seconds_since(*from)).sum();
        let longest = PAUSE_SECONDS.max(work / 8);
        let mut stretches: Vec<(Timestamp, Timestamp, i64)> = Vec::new();
        for (from, to) in spans {
            match stretches.last_mut() {
                Some((_, end, _)) if from.seconds_since(*end) <= longest => *end = to.max(*end),
                Some(_) | None => stretches.push((from, to, 0)),
            }
        }
        let busy: i64 = stretches.iter().map(|(from, to, _)| to.seconds_since(*from)).sum();
        let pause = (busy / 24).max(1);
        let mut at = 0;
        for (from, to, start) in &mut stretches {
            *start = at;
            at += to.seconds_since(*from) + pause;
        }
        Self { length: (at - pause).max(1), stretches, pause }
    }

    /// Returns where a time is on an axis of this length.
    pub(crate) fn place(&self, at: Timestamp, length: usize) -> usize {
        let mut second = 0;
        for (from, to, start) in &self.stretches {
            if at < *from {
                // In a pause.
                second = second.max(start - self.pause / 2);
                break;
            }
            second = start + at.seconds_since(*from).min(to.seconds_since(*from));
        }
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        usize::try_from(second.clamp(0, self.length).saturating_mul(length) / self.length).unwrap_or_default()
    }

    /// Returns the beginning of each stretch of work, with the seconds of the pause before it.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (Timestamp, i64)> {
        let before = std::iter::once(None).chain(self.stretches.iter().map(|(_, to, _)| Some(*to)));
        let starts = self.stretches.iter().zip(before);
        starts.map(|((from, _, _), before)| (*from, before.map_or(0, |before| from.seconds_since(before))))
    }

    /// Returns the end of the last stretch.
    pub(crate) fn end(&self) -> Option<Timestamp> {
        self.stretches.last().map(|(_, to, _)| *to)
    }
}

/// Returns the timeline of a run.
pub(crate) fn timeline(report: &ShowReport) -> Timeline {
    let (mut bars, mut undated) = (Vec::new(), 0);
    for (at, step) in report.steps.iter().enumerate() {
        for (index, attempt) in step.attempts.iter().enumerate() {
            let Some(from) = attempt.began.or(attempt.ended) else {
                undated += 1;
                continue;
            };
            let next = step.attempts.get(index + 1).and_then(|next| next.began);
            let to = attempt.ended.or(next).or_else(|| cut_off(report, attempt.end)).unwrap_or(from).max(from);
            let agent = attempt.agent.as_deref().or(step.agent.as_deref()).unwrap_or(UNNAMED).to_owned();
            bars.push((agent, Bar { step: at, number: attempt.number, end: attempt.end, from, to, row: 0 }));
        }
    }
    let flags = flags(report);
    let spans = bars.iter().map(|(_, bar)| (bar.from, bar.to)).chain(flags.iter().map(|flag| (flag.at, flag.at)));
    Timeline { scale: Scale::of(spans.collect()), lanes: lanes(bars), flags, undated }
}

/// Returns when an attempt without a recorded end ended at the latest: with what cut the run off, or not yet.
fn cut_off(report: &ShowReport, end: AttemptEnd) -> Option<Timestamp> {
    match end {
        AttemptEnd::Running => Some(report.at),
        AttemptEnd::Interrupted => report.interruption.as_ref()?.at,
        AttemptEnd::Completed | AttemptEnd::Failed => None,
    }
}

fn flags(report: &ShowReport) -> Vec<Flag> {
    let mut flags: Vec<Flag> = report
        .decisions
        .iter()
        .map(|decision| {
            let what = decision.step.as_ref().map_or("the run", |step| step.as_str());
            let by = decision.by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
            let text = format!("{what} {}{by}", decision.decision.as_past());
            Flag { at: decision.at, kind: FlagKind::Decision, text }
        })
        .collect();
    if let Some(interruption) = &report.interruption
        && let Some(at) = interruption.at
    {
        let text = match &interruption.cause {
            Some(cause) => format!("{}: {}", cause.kind.as_str(), cause.detail),
            None => interruption.reason.clone(),
        };
        flags.push(Flag { at, kind: FlagKind::Interruption, text });
    }
    flags.sort_by_key(|flag| flag.at);
    flags
}

/// Sorts the attempts into lanes, in the order in which agents began, and gives those that overlap a row each.
fn lanes(mut bars: Vec<(String, Bar)>) -> Vec<Lane> {
    bars.sort_by_key(|(_, bar)| (bar.from, bar.step, bar.number));
    let mut lanes: Vec<Lane> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (agent, bar) in bars {
        let at = *known.entry(agent.clone()).or_insert_with(|| {
            if lanes.len() < LANES {
                lanes.push(Lane { agent, bars: Vec::new(), rows: 1 });
            } else {
                lanes[LANES - 1].agent = OTHERS.to_owned();
            }
            lanes.len() - 1
        });
        lanes[at].bars.push(bar);
    }
    for lane in &mut lanes {
        let mut free: Vec<Timestamp> = Vec::new();
        for bar in &mut lane.bars {
            let row = free.iter().position(|end| *end <= bar.from);
            bar.row = row.unwrap_or_else(|| free.len().min(ROWS - 1));
            match free.get_mut(bar.row) {
                Some(end) => *end = bar.to.max(*end),
                None => free.push(bar.to),
            }
        }
        lane.rows = free.len().max(1);
    }
    lanes
}
