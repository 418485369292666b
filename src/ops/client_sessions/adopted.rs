//! The runs that sessions of the client were made into, also in an archive.

use std::collections::BTreeMap;

use super::{Look, ProjectContext, RunLocation, digest_of};
use crate::{
    dialect::{
        claude,
        piton::record::{HEADER, Header},
    },
    model::{Content, No, RelPath, Suggested, Verb},
    ops::{OpError, archived},
    store,
};

/// A run that was made of a session.
#[derive(Clone, Debug)]
pub(crate) struct AdoptedRun {
    pub(crate) run: String,
    pub(crate) is_archived: bool,
}

/// Returns the runs that were made of sessions, by session.
pub(crate) fn adopted(ctx: &ProjectContext) -> BTreeMap<String, AdoptedRun> {
    let mut found = BTreeMap::new();
    let mut add = |header: Option<Header>, is_archived: bool| {
        if let Some((session, run)) = header.and_then(|header| Some((header.adopted_from?, header.session))) {
            found.insert(session, AdoptedRun { run, is_archived });
        }
    };
    for home in &ctx.homes {
        for archived in archived::of_workflow_files(home.root()) {
            let header = RelPath::below(&archived.folder.join(HEADER), home.root());
            let header = header.map(|path| store::read_file(home.root(), &path));
            let Some(Content::Bytes(bytes)) = header else { continue };
            // An archive can come with a copy of a project.
            if ctx.project.trusted.knows(&archived.name, &bytes) {
                add(Header::parse(&bytes, home.root()).ok(), true);
            }
        }
        for entry in home.listing(&ctx.project).listing.entries {
            add(entry.content.and_then(|bytes| Header::parse(&bytes, home.root()).ok()), false);
        }
    }
    found
}

/// Refuses a session that was made into a run, which has its steps from then on.
pub(crate) fn check_not_adopted(ctx: &ProjectContext, location: &RunLocation) -> Result<(), OpError> {
    let session = location.candidate.state.name().trim_end_matches(".jsonl");
    let Some(AdoptedRun { run, is_archived }) = adopted(ctx).remove(session) else { return Ok(()) };
    let (what, verb) = if is_archived { (", which is archived", Verb::Restore) } else { ("", Verb::Plan) };
    let message = format!("{} was already adopted as {run}{what}", location.candidate.name);
    Err(OpError::InTheWay { why: No::Already, message, hints: vec![Suggested::of(verb, &run).into()] })
}

/// Refuses a run of another program, which is never written. Of a session it names the run that it was made into, or the command that makes one.
pub(crate) fn check_writable(ctx: &ProjectContext, location: &RunLocation) -> Result<(), OpError> {
    let Err(mut refused) = location.check_writable() else { return Ok(()) };
    if !location.is_of_client() {
        return Err(refused);
    }
    check_not_adopted(ctx, location)?;
    let digest = digest_of(ctx, &location.candidate, Look::Glance);
    if let OpError::InTheWay { hints, .. } = &mut refused
        && digest.is_some_and(|digest| claude::is_adoptable(&digest))
    {
        let start = Suggested::new(Verb::Start).option("from", &location.candidate.name);
        hints.insert(0, start.comment("makes a run of it, which can be recorded").into());
    }
    Err(refused)
}
