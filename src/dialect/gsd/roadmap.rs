//! `ROADMAP.md`: which phases there are, and what it says about them and their plans (docs/formats/gsd.md#roadmap).

use std::collections::BTreeMap;

use super::names;
use super::names::PhaseKey;
use crate::dialect::markdown::LineContext;
use crate::dialect::markdown::Lines;
use crate::dialect::markdown::checkbox;
use crate::dialect::markdown::heading;
use crate::model::Run;
use crate::model::StepId;
use crate::model::clean_line;

/// A parsed roadmap.
#[derive(Debug, Default)]
pub(super) struct Roadmap {
    pub(super) phases: BTreeMap<PhaseKey, Phase>,
    /// The box of each plan that has one.
    pub(super) plans: BTreeMap<String, bool>,
}

/// What a roadmap says about a phase.
#[derive(Debug, Default)]
pub(super) struct Phase {
    pub(super) name: String,
    /// It belongs to a milestone that is over.
    pub(super) is_history: bool,
    /// Its box; `None` if it has none.
    pub(super) is_ticked: Option<bool>,
    /// The status in the table of progress.
    pub(super) row: Option<String>,
    /// `None` if it does not say, which means the phase before.
    pub(super) depends_on: Option<Vec<PhaseKey>>,
}

impl Roadmap {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut roadmap = Self::default();
        let mut is_folded = false;
        let mut is_shipped = false;
        let mut current: Option<PhaseKey> = None;
        for line in Lines::of(&text).filter(|line| line.context == LineContext::Text) {
            let trimmed = line.text.trim();
            if trimmed.starts_with("<details") {
                is_folded = true;
            }
            if trimmed.contains("</details>") {
                is_folded = false;
            }
            if let Some(found) = heading(line.text) {
                current = phase_in(found.text).map(|(key, name)| {
                    roadmap.phase(&key, name, is_folded || is_shipped);
                    key
                });
                if current.is_none() && found.depth <= 3 {
                    let lower = found.text.to_lowercase();
                    is_shipped =
                        lower.contains("shipped") || lower.starts_with("✅") || lower.contains("milestone archive");
                }
            } else if let Some(found) = checkbox(line.text) {
                if let Some(id) = plan_in(found.text) {
                    roadmap.plans.insert(id.to_owned(), found.mark.is_ticked());
                } else if let Some((key, name)) = phase_in(found.text) {
                    roadmap.phase(&key, name, is_folded || is_shipped).is_ticked = Some(found.mark.is_ticked());
                }
            } else if trimmed.starts_with('|') {
                roadmap.row(trimmed, is_folded || is_shipped);
            } else if let Some(key) = &current
                && let Some(on) = depends_on(trimmed)
            {
                roadmap.phases.entry(key.clone()).or_default().depends_on = Some(on);
            }
        }
        roadmap
    }

    fn phase(&mut self, key: &PhaseKey, name: &str, is_history: bool) -> &mut Phase {
        let is_new = !self.phases.contains_key(key);
        let phase = self.phases.entry(key.clone()).or_default();
        if is_new {
            phase.is_history = is_history;
        } else {
            phase.is_history &= is_history;
        }
        if phase.name.is_empty() {
            phase.name = clean_line(name, 80);
        }
        phase
    }

    /// Reads a row of the table of progress: `| 1. Name | 2/2 | Complete | date |`.
    fn row(&mut self, line: &str, is_history: bool) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (Some(first), true) = (cells.first(), cells.len() >= 3) else { return };
        let first = first.trim_matches('*');
        let first = strip_noun(first).unwrap_or(first);
        let Some((key, rest)) = names::leading(first) else { return };
        let status = cells.iter().skip(1).find(|cell| cell.chars().any(char::is_alphabetic)).copied();
        let name = rest.trim_start_matches(['.', ':', '-', ' ']);
        if name.is_empty() && !self.phases.contains_key(&key) {
            return;
        }
        self.phase(&key, name, is_history).row = status.map(|status| clean_line(status, 40));
    }
}

/// Returns the phase that a heading or the text of a box names.
fn phase_in(text: &str) -> Option<(PhaseKey, &str)> {
    let text = text.trim_start_matches(['*', '~', '✅', '🚧', '📋', ' ']);
    let (key, rest) = names::leading(strip_noun(text)?)?;
    let name = rest.trim_start_matches([':', '.', ' ', '-', '–', '—', '*']);
    let name = name.split_once("**").map_or(name, |(name, _)| name);
    Some((key, name.trim_end_matches(['*', ' '])))
}

fn strip_noun(text: &str) -> Option<&str> {
    let noun = text.get(..5).filter(|noun| noun.eq_ignore_ascii_case("phase"))?;
    text[noun.len()..].strip_prefix([' ', '\u{a0}']).map(str::trim_start)
}

/// Returns the plan that the text of a box names.
fn plan_in(text: &str) -> Option<&str> {
    let first = text
        .trim_start_matches(['*', '`', '[', '~'])
        .split(|c: char| c.is_whitespace() || matches!(c, ':' | '`' | '*' | ']'))
        .next()?;
    let id = first.strip_suffix(".md").unwrap_or(first);
    let id = id.strip_suffix("-PLAN").unwrap_or(id);
    names::is_plan(id).then_some(id)
}

fn depends_on(line: &str) -> Option<Vec<PhaseKey>> {
    let plain = line.replace('*', "");
    let rest = plain.trim_start().get(..10).filter(|start| start.eq_ignore_ascii_case("depends on"))?;
    let rest = plain.trim_start()[rest.len()..].trim_start_matches([':', ' ']);
    let mut keys = Vec::new();
    let mut last: Option<(PhaseKey, bool)> = None;
    for word in rest.split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')' | ';')) {
        let (first, second) = word.split_once(['-', '–']).map_or((word, None), |(a, b)| (a, Some(b)));
        let Some((key, _)) = names::leading(first) else {
            if let Some((_, is_range)) = &mut last {
                *is_range = matches!(word, "-" | "–" | "to" | "through");
            }
            continue;
        };
        if let Some(((from, _), true)) = &last {
            let (from, to) = (from.first().copied().unwrap_or(0), key.0.first().copied().unwrap_or(0));
            keys.extend((from..to).take(100).map(|number| (vec![number], String::new())));
        }
        if let Some((end, _)) = second.and_then(names::leading) {
            let (from, to) = (key.0.first().copied().unwrap_or(0), end.0.first().copied().unwrap_or(0));
            keys.extend((from..to).take(100).map(|number| (vec![number], String::new())));
            keys.push(end);
        }
        keys.push(key.clone());
        last = Some((key, false));
    }
    keys.sort();
    keys.dedup();
    Some(keys)
}

/// Returns the roadmap with the boxes ticked of plans that are done and of phases whose plans are all done, and why.
pub(super) fn ticked(bytes: &[u8], run: &Run, done: &[StepId]) -> (Vec<u8>, Vec<String>) {
    let mut after = bytes.to_vec();
    let mut reasons = Vec::new();
    let Ok(text) = std::str::from_utf8(bytes) else { return (after, reasons) };
    let is_done = |id: &str| done.iter().any(|step| step.as_str() == id);
    for line in Lines::of(text).filter(|line| line.context == LineContext::Text) {
        let Some(found) = checkbox(line.text).filter(|found| found.mark.text.is_empty()) else { continue };
        let why = if let Some(id) = plan_in(found.text) {
            is_done(id).then(|| format!("{id} has its summary"))
        } else if let Some((key, _)) = phase_in(found.text) {
            let mut of_phase =
                run.steps.iter().filter(|step| names::leading(step.id.as_str()).is_some_and(|(own, _)| own == key));
            let first = of_phase.next();
            let all =
                first.is_some_and(|first| std::iter::once(first).chain(of_phase).all(|step| is_done(step.id.as_str())));
            all.then(|| format!("all plans of phase {} are done", names::shown(&key)))
        } else {
            None
        };
        // Only a box of one blank keeps the length of the line.
        if let Some(why) = why.filter(|_| found.mark.span.len() == 1) {
            after[line.start + found.mark.span.start] = b'x';
            reasons.push(why);
        }
    }
    (after, reasons)
}
