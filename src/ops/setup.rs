//! `setup`: reports the installed program and where hooks look for it, and changes the client's settings with confirmation.

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Exit, OpError,
    project_context::{ProjectContext, Request},
    report::{Body, Report},
};
use crate::{
    dialect::{Setting, with_setting},
    engine,
    model::{No, PERSON_VERBS, RECORDING_VERBS, Suggested, Verb, permission_rule},
    store::{self, Environment},
};

/// The installed program, and the changes of the client's settings (`setup/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SetupReport {
    pub(crate) version: String,
    pub(crate) program: Option<String>,
    /// The program is in the folder where `setup` builds it.
    pub(crate) in_cache: bool,
    /// Where hooks and the agent look for a program of this version.
    pub(crate) cache: Option<String>,
    pub(crate) settings: Option<SettingsChange>,
}

/// A proposed or written change of a settings file of the client.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingsChange {
    pub(crate) file: String,
    /// False if the file has the settings already.
    pub(crate) needed: bool,
    pub(crate) written: bool,
    /// Lines with `-`, `+` or a blank before them.
    pub(crate) diff: Vec<String>,
}

impl Body for SetupReport {
    const SCHEMA: &'static str = "setup/1";
}

/// Which settings file is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    User,
    Project,
    Local,
}

/// Options of `setup`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetupRequest {
    pub(crate) permissions: bool,
    pub(crate) statusline: bool,
    pub(crate) scope: Scope,
    /// Write, instead of showing what would be written.
    pub(crate) yes: bool,
}

/// Reports on the program, and shows or makes the requested changes.
pub(crate) fn setup(request: &Request, wanted: SetupRequest) -> Result<Report<SetupReport>, OpError> {
    let environment = Environment::read();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let program = store::current_exe();
    let cache = environment.cache_home.as_ref().map(|cache| cache.join(&version));
    let in_cache = program.as_ref().zip(cache.as_ref()).is_some_and(|(program, cache)| program.parent() == Some(cache));
    let settings = match settings_of(&wanted, program.as_deref()) {
        settings if settings.is_empty() => None,
        settings => Some(change(&file(request, &environment, wanted.scope)?, &settings, wanted.yes)?),
    };
    let body = SetupReport {
        version,
        program: program.map(Utf8PathBuf::into_string),
        in_cache,
        cache: cache.map(Utf8PathBuf::into_string),
        settings,
    };
    Ok(Report { exit: Exit::Ok, body, findings: Vec::new() })
}

fn settings_of(wanted: &SetupRequest, program: Option<&Utf8Path>) -> Vec<Setting> {
    let rules = |verbs: &[&str]| verbs.iter().map(|verb| permission_rule(verb)).collect();
    let permissions =
        wanted.permissions.then(|| [Setting::Allow(rules(&RECORDING_VERBS)), Setting::Ask(rules(&PERSON_VERBS))]);
    let call = |verb: &str| program.map(|program| format!("{} {verb}", engine::quoted(program.as_str())));
    let line = call("statusline").filter(|_| wanted.statusline).map(Setting::StatusLine);
    permissions.into_iter().flatten().chain(line).collect()
}

/// Returns the settings file of a scope.
fn file(request: &Request, environment: &Environment, scope: Scope) -> Result<Utf8PathBuf, OpError> {
    let name = match scope {
        Scope::User => {
            let home = environment.client_home.as_ref().ok_or_else(|| OpError::Usage {
                message: "neither HOME nor CLAUDE_CONFIG_DIR says where the client keeps its settings".to_owned(),
                hints: vec![Suggested::new(Verb::Setup).option("scope", "project").into()],
            })?;
            return Ok(home.join("settings.json"));
        }
        Scope::Project => "settings.json",
        Scope::Local => "settings.local.json",
    };
    Ok(ProjectContext::open(request)?.project.root.join(".claude").join(name))
}

fn change(file: &Utf8Path, settings: &[Setting], write: bool) -> Result<SettingsChange, OpError> {
    let before = store::settings::read(file)?;
    let mut after = before.clone().unwrap_or_default();
    for setting in settings {
        after = with_setting(&after, setting).map_err(|error| OpError::InTheWay {
            why: No::Invalid,
            message: format!("{file} was not changed: {error}"),
            hints: vec![format!("add it by hand: {}", by_hand(setting)).into()],
        })?;
    }
    let changes = before.as_deref() != Some(after.as_slice());
    if changes && write {
        store::settings::replace(file, before.as_deref(), &after)?;
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(SettingsChange {
        file: file.as_str().to_owned(),
        diff: diff(&text(before.as_deref().unwrap_or_default()), &text(&after)),
        written: changes && write,
        needed: changes,
    })
}

fn by_hand(setting: &Setting) -> String {
    match setting {
        Setting::Allow(rules) => format!("{} to permissions.allow", in_quotes(rules)),
        Setting::Ask(rules) => format!("{} to permissions.ask", in_quotes(rules)),
        Setting::StatusLine(command) => format!("a call of `{command}` to your status line"),
    }
}

fn in_quotes(rules: &[String]) -> String {
    rules.iter().map(|rule| format!("\"{rule}\"")).collect::<Vec<_>>().join(", ")
}

/// Returns the removed and added lines with two lines of context.
fn diff(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(old, new)| old == new).count();
    if head == old.len() && head == new.len() {
        return Vec::new();
    }
    let around = 2;
    let lines = |sign: char, lines: &[&str]| lines.iter().map(|line| format!("{sign}{line}")).collect::<Vec<_>>();
    [
        lines(' ', &old[head.saturating_sub(around)..head]),
        lines('-', &old[head..old.len() - tail]),
        lines('+', &new[head..new.len() - tail]),
        lines(' ', &old[old.len() - tail..(old.len() - tail + around).min(old.len())]),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn a_difference_is_shown_with_what_is_around_it() {
        assert_eq!(diff("a\nb\nc\nd\ne\n", "a\nb\nc\nX\ne\n"), [" b", " c", "-d", "+X", " e"]);
        assert_eq!(diff("", "{\n}\n"), ["+{", "+}"]);
        assert_eq!(diff("a\n", "a\n"), [""; 0]);
    }
}
