//! Whose run it is: the commands of a run that this user did not begin are run only after a person agreed.

use camino::Utf8Path;

use super::{
    console::{Console, Event, says_yes},
    error::{ProblemKind, RunError},
};
use crate::{
    dialect::piton::{self, record::Header},
    model::quoted,
    ops,
    store::{self, RunIndex},
};

/// Refuses to run the commands of a run that this user did not begin, unless a person agrees: its folder may have come with a copy of the
/// project.
pub(super) fn check(
    index: &RunIndex,
    home: &Utf8Path,
    header: &Header,
    trust: bool,
    console: &dyn Console,
) -> Result<(), RunError> {
    let id = &header.session;
    let Some(bytes) = ops::header_bytes(home, id) else { return Ok(()) };
    let original = index.original_of(id, &bytes, home);
    if original.is_none() && index.knows(id, &bytes, home) {
        let moved = index.follow(id, &bytes, home)?.or_else(|| store::moved_from(home));
        if let Some(old) = moved {
            let old = piton::project_of(&old).unwrap_or(&old);
            let text = format!("Session {id} was made in {old}, which is now {}", header.root);
            console.tell(&Event::Note { text: &text });
        }
        return Ok(());
    }
    let message = match &original {
        None => {
            let source = header.workflow.file.under(&header.workflow.root);
            format!("this user did not begin the run {id} on this machine; its steps run the commands of {source}")
        }
        Some(original) => format!("the run {id} was copied with its project, and {original} has it too"),
    };
    if let (Some(original), Some(worktree)) = (&original, header.worktree.as_ref()) {
        let message = format!("{message}; its worktree, {worktree}, is that of {original}");
        let hint = format!("go on there, or begin another run: `piton run {}`", quoted(header.workflow.file.as_str()));
        return Err(RunError::new(ProblemKind::Person, message, [hint]));
    }
    let question = format!("{message}. Run them? [y/N]");
    if !trust && !says_yes(console.ask(&question, None)) {
        let hints = [format!("piton show {}", quoted(id)), format!("to run them: `{} --trust`", header.resume())];
        return Err(RunError::new(ProblemKind::Person, message, hints));
    }
    Ok(index.enter(id, &bytes, home)?)
}
