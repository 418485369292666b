//! Detects what changed since the state was saved: story sections, the plan, the files under work, branches, agents
//! (docs/formats/aios.md#conflicts). The earlier content comes from git; without git nothing is compared.

use std::collections::BTreeSet;

use super::{execution, layout, resume_point};
use crate::{
    dialect::{
        GitComparison, Loaded,
        story::{self, SectionKind},
    },
    model::{
        CommittedFile, CommittedStateQuery, Evidence, FileFact, FileSet, Finding, FindingCode, OutputRequest,
        ReferencedFile, RelPath, Run, Severity, Step, StepKind, Suggested, quoted,
    },
};

/// Maximum number of files that are compared.
const FILE_LIMIT: usize = 300;

/// Folders in which the frameworks keep their agents.
const AGENT_FOLDERS: [&str; 4] = [
    ".aiox-core/development/agents",
    ".aios-core/development/agents",
    ".claude/commands/AIOS/agents",
    ".claude/agents",
];
const STANDARD_AGENTS: [&str; 8] = ["po", "pm", "sm", "dev", "qa", "architect", "analyst", "devops"];

/// Adds the evidence that [`compare_with_git`] needs.
pub(super) fn add_wanted(files: &FileSet, loaded: &mut Loaded) {
    let Some(run) = &loaded.run else { return };
    let base = base(files);
    let wanted = &mut loaded.wanted;
    if let Some(since) = run.stamp {
        let mut paths: Vec<RelPath> = Vec::new();
        let plan = run.workspace.plan_reference.as_deref().and_then(|plan| RelPath::parse(plan).ok());
        let stories = run.steps.iter().filter_map(|step| step.file.clone());
        let targets = run.steps.iter().filter(|step| is_open(step)).flat_map(|step| targets(base, step));
        for path in plan.into_iter().chain(stories).chain(targets).take(FILE_LIMIT) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        wanted.past = Some(CommittedStateQuery { since, files: paths });
    }
    wanted.outputs = OutputRequest::of(&run.steps);
    wanted.commits.extend(run.steps.iter().filter_map(|step| step.commit.clone()));
    wanted.branches.extend(run.workspace.branch.clone());
    let agents: BTreeSet<&str> =
        run.steps.iter().filter_map(|step| step.agent.as_deref()).chain(STANDARD_AGENTS).collect();
    wanted.documents.extend(agents.into_iter().flat_map(|agent| agent_files(base, agent)));
    wanted.documents.extend(template(files, run));
}

/// Returns the template that the execution plan names for the stories that are left.
fn template(files: &FileSet, run: &Run) -> Option<RelPath> {
    let plan = RelPath::parse(run.workspace.plan_reference.as_deref()?).ok()?;
    let template = execution::read(files.bytes(&plan)?)?.template?;
    RelPath::parse(&format!("{}{template}", base(files))).ok()
}

fn base(files: &FileSet) -> &str {
    layout::split(files.state.as_str()).map_or("", |parts| parts.base)
}

fn is_open(step: &Step) -> bool {
    !step.status.is_over()
}

fn targets(base: &str, step: &Step) -> Vec<RelPath> {
    step.detail.targets.iter().filter_map(|path| RelPath::parse(&format!("{base}{path}")).ok()).collect()
}

fn agent_files(base: &str, agent: &str) -> Vec<RelPath> {
    AGENT_FOLDERS.iter().filter_map(|folder| RelPath::parse(&format!("{base}{folder}/{agent}.md")).ok()).collect()
}

/// Compares the run with what git has of its files.
pub(super) fn compare_with_git(files: &FileSet, run: &Run, evidence: &Evidence) -> GitComparison {
    let mut comparer = GitComparer { files, run, evidence, comparison: GitComparison::default() };
    let open = run.steps.iter().find(|step| is_open(step));
    comparer.plan();
    comparer.stories(open);
    if let Some(open) = open {
        comparer.work();
        comparer.branch();
        comparer.agent(open);
        comparer.template();
    }
    comparer.outputs();
    comparer.comparison
}

struct GitComparer<'a> {
    files: &'a FileSet,
    run: &'a Run,
    evidence: &'a Evidence,
    comparison: GitComparison,
}

impl GitComparer<'_> {
    fn past(&self, path: &RelPath) -> Option<&CommittedFile> {
        self.evidence.past.as_ref()?.files.get(path)
    }

    fn report(&mut self, finding: Finding) {
        self.comparison.findings.push(finding);
    }

    fn row(&mut self, path: &RelPath, role: String, critical: bool, found: String) {
        let file = path.as_str().to_owned();
        self.comparison.compared.push(ReferencedFile { file, role, critical, found });
    }

    fn is_there(&self, path: &RelPath) -> bool {
        self.files.problem(path).is_none()
    }

    fn plan(&mut self) {
        let plan = self.run.workspace.plan_reference.as_deref().and_then(|plan| RelPath::parse(plan).ok());
        let Some(plan) = plan else { return };
        let now = self.files.bytes(&plan);
        let found = match (now, self.past(&plan)) {
            (None, _) => "missing".to_owned(),
            (Some(_), None) => "present; git has no earlier version".to_owned(),
            (Some(now), Some(past)) if past.content.as_deref() == Some(now) => "unchanged".to_owned(),
            (Some(_), Some(_)) => {
                let message = "the execution plan changed after the state was saved";
                let finding = Finding::new(FindingCode::WorkChanged, message).at(&plan);
                self.report(finding.fix("compare the waves and stories of the plan with the state"));
                "changed".to_owned()
            }
        };
        self.row(&plan, "execution plan".to_owned(), true, found);
    }

    fn stories(&mut self, open: Option<&Step>) {
        let mut seen = BTreeSet::new();
        for step in &self.run.steps {
            let Some(path) = step.file.as_ref().filter(|path| seen.insert((*path).clone())) else { continue };
            let id = resume_point::story_of(self.run, &step.id).unwrap_or_else(|| path.name()).to_owned();
            let found = if self.is_there(path) { self.compare(path, &id, step, open) } else { "missing".to_owned() };
            self.row(path, format!("story of {id}"), open.is_some(), found);
        }
    }

    /// Compares a story with its saved version, section by section.
    fn compare(&mut self, path: &RelPath, id: &str, step: &Step, open: Option<&Step>) -> String {
        if *path == self.files.state {
            return "is the state itself".to_owned();
        }
        let Some(past) = self.past(path).cloned() else { return "present; git has no earlier version".to_owned() };
        let (Some(then), Some(now)) = (past.content.as_deref(), self.files.bytes(path)) else {
            return "created since".to_owned();
        };
        if then == now {
            return "unchanged".to_owned();
        }
        let (then, now) = (story::parse(path, then), story::parse(path, now));
        let changed = |kinds: &[(SectionKind, &'static str)]| -> Vec<&'static str> {
            let differs = |kind: SectionKind| then.section(kind) != now.section(kind);
            kinds.iter().filter(|(kind, _)| differs(*kind)).map(|(_, name)| *name).collect()
        };
        let (requirements, notes, others) =
            (changed(&REQUIREMENT_SECTIONS), changed(&NOTE_SECTIONS), changed(&OTHER_SECTIONS));
        let all = [requirements.as_slice(), &notes, &others].concat().join(", ");
        let (severity, what, tail) = if !requirements.is_empty() {
            let is_reviewed =
                open.is_some_and(|open| is_review(open) && (open.id == step.id || self.is_of_one_story()));
            let severity = if is_reviewed { Severity::Blocking } else { Severity::Warning };
            (severity, requirements, "completed work may not match the new requirements")
        } else if !notes.is_empty() {
            // Uncommitted changes may be the interrupted work itself.
            let severity = if past.is_committed_since { Severity::Warning } else { Severity::Info };
            (severity, notes, "check whether this affects the interrupted work")
        } else if !others.is_empty() {
            (Severity::Info, others, "this is a result of the work itself")
        } else {
            (Severity::Info, vec!["only whitespace"], "the content is the same")
        };
        let message = format!("the story of {id} was modified since the state was saved ({}): {tail}", what.join(", "));
        let finding = Finding::new(FindingCode::StoryChanged, message).at(path);
        let commit = self.evidence.past.as_ref().map_or("", |past| past.commit.as_str());
        let short: String = commit.chars().take(12).collect();
        let fix = Suggested::Other(format!("git diff {short} -- {}", quoted(path.as_str())));
        self.report(Finding { severity, ..finding.fix(fix) });
        if all.is_empty() { "whitespace changed".to_owned() } else { format!("changed: {all}") }
    }

    fn is_of_one_story(&self) -> bool {
        self.run.workflow != "epic-execution"
    }

    /// Reports files of open steps that commits have changed since.
    fn work(&mut self) {
        let base = base(self.files).to_owned();
        let mut seen = BTreeSet::new();
        let mut changed = Vec::new();
        for step in self.run.steps.iter().filter(|step| is_open(step)) {
            for path in targets(&base, step) {
                let Some(past) = self.past(&path).filter(|_| seen.insert(path.clone())) else { continue };
                let is_changed = past.is_committed_since;
                let found = if is_changed { "changed by later commits" } else { "not changed by later commits" };
                self.row(&path, "file used by the run".to_owned(), false, found.to_owned());
                if is_changed {
                    changed.push(path.as_str().to_owned());
                }
            }
        }
        if let Some(first) = changed.first() {
            let more = if changed.len() > 1 { format!(" and {} more", changed.len() - 1) } else { String::new() };
            let message = format!("commits made after the state was saved changed {first}{more}, which the run uses");
            let commit = self.evidence.past.as_ref().map_or("", |past| past.commit.as_str());
            let short: String = commit.chars().take(12).collect();
            let log = Suggested::Other(format!("git log --oneline {short}..HEAD"));
            self.report(Finding::new(FindingCode::WorkChanged, message).fix(log));
        }
    }

    /// Reports that the branch of the state is gone or not checked out. Stories have their own branches, so this is only a
    /// warning.
    fn branch(&mut self) {
        let Some(branch) = self.run.workspace.branch.as_deref() else { return };
        if self.evidence.branches.get(branch) == Some(&false) {
            let message = format!("the branch {branch} that the state names does not exist");
            let finding = Finding::new(FindingCode::BranchMismatch, message).at(&self.files.state);
            let finding = finding.fix("git branch --all; then correct the branch in the state, or restore it");
            self.report(Finding { severity: Severity::Warning, ..finding });
        } else if let Some(current) = self.evidence.checked_out.as_deref().filter(|current| *current != branch) {
            let message = format!("the state was saved on branch {branch}, but {current} is checked out");
            let finding = Finding::new(FindingCode::BranchMismatch, message).at(&self.files.state);
            let finding = finding.fix(Suggested::Other(format!("git checkout {}", quoted(branch))));
            self.report(Finding { severity: Severity::Warning, ..finding });
        }
    }

    /// Reports that the next agent is missing from the project's agent folder.
    fn agent(&mut self, open: &Step) {
        let base = base(self.files);
        let is_there = |path: &RelPath| matches!(self.evidence.files.get(path), Some(FileFact::Present { .. }));
        let Some(agent) = &open.agent else { return };
        let known = STANDARD_AGENTS.iter().flat_map(|agent| agent_files(base, agent)).find(|path| is_there(path));
        if let Some(known) = known.filter(|_| !agent_files(base, agent).iter().any(is_there)) {
            let message = format!("{} needs @{agent}, which the project does not have", open.id);
            // Where the others are.
            let folder = known.parent().map_or_else(String::new, |folder| format!("{folder}/"));
            let fix = format!("add {folder}{agent}.md, or use another agent");
            self.report(Finding::new(FindingCode::AgentMissing, message).on(&open.id).fix(fix));
        }
    }

    /// Reports a template that the plan names and the project does not have.
    fn template(&mut self) {
        let Some(template) = template(self.files, self.run) else { return };
        let is_there = matches!(self.evidence.files.get(&template), Some(FileFact::Present { .. }));
        if !is_there {
            let message = format!("the execution plan names the template {template}, which is missing");
            let finding = Finding::new(FindingCode::FileMissing, message).at(&template);
            let fix = "restore it from git, or correct `template` in the plan";
            self.report(Finding { severity: Severity::Warning, ..finding.fix(fix) });
        }
        self.row(&template, "template".to_owned(), false, if is_there { "present" } else { "missing" }.to_owned());
    }

    fn outputs(&mut self) {
        for step in &self.run.steps {
            for path in &step.proof.outputs {
                let found = match self.evidence.files.get(path) {
                    Some(FileFact::Present { parses: Some(false), .. }) => "present, but does not parse".to_owned(),
                    Some(FileFact::Present { .. }) => "there".to_owned(),
                    Some(FileFact::Unreadable(why)) => format!("cannot be read: {why}"),
                    Some(FileFact::Missing) | None if is_open(step) => "not created yet".to_owned(),
                    Some(FileFact::Missing) | None => "missing".to_owned(),
                };
                self.row(path, format!("output of {}", step.id), !is_open(step), found);
            }
        }
    }
}

fn is_review(step: &Step) -> bool {
    step.kind == StepKind::Review || step.id.as_str() == "4_quality_gate"
}

const REQUIREMENT_SECTIONS: [(SectionKind, &str); 3] = [
    (SectionKind::Acceptance, "acceptance criteria"),
    (SectionKind::Scope, "scope"),
    (SectionKind::UserStory, "user story"),
];
const NOTE_SECTIONS: [(SectionKind, &str); 3] = [
    (SectionKind::DevNotes, "Dev Notes"),
    (SectionKind::ChangeLog, "Change Log"),
    (SectionKind::FileList, "File List"),
];
const OTHER_SECTIONS: [(SectionKind, &str); 6] = [
    (SectionKind::Header, "header"),
    (SectionKind::Status, "status"),
    (SectionKind::Tasks, "tasks"),
    (SectionKind::Review, "QA results"),
    (SectionKind::Executor, "executor"),
    (SectionKind::Other, "other sections"),
];

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
