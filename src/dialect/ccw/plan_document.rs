//! Compares the tasks that the plan document names with the task files (docs/formats/ccw.md#checks-before-a-resume). Its text is only read for ids.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ids,
    session_files::{SessionFiles, first_of},
};
use crate::model::{Content, Finding, FindingCode};

/// Reports tasks that only the plan document or only the task folder names.
pub(super) fn report(session_files: &SessionFiles<'_>, findings: &mut Vec<Finding>) {
    let Some(path) = session_files.layout.plan_in(session_files.files) else { return };
    let content = session_files.files.files.get(path).map(|entry| &entry.content);
    let Some(Content::Bytes(bytes)) = content else { return };
    let text = String::from_utf8_lossy(bytes);
    let tasks = || session_files.tasks.iter().filter(|task| task.location.path().is_some());
    // Requirements and tickets have ids of the same form, so only the words that the session uses for its tasks count.
    let words: BTreeSet<String> = tasks().map(|task| ids::word_of(task.id.as_str())).collect();
    let mut named: BTreeSet<String> = BTreeSet::new();
    let mut unknown: BTreeMap<String, &str> = BTreeMap::new();
    for token in tokens(&text).filter(|token| ids::is_task_shaped(token) && words.contains(&ids::word_of(token))) {
        let known = session_files.index.find_leading(token).map(|at| &session_files.tasks[at]);
        if let Some(task) = known.filter(|task| task.location.path().is_some()) {
            named.insert(ids::loose_key(task.id.as_str()));
            continue;
        }
        let id = without_words(token);
        named.insert(ids::loose_key(id));
        unknown.entry(ids::loose_key(id)).or_insert(id);
    }
    let groups: BTreeSet<String> = tasks().flat_map(|task| ids::ancestors(task.id.as_str())).collect();
    let unknown: Vec<&str> =
        unknown.into_iter().filter(|(key, _)| !groups.contains(key)).map(|(_, token)| token).collect();
    if !unknown.is_empty() {
        let message = format!("{} names tasks without a file in .task: {}", path.name(), first_of(&unknown));
        findings.push(Finding::new(FindingCode::PlanMismatch, message).at(path));
    }
    let is_named = |id: &str| {
        named.contains(&ids::loose_key(id)) || ids::ancestors(id).iter().any(|ancestor| named.contains(ancestor))
    };
    let unplanned: Vec<&str> = tasks().map(|task| task.id.as_str()).filter(|id| !is_named(id)).collect();
    // A plan document that names no task at all is about something else.
    if !unplanned.is_empty() && !named.is_empty() {
        let message = format!("{} does not name these tasks: {}", path.name(), first_of(&unplanned));
        findings.push(Finding::new(FindingCode::PlanMismatch, message).at(path));
    }
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.split(move |c: char| !is_part(c)).map(ids::leading_token).filter(|token| !token.is_empty())
}

/// Returns an id without what follows its number: `IMPL-7` of `IMPL-7-summary.md`.
fn without_words(token: &str) -> &str {
    let mut id = token;
    while let Some((head, tail)) = id.rsplit_once(['-', '.']) {
        if tail.starts_with(|c: char| c.is_ascii_digit()) {
            break;
        }
        id = head;
    }
    id
}

#[cfg(test)]
mod tests {
    use crate::dialect::ccw::testing::{files, load};

    fn messages(plan: &str, tasks: &[&str]) -> Vec<String> {
        let named: Vec<(String, String)> =
            tasks.iter().map(|id| (format!(".task/{id}.json"), format!("{{\"id\":\"{id}\"}}"))).collect();
        let mut all: Vec<(&str, &str)> = named.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        all.push(("IMPL_PLAN.md", plan));
        let findings = load(&files(&all)).findings;
        let told = findings.into_iter().filter(|finding| finding.code.as_str() == "plan-mismatch");
        told.map(|finding| finding.message).collect()
    }

    #[test]
    fn plan_and_tasks_are_compared_by_the_ids_they_name() {
        let one = "IMPL_PLAN.md names tasks without a file in .task: IMPL-7";
        let other = "IMPL_PLAN.md does not name these tasks: IMPL-2";
        let rows: [(&str, &[&str], &[&str]); 9] = [
            ("- IMPL-1\n- IMPL-2: see IMPL-2-summary.md, .task/IMPL-2.json.", &["IMPL-1", "IMPL-2"], &[]),
            ("IMPL-001, impl-2 and IMPL-7.", &["IMPL-1", "IMPL-2"], &[one]),
            ("`IMPL-7-summary.md` [IMPL-7](.task/IMPL-7.json) IMPL-1, IMPL-2", &["IMPL-1", "IMPL-2"], &[one]),
            ("IMPL-1", &["IMPL-1", "IMPL-2"], &[other]),
            ("IMPL-1 and IMPL-7", &["IMPL-1", "IMPL-2"], &[one, other]),
            // A group names its tasks, and a task its group.
            ("IMPL-1: all of it", &["IMPL-1.1", "IMPL-1.2"], &[]),
            ("IMPL-1: IMPL-1.1 and IMPL-1.2", &["IMPL-1.1", "IMPL-1.2"], &[]),
            // Ids of other things are not tasks, and a plan without tasks is about something else.
            ("REQ-1, UTF-8, ISO-8601, TEST-3; IMPL-1", &["IMPL-1"], &[]),
            ("# Plan\n", &["IMPL-1"], &[]),
        ];
        for (plan, tasks, expected) in rows {
            assert_eq!(messages(plan, tasks), expected, "{plan}");
        }
    }
}
