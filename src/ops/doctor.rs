//! `doctor`: checks this installation and this project. Works without a project, without git and with a broken state.

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Exit,
    doctor_client::{self, DoctorCheck, good, problem, warning},
    doctor_sessions, entries,
    error::permission_fix,
    project_context::{ProjectContext, Request},
    report::{Body, Report},
};
use crate::{
    engine,
    model::{FindingCode, No, Owner, Suggested, Verb},
    store::{self, Caller, Environment},
};

/// The result of the checks (`doctor/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorReport {
    pub(crate) version: String,
    pub(crate) checks: Vec<DoctorCheck>,
}

impl Body for DoctorReport {
    const SCHEMA: &'static str = "doctor/1";
}

/// Checks everything that can go wrong around a run.
pub(crate) fn doctor(request: &Request) -> Report<DoctorReport> {
    let project_context = ProjectContext::open(request);
    let mut checks = doctor_client::checks(&Environment::read(), project_context.as_ref().ok());
    checks.extend([program(), git()]);
    match project_context {
        Ok(ctx) => project(&ctx, &mut checks),
        Err(error) => {
            let fix = format!("correct it, then run {} again", Suggested::new(Verb::Doctor));
            checks.push(problem("project", error.to_string(), fix));
        }
    }
    let healthy = checks.iter().all(|check| check.result != "problem");
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let body = DoctorReport { version, checks };
    Report { exit: if healthy { Exit::Ok } else { Exit::No(No::Invalid) }, body, findings: Vec::new() }
}

fn program() -> DoctorCheck {
    match store::current_exe() {
        Some(path) => good("program", path.into_string()),
        None => {
            let fix = format!("nothing: only `{}` needs it", Suggested::new(Verb::Demo));
            warning("program", "its own path is unknown".to_owned(), fix)
        }
    }
}

fn git() -> DoctorCheck {
    match store::git::version() {
        Some(version) => good("git", version),
        None => warning(
            "git",
            "not found: uncommitted changes and phase commits cannot be checked".to_owned(),
            "install git, or continue without it",
        ),
    }
}

/// Says which of the folders that Piton keeps its records in cannot be written, with the rule that opens them to a sandboxed client.
fn places(closed: &[Utf8PathBuf]) -> DoctorCheck {
    let Some(first) = closed.first() else { return good("places", "records can be written".to_owned()) };
    // Two slashes are an absolute path in every version of the client.
    let rules: Vec<String> = closed.iter().map(|place| format!("\"/{place}\"")).collect();
    let missing =
        closed.iter().filter(|place| !store::unread::exists(place)).map(|place| engine::quoted(place.as_str()));
    let missing: Vec<_> = missing.collect();
    // The sandbox passes over a rule for a folder that is not there.
    let make = if missing.is_empty() {
        String::new()
    } else {
        format!("outside of it, mkdir -p {}; then ", missing.join(" "))
    };
    let fix = format!(
        "in a sandbox of Claude Code: {make}allow it in the settings: \"sandbox\": {{\"filesystem\": {{\"allowWrite\": [{}]}}}}; else: {}",
        rules.join(", "),
        permission_fix(first)
    );
    let names: Vec<&str> = closed.iter().map(|place| place.as_str()).collect();
    warning("places", format!("cannot be written: {}", names.join(", ")), fix)
}

fn project(ctx: &ProjectContext, checks: &mut Vec<DoctorCheck>) {
    let place = match &ctx.project.git {
        Some(git) if git.worktrees.is_empty() => format!("{} (git)", ctx.project.root),
        Some(git) => format!("{} (git, {} linked worktrees)", ctx.project.root, git.worktrees.len()),
        None => format!("{} (not in git)", ctx.project.root),
    };
    checks.push(good("project", place));
    checks.push(good(
        "session",
        ctx.environment.session.clone().unwrap_or_else(|| "none: leases name the parent process".to_owned()),
    ));
    let environment = &ctx.environment;
    let list = environment.state_home.as_deref();
    let closed_list = list.filter(|list| !store::sessions::is_writable(list)).map(Utf8Path::to_owned);
    let closed = store::sessions::closed_home(&ctx.project).into_iter().chain(closed_list);
    checks.push(places(&closed.collect::<Vec<_>>()));
    let (locations, mut findings) = ctx.locations();
    findings.extend(locations.iter().flat_map(|location| location.candidate.findings.iter().cloned()));
    checks.push(good("runs", format!("{} found", locations.len())));
    checks.push(doctor_sessions::sessions(ctx));
    checks.extend(doctor_sessions::cut_off(ctx));
    for finding in findings {
        let file = finding.file.as_ref().map_or_else(String::new, |file| format!("{file}: "));
        let fix = finding.fix.unwrap_or_else(|| "nothing, if it is not yours to resume".into());
        checks.push(warning("file", format!("{file}{}", finding.message), fix));
    }
    let mut implied = Vec::new();
    for location in locations {
        let name = format!("run {}", location.candidate.name);
        let own = store::journals::folder_of(&ctx.project, &location.root, &location.candidate);
        if let Err(error) = store::try_lock(&own) {
            checks.push(problem(
                &name,
                error.to_string(),
                "wait for the other piton, or move the project off the network share",
            ));
            continue;
        }
        match ctx.read(&location) {
            Err(error) => checks.push(problem(&name, error.to_string(), Suggested::new(Verb::Validate))),
            Ok(opened) => {
                let is_lost =
                    |code: FindingCode| matches!(code, FindingCode::StateUnreadable | FindingCode::WorktreeGone);
                let unreadable = opened.loaded.findings.iter().find(|finding| is_lost(finding.code));
                let environment = &ctx.environment;
                let owner = store::local::owner(&opened.files.local, ctx.clock, || Caller::find(environment));
                let live = match store::local::merge_owners(owner, &opened.loaded.wanted.owner_processes, environment) {
                    Owner::Live { description } => format!(", driven by {description}"),
                    Owner::None | Owner::Ours | Owner::Dead { .. } => String::new(),
                };
                let state = location.candidate.state.under(&location.root);
                let denied = store::denied(&own.absolute()).or_else(|| store::denied(&state));
                let is_plain = unreadable.is_none() && denied.is_none() && live.is_empty();
                let check = match (unreadable, denied) {
                    (Some(finding), _) => {
                        let fix = finding.fix.clone().unwrap_or_else(|| Suggested::new(Verb::Restore).into());
                        problem(&name, finding.message.clone(), fix)
                    }
                    (None, Some(path)) => problem(
                        &name,
                        format!("{path}: nothing can be recorded: permission denied"),
                        permission_fix(&path),
                    ),
                    (None, None) => {
                        let stamps = opened.dialect.wording().stamps(&opened.files);
                        let stamps: String = stamps.iter().map(|stamp| format!("; {stamp}")).collect();
                        good(&name, format!("{}{live}{stamps}", location.candidate.state))
                    }
                };
                let is_implied = is_plain && location.candidate.claim.is_implied();
                if is_implied { &mut implied } else { &mut *checks }.push(check);
            }
        }
    }
    if implied.len() > entries::REVIEWS_SHOWN {
        let count = implied.len();
        let list = Suggested::new(Verb::List).flag("all");
        checks.push(good("runs", format!("{count} of them have no saved state: `{list}`")));
    } else {
        checks.append(&mut implied);
    }
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn a_place_that_is_closed_is_named_with_the_rule_that_opens_it() {
        assert_eq!(places(&[]).result, "ok");
        let check = places(&["/repo/.git/piton".into(), "/home/ann/.local/state/piton".into()]);
        assert_eq!(check.result, "warning");
        assert_eq!(check.detail, "cannot be written: /repo/.git/piton, /home/ann/.local/state/piton");
        let fix = String::from(check.fix.unwrap());
        let make = "outside of it, mkdir -p /repo/.git/piton /home/ann/.local/state/piton; then allow it";
        assert!(fix.contains(make), "{fix}");
        assert!(
            fix.contains(
                r#""sandbox": {"filesystem": {"allowWrite": ["//repo/.git/piton", "//home/ann/.local/state/piton"]}}"#
            ),
            "{fix}"
        );
    }
}
