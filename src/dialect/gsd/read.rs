//! Reads a planning folder as a run: one step for each plan, and one for each phase that has none (docs/formats/gsd.md#steps).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{
    FOLDER, WORKFLOW,
    commands::Commands,
    doubtful,
    folders::{self, Documents, Folder},
    handoff::Handoff,
    names::{self, PhaseKey},
    order, plan_file,
    roadmap::{self, Roadmap},
    state::StateWords,
    verification,
};
use crate::{
    dialect::{
        Loaded, guest,
        markdown::{Lines, heading},
    },
    document::{Node, salvage},
    model::{
        CommitSpan, DialectId, Doubt, FileSet, Finding, FindingCode, Followers, GuestProof, GuestWord, Records,
        RelPath, Run, RunStatus, Severity, Status, Step, StepId, Suggested, Verb, Weight, clean_line, first_names,
        mask_secrets, plural,
    },
};

/// How the names of the roadmaps of earlier milestones end.
pub(super) const ARCHIVE: &str = "-ROADMAP.md";
const TITLE: usize = 100;
/// Number of ids that a finding names.
const NAMED: usize = 5;

pub(super) fn load(files: &FileSet) -> Loaded {
    let mut reader = PlanReader {
        files,
        folders: folders::collect(files),
        roadmap: Roadmap::default(),
        beyond: BTreeSet::new(),
        rivals: BTreeMap::new(),
        strays: Vec::new(),
        gaps: Vec::new(),
        commands: Commands::of(files),
        findings: doubtful::quick_tasks(files).into_iter().collect(),
    };
    let roadmap = files.state.join("ROADMAP.md").ok();
    reader.findings.extend(roadmap.as_ref().and_then(|path| guest::unread(files, path)));
    if let Some((path, bytes)) = roadmap.as_ref().and_then(|path| Some((path, files.bytes(path)?))) {
        reader.roadmap = Roadmap::parse(bytes);
        reader.check_conflict(path, bytes, None);
    }
    reader.read_archives();
    let mut steps = reader.steps();
    let mut state_files: Vec<RelPath> = roadmap.into_iter().filter(|path| files.bytes(path).is_some()).collect();
    let state = files.state.join("STATE.md").ok().filter(|path| files.bytes(path).is_some());
    let words = state.as_ref().and_then(|path| files.bytes(path)).map(StateWords::parse).unwrap_or_default();
    if let Some((path, bytes)) = state.as_ref().and_then(|path| Some((path, files.bytes(path)?))) {
        reader.check_conflict(path, bytes, None);
        reader.findings.extend(words.differs(path, &steps));
    }
    state_files.extend(state);
    if state_files.is_empty() {
        state_files.push(files.state.clone());
    }
    let run = Run::new(&files.name, DialectId::Gsd, title(files), WORKFLOW, state_files);
    let plans = steps.iter().filter(|step| names::is_plan_step(step)).count();
    for step in &mut steps {
        let is_plan = step.guest.as_ref().is_some_and(|proof| proof.document.is_some());
        let is_said = (is_plan && words.calls_done(step, plans)) || words.calls_unplanned_done(step);
        if let Some(proof) = step.guest.as_mut().filter(|_| is_said) {
            proof.words.push(GuestWord { source: "STATE".to_owned(), done: true, weight: Weight::Hint });
        }
    }
    let handoff = hand_over(files, &mut steps);
    let stamp = plan_file::text_of(words.front.as_ref(), "last_updated").and_then(|text| files.time(text));
    let status = if words.is_paused() { RunStatus::Paused } else { RunStatus::Active };
    let package = guest::package(&files.state, &[FOLDER]);
    let above = package.as_ref().map_or_else(|| RelPath::parse(FOLDER), |package| package.join(FOLDER));
    let wanted = guest::wanted(&steps, vec![files.state.clone()], above.ok(), package);
    let native = json!({ "commands": reader.commands.into_value(), "gaps": reader.gaps, "handoff": handoff });
    let run = Run { steps, stamp, status, records: Records::NONE, ..run };
    Loaded { run: Some(run), findings: reader.findings, wanted, native, ..Loaded::default() }
}

/// Returns the name of the project in the roadmap, with that of the workstream.
fn title(files: &FileSet) -> String {
    let roadmap = files.state.join("ROADMAP.md").ok().and_then(|path| files.bytes(&path)).unwrap_or_default();
    let text = String::from_utf8_lossy(roadmap);
    let first = Lines::of(&text).find_map(|line| heading(line.text)).filter(|first| first.depth == 1);
    let name = first.map_or("", |first| first.text);
    let name =
        ["Project Roadmap:", "Roadmap:", "Roadmap"].iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
    let stream = files.name.strip_prefix(WORKFLOW).and_then(|name| name.strip_prefix('-'));
    let named = [Some(name.trim_matches([':', '-', '–', '—', ' '])), stream];
    let named: Vec<&str> = named.into_iter().flatten().filter(|name| !name.is_empty()).collect();
    let title = clean_line(&mask_secrets(&named.join(", ")), 60);
    if title.is_empty() { "GSD".to_owned() } else { format!("GSD \"{title}\"") }
}

/// Adds what the notes of a paused session say to the plan in flight, and returns its id.
fn hand_over(files: &FileSet, steps: &mut [Step]) -> Option<StepId> {
    let mut found = None;
    for handoff in Handoff::all(files) {
        let is_open = |step: &Step| step.status == Status::Pending && names::is_plan_step(step);
        let phase = |step: &Step| names::leading(step.id.as_str()).map(|(key, _)| key);
        let mut seen = BTreeSet::new();
        let about = steps.iter_mut().filter(|step| is_open(step)).find(|step| {
            let is_first = seen.insert(phase(step));
            handoff.is_about(step.id.as_str(), is_first)
        });
        let Some(step) = about else { continue };
        found.get_or_insert_with(|| step.id.clone());
        if let Some(proof) = step.guest.as_mut() {
            proof.notes.push(handoff.remark());
            proof.commits.extend(handoff.commits);
        }
    }
    found
}

struct PlanReader<'a> {
    files: &'a FileSet,
    folders: BTreeMap<(PhaseKey, String), Folder>,
    roadmap: Roadmap,
    /// Phases behind the last one of the roadmap that have open plans.
    beyond: BTreeSet<PhaseKey>,
    /// Folders that fit a phase as well as the one that is read for it.
    rivals: BTreeMap<PhaseKey, Vec<String>>,
    /// Folders with open plans that the roadmap does not have.
    strays: Vec<(String, usize)>,
    /// Plans that close gaps of a verification.
    gaps: Vec<String>,
    commands: Commands,
    findings: Vec<Finding>,
}

impl PlanReader<'_> {
    fn check_conflict(&mut self, path: &RelPath, bytes: &[u8], step: Option<&StepId>) {
        if let Some((line, message)) = salvage::conflict(bytes) {
            let finding = Finding::new(FindingCode::PartUnreadable, message).at(path).line(line, None);
            self.findings.push(match step {
                Some(step) => finding.on(step),
                None => finding,
            });
        }
    }

    /// Reads the roadmaps of earlier milestones: their phases are history.
    fn read_archives(&mut self) {
        let Ok(folder) = self.files.state.join("milestones") else { return };
        for (path, _) in self.files.in_dir(&folder).filter(|(path, _)| path.name().ends_with(ARCHIVE)) {
            if let Some(bytes) = self.files.bytes(path) {
                self.roadmap.add_archive(bytes);
            }
        }
    }

    /// Drops the folders of phases that the roadmap does not have, and all but one of those with the same number. Open plans behind its
    /// last phase are kept: the roadmap may be cut off.
    fn drop_orphans(&mut self) {
        let last = self.roadmap.phases.keys().next_back().cloned();
        let is_beyond = |(key, _): &&(PhaseKey, String)| {
            last.as_ref().is_some_and(|last| key > last) && !self.roadmap.is_history(key)
        };
        let open = self.folders.iter().filter(|(id, folder)| is_beyond(id) && folder.open_plans() > 0);
        self.beyond = open.map(|((key, _), _)| key.clone()).collect();
        let keys: BTreeSet<PhaseKey> = self.folders.keys().map(|(key, _)| key.clone()).collect();
        for key in keys {
            let named: Vec<String> =
                self.folders.keys().filter(|(own, _)| *own == key).map(|(_, name)| name.clone()).collect();
            let phase = self.roadmap.phases.get(&key);
            let is_known = self.roadmap.knows(&key) || self.roadmap.phases.is_empty() || self.beyond.contains(&key);
            let words = |text: &str| -> BTreeSet<String> {
                let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
                parts.map(str::to_lowercase).collect()
            };
            let wanted = words(phase.map_or("", |phase| &phase.name));
            let fit = |name: &String| words(name).intersection(&wanted).count();
            // A folder without plans, such as one that only has notes, is no rival.
            let has_plans =
                |name: &String| self.folders.get(&(key.clone(), name.clone())).is_some_and(|one| !one.plans.is_empty());
            let best = named.iter().max_by_key(|name| (has_plans(name), fit(name))).cloned();
            for name in named {
                if is_known && Some(&name) == best.as_ref() {
                    continue;
                }
                let folder = self.folders.remove(&(key.clone(), name.clone())).unwrap_or_default();
                let open = folder.open_plans();
                if !is_known && open > 0 {
                    self.strays.push((name.clone(), open));
                }
                let is_rival = is_known && !folder.plans.is_empty();
                if is_rival && best.as_ref().is_some_and(|best| fit(best) == fit(&name)) {
                    self.rivals.entry(key.clone()).or_default().push(name.clone());
                }
                let why = if is_known { "another folder has its number" } else { "the roadmap has no such phase" };
                let ids: Vec<String> =
                    folder.plans.keys().map(|(_, id)| clean_line(&format!("{name}/{id}"), TITLE)).collect();
                let named = if ids.is_empty() { String::new() } else { format!(": {}", first_names(&ids, NAMED)) };
                let message = format!(
                    "phases/{} is left out: {why}; it has {}{named}",
                    clean_line(&name, TITLE),
                    plural(ids.len(), "plan")
                );
                self.findings.push(Finding::new(FindingCode::StepOrphan, message));
            }
        }
    }

    /// Returns the phases of the current milestone. Where all are over, those of the last one that still have plans here.
    fn current_phases(&mut self) -> Vec<PhaseKey> {
        let with_plans: BTreeSet<PhaseKey> = self
            .folders
            .iter()
            .filter(|(_, folder)| !folder.plans.is_empty())
            .map(|((key, _), _)| key.clone())
            .collect();
        let mut keys: BTreeSet<PhaseKey> = self.folders.keys().map(|(key, _)| key.clone()).collect();
        keys.extend(self.roadmap.phases.keys().cloned());
        // A finished phase that only a row names was archived with its milestone.
        let is_archived = |key: &PhaseKey| {
            let is_listed = self.roadmap.phases.get(key).is_none_or(|phase| phase.is_listed);
            !is_listed && !with_plans.contains(key) && self.roadmap.is_over(key)
        };
        // What was planned of a backlog is worked on.
        let is_idea = |key: &PhaseKey| Roadmap::is_backlog(key) && !with_plans.contains(key);
        let (over, current): (Vec<PhaseKey>, Vec<PhaseKey>) =
            keys.into_iter().partition(|key| self.roadmap.is_history(key) || is_archived(key) || is_idea(key));
        let over: Vec<PhaseKey> = over.into_iter().filter(|key| with_plans.contains(key)).collect();
        if current.is_empty() {
            return over;
        }
        let folders = self.folders.iter().filter(|((key, _), _)| over.contains(key));
        let open: Vec<String> = folders
            .filter(|(_, folder)| folder.open_plans() > 0)
            .map(|((_, name), _)| clean_line(name, TITLE))
            .collect();
        if !open.is_empty() {
            let message =
                format!("ROADMAP calls phases shipped that have plans without a summary: {}", open.join(", "));
            self.findings.push(Finding::new(FindingCode::StatusOptimistic, message));
        }
        current
    }

    fn steps(&mut self) -> Vec<Step> {
        self.drop_orphans();
        let keys = self.current_phases();
        let mut phases: Vec<Vec<Step>> = Vec::new();
        for key in &keys {
            let mut own = self.phase(key);
            let rivals = self.rivals.get(key).into_iter().flatten();
            own.extend(rivals.map(|name| doubtful::rival(name, key)));
            phases.push(own);
        }
        let before = order::phases_before(&self.roadmap, &keys, &mut self.findings);
        let last = (0..keys.len()).rev().find(|at| phases[*at].iter().any(order::is_carried_out));
        let verification = last.and_then(|last| self.verification(&keys[last], &phases[last]));
        if let Some((last, verification)) = last.zip(verification) {
            phases[last].push(verification);
        }
        let mut steps = order::in_order(phases, &before);
        self.findings.extend(order::contradictions(&steps));
        steps.extend(self.strays.iter().map(|(name, open)| doubtful::stray(name, *open)));
        for (place, step) in steps.iter_mut().enumerate() {
            step.plan_order = Some(place);
            step.recorded = false;
        }
        steps
    }

    /// Returns the steps of a phase; one to plan it if it has no plans.
    fn phase(&mut self, key: &PhaseKey) -> Vec<Step> {
        let found = self.folders.iter().find(|((own, _), folder)| own == key && !folder.plans.is_empty());
        let Some((_, folder)) = found else { return vec![self.unplanned(key)] };
        let (documents, passed) = (folder.plans.clone(), folder.verification.is_passed());
        let plans: Vec<(u64, String)> = documents.keys().cloned().collect();
        let shown = names::shown(key);
        let is_dropped = self.roadmap.phases.get(key).is_some_and(|phase| phase.is_dropped);
        let mut steps = Vec::new();
        let mut waves: Vec<(u64, StepId)> = Vec::new();
        for ((_, id), documents) in &documents {
            let mut step = self.step(id, documents, &shown);
            let front = documents.front.as_ref();
            let wave = front.and_then(|front| front.get("wave")).and_then(Node::as_u64);
            step.depends_on = self.depends_on(front, id, &plans, wave, &waves);
            self.name_dangling(front, key, &step, &plans);
            let is_named = self.roadmap.plan_box(id);
            let lists_phase = plans.iter().any(|(_, other)| self.roadmap.plan_box(other).is_some());
            let is_over = self.roadmap.is_over(key) || self.roadmap.is_history(key);
            if plan_file::is_gap_plan(front) {
                // The verification comes after all other plans of the phase.
                let others = waves.iter().filter(|(_, on)| !self.gaps.iter().any(|gap| *gap == on.as_str()));
                step.depends_on.extend(others.map(|(_, on)| on.clone()));
                self.gaps.push(id.clone());
            }
            waves.push((wave.unwrap_or(0), step.id.clone()));
            if let Some(proof) = step.guest.as_mut() {
                let words = &mut proof.words;
                let hint = |source: &str, done| GuestWord { source: source.to_owned(), done, weight: Weight::Hint };
                words.extend(is_named.map(|done| hint("ROADMAP", done)));
                if passed {
                    words.push(hint("the verification of its phase", true));
                } else if is_over && is_named != Some(true) {
                    words.push(hint("ROADMAP", true));
                }
                if step.status == Status::Pending && self.rivals.contains_key(key) {
                    proof.doubts.push(doubtful::shared_number(&shown));
                }
                if step.status == Status::Pending && self.beyond.contains(key) {
                    proof.doubts.push(Doubt::conflict(
                        "without a summary, in a phase that ROADMAP does not have",
                        format!("no SUMMARY, and ROADMAP has no phase {shown}: dropped, or is ROADMAP cut off?"),
                    ));
                }
                if step.status == Status::Pending && lists_phase && is_named.is_none() && passed {
                    proof.doubts.push(Doubt::conflict(
                        "without a summary, left out of ROADMAP, in a phase that was verified",
                        "no SUMMARY, ROADMAP leaves it out, and its phase was verified as passed: dropped or open?",
                    ));
                }
            }
            if is_dropped && step.status == Status::Pending {
                step.status = Status::Skipped;
            }
            steps.push(step);
        }
        // A plan without a number may be any of them.
        let are_numbered = plans.iter().all(|(number, _)| *number != u64::MAX);
        for named in self.roadmap.open_plans(key).filter(|_| are_numbered && !is_dropped) {
            if !plans.iter().any(|(_, id)| names::is_same_plan(id, named)) {
                let before = steps.last().map(|step: &Step| step.id.clone());
                steps.push(doubtful::named_only(named, key, before, self.commands.get("plan-phase")));
            }
        }
        self.compare_phase(key, &steps);
        steps
    }

    /// Names a roadmap that shows a finished phase as open.
    fn compare_phase(&mut self, key: &PhaseKey, steps: &[Step]) {
        let Some(phase) = self.roadmap.phases.get(key) else { return };
        let is_done = steps.iter().all(|step| step.status.satisfies());
        let row_lags = phase.row.as_deref().is_some_and(roadmap::is_unfinished);
        if is_done && (phase.is_ticked == Some(false) || row_lags) {
            let message =
                format!("ROADMAP shows phase {} as open, but all of its plans have summaries", names::shown(key));
            self.findings
                .push(Finding::new(FindingCode::WitnessBehind, message).fix(Suggested::new(Verb::Plan).flag("patch")));
        }
    }

    fn unplanned(&self, key: &PhaseKey) -> Step {
        let phase = self.roadmap.phases.get(key);
        let name = phase.map_or("", |phase| phase.name.as_str());
        let shown = names::shown(key);
        let mut step =
            Step::new(StepId::new(names::padded(key)), clean_line(&format!("plan phase {shown}: {name}"), TITLE));
        step.group = Some(format!("phase {shown}"));
        if phase.is_some_and(|phase| phase.is_dropped) {
            step.status = Status::Skipped;
        }
        let mut proof = GuestProof::default();
        if self.roadmap.is_over(key) {
            proof.words.push(GuestWord { source: "ROADMAP".to_owned(), done: true, weight: Weight::Hint });
        }
        proof.record = format!("if it is to be built, `{} {shown}` plans it", self.commands.get("plan-phase"));
        step.guest = Some(Box::new(proof));
        step
    }

    fn step(&mut self, id: &str, documents: &Documents, phase: &str) -> Step {
        let files = self.files;
        let (plan, summary, front) = (documents.plan.as_ref(), documents.summary.as_ref(), documents.front.as_ref());
        let bytes = plan.and_then(|plan| files.bytes(plan)).unwrap_or_default();
        let said = summary.and_then(|summary| files.bytes(summary));
        let said_front = said.and_then(plan_file::front_matter);
        let objective = plan_file::objective(bytes);
        let title = objective.split(['\n', '.']).find(|line| !line.trim().is_empty()).unwrap_or(id);
        let mut step = Step::new(StepId::new(id), clean_line(title, TITLE));
        step.file = plan.or(summary).cloned();
        step.group = Some(format!("phase {phase}"));
        let tasks = plan_file::tasks(bytes);
        let verify = self.commands.get("verify-work");
        let mut proof = GuestProof {
            document: plan.cloned(),
            names: names::commit_names(id),
            results: plan_file::results(front),
            followers: Followers::Support,
            record: match summary {
                Some(_) => format!("`{verify} {phase}` looks at the result"),
                None => format!(
                    "done: write its SUMMARY after `{verify} {phase}`; dropped: set `status: superseded` in its plan; open: `{} {phase}`",
                    self.commands.get("execute-phase")
                ),
            },
            part_files: tasks.iter().map(|task| task.files.clone()).collect(),
            ..GuestProof::default()
        };
        if proof.results.is_empty() {
            proof.results = plan_file::created(said_front.as_ref());
        }
        if summary.is_none() && plan_file::claims_done(front) {
            proof.words.push(GuestWord { source: "its plan".to_owned(), done: true, weight: Weight::Hint });
        }
        let word = |front: Option<&Node>| plan_file::text_of(front, "status").unwrap_or_default().to_lowercase();
        let said_word = word(said_front.as_ref());
        let one_liner = |said: &[u8]| plan_file::one_liner(said, said_front.as_ref());
        let doubt = |reason| Doubt::conflict("with a summary that does not say that they are done", reason);
        step.status = match said_word.as_str() {
            _ if plan_file::is_dropped(front) => Status::Skipped,
            _ if summary.is_none() => Status::Pending,
            "halted" => Status::WaitingApproval,
            "" | "complete" | "completed" | "done" => Status::Completed,
            other => {
                proof.doubts.push(doubt(format!("its summary has the status {}", clean_line(other, 40))));
                Status::Completed
            }
        };
        if step.status == Status::WaitingApproval {
            let why = said.and_then(one_liner).map_or_else(String::new, |why| format!(" ({why})"));
            proof.notes.push(format!("halted by its summary{why}: a person decides how it continues"));
        }
        let says = said.filter(|_| step.status == Status::Completed).and_then(plan_file::emptiness);
        proof.doubts.extend(says.map(|says| doubt(says.to_owned())));
        let waits = tasks.iter().enumerate().filter(|(_, task)| task.is_gate && step.status == Status::Pending);
        proof.notes.extend(waits.map(|(at, task)| format!("part {} ({}) waits for a person", at + 1, task.name)));
        if step.status == Status::Pending && plan_file::needs_person(front) && !tasks.iter().any(|task| task.is_gate) {
            proof.notes.push("its plan says that it does not go on without a person".to_owned());
        }
        let is_done = step.status == Status::Completed;
        let commits = said.filter(|_| is_done).map(plan_file::commits).unwrap_or_default();
        proof.spans = commits.into_iter().map(|last| CommitSpan { after: None, last }).collect();
        proof.said = said.filter(|_| is_done).and_then(one_liner);
        if !is_done {
            step.detail.acceptance = plan_file::acceptance(front, &tasks);
        }
        step.detail.parts = tasks.into_iter().enumerate().map(|(at, task)| task.into_part(at, is_done)).collect();
        step.guest = Some(Box::new(proof));
        for path in plan.into_iter().chain(summary) {
            let bytes = files.bytes(path).unwrap_or_default();
            self.check_conflict(path, bytes, Some(&step.id));
            self.findings.extend(guest::unread(files, path).map(|finding| finding.on(&step.id)));
        }
        if plan.is_none() {
            let message = format!("{id} has a summary and no plan");
            let finding = Finding::new(FindingCode::StepOrphan, message);
            self.findings.push(Finding { severity: Severity::Info, ..finding });
        }
        step
    }

    /// Returns the plan that a dependency names: by its id, or by its number in the phase.
    fn named_plan(&self, text: &str, plans: &[(u64, String)]) -> Option<String> {
        let in_phase = |number: u64| plans.iter().find(|(own, _)| *own == number).map(|(_, id)| id.clone());
        let bare = text.parse().ok().and_then(in_phase);
        let mut known = self.folders.values().flat_map(|folder| folder.plans.keys()).map(|(_, id)| id);
        let whole = known.find(|known| {
            text.strip_prefix(known.as_str()).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        });
        let mut others = self.folders.values().flat_map(|folder| folder.plans.keys()).map(|(_, id)| id);
        bare.or_else(|| whole.cloned()).or_else(|| others.find(|id| names::is_same_plan(id, text)).cloned())
    }

    /// Names what an open plan says it depends on and no plan is. Plans of phases that are over may be in an archive.
    fn name_dangling(&mut self, front: Option<&Node>, key: &PhaseKey, step: &Step, plans: &[(u64, String)]) {
        if step.status.satisfies() {
            return;
        }
        let is_current = |of: &PhaseKey| match self.roadmap.phases.get(of) {
            Some(phase) => !phase.is_history,
            None => of >= key || self.folders.keys().any(|(own, _)| own == of),
        };
        // A number alone is a plan of the same phase.
        let is_bare = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_lost = |text: &&String| match self.named_plan(text, plans) {
            Some(_) => false,
            None if is_bare(text) => true,
            None => names::is_plan(text) && names::leading(text).is_some_and(|(of, _)| is_current(&of)),
        };
        let declared = plan_file::names_of(front, "depends_on").unwrap_or_default();
        let lost: Vec<String> = declared.iter().filter(is_lost).map(|text| clean_line(text, 40)).collect();
        if !lost.is_empty() {
            let message = format!("{} depends on {}, which is no plan here", step.id, lost.join(", "));
            let finding = Finding::new(FindingCode::DependencyDangling, message).on(&step.id);
            self.findings.push(finding.fix("correct `depends_on` in its plan"));
        }
    }

    /// Returns what a plan waits for in its own phase or by name: what it declares, else the waves before, else the plan before.
    fn depends_on(
        &self,
        front: Option<&Node>,
        id: &str,
        plans: &[(u64, String)],
        wave: Option<u64>,
        before: &[(u64, StepId)],
    ) -> Vec<StepId> {
        let declared = plan_file::names_of(front, "depends_on").unwrap_or_default();
        let resolve = |text: &String| self.named_plan(text, plans);
        let named: Vec<StepId> = declared.iter().filter_map(resolve).filter(|on| on != id).map(StepId::new).collect();
        if !named.is_empty() {
            return named;
        }
        match wave {
            Some(wave) => before.iter().filter(|(own, _)| *own < wave).map(|(_, id)| id.clone()).collect(),
            None => before.last().map(|(_, id)| id.clone()).into_iter().collect(),
        }
    }

    /// Returns the verification of the phase that was finished last, where the system asks for one.
    fn verification(&mut self, key: &PhaseKey, own: &[Step]) -> Option<Step> {
        let (verifier, finding) = verification::verifier(self.files);
        let folder = self.folders.iter().find(|((own, _), _)| own == key).map(|(_, folder)| folder)?;
        self.findings.extend(finding);
        if folder.plans.is_empty() || !own.iter().all(|step| step.status.satisfies()) {
            return None;
        }
        let own: Vec<StepId> = own.iter().map(|step| step.id.clone()).collect();
        folder.verification.step(key, &own, verifier, self.commands.get("verify-work"))
    }
}
