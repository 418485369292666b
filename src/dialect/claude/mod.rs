//! Sessions of Claude Code itself (docs/formats/claude.md): read and planned, never written.
//!
//! A transcript may have hundreds of megabytes. `store` reads it line by line through a [`TranscriptReader`], and the run is loaded from the
//! [`Digest`] of all files of a session, which takes the place of the transcript in the [`FileSet`].
//!
//! - `transcript` and `tools` read transcripts, `sidecars` the small files beside them, `lines` has what they share; `digest` is the result.
//! - `layout` knows where things are, `tasks` and `run` make the steps (`steps` has what they share), `standing` says what became of them, `ended` how the session ended.
//! - `native`, `salvage` and `brief` are the answers in its own words, `adopted` those that a run made of it may have.

mod adopted;
mod brief;
mod digest;
mod ended;
mod layout;
mod lines;
mod native;
mod run;
mod salvage;
mod sidecars;
mod standing;
mod steps;
mod tasks;
mod tools;
mod transcript;

pub(crate) use adopted::AdoptedWords;
pub(crate) use digest::{Agent, ClientProcess, Digest, Life, TaskFile, TaskRecord, Transcript, Workflow};
pub(crate) use layout::{is_session_id, may_be_of, slug};
pub(crate) use sidecars::{agent, client_process, task_file};
pub(crate) use transcript::TranscriptReader;

use camino::Utf8Path;
use serde_json::Value;

use crate::{
    dialect::{Comparison, Dialect, EditError, GitComparison, Guest, Loaded, Probed, StateHome, Wording},
    model::{
        Brief, Candidate, Cause, Change, DialectId, Edit, Evidence, FileSet, Finding, FindingCode, Listing, Next,
        Notice, Plan, Run, Severity, StepId, Suggested, Verb, Verdict, quoted, safe_line,
    },
};

/// The dialect of sessions of Claude Code.
pub(crate) struct Claude;

impl Dialect for Claude {
    fn id(&self) -> DialectId {
        DialectId::Claude
    }

    fn state_home(&self) -> StateHome {
        StateHome::Client
    }

    fn marks(&self, _path: &str) -> bool {
        false
    }

    fn probe(&self, _listing: &Listing) -> Probed {
        Probed::default()
    }

    fn load(&self, files: &FileSet) -> Loaded {
        let Some(digest) = digest_of(files) else {
            let message = format!("{} cannot be read", files.state);
            let finding = Finding::new(FindingCode::StateUnreadable, message).at(&files.state);
            return Loaded { findings: vec![finding.fix("look whether the file belongs to you")], ..Loaded::default() };
        };
        let mut loaded = run::load(files, &digest);
        if let Some(run) = &loaded.run {
            loaded.native = native::facts(&digest, run);
        }
        loaded
    }

    fn edit(&self, _files: &FileSet, _change: &Change) -> Result<Vec<Edit>, EditError> {
        Err(EditError::Unsupported("a session belongs to Claude Code: piton reads it and never writes it".to_owned()))
    }

    fn guest(&self, _root: &Utf8Path, candidate: &Candidate) -> Option<Guest> {
        let session = candidate.state.name().trim_end_matches(".jsonl");
        Some(Guest {
            refusal: "belongs to Claude Code: piton reads it and never writes it".to_owned(),
            command: format!("claude --resume {}", quoted(session)),
            has_brief: true,
        })
    }

    fn native(&self, native: &Value, run: &Run, plan: &Plan, _findings: &[Finding]) -> Value {
        native::native(native, run, plan)
    }

    fn brief(&self, files: &FileSet, run: &Run, plan: &Plan, next: &Next) -> Brief {
        digest_of(files).map(|digest| brief::write(&digest, run, plan, next)).unwrap_or_default()
    }

    fn comparison(&self) -> &dyn Comparison {
        self
    }

    fn wording(&self) -> &dyn Wording {
        self
    }
}

impl Comparison for Claude {
    fn compare_with_git(&self, files: &FileSet, _run: &Run, evidence: &Evidence) -> GitComparison {
        let branch =
            digest_of(files).and_then(|digest| digest.main.branch).filter(|name| !name.is_empty() && name != "HEAD");
        let found = evidence.workspace.as_ref().and_then(|found| found.branch.as_deref());
        let (Some(branch), Some(found)) = (branch, found) else { return GitComparison::default() };
        if branch == found {
            return GitComparison::default();
        }
        let message = format!(
            "the session worked on branch {}; {} is checked out now",
            safe_line(&branch, 200),
            safe_line(found, 200)
        );
        let finding = Finding::new(FindingCode::BranchMismatch, message);
        let switch = Suggested::Other(format!("git switch {}", quoted(&branch)));
        let finding = Finding { severity: Severity::Warning, ..finding.fix(switch) };
        GitComparison { findings: vec![finding], compared: Vec::new() }
    }
}

impl Wording for Claude {
    fn position(&self, _run: &Run, plan: &Plan) -> Option<String> {
        (plan.verdict == Verdict::Complete).then(|| "waited for you".to_owned())
    }

    fn notices(&self, files: &FileSet, run: &Run, plan: &Plan, _findings: &[Finding]) -> Vec<Notice> {
        let ways = plan.native.get("back").and_then(Value::as_array).into_iter().flatten();
        let notice = |way: &Value| {
            let number = |key: &str| way.get(key).and_then(Value::as_u64).unwrap_or(0);
            let text = match way.get("way").and_then(Value::as_str) {
                Some("resume") => format!("Back to the same session: about {} tokens are sent again", number("tokens")),
                _ => format!("A fresh session with a brief of about {} tokens", number("tokens")),
            };
            Some(Notice { text, hint: way.get("command")?.as_str()?.to_owned() })
        };
        let adopt = Notice {
            text: "A run of it, whose steps are recorded".to_owned(),
            hint: Suggested::new(Verb::Start).option("from", &run.id).into(),
        };
        let adopt = Some(adopt).filter(|_| digest_of(files).is_some_and(|digest| is_adoptable(&digest)));
        ways.filter_map(notice).chain(adopt).collect()
    }
}

/// Reads the digest that stands for the transcript.
fn digest_of(files: &FileSet) -> Option<Digest> {
    serde_json::from_slice(files.bytes(&files.state)?).ok()
}

/// Returns the words of a session that a run made of it may have.
pub(crate) fn adopted_words(files: &FileSet) -> AdoptedWords {
    digest_of(files).as_ref().map(adopted::words).unwrap_or_default()
}

/// Tells whether a step of a session is a task of its list.
pub(crate) fn is_task(step: &StepId) -> bool {
    step.as_str().starts_with('T')
}

/// Tells whether a step of a session is a call of a workflow, or the rest of one.
pub(crate) fn is_of_workflow(step: &StepId) -> bool {
    step.as_str().starts_with('W')
}

/// Tells whether a step of a session is what it was doing when it ended.
pub(crate) fn is_turn(step: &StepId) -> bool {
    step.as_str() == run::TURN
}

/// Tells whether a session has steps that a run can be made of, and not only a turn.
pub(crate) fn is_adoptable(digest: &Digest) -> bool {
    let open = open_work(digest);
    digest.life != Life::Alive && digest.adopted_as.is_none() && open.tasks + open.agents + open.workflows > 0
}

/// Returns what a session left open.
pub(crate) fn open_work(digest: &Digest) -> ended::OpenWork {
    run::steps(digest).open
}

/// Tells whether a version of the client is newer than those whose files were looked at.
pub(crate) fn is_newer_than_known(version: &str) -> bool {
    layout::is_newer(version, run::NEWEST_KNOWN)
}

/// Returns what ended a session.
pub(crate) fn cause(digest: &Digest) -> Cause {
    digest.cause(&open_work(digest))
}

/// Tells whether a session that is not alive is something to continue (docs/formats/claude.md#which-sessions-are-runs).
pub(crate) fn is_offered(digest: &Digest) -> bool {
    let is_cut = !digest.is_clean() || digest.is_stopped() || digest.main.api_error().is_some();
    digest.main.continued_in.is_none() && (is_cut || !open_work(digest).is_nothing())
}
