//! The systems that keep check lists, and what a path says about them.

use crate::{dialect::guest, model::RelPath};

/// A system with check lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ListKind {
    SpecKit,
    OpenSpec,
    Superpowers,
    PlanMode,
}

impl ListKind {
    pub(super) const ALL: [Self; 4] = [Self::SpecKit, Self::OpenSpec, Self::Superpowers, Self::PlanMode];

    /// Returns the name of the workflow.
    pub(super) const fn workflow(self) -> &'static str {
        match self {
            Self::SpecKit => "speckit",
            Self::OpenSpec => "openspec",
            Self::Superpowers => "superpowers",
            Self::PlanMode => "plan-mode",
        }
    }

    /// Returns its name in a sentence.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SpecKit => "Spec Kit",
            Self::OpenSpec => "OpenSpec",
            Self::Superpowers => "superpowers",
            Self::PlanMode => "plan mode",
        }
    }

    /// Returns what the ids of its runs begin with.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::SpecKit => "speckit-",
            Self::OpenSpec => "openspec-",
            Self::Superpowers => "superpowers-",
            Self::PlanMode => "plan-",
        }
    }

    /// Returns the system of a run, by its id.
    pub(super) fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| id.starts_with(kind.prefix()))
    }
}

/// A check list, by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListPath {
    pub(super) kind: ListKind,
    /// The feature, change or plan.
    pub(super) subject: String,
    /// The package that it belongs to; empty at the top.
    pub(super) package: String,
}

/// Returns the check list that a path names. `proposal.md` of OpenSpec stands for a change without one.
pub(super) fn list_path(path: &str) -> Option<ListPath> {
    let parts: Vec<&str> = path.split('/').collect();
    let n = parts.len();
    let found = |kind: ListKind, subject: &str, own: usize| {
        let package = n.checked_sub(own)?;
        (package <= guest::PACKAGE_DEPTH).then(|| ListPath {
            kind,
            subject: subject.to_owned(),
            package: parts[..package].join("/"),
        })
    };
    match parts.as_slice() {
        [.., ".specify", "specs", feature, "tasks.md"] => found(ListKind::SpecKit, feature, 4),
        [.., "openspec", "changes", change, "tasks.md" | "proposal.md"] if *change != "archive" => {
            found(ListKind::OpenSpec, change, 4)
        }
        [.., "specs", feature, "tasks.md"] => found(ListKind::SpecKit, feature, 3),
        [.., "docs", "superpowers", "plans", plan] if plan.ends_with(".md") => {
            found(ListKind::Superpowers, plan.trim_end_matches(".md"), 4)
        }
        [.., "docs", "plans", plan] if plan.ends_with(".md") => {
            found(ListKind::Superpowers, plan.trim_end_matches(".md"), 3)
        }
        _ => None,
    }
}

/// Tells whether a list is in a folder of copies.
pub(super) fn is_copy(path: &RelPath) -> bool {
    // The name of a feature or change is no folder of copies.
    let own = list_path(path.as_str()).map(|list| list.subject);
    let folder = path.parent();
    let folders = folder.iter().flat_map(|folder| folder.as_str().split('/'));
    guest::has_copies(folders.filter(|part| Some(*part) != own.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::{ListKind, is_copy, list_path};
    use crate::model::RelPath;

    #[test]
    fn a_list_is_known_by_its_path() {
        for (path, kind, subject, package) in [
            ("specs/001-a/tasks.md", ListKind::SpecKit, "001-a", ""),
            (".specify/specs/001-a/tasks.md", ListKind::SpecKit, "001-a", ""),
            ("apps/web/specs/é-b/tasks.md", ListKind::SpecKit, "é-b", "apps/web"),
            ("openspec/changes/add-x/tasks.md", ListKind::OpenSpec, "add-x", ""),
            ("openspec/changes/add-x/proposal.md", ListKind::OpenSpec, "add-x", ""),
            ("docs/superpowers/plans/2026-01-02-x.md", ListKind::Superpowers, "2026-01-02-x", ""),
            ("a/b/c/docs/plans/x.md", ListKind::Superpowers, "x", "a/b/c"),
        ] {
            let found = list_path(path).unwrap_or_else(|| panic!("{path}"));
            assert_eq!(
                (found.kind, found.subject.as_str(), found.package.as_str()),
                (kind, subject, package),
                "{path}"
            );
        }
        for path in [
            "specs/tasks.md",
            "tasks.md",
            "openspec/changes/archive/tasks.md",
            "openspec/changes/archive/x/tasks.md",
            "docs/plans/a/b.md",
            "a/b/c/d/specs/x/tasks.md",
            "specs/001-a/plan.md",
        ] {
            assert_eq!(list_path(path), None, "{path}");
        }
    }

    #[test]
    fn copies_are_known_by_their_folders() {
        for (path, expected) in [
            ("specs/001-test-archive/tasks.md", false),
            ("tests/specs/001-a/tasks.md", true),
            ("templates/specs/001-a/tasks.md", true),
            ("backup-2026/openspec/changes/a/tasks.md", true),
            ("docs/plans/tests.md", false),
        ] {
            assert_eq!(is_copy(&RelPath::parse(path).unwrap()), expected, "{path}");
        }
    }
}
