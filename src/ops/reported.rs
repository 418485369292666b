//! The attempt that a report is about: it counts if its step still stands there, else it is late.

use super::{OpError, locked_run::LockedRun};
use crate::{
    engine::{self, Refusal, RefusalKind, share::Stand},
    model::{
        About, ChangeKind, Decision, Entry, No, Outcome, Run, StatementKind, StepId, StepKind, StepReport, Suggested,
        Uid, Verb, clean_line,
    },
};

/// Characters of a name in a sentence.
const NAME_CHARS: usize = 80;

/// Returns a change with the record that it becomes. A report that is late is recorded.
///
/// # Errors
///
/// When the report is late, or names no attempt.
pub(super) fn about(locked: &LockedRun<'_>, run: &Run, kind: ChangeKind) -> Result<(ChangeKind, About), OpError> {
    let about = locked.ctx().about();
    let ChangeKind::Finish(mut outcome) = kind else { return Ok((kind, about)) };
    // A person's word is about what stands now, not about an attempt.
    let Some(step) = run.step(&outcome.step).filter(|_| !outcome.accepts) else {
        return Ok((ChangeKind::Finish(outcome), about));
    };
    let attempts = Attempts { entries: &locked.opened.journal.entries, step: &step.id };
    let named = outcome.begun.take().map(|digits| attempts.named(&digits, run)).transpose()?;
    let stand = locked.opened.journal.standing.of(&step.id);
    // Work that may be done again can also be done by hand, with no attempt of its own.
    let is_by_hand = step.kind != StepKind::Review && step.idempotent && stand.is_none_or(|stand| !stand.is_begun);
    let begun = named.or_else(|| attempts.last_of(about.driver?).filter(|_| !is_by_hand));
    match (begun, stand) {
        (Some(begun), Some(stand)) if !stand.goes_on(begun) && !stand.ended(begun) => {
            Err(late(locked, run, &attempts, *outcome, (about, begun), stand)?)
        }
        (None, Some(Stand { is_reopened: true, at, .. })) if !is_by_hand => {
            let message = format!("{}: begin {} before you report on it", attempts.moved_by(at), step.id);
            let hints = vec![Suggested::on_step(Verb::Begin, &step.id, &run.id).into()];
            Err(OpError::Refused(Refusal { kind: RefusalKind::No(No::NotYet), message, hints }))
        }
        (Some(_) | None, _) => Ok((ChangeKind::Finish(outcome), about)),
    }
}

/// Records a late report, once. Returns the refusal.
fn late(
    locked: &LockedRun<'_>,
    run: &Run,
    attempts: &Attempts<'_>,
    mut outcome: Outcome,
    (about, begun): (About, About),
    stand: Stand,
) -> Result<OpError, OpError> {
    let (step, part) = (outcome.step.clone(), outcome.part.clone());
    outcome.attempt = attempts.number_of(begun.id);
    let about = About { on: Some(begun.id), ..about };
    let said = engine::statement(run, &locked.stamped(ChangeKind::Finish(Box::new(outcome))));
    let is_known = |entry: &Entry| {
        (entry.about.on, entry.about.driver) == (about.on, about.driver)
            && said.as_ref().is_none_or(|said| entry.said.iter().any(|known| says_the_same(&known.kind, &said.kind)))
    };
    if !attempts.entries.iter().filter(|entry| entry.is_late).any(is_known) {
        let entry = locked.entry_of(about, "finish", Some(step.clone()));
        let said = said.into_iter().collect();
        locked.commit(Entry { said, part, ..entry }, Vec::new())?;
    }
    let message = format!(
        "{}, so this report does not count; it is kept, and the next brief of {step} shows it",
        attempts.moved_by(stand.at)
    );
    let hints = vec![Suggested::of(Verb::Plan, &run.id).into()];
    Ok(OpError::Refused(Refusal { kind: RefusalKind::Conflict, message, hints }))
}

fn says_the_same(known: &StatementKind, said: &StatementKind) -> bool {
    match (known, said) {
        (StatementKind::Report(known), StatementKind::Report(said)) => {
            StepReport { at: known.at, ..said.clone() } == *known
        }
        (StatementKind::Report(_) | StatementKind::Begun(_) | StatementKind::Decision(_), _) => false,
    }
}

/// The records about one step.
struct Attempts<'a> {
    entries: &'a [Entry],
    step: &'a StepId,
}

impl Attempts<'_> {
    fn begins(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        let is_one =
            |entry: &&Entry| entry.change == "begin" && entry.step.as_ref() == Some(self.step) && !entry.is_late;
        self.entries.iter().filter(is_one)
    }

    /// Returns the attempt that a brief names by the first digits of its record.
    fn named(&self, digits: &str, run: &Run) -> Result<About, OpError> {
        let mut begins = self.begins().map(|entry| entry.about);
        begins.find(|about| about.id.begins_with(digits)).ok_or_else(|| {
            let message = format!("no attempt at {} has the name `{}`", self.step, clean_line(digits, NAME_CHARS));
            let hints = vec![Suggested::of(Verb::Context, &run.id).option("step", self.step).into()];
            OpError::Refused(Refusal { kind: RefusalKind::NotFound, message, hints })
        })
    }

    fn last_of(&self, driver: Uid) -> Option<About> {
        self.begins().map(|entry| entry.about).rfind(|about| about.driver == Some(driver))
    }

    /// Returns the number of an attempt, from 1.
    fn number_of(&self, begin: Uid) -> u32 {
        let said = self.begins().filter(|entry| entry.about.id == begin).flat_map(|entry| &entry.said);
        let number = said.filter_map(|said| match &said.kind {
            StatementKind::Begun(attempt) => Some(attempt.attempt),
            StatementKind::Report(_) | StatementKind::Decision(_) => None,
        });
        number.max().unwrap_or(1)
    }

    /// Returns what moved the step, and when, in words.
    fn moved_by(&self, record: Uid) -> String {
        let step = self.step;
        let entry = self.entries.iter().find(|entry| entry.about.id == record);
        let Some(entry) = entry else { return format!("{step} has moved since") };
        let when = entry.at.in_seconds();
        let decision = entry.said.iter().find_map(|said| match &said.kind {
            StatementKind::Decision(decision) => Some(decision),
            StatementKind::Begun(_) | StatementKind::Report(_) => None,
        });
        match (entry.change.as_str(), &entry.step, decision) {
            ("begin", Some(other), _) if other != step => {
                format!("{other}, which {step} builds on, was begun again at {when}")
            }
            ("begin", ..) => {
                format!("{step} was begun again at {when} (attempt {})", self.number_of(record))
            }
            (_, _, Some(Decision { decision, by, .. })) => {
                let by = by.as_deref().map_or_else(|| "a person".to_owned(), |by| clean_line(by, NAME_CHARS));
                format!("{by} {} {step} at {when}", decision.as_past())
            }
            ("finish", ..) => format!("{step} was finished at {when}"),
            ("rollback" | "restore" | "repair", ..) => format!("the run went back at {when}"),
            _ => format!("{step} has moved since, at {when}"),
        }
    }
}
