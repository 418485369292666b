//! Loads a session whose journal may be damaged, once a person agreed to what that loses.

use super::{
    console::{Console, Event, says_yes},
    error::RunError,
    ledger::SessionPaths,
    resume::ResumeOptions,
    run_environment::RunEnvironment,
};
use crate::{
    dialect::{
        Loaded,
        piton::{self, Session, record::Remainder},
    },
    model::{Candidate, Edit, EditKind, FileSet, Fix, Status, Suggested, Verb, plural},
    ops::Exit,
    store::{self, CheckpointMeta},
};

/// The session, and who may decide about its damage.
struct Damaged<'a> {
    environment: &'a RunEnvironment,
    paths: &'a SessionPaths,
    candidate: &'a Candidate,
    asked: &'a ResumeOptions,
    console: &'a dyn Console,
}

/// Loads a session and sets aside what follows the last sound record; asks first where finished work is lost.
pub(super) fn load_repaired(
    environment: &RunEnvironment,
    paths: &SessionPaths,
    candidate: &Candidate,
    asked: &ResumeOptions,
    console: &dyn Console,
) -> Result<(FileSet, Session, Loaded), RunError> {
    let damaged = Damaged { environment, paths, candidate, asked, console };
    let (files, session) = damaged.read()?;
    let what = match &session.remainder {
        Remainder::Nothing | Remainder::Newer { .. } => None,
        Remainder::Truncated { bytes } => Some(format!("Its last record is incomplete ({bytes} bytes)")),
        Remainder::Broken { line, reason } => {
            let again = if session.state.seq > session.journal_end.seq {
                "the last checkpoint is newer and counts"
            } else {
                "work recorded after it will be repeated"
            };
            let message = format!("line {line} of its journal is damaged ({reason}); {again}");
            damaged.agree(&session, &message, "Continue?", "to continue anyway", None)?;
            Some(message)
        }
        Remainder::Lost { records } => {
            let message = format!(
                "the last {} of its journal are gone; by its checkpoint {}",
                plural(usize::try_from(*records).unwrap_or(usize::MAX), "record"),
                proved(&session)
            );
            let question = "Continue from the checkpoint?";
            damaged.agree(&session, &message, question, "to continue from the checkpoint", None)?;
            damaged.begin_journal(&files, &session, &format!("{message}; a new record begins with the checkpoint"))?;
            None
        }
        Remainder::Absent => {
            let message = "its journal is gone, and there is no checkpoint: no step is proven";
            damaged.agree(&session, message, "Start it anew?", "to start it anew", Some("force"))?;
            damaged.begin_journal(&files, &session, &format!("{message}; a new record begins"))?;
            None
        }
    };
    let Some(what) = what.filter(|_| !asked.dry_run) else {
        let loaded = piton::load_to_run(&files);
        return Ok((files, session, loaded));
    };
    let lock = paths.lock()?;
    let at = environment.ticker.now().now;
    let kept = store::set_tail_aside(&lock, (&files.root, &session.journal_file), session.journal_end.length, at)?;
    drop(lock);
    console.tell(&Event::Note { text: &format!("{what}; the rest is kept as {kept}") });
    let (files, session) = damaged.read()?;
    let loaded = piton::load_to_run(&files);
    Ok((files, session, loaded))
}

/// Returns what the sound records of a session say is done.
fn proved(session: &Session) -> String {
    let done = session.state.steps.iter().filter(|(_, step)| step.status == Status::Completed);
    let done: Vec<&str> = done.map(|(id, _)| id.as_str()).collect();
    if done.is_empty() { "no step".to_owned() } else { format!("done: {}", done.join(", ")) }
}

impl Damaged<'_> {
    fn read(&self) -> Result<(FileSet, Session), RunError> {
        let now = self.environment.ticker.now();
        let lock = self.paths.lock()?;
        let files = store::file_set_locked(&self.environment.project, &lock, &self.paths.own.home, self.candidate, now);
        let session = Session::read(&files).map_err(|finding| {
            let message = finding.message.clone();
            RunError::new(Exit::Unreadable, message, [Suggested::new(Verb::Doctor).into()]).with(vec![*finding])
        })?;
        Ok((files, session))
    }

    /// Has a person agree to go on over the damage. With a flag, a yes counts only beside it. A dry run asks nothing.
    fn agree(
        &self,
        session: &Session,
        message: &str,
        question: &str,
        to: &str,
        flag: Option<&'static str>,
    ) -> Result<(), RunError> {
        let question = format!("Session {}: {message}. {question} [y/N]", session.header.session);
        let is_given = self.asked.yes && (flag.is_none() || self.asked.force);
        if is_given || (!self.asked.dry_run && says_yes(self.console.ask(&question, None))) {
            return Ok(());
        }
        let from = match session.state.seq {
            0 => "a resume would begin with the first step".to_owned(),
            last => format!("a resume would go on from record {last}, {}", proved(session)),
        };
        let hint = format!("{to}: `{}`", session.header.resume().flags(flag).yes());
        let hints = Some(from).filter(|_| self.asked.dry_run).into_iter().chain([hint]).map(Fix::from).collect();
        Err(RunError::problem(Exit::Person, message.to_owned(), hints))
    }

    /// Makes the journal where it is gone, and says that it begins anew.
    fn begin_journal(&self, files: &FileSet, session: &Session, note: &str) -> Result<(), RunError> {
        if self.asked.dry_run {
            return Ok(());
        }
        if files.bytes(&session.journal_file).is_none() {
            let kind = EditKind::Create { after: Vec::new() };
            let meta = CheckpointMeta::new("resume");
            store::commit(&self.paths.lock()?, &[Edit { path: session.journal_file.clone(), kind }], &meta)?;
        }
        self.console.tell(&Event::Note { text: note });
        Ok(())
    }
}
