//! Whose run it is: the commands of a run that this user did not begin are run only after a person agreed.

use camino::Utf8Path;

use super::{
    console::{Console, Event, says_yes},
    error::RunError,
};
use crate::{
    dialect::piton::{self, record::Header},
    model::{Suggested, Verb},
    ops::{self, Exit},
    store::{Stranger, Trusted, unread},
};

/// Refuses a run that does not speak for this user (`trust`), unless a person says yes now: neither its commands nor the paths that it names
/// are used before that.
pub(super) fn check(
    trusted: &Trusted,
    home: &Utf8Path,
    header: &Header,
    console: &dyn Console,
) -> Result<(), RunError> {
    let id = &header.session;
    let bytes = ops::header_bytes(home, id).unwrap_or_default();
    let Some(stranger) = trusted.stranger(id, &bytes, home) else {
        let moved = trusted.follow(id, &bytes, home)?;
        if let Some(old) = moved {
            let old = piton::project_of(&old).unwrap_or(&old);
            let text = format!("Session {id} was made in {old}, which is now {}", header.root);
            console.tell(&Event::Note { text: &text });
        }
        return Ok(());
    };
    let source = header.workflow.file.under(&header.workflow.root);
    let message = format!("{}; its steps run the commands of {source}", ops::stranger_in_words(id, &stranger));
    if let (Stranger::CopyOf(original), Some(worktree)) = (&stranger, header.worktree.as_ref())
        && unread::exists(original)
    {
        let message = format!("{message}; its worktree, {worktree}, is that of {original}");
        let run = Suggested::of(Verb::Run, header.workflow.file.as_str());
        let hint = format!("go on there, or begin another run: `{run}`");
        return Err(RunError::new(Exit::Person, message, [hint.into()]));
    }
    if !says_yes(console.ask(&format!("{message}. Run them? [y/N]"), None)) {
        return Err(RunError::new(Exit::Person, message, ops::ways_to_trust(id)));
    }
    Ok(trusted.enter(id, &bytes, home)?)
}
