//! Which records of a journal count: a record says at which record its step stood, and counts if the step still stands there. Pure.
//!
//! Order, gates and limits are asked before a record is written. A step that is not begun may be begun and ended by one record, for work that was
//! done by hand.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::model::{About, Attempt, StepId, Uid};

/// What a record does to the step that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// The step begins.
    Begin,
    /// A part of it begins, and with the first one the step, unless that was begun.
    BeginPart,
    End,
    /// Something happens inside it.
    Inside,
    /// A person decided about it.
    Decide,
    /// Words about it, or about the run, which move nothing.
    Say,
    /// The whole run goes back, or starts.
    MoveAll,
    /// The run ends.
    Close,
}

impl Act {
    /// Returns what a recorded change does. `part`: it is about a part of the step; `amends`: it only adds to what is recorded.
    pub(crate) fn of(change: &str, part: bool, amends: bool) -> Self {
        match (change, part) {
            ("begin", false) => Self::Begin,
            ("begin", true) => Self::BeginPart,
            ("finish", _) if amends => Self::Say,
            ("finish", false) => Self::End,
            ("finish" | "accept" | "skip", true) => Self::Inside,
            ("accept" | "approve" | "skip" | "redo", _) => Self::Decide,
            ("start" | "restore" | "repair" | "rollback", _) => Self::MoveAll,
            ("archive", _) => Self::Close,
            (_, _) => Self::Say,
        }
    }
}

/// A record, as far as it matters whether it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    /// Its number in the journal.
    pub(crate) seq: u64,
    pub(crate) about: About,
    pub(crate) act: Act,
    pub(crate) step: Option<&'a StepId>,
    /// The steps that it reopens.
    pub(crate) reopens: &'a [StepId],
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stand {
    /// The last record that counted for it and moved it.
    pub(crate) at: Uid,
    /// That record began it, and nothing has ended it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_begun: bool,
    /// That record is one of another step, which reopened it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_reopened: bool,
    /// Of a step that ended: its begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) of: Option<Uid>,
}

impl Stand {
    /// Tells whether an attempt goes on, by the record that began it: the step, or a part of one that was begun.
    pub(crate) fn goes_on(self, begun: About) -> bool {
        self.is_begun && (self.at == begun.id || Some(self.at) == begun.on)
    }

    /// Tells whether the step ended with an attempt.
    pub(crate) fn ended(self, begun: About) -> bool {
        self.of.is_some() && (self.of == Some(begun.id) || self.of == begun.on)
    }
}

/// The record that each step of a run stands at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastRecords {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    steps: BTreeMap<StepId, Stand>,
    /// The record that moved every step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all: Option<Uid>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_closed: bool,
    /// The numbers of the records that do not count.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    late: BTreeSet<u64>,
}

impl LastRecords {
    /// Returns where a step stands; `None` for one that no record moved.
    pub(crate) fn of(&self, step: &StepId) -> Option<Stand> {
        let all = self.all.map(|at| Stand { at, is_begun: false, is_reopened: false, of: None });
        self.steps.get(step).copied().or(all)
    }

    /// Tells whether an attempt goes on: nothing moved its step since it was begun.
    pub(crate) fn goes_on(&self, attempt: &Attempt) -> bool {
        self.of(&attempt.step).is_some_and(|stand| stand.goes_on(attempt.about))
    }

    /// Tells whether a record that was taken, by its number, does not count.
    pub(crate) fn is_late(&self, seq: u64) -> bool {
        self.late.contains(&seq)
    }

    /// Takes the next record. Returns whether it counts.
    pub(crate) fn take(&mut self, said: Said<'_>) -> bool {
        let counts = self.counts(&said);
        match counts {
            true => self.moved(said),
            false => _ = self.late.insert(said.seq),
        }
        counts
    }

    /// Tells whether a record would count as the next one.
    fn counts(&self, said: &Said<'_>) -> bool {
        if self.is_closed || said.act == Act::MoveAll {
            return said.act == Act::MoveAll;
        }
        let Some(step) = said.step else { return true };
        let stand = self.of(step);
        let is_begun = stand.is_some_and(|stand| stand.is_begun);
        let may_begin = said.act != Act::Begin || !is_begun || said.about.takes;
        may_begin && stand.map(|stand| stand.at) == said.about.on
    }

    fn moved(&mut self, Said { about, act, step, reopens, seq: _ }: Said<'_>) {
        let moved = Stand { at: about.id, is_begun: false, is_reopened: false, of: None };
        for reopened in reopens {
            self.steps.insert(reopened.clone(), Stand { is_reopened: true, ..moved });
        }
        let before = step.and_then(|step| self.of(step)).filter(|stand| stand.is_begun);
        let stand = match act {
            // What undoes the end of a run moves nothing.
            Act::MoveAll if self.is_closed => {
                self.is_closed = false;
                None
            }
            Act::MoveAll => {
                let late = std::mem::take(&mut self.late);
                // The first record finds nothing to move.
                let all = Some(about.id).filter(|_| self.all.is_some() || !self.steps.is_empty());
                *self = Self { all, late, ..Self::default() };
                None
            }
            Act::Close => {
                self.is_closed = true;
                None
            }
            Act::Begin => Some(Stand { is_begun: true, ..moved }),
            Act::BeginPart => Some(Stand { is_begun: true, ..moved }).filter(|_| before.is_none()),
            Act::End => Some(Stand { of: before.and(about.on), ..moved }),
            Act::Decide => Some(moved),
            Act::Inside | Act::Say => None,
        };
        if let (Some(step), Some(stand)) = (step, stand) {
            self.steps.insert(step.clone(), stand);
        }
    }
}

#[cfg(test)]
#[path = "share_tests.rs"]
mod tests;
