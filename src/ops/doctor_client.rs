//! The checks of `doctor` about the client: its version, what it may run unasked, and whether the hooks of the plugin are on.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use super::project_context::ProjectContext;
use crate::{
    dialect::{self, ClientRights},
    model::{Fix, PERSON_VERBS, RECORDING_VERBS, Suggested, Verb, permission_rule},
    store::{self, Environment, SessionLog},
};

/// The result of one check.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorCheck {
    pub(crate) name: String,
    /// `ok`, `warning` or `problem`.
    pub(crate) result: String,
    pub(crate) detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub(crate) fix: Option<Fix>,
}

/// The oldest supported version of the client.
const OLDEST: [u32; 3] = [2, 1, 197];

/// A settings file of the client, the flag of `setup` that names it, and what it says.
struct SettingsFile {
    path: Utf8PathBuf,
    scope: &'static str,
    rights: ClientRights,
}

/// Checks the client's version, the rights of the agent, and the hooks.
pub(super) fn checks(environment: &Environment, ctx: Option<&ProjectContext>) -> Vec<DoctorCheck> {
    let files = settings_files(environment, ctx);
    vec![client(environment), rights(&files), hooks(environment, ctx, &files)]
}

fn settings_files(environment: &Environment, ctx: Option<&ProjectContext>) -> Vec<SettingsFile> {
    let user = environment.client_home.as_ref().map(|home| (home.join("settings.json"), "user"));
    let project = ctx.map(|ctx| ctx.project.root.join(".claude"));
    let project = project
        .iter()
        .flat_map(|folder| [(folder.join("settings.json"), "project"), (folder.join("settings.local.json"), "local")]);
    let files = user.into_iter().chain(project);
    files
        .filter_map(|(path, scope)| {
            // A file that cannot be read says nothing; the client itself reports it.
            let bytes = store::settings::read(&path).ok()??;
            Some(SettingsFile { rights: dialect::client_rights(&bytes), path, scope })
        })
        .collect()
}

fn client(environment: &Environment) -> DoctorCheck {
    let Some(version) = &environment.client_version else {
        let detail = if environment.is_agent { "Claude Code of unknown version" } else { "not called by Claude Code" };
        return good("client", detail.to_owned());
    };
    let numbers: Vec<u32> = version.split('.').map_while(|number| number.parse().ok()).collect();
    let oldest = OLDEST.map(|number| number.to_string()).join(".");
    match numbers.as_slice() < OLDEST.as_slice() {
        true => {
            problem("client", format!("Claude Code {version}; {oldest} is the oldest supported one"), "claude update")
        }
        false => good("client", format!("Claude Code {version}")),
    }
}

fn rights(files: &[SettingsFile]) -> DoctorCheck {
    let setup = Suggested::new(Verb::Setup).flag("permissions");
    let wide = files.iter().find_map(|file| Some((file, file.rights.wide_rule()?)));
    if let Some((file, rule)) = wide {
        let detail = format!("{} allows every verb without a question: {rule}", file.path);
        let fix: Fix = match rule {
            "Bash(piton:*)" => setup.option("scope", file.scope).yes().into(),
            _ => format!("remove {rule} from permissions.allow in {}", file.path).into(),
        };
        return warning("rights", detail, fix);
    }
    let has = |verbs: &[&str], list: fn(&ClientRights) -> &[String]| {
        verbs.iter().all(|verb| files.iter().any(|file| list(&file.rights).contains(&permission_rule(verb))))
    };
    let asks =
        PERSON_VERBS.iter().all(|verb| has(&[verb], |rights| &rights.ask) || has(&[verb], |rights| &rights.allow));
    match (has(&RECORDING_VERBS, |rights| &rights.allow), asks) {
        (true, true) => good("rights", "the verbs that record are allowed, your decisions are asked about".to_owned()),
        (is_allowed, _) => {
            let allowed = if is_allowed { "always" } else { "in the turn that uses a skill" };
            warning(
                "rights",
                format!("the verbs that record are allowed {allowed}; in auto mode the client may decide for you"),
                setup,
            )
        }
    }
}

fn hooks(environment: &Environment, ctx: Option<&ProjectContext>, files: &[SettingsFile]) -> DoctorCheck {
    if let Some(file) = files.iter().find(|file| file.rights.hooks_are_off) {
        let fix = format!("remove disableAllHooks from {}", file.path);
        return warning("hooks", format!("{} switches all hooks off", file.path), fix);
    }
    if let Some(file) = files.iter().find(|file| file.rights.plugin_is_off) {
        let detail = format!("{} switches the plugin off", file.path);
        return warning("hooks", detail, "claude plugin enable piton@piton");
    }
    let session = environment.session.as_deref().filter(|_| environment.is_agent);
    let is_recorded = session
        .zip(ctx)
        .map(|(session, ctx)| SessionLog::of(&store::journals::sessions_folders(&ctx.project), session).exists());
    let recorded = match is_recorded {
        Some(true) => "on: this session is recorded",
        Some(false) => "on; nothing of this session is recorded yet",
        None => "on",
    };
    good("hooks", recorded.to_owned())
}

pub(super) fn good(name: &str, detail: String) -> DoctorCheck {
    DoctorCheck { name: name.to_owned(), result: "ok".to_owned(), detail, fix: None }
}

pub(super) fn warning(name: &str, detail: String, fix: impl Into<Fix>) -> DoctorCheck {
    DoctorCheck { name: name.to_owned(), result: "warning".to_owned(), detail, fix: Some(fix.into()) }
}

pub(super) fn problem(name: &str, detail: String, fix: impl Into<Fix>) -> DoctorCheck {
    DoctorCheck { name: name.to_owned(), result: "problem".to_owned(), detail, fix: Some(fix.into()) }
}
