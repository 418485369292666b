//! `ROADMAP.md`: which phases there are, and what it says about them and their plans (docs/formats/gsd.md#roadmap).

use std::collections::BTreeMap;
use std::ops::Range;

use super::names;
use super::names::PhaseKey;
use crate::dialect::markdown::LineContext;
use crate::dialect::markdown::Lines;
use crate::dialect::markdown::checkbox;
use crate::dialect::markdown::heading;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::clean_line;

/// A parsed roadmap.
#[derive(Debug, Default)]
pub(super) struct Roadmap {
    pub(super) phases: BTreeMap<PhaseKey, Phase>,
    /// The box of each plan that has one.
    pub(super) plans: BTreeMap<String, bool>,
    /// Ranges of phases that a line calls shipped, such as `✅ v1.0 (Phases 1-4)`.
    shipped: Vec<(u64, u64)>,
}

/// What a roadmap says about a phase.
#[derive(Debug, Default)]
pub(super) struct Phase {
    pub(super) name: String,
    /// It belongs to a milestone that is over.
    pub(super) is_history: bool,
    /// A heading or a box names it; otherwise only a row of the table does.
    pub(super) is_listed: bool,
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
            roadmap.shipped.extend(shipped_range(trimmed));
            if let Some(found) = heading(line.text) {
                current = phase_in(found.text).map(|(key, name)| {
                    roadmap.phase(&key, name, is_folded || is_shipped).is_listed = true;
                    key
                });
                if current.is_none() && found.depth <= 3 {
                    is_shipped = is_shipped_milestone(&found.text.to_lowercase());
                }
            } else if let Some(found) = checkbox(line.text) {
                if let Some(id) = plan_in(found.text) {
                    roadmap.plans.insert(id.to_owned(), found.mark.is_ticked());
                } else if let Some((key, name)) = phase_in(found.text) {
                    let phase = roadmap.phase(&key, name, is_folded || is_shipped);
                    phase.is_listed = true;
                    phase.is_ticked = Some(found.mark.is_ticked());
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

    /// Tells whether a phase belongs to a milestone that is over.
    pub(super) fn is_history(&self, key: &PhaseKey) -> bool {
        let number = key.0.first().copied().unwrap_or_default();
        self.phases.get(key).is_some_and(|phase| phase.is_history)
            || self.shipped.iter().any(|(from, to)| (*from..=*to).contains(&number))
    }

    /// Tells whether the roadmap has a phase, in its current part or in its history.
    pub(super) fn knows(&self, key: &PhaseKey) -> bool {
        self.phases.contains_key(key) || self.is_history(key)
    }

    /// Tells whether the box or the row of a phase says that it is finished.
    pub(super) fn is_over(&self, key: &PhaseKey) -> bool {
        let Some(phase) = self.phases.get(key) else { return false };
        phase.is_ticked == Some(true) || phase.row.as_deref().is_some_and(is_finished)
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

    fn row(&mut self, line: &str, is_history: bool) {
        let Some(row) = Row::of(line) else { return };
        if row.name.is_empty() && !self.phases.contains_key(&row.phase) {
            return;
        }
        let status = row.status.map(|span| clean_line(&line[span], 40));
        self.phase(&row.phase, row.name, is_history).row = status;
    }
}

/// A row of the table of progress: `| 1. Name | 2/2 | Complete | date |`, with a column for the milestone in some projects. Places are bytes of
/// the line.
struct Row<'a> {
    phase: PhaseKey,
    name: &'a str,
    /// The cell of the first known word, else of the first word that is no version of a milestone.
    status: Option<Range<usize>>,
    /// The cell that counts finished plans: `1/3`.
    count: Option<Range<usize>>,
}

impl<'a> Row<'a> {
    /// Parses a row of at least three cells.
    fn of(line: &'a str) -> Option<Self> {
        let body = line.trim().trim_matches('|');
        let mut at = line.len() - line.trim_start().trim_start_matches('|').len();
        let mut cells = Vec::new();
        for cell in body.split('|') {
            let text = cell.trim();
            let start = at + cell.find(text).unwrap_or_default();
            cells.push(start..start + text.len());
            at += cell.len() + 1;
        }
        let [first, cells @ ..] = cells.as_slice() else { return None };
        let first = line[first.clone()].trim_matches('*');
        let (phase, rest) = names::leading(strip_noun(first).unwrap_or(first)).filter(|_| cells.len() >= 2)?;
        let find = |is_it: fn(&str) -> bool| cells.iter().find(|span| is_it(&line[(*span).clone()])).cloned();
        Some(Self {
            phase,
            name: rest.trim_start_matches(['.', ':', '-', ' ']),
            status: find(|text| is_finished(text) || is_unfinished(text)).or_else(|| find(is_word)),
            count: find(is_count),
        })
    }
}

/// Tells whether a cell has words, and not the version of a milestone.
fn is_word(cell: &str) -> bool {
    let version = cell.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    version.is_none() && cell.chars().any(char::is_alphabetic)
}

/// Tells whether a cell counts finished plans: `1/3`.
fn is_count(cell: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    cell.split_once('/').is_some_and(|(done, total)| is_number(done) && is_number(total))
}

/// Tells whether the status in a row says that its phase is finished.
pub(super) fn is_finished(status: &str) -> bool {
    let status = status.to_lowercase();
    ["complete", "done", "shipped", "✅"].iter().any(|start| status.starts_with(start))
}

/// Tells whether the status in a row says that its phase is open.
pub(super) fn is_unfinished(status: &str) -> bool {
    let status = status.to_lowercase();
    ["progress", "not started", "planned"].iter().any(|word| status.contains(word))
}

/// Tells whether a line in lower case says that a milestone is open, or one of several.
fn is_open_milestone(lower: &str) -> bool {
    ["🚧", "📋", "in progress", "planned", "not shipped"].iter().any(|word| lower.contains(word))
}

/// Tells whether a heading in lower case is that of a milestone that is over.
fn is_shipped_milestone(lower: &str) -> bool {
    let is_over = lower.contains("shipped") || lower.starts_with('✅') || lower.contains("milestone archive");
    is_over && !is_open_milestone(lower)
}

/// Returns the phases that a line calls shipped: `✅ v1.0 (Phases 1-4)`.
fn shipped_range(line: &str) -> Option<(u64, u64)> {
    let lower = line.to_lowercase();
    if is_open_milestone(&lower) || !(lower.contains('✅') || lower.contains("shipped")) {
        return None;
    }
    let rest = lower.split_once("phases ")?.1;
    let number = |text: &str| {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        Some((text[..end].parse::<u64>().ok()?, end))
    };
    let (from, end) = number(rest)?;
    let behind = rest.trim_start()[end..].trim_start();
    let to = behind.strip_prefix(['-', '–']).and_then(|behind| Some(number(behind)?.0)).unwrap_or(from);
    (from <= to).then_some((from, to))
}

/// Returns the phase that a heading or the text of a box names.
fn phase_in(text: &str) -> Option<(PhaseKey, &str)> {
    let text = text.trim_start_matches(['*', '~', '✅', '🚧', '📋', ' ']);
    let (key, rest) = names::leading(strip_noun(text)?)?;
    let name = rest.trim_start_matches([':', '.', ' ', '-', '–', '—', '*']);
    let name = name.split_once("**").map_or(name, |(name, _)| name);
    Some((key, name.trim_end_matches(['*', ' '])))
}

pub(super) fn strip_noun(text: &str) -> Option<&str> {
    let noun = text.get(..5).filter(|noun| noun.eq_ignore_ascii_case("phase"))?;
    text[noun.len()..].strip_prefix([' ', '\u{a0}']).map(str::trim_start)
}

/// Returns the plan that the text of a box names.
pub(super) fn plan_in(text: &str) -> Option<&str> {
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
    Some(phase_keys(plain.trim_start()[rest.len()..].trim_start_matches([':', ' '])))
}

/// Returns the phases of a list: `1, 2`, `1-3`, `Phase 2 to Phase 4`.
fn phase_keys(rest: &str) -> Vec<PhaseKey> {
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
    keys
}

/// Returns the roadmap with the boxes ticked of plans that are done and of phases whose plans are all done, with the rows of such phases, and
/// why.
pub(super) fn ticked(bytes: &[u8], run: &Run, done: &[StepId]) -> (Vec<u8>, Vec<String>) {
    let mut reasons = Vec::new();
    let Ok(text) = std::str::from_utf8(bytes) else { return (bytes.to_vec(), reasons) };
    let is_done = |id: &str| done.iter().any(|step| step.as_str() == id);
    let plans_of = |key: &PhaseKey| run.steps.iter().filter(|step| is_of(step, key)).count();
    let phase_done = |key: &PhaseKey| format!("all plans of phase {} are done", names::shown(key));
    let phase_is_done = |key: &PhaseKey| {
        let is_over = |step: &Step| step.status == Status::Skipped || is_done(step.id.as_str());
        plans_of(key) > 0 && run.steps.iter().filter(|step| is_of(step, key)).all(is_over)
    };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for line in Lines::of(text).filter(|line| line.context == LineContext::Text) {
        let place = |span: Range<usize>| line.start + span.start..line.start + span.end;
        if line.text.trim_start().starts_with('|') {
            let Some(row) = Row::of(line.text).filter(|row| phase_is_done(&row.phase)) else { continue };
            let Some(status) = row.status.filter(|span| is_unfinished(&line.text[span.clone()])) else { continue };
            let plans = plans_of(&row.phase);
            edits.extend(row.count.map(|span| (place(span), format!("{plans}/{plans}"))));
            edits.push((place(status), "Complete".to_owned()));
            reasons.push(phase_done(&row.phase));
            continue;
        }
        let Some(found) = checkbox(line.text).filter(|found| found.mark.text.is_empty()) else { continue };
        let why = if let Some(id) = plan_in(found.text) {
            is_done(id).then(|| format!("{id} has its summary"))
        } else {
            let phase = phase_in(found.text).filter(|(key, _)| phase_is_done(key));
            phase.map(|(key, _)| phase_done(&key))
        };
        // Only a box of one blank keeps the length of the line.
        if let Some(why) = why.filter(|_| found.mark.span.len() == 1) {
            edits.push((place(found.mark.span.clone()), "x".to_owned()));
            reasons.push(why);
        }
    }
    (edited(bytes, edits), reasons)
}

/// Returns the roadmap without the ticks of a plan and of its phase, with the row of the phase in progress, and the lines that change.
pub(super) fn cleared(bytes: &[u8], run: &Run, id: &str, phase: &PhaseKey) -> Option<(Vec<u8>, Vec<u32>)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let plans = || run.steps.iter().filter(|step| is_of(step, phase));
    let (mut edits, mut lines): (Vec<(Range<usize>, String)>, Vec<u32>) = (Vec::new(), Vec::new());
    for line in Lines::of(text).filter(|line| line.context == LineContext::Text) {
        let place = |span: Range<usize>| line.start + span.start..line.start + span.end;
        if line.text.trim_start().starts_with('|') {
            let Some(row) = Row::of(line.text).filter(|row| row.phase == *phase) else { continue };
            let Some(status) = row.status.filter(|span| is_finished(&line.text[span.clone()])) else { continue };
            let done = plans().filter(|step| step.status == Status::Completed).count();
            edits.extend(row.count.map(|span| (place(span), format!("{done}/{}", plans().count()))));
            edits.push((place(status), "In Progress".to_owned()));
            lines.push(line.number);
            continue;
        }
        let Some(found) = checkbox(line.text).filter(|found| found.mark.is_ticked()) else { continue };
        let is_its = match plan_in(found.text) {
            Some(plan) => plan == id,
            None => phase_in(found.text).is_some_and(|(key, _)| key == *phase),
        };
        if is_its {
            edits.push((place(found.mark.span), " ".to_owned()));
            lines.push(line.number);
        }
    }
    (!lines.is_empty()).then(|| (edited(bytes, edits), lines))
}

/// Tells whether a step is one of a phase.
fn is_of(step: &Step, phase: &PhaseKey) -> bool {
    names::leading(step.id.as_str()).is_some_and(|(own, _)| own == *phase)
}

/// Returns a text with these places replaced, which do not overlap.
fn edited(bytes: &[u8], mut edits: Vec<(Range<usize>, String)>) -> Vec<u8> {
    let mut after = bytes.to_vec();
    edits.sort_by_key(|(span, _)| span.start);
    for (span, text) in edits.into_iter().rev() {
        after.splice(span, text.into_bytes());
    }
    after
}

#[cfg(test)]
mod tests {
    use super::Roadmap;
    use super::Row;
    use crate::dialect::gsd::names;

    const TEXT: &str = "# Roadmap\n\n## Milestones\n\n- ✅ **v1.0 MVP** - Phases 1-4 (shipped 2026-01-02)\n\
                        - 🚧 **v1.1** - Phases 5-6 (in progress)\n\n## Phases\n\n- [ ] **Phase 5: Sail**\n- [x] Phase 6: Rope - knots\n\n\
                        ### Phase 5: Sail\n**Depends on**: Phase 2, Phases 3-4\n\nPlans:\n- [x] 05-01-PLAN.md -- cut\n- [ ] 05-02: sew\n\n\
                        ```\n### Phase 9: Sample\n```\n\n| Phase | Milestone | Plans | Status |\n|---|---|---|---|\n\
                        | 1. Frame | v1.0 | 3/3 | Complete |\n| 6. Rope | v1.1 | 0/2 | Not started |\n\n\
                        <details>\n<summary>old</summary>\n\n### Phase 0: Wood\n</details>\n";

    fn key(text: &str) -> names::PhaseKey {
        names::leading(text).unwrap().0
    }

    #[test]
    fn phases_are_known_with_what_is_said_about_them() {
        for text in [TEXT.to_owned(), format!("\u{feff}{}", TEXT.replace('\n', "\r\n"))] {
            let roadmap = Roadmap::parse(text.as_bytes());
            let phases: Vec<String> = roadmap.phases.keys().map(names::shown).collect();
            assert_eq!(phases, ["0", "1", "5", "6"]);
            let history: Vec<&str> =
                ["0", "1", "2", "4", "5", "6"].into_iter().filter(|number| roadmap.is_history(&key(number))).collect();
            assert_eq!(history, ["0", "1", "2", "4"]);
            assert!(roadmap.knows(&key("3")) && !roadmap.knows(&key("7")));
            assert!(roadmap.is_over(&key("1")) && roadmap.is_over(&key("6")) && !roadmap.is_over(&key("5")));
            let sail = &roadmap.phases[&key("5")];
            assert_eq!((sail.name.as_str(), sail.is_ticked), ("Sail", Some(false)));
            let on: Vec<String> = sail.depends_on.iter().flatten().map(names::shown).collect();
            assert_eq!(on, ["2", "3", "4"]);
            assert!(sail.is_listed && !roadmap.phases[&key("1")].is_listed);
            assert_eq!(roadmap.plans.get("05-01"), Some(&true));
            assert_eq!(roadmap.plans.get("05-02"), Some(&false));
        }
    }

    #[test]
    fn phases_below_the_heading_of_a_milestone_are_over_only_if_it_is() {
        for (heading, is_over) in [
            ("## v1.0 (shipped)", true),
            ("## ✅ v1.0", true),
            ("## Milestone archive", true),
            ("## 🚧 v1.1 (not shipped)", false),
            ("## v1.0 shipped, v1.1 planned", false),
            ("## Checks ✅", false),
        ] {
            let roadmap = Roadmap::parse(format!("{heading}\n\n### Phase 1: Frame\n").as_bytes());
            assert_eq!(roadmap.is_history(&key("1")), is_over, "{heading}");
        }
    }

    #[test]
    fn the_status_of_a_row_is_in_different_columns() {
        for (line, expected) in [
            ("| 6. Name | 1/3 | In Progress|  |", Some("In Progress")),
            ("| 6. Name | v1.0 | 0/TBD | Not started | - |", Some("Not started")),
            ("| 6. Name | 3/3 | ✅ Complete | x |", Some("✅ Complete")),
            ("| 6. Name | 3/3 | - |", None),
            ("|", None),
        ] {
            assert_eq!(Row::of(line).and_then(|row| row.status).map(|span| &line[span]), expected, "{line}");
        }
    }
}
