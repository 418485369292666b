//! What the witnesses of one step say together.

use super::history::{History, Since};
use crate::{
    engine::{graph::Graph, reconciled::EffectiveStatus},
    model::{
        DeclaredFile, DeclaredState, FindingCode, Followers, GuestEvidence, GuestProof, GuestWord, Hold, Pace, RelPath,
        Run, Status, Step, StepId, Weight, clean_line, first_names, mask_secrets, plural,
    },
};

/// Characters of an untrusted text in a reason.
const QUOTED: usize = 200;
/// Number of commits, files or ids that a reason names.
const NAMED: usize = 3;
/// What all steps have in common whose work is there and whose status lags behind.
const BUILT: &str = "built as it seems, but not recorded as done";

/// What follows for a step.
pub(super) struct Judgement {
    pub(super) status: EffectiveStatus,
    pub(super) reasons: Vec<String>,
    /// Evidence says that it is done, and nothing says otherwise: only its status is open.
    pub(super) is_built: bool,
    /// What the findings count, each with the phrase that all steps of its kind share.
    pub(super) contradictions: Vec<(FindingCode, String)>,
}

impl Judgement {
    pub(super) fn new(status: EffectiveStatus) -> Self {
        Self { status, reasons: Vec::new(), is_built: false, contradictions: Vec::new() }
    }

    pub(super) fn look(reason: impl Into<String>) -> Self {
        Self::new(EffectiveStatus::Verify).because(reason)
    }

    pub(super) fn because(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }

    pub(super) const fn built(mut self) -> Self {
        self.is_built = true;
        self
    }

    /// Puts a reason before the others.
    pub(super) fn first(mut self, reason: String) -> Self {
        self.reasons.insert(0, reason);
        self
    }

    pub(super) fn counts(mut self, code: FindingCode, kind: impl Into<String>) -> Self {
        self.contradictions.push((code, kind.into()));
        self
    }
}

/// One step beside its witnesses.
pub(super) struct Comparison<'a> {
    pub(super) run: &'a Run,
    pub(super) graph: &'a Graph,
    pub(super) at: usize,
    pub(super) history: Option<&'a History<'a>>,
    pub(super) evidence: &'a GuestEvidence,
}

/// The traces of work on a step.
struct Traces<'a> {
    /// The step's own commits, newest first.
    commits: Vec<usize>,
    /// The declared files that are there with their content, since the step was written down.
    there: Vec<&'a RelPath>,
    /// What the others lack, in words.
    lacking: Vec<String>,
    /// The files to change of which nothing shows whether they were.
    unseen: Vec<&'a RelPath>,
    /// The files that are there, and that only commits about other steps touched.
    of_others: Vec<&'a RelPath>,
    followers: Vec<&'a StepId>,
}

impl Traces<'_> {
    fn has_all_files(&self) -> bool {
        !self.there.is_empty() && self.lacking.is_empty() && self.unseen.is_empty()
    }

    /// Tells whether all files are there that the step makes, and only those that it changes show nothing.
    fn may_have_all_files(&self) -> bool {
        !self.there.is_empty() && self.lacking.is_empty() && !self.unseen.is_empty()
    }
}

impl<'a> Comparison<'a> {
    fn step(&self) -> &'a Step {
        &self.run.steps[self.at]
    }

    pub(super) fn judge(&self) -> Judgement {
        let step = self.step();
        let Some(proof) = step.guest.as_deref() else { return Judgement::new(EffectiveStatus::Open) };
        let mut judged = match step.status {
            Status::Skipped => return Judgement::new(EffectiveStatus::Skipped),
            Status::Cancelled => return self.before_followers(proof, Judgement::new(EffectiveStatus::Cancelled)),
            _ if !proof.doubts.is_empty() => self.doubted(proof),
            Status::WaitingApproval => Judgement::new(EffectiveStatus::Waiting),
            Status::Completed => self.done(proof),
            Status::Blocked => self.before_followers(proof, self.held()),
            Status::Pending | Status::InProgress | Status::Failed => {
                self.with_lost_commit(proof, self.in_turn(proof, self.open(proof)))
            }
        };
        if judged.status == EffectiveStatus::Verify && !proof.record.is_empty() {
            judged.reasons.push(proof.record.clone());
        }
        let is_planned = !judged.status.is_over();
        judged.reasons.extend(proof.notes.iter().filter(|_| is_planned).map(|note| quoted(note)));
        judged
    }

    /// Tells whether a finished step has neither a record, nor files, nor commits besides its claim.
    pub(super) fn is_unproved(&self) -> bool {
        let proof = self.step().guest.as_deref();
        proof.is_some_and(|proof| {
            let is_witnessed =
                !proof.results.is_empty() || !proof.mentioned.is_empty() || proof.words.iter().any(|word| word.done);
            proof.commits_prove && !proof.is_sum && !is_witnessed && self.own_commits(proof).is_empty()
        })
    }

    fn doubted(&self, proof: &GuestProof) -> Judgement {
        let mut judged = Judgement::new(EffectiveStatus::Verify);
        for doubt in &proof.doubts {
            judged.reasons.push(quoted(&doubt.reason));
            judged.contradictions.extend(doubt.code.map(|code| (code, doubt.kind.clone())));
        }
        let is_open = matches!(self.step().status, Status::Pending | Status::InProgress | Status::Failed);
        let is_conflict = proof.doubts.iter().any(|doubt| doubt.code == Some(FindingCode::StatusConflict));
        let has_commits = !self.own_commits(proof).is_empty();
        if is_open && (has_commits || is_conflict && !proof.results.is_empty()) {
            judged.reasons.push(self.found(&self.traces(proof)));
        }
        judged
    }

    fn held(&self) -> Judgement {
        let judged = Judgement::new(EffectiveStatus::Blocked);
        match &self.step().hold {
            Some(Hold::Because(reason)) => judged.because(quoted(reason)),
            Some(Hold::Unexplained) | None => judged,
        }
    }

    /// Names the finished steps that depend on one that is put off or held back.
    fn before_followers(&self, proof: &GuestProof, judged: Judgement) -> Judgement {
        let followers = self.followers();
        if proof.followers != Followers::Doubt || followers.is_empty() {
            return judged;
        }
        judged
            .because(format!("but {}", depend_on_it(&followers)))
            .counts(FindingCode::StatusConflict, "deferred or blocked, but steps that depend on them are done")
    }

    /// A step that was begun before its turn is looked at: a person says which of the two goes on.
    fn in_turn(&self, proof: &GuestProof, judged: Judgement) -> Judgement {
        let step = self.step();
        let is_in_progress = step.status == Status::InProgress;
        let before = match proof.pace {
            _ if judged.status != EffectiveStatus::Interrupted => None,
            Pace::Step => self.open_before(),
            Pace::All | Pace::Group => self.open_dependency(step).filter(|_| is_in_progress),
        };
        let Some(before) = before else { return judged };
        let begun = if is_in_progress { "in progress" } else { "begun" };
        let looked = Judgement::look(format!("{begun}, but {before} before it is open"))
            .counts(FindingCode::StatusConflict, format!("{begun}, but a step before them is open"));
        let traces = self.traces(proof);
        let has_traces = !(traces.commits.is_empty() && traces.there.is_empty());
        if has_traces { looked.because(self.found(&traces)) } else { looked }
    }

    /// Returns the first step before this one that is open, where the system does one at a time.
    fn open_before(&self) -> Option<&'a StepId> {
        let is_plain = |step: &Step| step.guest.as_ref().is_some_and(|proof| proof.doubts.is_empty());
        let is_open = |step: &&Step| matches!(step.status, Status::Pending | Status::InProgress) && is_plain(step);
        self.run.steps[..self.at].iter().find(is_open).map(|step| &step.id)
    }

    /// The step is done by its claim: it stays done unless a record contradicts it or its result is gone.
    fn done(&self, proof: &GuestProof) -> Judgement {
        let (against, lagging): (Vec<&GuestWord>, Vec<&GuestWord>) =
            proof.words.iter().filter(|word| !word.done).partition(|word| match word.weight {
                Weight::Record => true,
                Weight::Unproved => self.own_commits(proof).is_empty(),
                Weight::Hint => false,
            });
        if !against.is_empty() {
            let sources = sources(&against);
            let reason = format!("done by its own status, but not by {sources}");
            return Judgement::look(reason).counts(FindingCode::StatusConflict, format!("done, but not by {sources}"));
        }
        if let Some(reason) = self.lost_commit(proof) {
            let kind = "done, but the commits that their record names are not in the history of this branch";
            return Judgement::look(reason).counts(FindingCode::CommitNotFound, kind);
        }
        let mut judged = match self.lost_result(proof) {
            Some(reason) => Judgement::look(reason)
                .counts(FindingCode::OutputMissing, "done, but what they declare as their result is gone"),
            None => Judgement::new(EffectiveStatus::Done),
        };
        for word in lagging {
            let kind = format!("finished, but still open in {}", word.source);
            judged = judged.counts(FindingCode::WitnessBehind, kind);
        }
        if judged.status == EffectiveStatus::Done && self.is_incomplete(proof) {
            judged = judged.counts(FindingCode::FileMissing, "finished, with files that were moved or changed since");
        }
        judged
    }

    /// Adds the commit that a note about an open step names and that is not on the branch.
    fn with_lost_commit(&self, proof: &GuestProof, judged: Judgement) -> Judgement {
        match self.history.and_then(|_| self.lost_commit(proof)) {
            Some(reason) => judged.because(reason).counts(
                FindingCode::CommitNotFound,
                "open, with a note that names commits that are not in the history of this branch",
            ),
            None => judged,
        }
    }

    /// Returns which commit that the record of a step names is not on the branch.
    fn lost_commit(&self, proof: &GuestProof) -> Option<String> {
        let lost = |sha: &&String| self.history.is_none_or(|history| !history.knows(sha));
        let commit = proof.commits.iter().find(lost)?;
        Some(format!(
            "its record names commit {}, which is not among the newest commits of this branch",
            quoted(commit)
        ))
    }

    /// Returns why the result of a finished step does not count any more. Later work moves and changes files: that explains itself.
    fn lost_result(&self, proof: &GuestProof) -> Option<String> {
        let own = self.own_commits(proof);
        let state = |file: &DeclaredFile| self.evidence.files.get(file);
        let is_removed = |file: &&DeclaredFile| {
            state(file) == Some(&DeclaredState::Missing) && self.history.is_some_and(|history| history.has(&file.path))
        };
        let is_emptied = |file: &&DeclaredFile| {
            matches!(state(file), Some(DeclaredState::Present { is_empty: true, .. })) && !file.needs.is_empty()
        };
        if let Some(file) = proof.results.iter().find(is_removed) {
            return Some(format!("{} is gone, and no commit removed it", file.path));
        }
        if let Some(file) = proof.results.iter().find(is_emptied) {
            return Some(format!("{} is empty", file.path));
        }
        let is_gone = |file: &DeclaredFile| match state(file) {
            Some(DeclaredState::Missing) => true,
            Some(DeclaredState::Present { lacks, .. }) => !lacks.is_empty(),
            Some(DeclaredState::Unread(_)) | None => false,
        };
        let is_explained = |file: &DeclaredFile| {
            self.history.is_some_and(|history| !own.is_empty() || !history.changes(&file.path).is_empty())
        };
        let all_gone = !proof.results.is_empty() && proof.results.iter().all(is_gone);
        let unexplained = proof.results.iter().any(|file| !is_explained(file));
        (all_gone && unexplained).then(|| {
            let what = match proof.results.len() {
                1 => "its declared file is not there as declared".to_owned(),
                count => format!("none of its {count} declared files is there as declared"),
            };
            format!("{what}, and no commit names it")
        })
    }

    fn is_incomplete(&self, proof: &GuestProof) -> bool {
        let is_short = |file: &DeclaredFile| match self.evidence.files.get(file) {
            Some(DeclaredState::Missing) => true,
            Some(DeclaredState::Present { lacks, .. }) => !lacks.is_empty(),
            Some(DeclaredState::Unread(_)) | None => false,
        };
        let mentioned = proof.mentioned.iter().cloned().map(DeclaredFile::plain);
        proof.results.iter().any(is_short) || mentioned.into_iter().any(|file| is_short(&file))
    }

    /// The step is open by its claim: what says otherwise decides whether it is run, resumed or looked at.
    fn open(&self, proof: &GuestProof) -> Judgement {
        let step = self.step();
        if proof.is_sum {
            return self.sum(proof);
        }
        let traces = self.traces(proof);
        let spoken: Vec<&GuestWord> = proof.words.iter().filter(|word| word.done).collect();
        if !spoken.is_empty() {
            let sources = sources(&spoken);
            let verb = if spoken.iter().all(|word| word.source == spoken[0].source) { "calls" } else { "call" };
            let reason = format!("open by its own status, but {sources} {verb} it done; {}", self.found(&traces));
            return Judgement::look(reason).counts(FindingCode::StatusConflict, format!("open, but done by {sources}"));
        }
        let supported =
            !traces.commits.is_empty() && !traces.followers.is_empty() && proof.followers != Followers::Nothing;
        let proved_by_commit = proof.commits_prove && !traces.commits.is_empty() && !self.misses_a_file(proof);
        if traces.has_all_files() || supported || proved_by_commit {
            let reason = format!("{}; only its status is open", self.found(&traces));
            return Judgement::look(reason).built().counts(FindingCode::StatusDrift, BUILT);
        }
        if traces.may_have_all_files() {
            return Judgement::look(format!(
                "{}; nothing here shows whether the rest was changed",
                self.found(&traces)
            ))
            .counts(FindingCode::StatusDrift, BUILT);
        }
        if !traces.commits.is_empty() || !traces.there.is_empty() {
            return Judgement::new(EffectiveStatus::Interrupted)
                .because(self.found(&traces))
                .because(self.place(proof, &traces));
        }
        if proof.followers == Followers::Doubt && !traces.followers.is_empty() {
            let reason = format!("open, but {} depends on it and is done", named(&traces.followers));
            return Judgement::look(reason)
                .counts(FindingCode::StatusConflict, "open, but steps that depend on them are done");
        }
        if step.status != Status::InProgress {
            let open = Judgement::new(EffectiveStatus::Open);
            let of_others: Vec<&str> = traces.of_others.iter().map(|path| path.as_str()).collect();
            let named = first_names(&of_others, NAMED);
            return match of_others.len() {
                0 => open,
                1 => open.because(format!("{named} is there already, but only commits of other steps touched it")),
                _ => open.because(format!("{named} are there already, but only commits of other steps touched them")),
            };
        }
        match self.open_dependency(step) {
            Some(on) => Judgement::look(format!("in progress, but {on}, which it depends on, is open"))
                .counts(FindingCode::StatusConflict, "in progress, but what they depend on is open"),
            None => Judgement::new(EffectiveStatus::Interrupted).because("its system calls it in progress"),
        }
    }

    /// A step that only sums up others waits for them; then its claim is to be set.
    fn sum(&self, proof: &GuestProof) -> Judgement {
        let step = self.step();
        let children = || step.children.iter().filter_map(|id| self.graph.position(id));
        let is_done = |at: usize| self.run.steps[at].status == Status::Completed;
        let is_over = |at: usize| is_claimed_over(self.run.steps[at].status);
        let traces = self.traces(proof);
        if children().all(is_over) && children().any(is_done) {
            return Judgement::look("all of its parts are done, only the step itself is open")
                .counts(FindingCode::StatusDrift, "open, but all of their parts are done");
        }
        if proof.commits_prove && !traces.commits.is_empty() {
            let reason = format!("{}; its status and its parts are open", self.found(&traces));
            return Judgement::look(reason).counts(FindingCode::StatusDrift, BUILT);
        }
        if proof.followers == Followers::Doubt && !traces.followers.is_empty() {
            let reason = format!("open, but {} depends on it and is done", named(&traces.followers));
            return Judgement::look(reason)
                .counts(FindingCode::StatusConflict, "open, but steps that depend on them are done");
        }
        let own_dependency = self.open_dependency(step).filter(|_| step.status == Status::InProgress);
        match own_dependency {
            Some(on) => Judgement::look(format!("in progress, but {on}, which it depends on, is open"))
                .counts(FindingCode::StatusConflict, "in progress, but what they depend on is open"),
            None => Judgement::new(EffectiveStatus::Open),
        }
    }

    /// Tells whether a file was changed since a document, but only by commits that name other steps.
    fn is_of_others(&self, path: &RelPath, since: Since) -> bool {
        self.history.is_some_and(|history| history.changes(path).iter().any(|(at, _)| since.allows(*at)))
    }

    /// Tells whether a file that a small step names is not there.
    fn misses_a_file(&self, proof: &GuestProof) -> bool {
        let state = |path: &RelPath| self.evidence.files.get(&DeclaredFile::plain(path.clone()));
        proof.commits_need_files && proof.mentioned.iter().any(|path| state(path) == Some(&DeclaredState::Missing))
    }

    /// Returns the first dependency that is not over by its claim; the parts of a step are not meant.
    fn open_dependency(&self, step: &Step) -> Option<&'a StepId> {
        let on = self.graph.depends_on(self.at).iter().map(|on| &self.run.steps[*on]);
        let mut others = on.filter(|on| !step.children.contains(&on.id));
        others.find(|on| !is_claimed_over(on.status)).map(|on| &on.id)
    }

    fn own_commits(&self, proof: &GuestProof) -> Vec<usize> {
        let commits = |history: &History<'_>| history.of_step(proof, history.since_of(proof));
        self.history.map(commits).unwrap_or_default()
    }

    fn traces(&self, proof: &'a GuestProof) -> Traces<'a> {
        let since = self.history.map_or(Since::Never, |history| history.since_of(proof));
        let commits = self.own_commits(proof);
        let is_new = |file: &DeclaredFile| {
            let is_new = |history: &History<'_>| {
                let of_another = |at, change| history.is_of_another(self.run, self.at, &file.path, at, change);
                history.is_new(&file.path, since, &commits, &of_another)
            };
            self.history.is_none_or(is_new)
        };
        let (mut there, mut lacking, mut unseen, mut of_others) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for file in &proof.results {
            match self.evidence.files.get(file) {
                Some(DeclaredState::Present { lacks, .. }) if !lacks.is_empty() => {
                    lacking.push(format!("{} lacks {}", file.path, lacks.join(", ")));
                }
                Some(DeclaredState::Present { is_empty: true, .. }) if !file.needs.is_empty() => {
                    lacking.push(format!("{} is empty", file.path));
                }
                Some(DeclaredState::Present { .. }) if is_new(file) => there.push(&file.path),
                Some(DeclaredState::Present { .. }) => lacking.push(match since {
                    Since::Commit(_) | Since::Behind(_) | Since::Never if self.is_of_others(&file.path, since) => {
                        of_others.push(&file.path);
                        format!("only commits of other steps changed {}", file.path)
                    }
                    Since::Commit(_) | Since::Behind(_) | Since::Never => {
                        format!("{} is older than the step", file.path)
                    }
                    Since::Before => format!("no recent commit changed {}", file.path),
                }),
                Some(DeclaredState::Missing) => lacking.push(format!("{} does not exist", file.path)),
                Some(DeclaredState::Unread(why)) => lacking.push(format!("{}: {why}", file.path)),
                None => lacking.push(format!("{} was not looked at", file.path)),
            }
        }
        for path in &proof.changed {
            let is_changed = self.history.and_then(|history| {
                history
                    .is_changed(path, since, &|at, change| history.is_of_another(self.run, self.at, path, at, change))
            });
            match (self.evidence.files.get(&DeclaredFile::plain(path.clone())), is_changed) {
                (Some(DeclaredState::Missing) | None, _) => lacking.push(format!("{path} does not exist")),
                (Some(_), Some(true)) => there.push(path),
                (Some(_), Some(false)) => lacking.push(format!("no commit since the step changed {path}")),
                (Some(_), None) => unseen.push(path),
            }
        }
        Traces { commits, there, lacking, unseen, of_others, followers: self.followers() }
    }

    /// Returns the finished steps that depend on this one; the step that it is a piece of is not meant.
    fn followers(&self) -> Vec<&'a StepId> {
        let parent = self.step().guest.as_ref().and_then(|proof| proof.parent.as_ref());
        let dependents = self.graph.dependents(self.at).iter().map(|at| &self.run.steps[*at]);
        let finished = dependents.filter(|step| step.status == Status::Completed && parent != Some(&step.id));
        finished.map(|step| &step.id).collect()
    }

    /// Returns what was found of a step, in words.
    fn found(&self, traces: &Traces<'_>) -> String {
        let mut found = Vec::new();
        let total = traces.there.len() + traces.lacking.len();
        match (traces.there.len(), total) {
            (_, 0) => {}
            (1, 1) => found.push("its declared file is there".to_owned()),
            (all, total) if all == total => {
                found.push(format!("all of its {} are there", plural(total, "declared file")))
            }
            (there, total) => {
                let what = traces.lacking.iter().take(NAMED).map(|lack| quoted(lack)).collect::<Vec<_>>().join(", ");
                found.push(match total {
                    1 => format!("its declared file is not there ({what})"),
                    _ => format!("{there} of its {} are there ({what})", plural(total, "declared file")),
                });
            }
        }
        if let Some(history) = self.history
            && !traces.commits.is_empty()
        {
            let shas: Vec<&str> = traces.commits.iter().take(NAMED).map(|at| history.commit(*at).short()).collect();
            let more = traces.commits.len() - shas.len();
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let verb = if traces.commits.len() == 1 { "names" } else { "name" };
            found.push(format!(
                "{} {}{more} {verb} it",
                if traces.commits.len() == 1 { "commit" } else { "commits" },
                shas.join(", ")
            ));
        } else if self.history.is_some() {
            found.push("no commit names it".to_owned());
        }
        if !traces.followers.is_empty() {
            found.push(depend_on_it(&traces.followers));
        }
        if found.is_empty() { "nothing else shows that".to_owned() } else { found.join(", ") }
    }

    /// Returns the part with which a step that was begun continues.
    fn place(&self, proof: &GuestProof, traces: &Traces<'_>) -> String {
        let parts = &self.step().detail.parts;
        let is_open = |files: &Vec<RelPath>| {
            let is_touched = |path: &RelPath| {
                self.history
                    .is_some_and(|history| history.changes(path).iter().any(|(at, _)| traces.commits.contains(at)))
            };
            // A part that names no file leaves no trace that tells it from the others.
            !files.is_empty() && !files.iter().any(is_touched)
        };
        let first = proof.part_files.iter().position(is_open);
        match first.and_then(|first| Some((first, parts.get(first)?))) {
            Some((first, part)) => {
                format!("continue with part {} of {}, {}", first + 1, parts.len(), quoted(&part.title))
            }
            None => "see what is there before it is continued".to_owned(),
        }
    }
}

fn sources(words: &[&GuestWord]) -> String {
    let mut names: Vec<&str> = words.iter().map(|word| word.source.as_str()).collect();
    names.dedup();
    names.join(" and ")
}

fn named(ids: &[&StepId]) -> String {
    first_names(&ids.iter().map(|id| id.as_str()).collect::<Vec<_>>(), NAMED)
}

fn depend_on_it(followers: &[&StepId]) -> String {
    let verb = if followers.len() == 1 { "depends on it and is" } else { "depend on it and are" };
    format!("{} {verb} done", named(followers))
}

fn quoted(text: &str) -> String {
    clean_line(&mask_secrets(text), QUOTED)
}

/// Tells whether a claim says that a step is over, and what depends on it may start.
const fn is_claimed_over(status: Status) -> bool {
    match status {
        Status::Completed | Status::Skipped => true,
        Status::Pending
        | Status::InProgress
        | Status::Failed
        | Status::WaitingApproval
        | Status::Blocked
        | Status::Cancelled => false,
    }
}
