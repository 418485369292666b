//! One line about the session that was cut off last, for the beginning of a new one. It reads ends of files only.

use super::{ClientHome, Life, ProjectContext};
use crate::{
    dialect::claude,
    model::{Cause, CauseKind, Timestamp},
};

/// Number of transcripts that are looked at: the ones that were written last.
const NEWEST: usize = 5;
/// How long a session is spoken of, in seconds.
const SPOKEN_OF_SECONDS: i64 = 24 * 3_600;

/// A session that ended lately with something open.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    /// The id of the session.
    pub(crate) session: String,
    pub(crate) cause: Cause,
    pub(crate) at: Timestamp,
    /// The line: what was cut off, how, and what continues it.
    pub(crate) text: String,
}

/// Returns the newest session of the project that ended within a day and left something open; `None` if there is none. The caller's own
/// session and living ones do not count.
pub(crate) fn notice(ctx: &ProjectContext) -> Option<Notice> {
    let home = ClientHome::open(&ctx.environment)?;
    let mut newest: Vec<_> = super::transcripts(ctx, &home)
        .into_iter()
        .filter(|(_, session)| ctx.environment.session.as_deref() != Some(session.as_str()))
        .map(|(path, session)| (home.modified(&path), path, session))
        .collect();
    newest.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let processes = super::processes(&home);
    let looked_at = newest.iter().take(NEWEST);
    let digests = looked_at.filter_map(|(_, path, _)| super::glance(ctx, &home, &processes, path));
    let ended = digests.filter_map(|digest| {
        let at = digest.main.last_at?;
        let age = ctx.clock.now.seconds_since(at);
        let is_open = digest.life != Life::Alive && claude::is_offered(&digest);
        (is_open && (0..=SPOKEN_OF_SECONDS).contains(&age)).then_some((at, digest))
    });
    let mut ended: Vec<_> = ended.collect();
    if !ended.is_empty() {
        let runs = super::adopted(ctx);
        ended.retain(|(_, digest)| !runs.contains_key(&digest.session));
    }
    let (at, digest) = ended.into_iter().max_by_key(|(at, _)| *at)?;
    let open = claude::open_work(&digest);
    let cause = claude::cause(&digest);
    let left = open.in_words();
    let left = if left.is_empty() { String::new() } else { format!(": {left}") };
    let time = at.plus_seconds(i64::from(ctx.clock.utc_offset_seconds)).in_seconds();
    let time = time.get(11..16).unwrap_or_default();
    let how = match cause.kind {
        CauseKind::Limit => "was cut by the usage limit",
        CauseKind::Failure => "was cut by an error of the service",
        CauseKind::Stopped => "was stopped by hand",
        CauseKind::Killed => "ended without a clean end",
        CauseKind::SessionEnded | CauseKind::AgentLost | CauseKind::ContextLost => "ended",
    };
    let text = format!("The session of {time} {how}{left}. /workflow-resume");
    Some(Notice { session: digest.session, cause, at, text })
}
