//! The items of a `foreach`: their names, their ids, and the names of their logs and worktrees. Pure.

use std::{collections::BTreeSet, fmt::Write as _};

use camino::Utf8PathBuf;
use serde_json::Value;

use super::{
    facts::{BegunStep, PassedStep},
    record::Header,
    state::{State, StepState},
};
use crate::model::{Finding, FindingCode, Status, StepId, clean_line, quoted, sha256_hex};

/// The longest name of an item, in characters.
const LONGEST: usize = 80;
/// The longest name of an item in the name of a file, in bytes: file systems allow 255 for all of it.
const LONGEST_IN_FILE: usize = 120;

/// Names items after their values, so that an item keeps its name when the list changes.
///
/// A long one is shortened and gets a digest; the second of two equal ones is `item#2`.
pub(crate) fn item_names(items: &[Value]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let named = items.iter().map(|item| {
        let text = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
        let line = clean_line(&text, LONGEST);
        let name = if line == text { line } else { format!("{line} #{}", &sha256_hex(text.as_bytes())[..8]) };
        unused(name, &mut seen)
    });
    named.collect()
}

/// Returns the items of a `foreach` that failed and did not pass since.
pub(crate) fn failed_items(step: &StepState) -> impl Iterator<Item = &str> {
    let parts = step.parts.iter().filter(|(_, status)| step.items.is_some() && **status == Status::Failed);
    parts.map(|(item, _)| item.as_str())
}

/// Returns the items of a `foreach` that are done.
pub(crate) fn done_items(step: &StepState) -> impl Iterator<Item = &str> {
    let names = step.items.as_deref().map(item_names).unwrap_or_default();
    let is_item = move |name: &str| names.iter().any(|item| item == name);
    let done = step.parts.iter().filter(|(_, status)| **status == Status::Completed).map(|(item, _)| item.as_str());
    done.filter(move |name| is_item(name))
}

impl State {
    /// Counts the items that failed and did not pass since.
    pub(crate) fn failed_items(&self) -> usize {
        self.steps.values().flat_map(|step| failed_items(step)).count()
    }
}

/// A step of a group that must not run twice and was cut off for an item, or is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CutOffStep {
    /// The name that it has among the parts of the loop.
    pub(crate) part: String,
    pub(crate) item: String,
    pub(crate) begun: BegunStep,
}

impl CutOffStep {
    /// Returns its id: `build[linux].publish`.
    pub(crate) fn id(&self, step: &str) -> String {
        format!("{}.{}", item_id(step, &self.item), self.begun.name)
    }
}

impl StepState {
    /// Returns the steps of its group that are under way for an item and must not run twice.
    pub(crate) fn cut_off_steps(&self) -> Vec<CutOffStep> {
        let begun = self.item_progress.iter().filter_map(|(item, progress)| Some((item, progress.begun.as_ref()?)));
        let begun: Vec<_> = begun.collect();
        if begun.is_empty() {
            return Vec::new();
        }
        let mut seen = self.items.as_deref().map(item_names).unwrap_or_default().into_iter().collect();
        let named = begun.into_iter().map(|(item, begun)| CutOffStep {
            part: unused(format!("{item}.{}", begun.name), &mut seen),
            item: item.clone(),
            begun: begun.clone(),
        });
        named.collect()
    }

    /// Takes over how a part ended, if it is a step of its group that was cut off for an item.
    pub(super) fn settle(&mut self, part: &str, ended: Status) -> bool {
        let found = self.cut_off_steps().into_iter().find(|step| step.part == part);
        let progress = found.and_then(|step| Some((self.item_progress.get_mut(&step.item)?, step.begun.number)));
        let Some((progress, number)) = progress else { return false };
        progress.begun = None;
        if ended.satisfies() {
            progress.went_on(number, PassedStep::default());
        }
        true
    }

    /// Takes over that a person leaves out a part.
    pub(super) fn skip_part(&mut self, part: &str) {
        if !self.settle(part, Status::Skipped) {
            self.parts.insert(part.to_owned(), Status::Skipped);
        }
    }
}

/// Returns the names of the parts of a `foreach`: its items, then their merges, if each item has a worktree.
pub(crate) fn part_names(items: &[Value], definition: &Value) -> Vec<String> {
    let mut names = item_names(items);
    if definition.pointer("/foreach/worktree").is_some() {
        names.extend(merge_names(&names));
    }
    names
}

/// Names the merges of items, unlike any item.
pub(crate) fn merge_names(items: &[String]) -> Vec<String> {
    let mut seen: BTreeSet<String> = items.iter().cloned().collect();
    items.iter().map(|item| unused(format!("merge of {item}"), &mut seen)).collect()
}

/// Returns a name, with a number if it is taken.
fn unused(name: String, seen: &mut BTreeSet<String>) -> String {
    let numbered = (2_u32..).map(|count| format!("{name}#{count}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !seen.contains(name)).unwrap_or(name);
    seen.insert(free.clone());
    free
}

/// The worktree of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ItemWorktree {
    pub(crate) branch: String,
    /// Absolute.
    pub(crate) folder: Utf8PathBuf,
}

impl ItemWorktree {
    /// Returns the worktree of an item of a step. `base` is the commit that the loop began at: a loop that begins again at another one gets new
    /// worktrees.
    pub(crate) fn of(header: &Header, (step, base): (&str, &str), item: &str) -> Self {
        let base = &base[..base.len().min(8)];
        Self::at(header, format!("{}{}-{base}/{}", Self::branches(&header.session), slug(step), slug(item)))
    }

    /// Returns what the branches of the items of a session begin with.
    pub(crate) fn branches(session: &str) -> String {
        // `piton/SESSION` is a branch, so nothing can be below it.
        format!("piton/{}.items/", slug(session))
    }

    /// Returns the worktree with such a branch.
    pub(crate) fn at(header: &Header, branch: String) -> Self {
        let folder = header.worktrees.join(branch.trim_start_matches("piton/"));
        Self { branch, folder }
    }
}

/// What the reason of a merge in conflict begins with, before its files.
pub(crate) const CONFLICTS: &str = "conflicts in ";
const NOT_MERGED: &str = " cannot be merged: ";

/// Says that an item cannot be merged, and why.
pub(crate) fn not_merged(item: &str, why: &str) -> String {
    format!("{item}{NOT_MERGED}{why}")
}

/// Says how a person helps an item that cannot be merged, and what goes on then. `branch` is the one that it is merged into; without one, that
/// is what is checked out in the project.
pub(crate) fn way_to_merge(header: &Header, merged: &ItemWorktree, branch: Option<&str>, why: &str) -> String {
    let folder = quoted(merged.folder.as_str());
    let here = || format!("\"$(git -C {} rev-parse HEAD)\"", quoted(header.root.as_str()));
    let theirs = branch.map_or_else(here, quoted);
    let fix = match why.starts_with(CONFLICTS) {
        true => format!("To resolve: `git -C {folder} merge {theirs}`, resolve the conflicts and commit"),
        false => format!("To see what is in the way: `git -C {folder} status`"),
    };
    format!("{fix}; then: `{}`", header.resume())
}

/// Returns a finding about the item of an open loop that could not be merged.
pub(super) fn failed_merge(header: &Header, step: &str, state: &StepState) -> Option<Finding> {
    let names = item_names(state.items.as_ref().filter(|_| state.status != Status::Completed)?);
    let mut merges = names.iter().zip(merge_names(&names));
    let (item, merge) = merges.find(|(_, merge)| state.parts.get(merge) == Some(&Status::Failed))?;
    let message = state.part_errors.get(&merge)?;
    let (_, why) = message.split_once(NOT_MERGED)?;
    let merged = ItemWorktree::of(header, (step, state.head.as_deref()?), item);
    let finding = Finding::new(FindingCode::MergeFailed, clean_line(message, 500)).on(&StepId::new(step));
    Some(finding.fix(way_to_merge(header, &merged, header.branch.as_deref(), why)))
}

/// Returns a text as a part of the names of branches and folders: one with other characters than letters, digits, `-` and `_` loses them and
/// gets a digest.
fn slug(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !text.is_empty() && text.len() <= 60 && !text.starts_with('-') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let words = text.split(|c| !is_plain(c)).filter(|word| !word.is_empty());
    let plain: String = words.collect::<Vec<_>>().join("-").chars().take(40).collect();
    let digest = &sha256_hex(text.as_bytes())[..8];
    format!("{}-{digest}", plain.trim_matches('-')).trim_start_matches('-').to_owned()
}

/// Returns the id of an item of a step: `build[linux]`. A step has no bracket in its id.
pub(crate) fn item_id(step: &str, item: &str) -> String {
    format!("{step}[{item}]")
}

/// Returns the name of the log of an item, without its extension: its id, with what a file name may not have as `%2F`.
pub(crate) fn log_name(step: &str, item: &str) -> String {
    item_id(step, &in_file(item))
}

/// Returns the id of a step inside of an item, or the name of its log, from that of the item: `build[linux].test` in a group, else that of the
/// item. `top` is the step with the items.
pub(crate) fn id_inside(item: &str, top: &str, inner: &str) -> String {
    let inner = name_inside(top, inner);
    if inner == "1" { item.to_owned() } else { format!("{item}.{inner}") }
}

/// Returns the id of a step inside of a loop without that of the loop.
pub(crate) fn name_inside<'a>(top: &str, inner: &'a str) -> &'a str {
    inner.strip_prefix(top).and_then(|inner| inner.strip_prefix('.')).unwrap_or(inner)
}

/// Returns the name of the file with what an attempt printed. `log` is the id of a step, or of an item as [`log_name`] writes it.
pub(crate) fn log_file(log: &str, attempt: u32) -> String {
    format!("{log}.{attempt}.log")
}

/// Returns the log and the attempt of a file that [`log_file`] names.
pub(crate) fn log_of(file: &str) -> Option<(&str, u32)> {
    let (log, attempt) = file.strip_suffix(".log")?.rsplit_once('.')?;
    Some((log, attempt.parse().ok()?))
}

fn in_file(item: &str) -> String {
    let mut name = String::with_capacity(item.len());
    for byte in item.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.,+=@# ".contains(&byte) {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    if name.len() <= LONGEST_IN_FILE {
        return name;
    }
    name.truncate(LONGEST_IN_FILE);
    format!("{name}~{}", &sha256_hex(item.as_bytes())[..8])
}

/// Tells whether a name is the id of a step, or that of an item of it or a step inside it; logs have such names.
pub(crate) fn is_inside(name: &str, step: &str) -> bool {
    name.strip_prefix(step).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ItemWorktree, StepState, is_inside, item_names, log_file, log_name, log_of, merge_names, part_names};
    use crate::{
        dialect::piton::{
            facts::{BegunStep, ItemProgress},
            testing::header,
        },
        model::Status,
    };

    #[test]
    fn items_are_named_by_their_values() {
        let long = "x".repeat(200);
        let items = [json!("a"), json!("b"), json!("a"), json!({"n": 1}), json!("a\nb"), json!(long), json!("a#2")];
        let names = item_names(&items);
        assert_eq!(names[..4], ["a", "b", "a#2", "{\"n\":1}"]);
        assert!(names[4].starts_with("a b #") && names[4].len() == 13, "{}", names[4]);
        assert!(names[5].chars().count() == 90, "{}", names[5]);
        assert_eq!(names[6], "a#2#2", "a name is never given twice");
    }

    #[test]
    fn merges_are_named_unlike_items() {
        let items = ["a", "merge of a"].map(str::to_owned);
        assert_eq!(merge_names(&items), ["merge of a#2", "merge of merge of a"]);
        let each = json!({"foreach": {"worktree": "each"}});
        assert_eq!(part_names(&[json!("a")], &each), ["a", "merge of a"]);
        assert_eq!(part_names(&[json!("a")], &json!({"foreach": {}})), ["a"]);
    }

    #[test]
    fn a_step_that_was_cut_off_for_an_item_is_a_part_until_it_is_settled() {
        let begun = |number| Some(BegunStep { number, name: "push".to_owned() });
        let progress = |number| ItemProgress { begun: begun(number), ..ItemProgress::default() };
        let state = StepState {
            items: Some(vec![json!("a"), json!("a.push"), json!("b")]),
            item_progress: [("a", progress(2)), ("b", progress(1))].map(|(item, of)| (item.to_owned(), of)).into(),
            ..StepState::default()
        };
        let parts: Vec<(String, String)> =
            state.cut_off_steps().into_iter().map(|step| (step.id("l"), step.part)).collect();
        let expected = [("l[a].push", "a.push#2"), ("l[b].push", "b.push")];
        assert_eq!(parts, expected.map(|(id, part)| (id.to_owned(), part.to_owned())));
        for (part, ended, is_known, passed) in [
            ("a.push#2", Status::Completed, true, 2),
            ("a.push#2", Status::Skipped, true, 2),
            ("a.push#2", Status::Failed, true, 0),
            ("a.push", Status::Completed, false, 0),
        ] {
            let mut state = state.clone();
            assert_eq!(state.settle(part, ended), is_known, "{part}");
            assert_eq!(state.item_progress["a"].passed.len(), passed, "{part} {ended}");
            assert_eq!(state.cut_off_steps().len(), if is_known { 1 } else { 2 }, "{part}");
        }
    }

    #[test]
    fn a_worktree_has_a_branch_that_git_takes() {
        let header = header();
        let of = |step: &str, item: &str| ItemWorktree::of(&header, (step, "0123456789"), item);
        let plain = of("build", "linux");
        assert_eq!(plain.branch, "piton/session-1.items/build-01234567/linux");
        assert_eq!(plain.folder, "/home/worktrees/session-1.items/build-01234567/linux");
        for item in ["..", "a b", "a/b", "-x", "a.lock", "", "@{", "ö"] {
            let branch = of("b:1.2", item).branch;
            let last = branch.rsplit('/').next().expect("a last part");
            assert!(!last.is_empty() && last.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{branch}");
            assert!(!last.starts_with('-') && branch.matches('/').count() == 3, "{branch}");
        }
        assert_ne!(of("b", "a b"), of("b", "a/b"));
    }

    #[test]
    fn a_log_has_a_name_that_every_file_system_takes() {
        assert_eq!(log_name("build", "linux"), "build[linux]");
        assert_eq!(log_name("build", "src/a b.rs"), "build[src%2Fa b.rs]");
        assert_eq!(log_name("build", "../ö]"), "build[..%2F%C3%B6%5D]");
        let (one, other) = (log_name("b", &"ö".repeat(80)), log_name("b", &format!("{}x", "ö".repeat(79))));
        assert!(one.len() < 140 && one != other, "{one} {other}");
        for log in ["1", "1.2", "build[a.1]"] {
            assert_eq!(log_of(&log_file(log, 12)), Some((log, 12)));
        }
    }

    #[test]
    fn what_is_inside_a_step_begins_with_its_id() {
        for (name, expected) in
            [("1", true), ("1.1", true), ("1[a]", true), ("10", false), ("1-a", false), ("2[1]", false)]
        {
            assert_eq!(is_inside(name, "1"), expected, "{name}");
        }
    }
}
