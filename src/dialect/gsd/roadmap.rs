//! `ROADMAP.md`: which phases there are, and what it says about them and their plans (docs/formats/gsd.md#roadmap).

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    milestones::{is_open_milestone, is_shipped_milestone, is_within, milestone, names_milestone},
    names::{self, PhaseKey},
    plan_file,
};
use crate::{
    dialect::markdown::{LineContext, Lines, checkbox, heading},
    model::clean_line,
};

/// The phase that the ideas of a backlog are numbered below.
const BACKLOG: u64 = 999;

/// A parsed roadmap.
#[derive(Debug, Default)]
pub(super) struct Roadmap {
    pub(super) phases: BTreeMap<PhaseKey, GsdPhase>,
    /// The box of each plan that has one.
    pub(super) plans: BTreeMap<String, bool>,
    /// Plans of which a box says that they are still to be written: `03-01: TBD`.
    unwritten: BTreeSet<String>,
    /// Ranges of phases that a line calls shipped, such as `✅ v1.0 (Phases 1-4)`.
    shipped: Vec<(u64, u64)>,
    /// Ranges of phases of a milestone that is open, such as `🚧 v1.1 (Phases 5-6)`.
    open: Vec<(u64, u64)>,
    /// Phases of the roadmaps of earlier milestones.
    archived: BTreeSet<PhaseKey>,
}

/// What a roadmap says about a phase.
#[derive(Debug, Default)]
pub(super) struct GsdPhase {
    pub(super) name: String,
    /// It belongs to a milestone that is over.
    pub(super) is_history: bool,
    /// It stands below the heading of a milestone that is open.
    is_current: bool,
    /// It is struck through, or its row says that it will not be built.
    pub(super) is_dropped: bool,
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
        let (mut is_shipped, mut is_open) = (false, false);
        let mut current: Option<PhaseKey> = None;
        for line in Lines::of(&text).filter(|line| line.context == LineContext::Text) {
            let trimmed = line.text.trim();
            if trimmed.starts_with("<details") {
                is_folded = true;
            }
            if trimmed.contains("</details>") {
                is_folded = false;
            }
            match milestone(trimmed) {
                Some((true, range)) => roadmap.shipped.push(range),
                Some((false, range)) => roadmap.open.push(range),
                None => {}
            }
            let is_history = is_folded || is_shipped;
            if let Some(found) = heading(line.text) {
                current = phase_in(found.text).and_then(|(key, name)| {
                    let phase = roadmap.listed(&key, name, is_history)?;
                    phase.is_current |= is_open && !is_history;
                    phase.is_dropped |= is_struck(found.text);
                    Some(key)
                });
                if phase_in(found.text).is_none() && found.depth <= 3 {
                    let lower = found.text.to_lowercase();
                    is_shipped = is_shipped_milestone(&lower);
                    is_open = is_open_milestone(&lower) && names_milestone(&lower);
                }
            } else if let Some(found) = checkbox(line.text) {
                roadmap.checkbox(found.text, found.mark.is_ticked(), is_history, is_open);
            } else if trimmed.starts_with('|') {
                roadmap.row(trimmed, is_history);
            } else if let Some(key) = &current
                && let Some(on) = depends_on(trimmed)
            {
                roadmap.phases.entry(key.clone()).or_default().depends_on = Some(on);
            }
        }
        roadmap
    }

    /// Adds the box of a plan or a phase.
    fn checkbox(&mut self, text: &str, is_ticked: bool, is_history: bool, is_open: bool) {
        if let Some(id) = plan_in(text) {
            if is_history {
                self.plans.entry(id.to_owned()).or_insert(is_ticked);
            } else {
                self.plans.insert(id.to_owned(), is_ticked);
            }
            if is_unwritten(text, id) {
                self.unwritten.insert(id.to_owned());
            }
        } else if let Some((key, name)) = phase_in(text)
            && let Some(phase) = self.listed(&key, name, is_history)
        {
            phase.is_ticked = Some(is_ticked);
            phase.is_current |= is_open && !is_history;
            phase.is_dropped |= is_struck(text);
        }
    }

    /// Adds the phases of the roadmap of an earlier milestone.
    pub(super) fn add_archive(&mut self, bytes: &[u8]) {
        self.archived.extend(Self::parse(bytes).phases.into_keys());
    }

    /// Returns the plans of a phase that a box names as open and as written.
    pub(super) fn open_plans<'a>(&'a self, key: &'a PhaseKey) -> impl Iterator<Item = &'a str> {
        let is_its = move |id: &str| names::leading(id).is_some_and(|(own, _)| own == *key);
        let open = self.plans.iter().filter(|(id, is_ticked)| !**is_ticked && !self.unwritten.contains(*id));
        open.map(|(id, _)| id.as_str()).filter(move |id| is_its(id))
    }

    /// Returns the box of a plan: of its id, else of the only one with its number.
    pub(super) fn plan_box(&self, id: &str) -> Option<bool> {
        self.plans.get(id).copied().or_else(|| {
            let mut same = self.plans.iter().filter(|(own, _)| names::is_same_plan(own, id));
            let first = same.next().map(|(_, is_ticked)| *is_ticked);
            first.filter(|_| same.next().is_none())
        })
    }

    /// Tells whether a phase belongs to the milestone that is open.
    fn is_current(&self, key: &PhaseKey) -> bool {
        is_within(&self.open, key) || self.phases.get(key).is_some_and(|phase| phase.is_current)
    }

    /// Tells whether a line calls a phase shipped, and none lists it as current.
    fn is_shipped(&self, key: &PhaseKey) -> bool {
        !self.is_current(key) && is_within(&self.shipped, key)
    }

    /// Tells whether a phase belongs to a milestone that is over. One that is listed as current, or with an open box, does not.
    pub(super) fn is_history(&self, key: &PhaseKey) -> bool {
        let Some(phase) = self.phases.get(key) else { return self.is_shipped(key) || self.archived.contains(key) };
        if phase.is_history {
            return !self.is_current(key);
        }
        self.is_shipped(key) && phase.is_ticked != Some(false)
    }

    /// Tells whether the roadmap has a phase, in its current part or in its history.
    pub(super) fn knows(&self, key: &PhaseKey) -> bool {
        self.phases.contains_key(key) || self.is_history(key)
    }

    /// Tells whether a phase is an idea for later: GSD numbers the ideas of its backlog 999.1, 999.2 and so on.
    pub(super) fn is_backlog(key: &PhaseKey) -> bool {
        key.0.first() == Some(&BACKLOG)
    }

    /// Tells whether the box or the row of a phase says that it is finished, or a line that it is shipped.
    pub(super) fn is_over(&self, key: &PhaseKey) -> bool {
        let Some(phase) = self.phases.get(key) else { return false };
        phase.is_ticked == Some(true) || phase.row.as_deref().is_some_and(is_finished) || self.is_shipped(key)
    }

    fn phase(&mut self, key: &PhaseKey, name: &str, is_history: bool) -> &mut GsdPhase {
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

    /// Returns a phase that a heading or a box names. The number of an earlier phase may begin again: what is said about that one says
    /// nothing about the current one. `None` if it is the earlier one.
    fn listed(&mut self, key: &PhaseKey, name: &str, is_history: bool) -> Option<&mut GsdPhase> {
        let known = self.phases.get(key).filter(|phase| phase.is_listed);
        match known.map(|phase| phase.is_history) {
            Some(true) if !is_history => {
                self.phases.remove(key);
            }
            Some(false) if is_history => return None,
            Some(_) | None => {}
        }
        let phase = self.phase(key, name, is_history);
        phase.is_listed = true;
        Some(phase)
    }

    fn row(&mut self, line: &str, is_history: bool) {
        let Some(row) = Row::of(line) else { return };
        if row.name.is_empty() && !self.phases.contains_key(&row.phase) {
            return;
        }
        let status = row.status.map(|span| clean_line(&line[span], 40));
        let phase = self.phase(&row.phase, row.name, is_history);
        phase.is_dropped |= status.as_deref().is_some_and(is_dropped) || is_struck(row.name);
        phase.row = status;
    }
}

/// A row of the table of progress: `| 1. Name | 2/2 | Complete | date |`, with a column for the milestone in some projects. Places are bytes of
/// the line.
pub(super) struct Row<'a> {
    pub(super) phase: PhaseKey,
    name: &'a str,
    /// The cell of the first known word, else of the first word that is no version of a milestone.
    pub(super) status: Option<Range<usize>>,
    /// The cell that counts finished plans: `1/3`.
    pub(super) count: Option<Range<usize>>,
}

impl<'a> Row<'a> {
    /// Parses a row of at least three cells.
    pub(super) fn of(line: &'a str) -> Option<Self> {
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
        let first = line[first.clone()].trim_matches(['*', '[']);
        let (phase, rest) = names::leading(strip_noun(first).unwrap_or(first)).filter(|_| cells.len() >= 2)?;
        let find = |is_it: fn(&str) -> bool| cells.iter().find(|span| is_it(&line[(*span).clone()])).cloned();
        Some(Self {
            phase,
            name: rest.split("](").next().unwrap_or(rest).trim_start_matches(['.', ':', '-', ' ']),
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

/// Tells whether the status in a row says that its phase will not be built.
fn is_dropped(status: &str) -> bool {
    let status = status.trim_start_matches(|c: char| !c.is_alphabetic());
    plan_file::is_dropping(status)
}

/// Tells whether the text of a heading or a box is struck through.
fn is_struck(text: &str) -> bool {
    text.trim_start_matches(['*', '_', ' ']).starts_with("~~")
}

/// Tells whether the text of a box says of a plan only that it is still to be written.
fn is_unwritten(text: &str, id: &str) -> bool {
    let behind = text.split_once(id).map_or("", |(_, behind)| behind.strip_prefix("-PLAN").unwrap_or(behind));
    let behind = behind.strip_prefix(".md").unwrap_or(behind);
    let behind = behind.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    ["tbd", "todo", "to be ", "brief description"].iter().any(|start| behind.starts_with(start))
}

/// Returns the phase that a heading or the text of a box names.
pub(super) fn phase_in(text: &str) -> Option<(PhaseKey, &str)> {
    let text = text.trim_start_matches(['*', '~', '✅', '🚧', '📋', '[', ' ']);
    let (key, rest) = names::leading(strip_noun(text)?)?;
    let name = rest.trim_start_matches([':', '.', ' ', '-', '–', '—', '*', ']']);
    let name = name.split_once("**").map_or(name, |(name, _)| name);
    // `[Phase 1: Name](path)`, where a link may also end behind the number.
    let name = name.split_once("](").map_or(name, |(name, _)| name);
    let name = if name.starts_with('(') { name.split_once(')').map_or(name, |(_, name)| name) } else { name };
    let name = name.trim_start_matches([':', '.', ' ', '-', '–', '—', '*']);
    Some((key, name.trim_end_matches(['*', '~', ' '])))
}

pub(super) fn strip_noun(text: &str) -> Option<&str> {
    let noun = text.get(..5).filter(|noun| noun.eq_ignore_ascii_case("phase"))?;
    text[noun.len()..].strip_prefix([' ', '\u{a0}']).map(str::trim_start)
}

/// Returns the plan that the text of a box names.
pub(super) fn plan_in(text: &str) -> Option<&str> {
    let first = text
        .trim_start_matches(['*', '`', '[', '~', ' '])
        .split(|c: char| c.is_whitespace() || matches!(c, ':' | '`' | '*' | ']'))
        .next()?;
    let id = first.strip_suffix(".md").unwrap_or(first);
    let id = id.strip_suffix("-PLAN").unwrap_or(id);
    names::is_plan(id).then_some(id)
}

fn depends_on(line: &str) -> Option<Vec<PhaseKey>> {
    let plain = line.replace('*', "");
    let rest = plain.trim_start().get(..10).filter(|start| start.eq_ignore_ascii_case("depends on"))?;
    let text = plain.trim_start()[rest.len()..].trim_start_matches([':', ' ']);
    // `Phase 1 (independent of Phase 2)` does not wait for phase 2.
    let clause = |text: &str| {
        let ends = [
            "independent",
            "parallel",
            "not on ",
            "not phase",
            "without ",
            "before ",
            "ahead of ",
            "drives ",
            "blocks ",
            "unblocks ",
            "feeds ",
            "enables ",
            "needed by ",
            "used by ",
        ];
        let lower = text.to_ascii_lowercase();
        let is_nothing = |word: &str| ["no", "none", "nothing", "n/a"].contains(&word);
        if lower.split(|c: char| !c.is_alphanumeric() && c != '/').find(|word| !word.is_empty()).is_some_and(is_nothing)
        {
            return String::new();
        }
        let end = ends.iter().filter_map(|end| lower.find(end)).min().unwrap_or(text.len());
        text[..end].to_owned()
    };
    let clauses: Vec<String> = text.split(". ").flat_map(|part| part.split(['(', ')', ';'])).map(clause).collect();
    Some(phase_keys(&clauses.join(" ")))
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

#[cfg(test)]
mod tests {
    use super::{Roadmap, Row};
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
    fn names_of_phases_and_plans_may_be_links() {
        for text in [
            "- [x] [Phase 2: Sail](phases/02-sail)\n",
            "- [x] **[Phase 2: Sail](phases/02-sail/)** - cloth\n",
            "- [x] [**Phase 2: Sail**](phases/02-sail) - cloth\n",
            "- [x] [Phase 2](phases/02-sail): Sail\n",
            "- [x] [Phase 2: Sail][2]\n",
        ] {
            let roadmap = Roadmap::parse(text.as_bytes());
            let phase = roadmap.phases.get(&key("2")).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(phase.is_ticked, Some(true), "{text}");
            assert!(phase.name.starts_with("Sail") && !phase.name.contains('('), "{text}: {}", phase.name);
        }
        let roadmap = Roadmap::parse(b"### [Phase 2: Sail](x)\n- [ ] [02-01-PLAN.md](x)\n- [x] **[02-02](y)**: sew\n| [2. Sail](x) | 1/2 | In progress |\n");
        assert_eq!((roadmap.plan_box("02-01"), roadmap.plan_box("02-02")), (Some(false), Some(true)));
        assert_eq!(roadmap.phases[&key("2")].row.as_deref(), Some("In progress"));
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
    fn a_phase_that_is_listed_as_current_is_not_history() {
        let shipped = "- ✅ **v1.0** — Phases 1-4 (shipped 2026-10-01)\n";
        for (text, history) in [
            (
                format!("{shipped}- 🚧 **v1.1** — Phases 1-2 (in progress)\n\n### Phase 1: A\n\n### Phase 2: B\n"),
                vec!["3", "4"],
            ),
            (format!("{shipped}\n## 🚧 v1.1\n\n### Phase 1: A\n\n### Phase 2: B\n"), vec!["3", "4"]),
            (format!("{shipped}\n- [ ] **Phase 1: A**\n- [x] **Phase 2: B**\n"), vec!["2", "3", "4"]),
            ("### Phase 1: A\n\n✅ All 12 requirements are mapped to phases 1-2\n".to_owned(), vec![]),
            ("## Milestone v1.1: Shipped-order tracking\n\n### Phase 1: A\n".to_owned(), vec![]),
        ] {
            let roadmap = Roadmap::parse(text.as_bytes());
            let found: Vec<&str> =
                ["1", "2", "3", "4"].into_iter().filter(|number| roadmap.is_history(&key(number))).collect();
            assert_eq!(found, history, "{text}");
        }
        // What was said about the earlier phase of that number says nothing about the current one.
        let text = "## v1.0 (shipped)\n\n- [x] **Phase 1: Old**\n\n## 🚧 v1.1\n\n- [ ] **Phase 1: New**\n";
        let roadmap = Roadmap::parse(text.as_bytes());
        assert_eq!((roadmap.phases[&key("1")].name.as_str(), roadmap.is_over(&key("1"))), ("New", false));
    }

    #[test]
    fn boxes_of_plans_that_are_still_to_be_written_name_no_plan() {
        let text = "- [ ] 01-01-PLAN.md\n- [ ] 01-02: TBD\n- [ ] 01-03: [Brief description]\n- [x] 01-04-PLAN.md\n- [ ] 01-05: sew\n- [ ] 02-01: cut\n";
        let roadmap = Roadmap::parse(text.as_bytes());
        assert_eq!(roadmap.open_plans(&key("1")).collect::<Vec<_>>(), ["01-01", "01-05"]);
        assert_eq!((roadmap.plan_box("01-04-sew"), roadmap.plan_box("01-06")), (Some(true), None));
    }

    #[test]
    fn phases_that_are_struck_through_or_called_so_in_their_row_are_dropped() {
        let table = "| 3. Line | 0/2 | Cancelled | - |\n| 4. Tail | 0/1 | Not started | - |\n";
        let text =
            format!("### ~~Phase 1: A~~\n- [ ] ~~**Phase 2: B**~~\n### Phase 3: Line\n### Phase 4: Tail\n\n{table}");
        let roadmap = Roadmap::parse(text.as_bytes());
        let dropped: Vec<String> =
            roadmap.phases.iter().filter(|(_, phase)| phase.is_dropped).map(|(key, _)| names::shown(key)).collect();
        assert_eq!(dropped, ["1", "2", "3"]);
    }

    #[test]
    fn a_phase_waits_only_for_what_it_depends_on() {
        for (text, expected) in [
            ("Phase 1 (independent of Phase 2)", vec!["1"]),
            ("Phase 1, Phase 3 (Sail)", vec!["1", "3"]),
            ("Nothing (can run in parallel with Phase 2)", vec![]),
            ("Phases 1 to 3; not on Phase 5", vec!["1", "2", "3"]),
            ("Phase 4A", vec!["4A"]),
        ] {
            let roadmap = Roadmap::parse(format!("### Phase 9: X\n**Depends on**: {text}\n").as_bytes());
            let on: Vec<String> = roadmap.phases[&key("9")].depends_on.iter().flatten().map(names::shown).collect();
            assert_eq!(on, expected, "{text}");
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
