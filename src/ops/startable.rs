//! Which runs Piton can start, under which names, and whether git shows their state.

use std::collections::BTreeSet;

use camino::Utf8Path;

use super::{OpError, opened_run::OpenedRun, workflow_file};
use crate::{
    dialect::{DIALECTS, Dialect, Unversioned},
    model::{DialectId, Edit, Finding, FindingCode, RelPath, Suggested, Verb, is_journal_folder},
    store::{self, Project},
};

/// Returns the built-in workflow of this name, which takes precedence over one of the project.
pub(super) fn built_in(workflow: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.iter().find(|dialect| dialect.start().can_start() && dialect.id().as_str() == workflow).copied()
}

/// Returns the command that starts such a run anew after it was archived; `None` if piton cannot start it.
pub(super) fn again(project: &Project, opened: &OpenedRun) -> Option<Suggested> {
    let dialect = opened.dialect.id().as_str();
    let workflow = opened.loaded.run.as_ref().map_or(dialect, |run| run.workflow.as_str());
    let in_worktree = opened.loaded.run.as_ref().is_some_and(|run| run.workspace.outside.is_some());
    let is_known = match built_in(workflow) {
        Some(found) => found.id() == opened.dialect.id(),
        None => {
            opened.candidate.dialect == DialectId::Piton
                && matches!(workflow_file::find(project, workflow, in_worktree), Ok(Some(_)))
        }
    };
    let feature = opened.loaded.run.as_ref().map_or(opened.candidate.name.as_str(), |run| run.id.as_str());
    let start = Suggested::of(Verb::Start, workflow).option("feature", feature);
    (is_known && check_feature_name(feature).is_ok()).then(|| start.flags(in_worktree.then_some("worktree")))
}

/// Returns the finding for a run that begins with files that git does not ignore, with the lines that make it ignore them; only a person writes
/// those (docs/formats/nine-step.md#state-and-git).
pub(super) fn shown_by_git(
    project: &Project,
    dialect: &dyn Dialect,
    root: &Utf8Path,
    edits: &[Edit],
) -> Option<Finding> {
    project.git.as_ref().filter(|git| !root.starts_with(&git.common_dir))?;
    let mut kept_out = dialect.start().unversioned(&project.config);
    if kept_out.is_empty() {
        let folders = edits.iter().filter_map(|edit| RelPath::below(&edit.path.parent()?.under(root), &project.root));
        kept_out = folders.collect::<BTreeSet<RelPath>>().iter().map(Unversioned::folder).collect();
    }
    let paths: Vec<&str> = kept_out.iter().map(|one| one.path.as_str()).collect();
    let shown = store::git::not_ignored(&project.root, &paths);
    let lines = kept_out.iter().filter(|one| shown.contains(&one.path.as_str()));
    let lines: Vec<String> = lines.map(|one| format!("`{}`", one.pattern)).collect();
    let message = "git does not ignore the state of the run, so `git add --all` stages it with the work";
    let fix = format!("add to .gitignore: {}", lines.join(", "));
    (!lines.is_empty()).then(|| Finding::new(FindingCode::StateShown, message).fix(fix))
}

pub(super) fn check_feature_name(feature: &str) -> Result<(), OpError> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = RelPath::parse(feature).is_ok()
        && feature.chars().all(plain)
        && !feature.starts_with(['.', '-'])
        && feature.len() <= 100
        && !is_journal_folder(feature);
    if fits {
        return Ok(());
    }
    Err(OpError::Usage {
        message:
            "--feature becomes the name of a file and a branch: letters, digits, `-`, `_` and `.`, at most 100 bytes, \
             without the name of a system and a `.` at its beginning"
                .to_owned(),
        hints: vec![format!("for instance: --feature {}", cleaned(feature)).into()],
    })
}

/// Returns the nearest name that is accepted.
fn cleaned(feature: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '_' | '.') { c } else { ' ' };
    let words: String = feature.chars().map(plain).collect();
    let mut name = words.split_whitespace().collect::<Vec<_>>().join("-").trim_start_matches(['.', '-']).to_owned();
    while name.len() > 100 {
        name.pop();
    }
    let name = if is_journal_folder(&name) { name.replacen('.', "-", 1) } else { name };
    if name.is_empty() { "user-auth".to_owned() } else { name }
}
