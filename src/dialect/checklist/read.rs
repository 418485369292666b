//! Reads a run of a check list.

use super::{
    grammar,
    kind::{self, ListKind},
    ledger::{self, EntryKind},
    list::{Claim, TaskList, Wording},
    outline::Outline,
    run, words,
};
use crate::{
    dialect::{Loaded, guest},
    model::{
        Action, CommitSpan, Doubt, FileSet, Finding, FindingCode, FollowUp, GuestWord, RelPath, Run, Status, Step,
        StepId, StepKind, Weight, first_names,
    },
};

/// Number of open boxes that a gate names.
const NAMED: usize = 5;

/// Reads a run.
pub(super) fn load(files: &FileSet) -> Loaded {
    guest::state(files).map_or_else(|unreadable| *unreadable, |bytes| read(files, bytes))
}

fn read(files: &FileSet, bytes: &[u8]) -> Loaded {
    let kind = kind_of(files);
    if kind == ListKind::OpenSpec && files.state.name() == "proposal.md" {
        return without_list(files);
    }
    let text = String::from_utf8_lossy(bytes);
    let list = list_of(kind, &files.state, &text);
    let mut run = run::build(kind, &files.name, &files.state, &list);
    let mut findings = run::findings(&files.state, &list);
    if std::str::from_utf8(bytes).is_err() {
        findings.push(
            Finding::new(FindingCode::StateCorrupt, "not UTF-8 text: what cannot be read was replaced")
                .at(&files.state),
        );
    }
    match kind {
        ListKind::SpecKit => gate(files, &mut run, &mut findings),
        ListKind::OpenSpec => archive(files, &mut run, &mut findings),
        ListKind::Superpowers => superpowers(files, &mut run, &mut findings),
        ListKind::PlanMode => {
            let message = "nothing ticks the boxes of such a plan: what is open may be done";
            findings.push(Finding::new(FindingCode::HintOnly, message).at(&files.state));
        }
    }
    findings.extend(files.files.keys().filter_map(|path| guest::unread(files, path)));
    let package = kind::list_path(files.state.as_str()).and_then(|list| RelPath::parse(&list.package).ok());
    let shared = (kind == ListKind::Superpowers).then(|| RelPath::parse(ledger::HOME).ok()).flatten();
    let wanted = guest::wanted(&run.steps, state_folders(kind, &files.state), shared, package);
    Loaded { run: Some(run), findings, wanted, ..Loaded::default() }
}

/// Returns the system of a run.
pub(super) fn kind_of(files: &FileSet) -> ListKind {
    ListKind::of_id(&files.name).unwrap_or(ListKind::PlanMode)
}

/// Reads a list by the grammar of its system.
pub(super) fn list_of(kind: ListKind, state: &RelPath, text: &str) -> TaskList {
    let outline = Outline::of(text);
    let own = state.parent();
    let mut list = match kind {
        ListKind::SpecKit => grammar::speckit(&outline, own.as_ref()),
        ListKind::OpenSpec => grammar::openspec(&outline, own.as_ref()),
        ListKind::Superpowers => grammar::superpowers(&outline),
        ListKind::PlanMode => grammar::plan_mode(&outline).unwrap_or_default(),
    };
    add_status(&outline, &mut list);
    list
}

/// Says of open tasks that the head of their list calls all of it done: `**Status:** complete`.
fn add_status(outline: &Outline<'_>, list: &mut TaskList) {
    let is_head = |at: &usize| outline.heading(*at).is_none_or(|heading| heading.depth == 1);
    let first = list.tasks.first().map_or(0, |task| task.line);
    let head = (0..outline.lines.len()).take_while(|at| is_head(at) && outline.lines[*at].number < first);
    let said = head.filter(|at| outline.lines[*at].is_read()).find_map(|at| words::status(outline.lines[at].text));
    let Some(Wording::SaysDone(said)) = said else { return };
    for task in list.tasks.iter_mut().filter(|task| matches!(task.claim, Claim::Open | Claim::Begun)) {
        task.words.retain(|word| !matches!(word, Wording::Waits(_)));
        task.words.push(Wording::SaysDone(said.clone()));
    }
}

/// Returns the folders whose files are state: a commit that touches nothing else repeats the claim.
fn state_folders(kind: ListKind, state: &RelPath) -> Vec<RelPath> {
    let folder = state.parent();
    match kind {
        ListKind::SpecKit | ListKind::OpenSpec => folder.into_iter().collect(),
        ListKind::Superpowers | ListKind::PlanMode => vec![state.clone()],
    }
}

/// Returns a change that has a proposal and no list yet. Its next step is the first missing document.
fn without_list(files: &FileSet) -> Loaded {
    let folder = files.state.parent();
    let has = |name: &str| {
        let path = |name: &str| folder.as_ref().and_then(|folder| folder.join(name).ok());
        let file = path(&format!("{name}.md")).is_some_and(|path| files.files.contains_key(&path));
        file || path(name).is_some_and(|folder| files.files.keys().any(|known| known.starts_with(&folder)))
    };
    let (id, title) = match (has("specs") || has("spec"), has("design")) {
        (false, _) => ("specs", "write the specs, then the design and the tasks"),
        (true, false) => ("design", "write the design, then the tasks"),
        (true, true) => ("tasks", "write the tasks"),
    };
    let list = TaskList::default();
    let mut run = run::build(ListKind::OpenSpec, &files.name, &files.state, &list);
    let mut step = Step::new(StepId::new(id), title);
    step.recorded = false;
    step.file = Some(files.state.clone());
    step.guest = Some(Box::default());
    run.steps.push(step);
    Loaded { run: Some(run), ..Loaded::default() }
}

/// Adds the gate of a feature whose quality check lists have open boxes, before any task is done. Later it is only mentioned.
fn gate(files: &FileSet, run: &mut Run, findings: &mut Vec<Finding>) {
    let Some(folder) = files.state.parent().and_then(|folder| folder.join("checklists").ok()) else { return };
    let mut open: Vec<String> = Vec::new();
    let mut first = None;
    for (path, _) in files.in_dir(&folder) {
        let Some(bytes) = files.bytes(path) else { continue };
        let text = String::from_utf8_lossy(bytes);
        let outline = Outline::of(&text);
        let boxes = (0..outline.lines.len()).filter_map(|at| outline.checkbox(at));
        let left = boxes.filter(|checkbox| !checkbox.mark.is_ticked()).map(|checkbox| grammar::label(checkbox.text));
        open.extend(left);
        first = first.or_else(|| (!open.is_empty()).then(|| path.name().to_owned()));
    }
    let Some(first) = first else { return };
    let named = first_names(&open, NAMED);
    let message = format!("{} open in checklists/, the first in {first}: {named}", boxes_are(open.len()));
    let is_untouched = |step: &Step| {
        step.status == Status::Pending
            && step.guest.as_ref().is_none_or(|proof| proof.words.is_empty() && proof.doubts.is_empty())
    };
    if run.steps.is_empty() || !run.steps.iter().all(is_untouched) {
        findings.push(Finding::new(FindingCode::BoxesLeft, message).at(&folder));
        return;
    }
    let mut gate = Step::new(StepId::new("checklists"), "quality check lists of the feature");
    gate.kind = StepKind::Gate;
    gate.status = Status::WaitingApproval;
    gate.plan_order = Some(0);
    gate.recorded = false;
    gate.file = Some(folder);
    let mut proof = crate::model::GuestProof::default();
    proof.notes.push(format!("{message}: a person says whether the work begins all the same"));
    gate.guest = Some(Box::new(proof));
    for step in &mut run.steps {
        step.plan_order = step.plan_order.map(|order| order + 1);
        if step.depends_on.is_empty() {
            step.depends_on.push(gate.id.clone());
        }
    }
    run.steps.insert(0, gate);
}

fn boxes_are(count: usize) -> String {
    if count == 1 { "1 box is".to_owned() } else { format!("{count} boxes are") }
}

/// Adds what follows the last step of a change, and a step to look at one without any box.
fn archive(files: &FileSet, run: &mut Run, findings: &mut Vec<Finding>) {
    let folder = files.state.parent();
    let name = folder.as_ref().map_or(files.name.as_str(), RelPath::name);
    if run.steps.is_empty() {
        let mut step = Step::new(StepId::new("tasks"), "a list of tasks without any box");
        step.recorded = false;
        step.file = Some(files.state.clone());
        let doubt = Doubt::look("tasks.md has no box, so nothing says what is done");
        step.guest = Some(Box::new(crate::model::GuestProof { doubts: vec![doubt], ..Default::default() }));
        run.steps.push(step);
        return;
    }
    run.follow_up = Some(FollowUp {
        action: Action::Archive,
        title: "the finished change".to_owned(),
        agent: None,
        reason: format!("every task is ticked: `openspec archive {name}` puts the change into the specs"),
        merge: None,
    });
    if run.steps.iter().all(|step| step.status.satisfies()) {
        let message = format!("every task is ticked, and the change is not archived: openspec archive {name}");
        findings.push(Finding::new(FindingCode::NotArchived, message).at(&files.state));
    }
}

/// Adds what the ledgers of a plan say, and which tasks are about another repository.
fn superpowers(files: &FileSet, run: &mut Run, findings: &mut Vec<Finding>) {
    let elsewhere = other_repositories(files);
    for step in &mut run.steps {
        let Some(proof) = &mut step.guest else { continue };
        let is_elsewhere = |path: &RelPath| elsewhere.iter().any(|folder| path.starts_with(folder));
        if matches!(step.status, Status::Pending | Status::InProgress)
            && !proof.built.is_empty()
            && proof.built.iter().all(is_elsewhere)
        {
            proof.doubts.push(run::unseen());
        }
    }
    for (ledger, entry) in ledgers(files) {
        let id = format!("task-{}", entry.number);
        let Some(step) = run.steps.iter_mut().find(|step| step.id.as_str() == id) else {
            findings.push(
                Finding::new(FindingCode::StepOrphan, format!("the ledger names {id}, which the plan does not have"))
                    .at(ledger),
            );
            continue;
        };
        let Some(proof) = &mut step.guest else { continue };
        let source = "the ledger of the plan".to_owned();
        match &entry.kind {
            EntryKind::Complete(commits) if !commits.is_empty() => {
                if step.status == Status::Pending || step.status == Status::InProgress {
                    step.status = Status::Completed;
                }
                proof.doubts.clear();
                let named = |span: &CommitSpan| span.after.iter().chain([&span.last]).cloned().collect::<Vec<_>>();
                proof.commits = commits.iter().flat_map(named).collect();
                proof.spans.clone_from(commits);
                proof.said = Some(entry.text.clone());
            }
            EntryKind::Complete(_) => {
                proof.words.push(GuestWord { source, done: true, weight: Weight::Record });
                proof.notes.push(format!("the ledger names no commit: {}", entry.text));
            }
            EntryKind::Open | EntryKind::Blocked if step.status == Status::Completed => {
                proof.words.push(GuestWord { source, done: false, weight: Weight::Record });
                proof.notes.push(format!("the ledger says: {}", entry.text));
            }
            EntryKind::Open => {
                step.status = Status::InProgress;
                proof.notes.push(format!("the ledger says: {}", entry.text));
            }
            EntryKind::Blocked => {
                let reason = format!("the ledger says: {}", entry.text);
                proof.doubts.push(Doubt::of(FindingCode::StepHeld, "blocked by the ledger", reason));
            }
        }
    }
}

fn ledgers(files: &FileSet) -> Vec<(&RelPath, ledger::LedgerEntry)> {
    let found = files.files.keys().filter(|path| ledger::is_ledger(path.as_str()));
    let read = |path| files.bytes(path).map(|bytes| ledger::read(&String::from_utf8_lossy(bytes))).unwrap_or_default();
    found.flat_map(|path| read(path).into_iter().map(move |entry| (path, entry))).collect()
}

/// Returns the folders that hold other repositories: ignored ones, and submodules.
fn other_repositories(files: &FileSet) -> Vec<RelPath> {
    let text = |name: &str| {
        let path = RelPath::parse(name).ok()?;
        Some(String::from_utf8_lossy(files.bytes(&path)?).into_owned())
    };
    let ignored = text(".gitignore").unwrap_or_default();
    let ignored =
        ignored.lines().filter_map(|line| RelPath::parse(line.trim().strip_suffix('/')?.trim_start_matches('/')).ok());
    let ignored = ignored.filter(|folder| !folder.as_str().contains(['*', '!', '?', '[']));
    let modules = text(".gitmodules").unwrap_or_default();
    let modules = modules
        .lines()
        .filter_map(|line| RelPath::parse(line.trim().strip_prefix("path")?.trim().strip_prefix('=')?.trim()).ok());
    ignored.chain(modules.collect::<Vec<_>>()).collect()
}
