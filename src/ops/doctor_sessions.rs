//! What `doctor` says about the sessions of the client.

use std::collections::BTreeMap;

use super::{
    client_sessions,
    doctor_client::{DoctorCheck, good},
    project_context::ProjectContext,
};
use crate::{
    dialect::claude,
    model::{human_age, plural, safe_line},
    store::{self, ClientHome},
};

/// Number of unknown types of lines that are named.
const TYPES_SHOWN: usize = 5;

/// Says which session of the last day was cut off.
pub(super) fn cut_off(ctx: &ProjectContext) -> Option<DoctorCheck> {
    let notice = client_sessions::notice(ctx)?;
    let age = human_age(ctx.clock.now.seconds_since(notice.at));
    let session = safe_line(&notice.session, 80);
    let detail = format!("{} ({age} ago, {}, session {session})", notice.text, notice.cause.kind.as_str());
    Some(good("last session", detail))
}

/// Checks the client's folder: which sessions are seen, of which versions, and whether it can be proved that one is alive.
pub(super) fn sessions(ctx: &ProjectContext) -> DoctorCheck {
    if ClientHome::open(&ctx.environment).is_none() {
        return good("sessions", "there is no folder of Claude Code: its sessions are not looked at".to_owned());
    }
    let seen = client_sessions::seen(ctx);
    let mut versions: BTreeMap<String, usize> = BTreeMap::new();
    let mut types: BTreeMap<String, usize> = BTreeMap::new();
    for session in &seen {
        let main = &session.digest.main;
        let version = main.version.as_deref().unwrap_or("of unknown version");
        *versions.entry(safe_line(version, 40)).or_default() += 1;
        for (kind, count) in &main.unknown_types {
            *types.entry(safe_line(kind, 40)).or_default() += count;
        }
    }
    let mut parts = vec![plural(seen.len(), "session") + " of Claude Code in this project"];
    parts.extend(versions.into_iter().map(|(version, count)| {
        let known =
            if claude::is_newer_than_known(&version) { "newer than known: read as far as it can be" } else { "known" };
        format!("{version} ({known}): {count}")
    }));
    if !types.is_empty() {
        let total: usize = types.values().sum();
        let names: Vec<String> =
            types.into_iter().take(TYPES_SHOWN).map(|(kind, count)| format!("{kind} {count}")).collect();
        parts.push(format!("{} of unknown types ({})", plural(total, "line"), names.join(", ")));
    }
    parts.push(if store::client::knows_start_times() {
        "a process is proved to be alive by its start time".to_owned()
    } else {
        "this system does not tell when a process started: a living number counts as alive".to_owned()
    });
    good("sessions", parts.join("; "))
}
