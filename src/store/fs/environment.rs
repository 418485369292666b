//! The environment variables, read once. They are never written to a state, a history, a log or a context.

use std::{collections::BTreeMap, ffi::OsString, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};

use super::surroundings;

/// The path of a brief, for the agent of a step that a runner carries out.
const BRIEF: &str = "PITON_BRIEF";

/// The settings that Piton takes from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Environment {
    /// Id of the caller's session: `PITON_SESSION`, else that of Claude Code.
    pub(crate) session: Option<String>,
    /// Whether Claude Code started this process.
    pub(crate) is_agent: bool,
    /// Version of the Claude Code that started this process, if it says so.
    pub(crate) client_version: Option<String>,
    /// `PITON_MODE`; also an override of `mode` in the configuration.
    pub(crate) mode: Option<String>,
    /// `PITON_NOW`, for tests and demonstrations.
    pub(crate) now: Option<String>,
    /// `PITON_HOME`, else this user's XDG state folder.
    pub(crate) state_home: Option<Utf8PathBuf>,
    /// Configuration folder of the client: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub(crate) client_home: Option<Utf8PathBuf>,
    /// Folder of the programs built for the plugin, as in `bin/piton`.
    pub(crate) cache_home: Option<Utf8PathBuf>,
    /// The user's own configuration: `XDG_CONFIG_HOME`, else `~/.config`.
    pub(crate) user_config: Option<Utf8PathBuf>,
    /// The run and the step that this process is part of, if a runner started it: `PITON_RUN` and `PITON_STEP`.
    pub(crate) step: Option<(String, String)>,
    /// How long to wait for a lock (`PITON_LOCK_TIMEOUT_MS`).
    pub(crate) lock_timeout: Duration,
    /// The variable that names a folder by a relative path, which would be another one in each folder.
    pub(crate) relative: Option<&'static str>,
    /// All variables that begin with `PITON_`, for the configuration.
    pub(crate) overrides: BTreeMap<String, String>,
}

impl Default for Environment {
    fn default() -> Self {
        Self {
            session: None,
            is_agent: false,
            client_version: None,
            mode: None,
            now: None,
            state_home: None,
            client_home: None,
            cache_home: None,
            user_config: None,
            step: None,
            lock_timeout: Duration::from_secs(5),
            relative: None,
            overrides: BTreeMap::new(),
        }
    }
}

impl Environment {
    /// Reads it. Variables that are empty or not UTF-8 count as unset.
    pub(crate) fn read() -> Self {
        Self::from_variables(variables().filter(|(_, value)| !value.is_empty()))
    }

    fn from_variables(variables: impl Iterator<Item = (String, String)>) -> Self {
        let mut environment = Self::default();
        let (mut piton_session, mut xdg_state, mut xdg_cache, mut home, mut piton_home) =
            (None, None, None, None, None);
        let mut xdg_config = None;
        let (mut run, mut step) = (None, None);
        for (name, value) in variables {
            match name.as_str() {
                "PITON_SESSION" => piton_session = Some(value),
                "CLAUDE_CODE_SESSION_ID" => {
                    environment.session = Some(value);
                    environment.is_agent = true;
                }
                "CLAUDECODE" => environment.is_agent = true,
                // `claude-code_2-1-330_agent`.
                "AI_AGENT" => {
                    let version = value.strip_prefix("claude-code_").and_then(|rest| rest.split('_').next());
                    environment.client_version = version.map(|version| version.replace('-', "."));
                }
                "PITON_RUN" => run = Some(value),
                "PITON_STEP" => step = Some(value),
                // Read where they are needed.
                "PITON_FORMAT" | BRIEF => {}
                "PITON_NOW" => environment.now = Some(value),
                "PITON_HOME" => piton_home = Some(Utf8PathBuf::from(value)),
                "PITON_LOCK_TIMEOUT_MS" => {
                    if let Ok(milliseconds) = value.parse::<u64>() {
                        environment.lock_timeout = Duration::from_millis(milliseconds.min(600_000));
                    }
                }
                "XDG_STATE_HOME" => xdg_state = Some(Utf8PathBuf::from(value).join("piton")),
                "XDG_CONFIG_HOME" => xdg_config = Some(Utf8PathBuf::from(value).join("piton/config.toml")),
                "HOME" => home = Some(Utf8PathBuf::from(value)),
                "CLAUDE_CONFIG_DIR" => environment.client_home = Some(Utf8PathBuf::from(value)),
                "PITON_CACHE" => environment.cache_home = Some(Utf8PathBuf::from(value)),
                "XDG_CACHE_HOME" => xdg_cache = Some(Utf8PathBuf::from(value).join("piton")),
                _ if name.starts_with("PITON_") => {
                    if name == "PITON_MODE" {
                        environment.mode = Some(value.clone());
                    }
                    environment.overrides.insert(name, value);
                }
                _ => {}
            }
        }
        environment.session = piton_session.or(environment.session);
        environment.step = run.zip(step);
        let home: Option<Utf8PathBuf> = home.filter(|path: &Utf8PathBuf| path.is_absolute());
        let in_home = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let named = [("PITON_HOME", &piton_home), ("CLAUDE_CONFIG_DIR", &environment.client_home)];
        let is_relative = |path: &Option<Utf8PathBuf>| path.as_ref().is_some_and(|path| !path.is_absolute());
        environment.relative = named.into_iter().find(|(_, path)| is_relative(path)).map(|(name, _)| name);
        // A relative path in these variables is to be ignored (XDG base directory specification).
        environment.state_home = piton_home
            .or_else(|| xdg_state.filter(|path| path.is_absolute()))
            .or_else(|| in_home(".local/state/piton"));
        environment.client_home = environment.client_home.or_else(|| in_home(".claude"));
        let caches = [environment.cache_home.take(), xdg_cache, in_home(".cache/piton")];
        environment.cache_home = caches.into_iter().flatten().find(|path| path.is_absolute());
        environment.user_config =
            xdg_config.filter(|path: &Utf8PathBuf| path.is_absolute()).or_else(|| in_home(".config/piton/config.toml"));
        environment
    }
}

/// Returns the variable that tells the agent of a step where its brief is.
pub(crate) fn brief_variable(path: &Utf8Path) -> (String, String) {
    (BRIEF.to_owned(), path.as_str().to_owned())
}

/// Returns the brief of the step that this process carries out as its agent.
pub(crate) fn brief_of_step() -> Option<Utf8PathBuf> {
    variable(BRIEF).map(Utf8PathBuf::from)
}

/// Returns one variable of the environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    variable_os(name).and_then(|value| value.into_string().ok())
}

/// Returns one variable of the environment, which may be no UTF-8.
pub(in crate::store) fn variable_os(name: &str) -> Option<OsString> {
    match surroundings::given() {
        Some(given) => given.variables().get(name).map(OsString::from),
        None => std::env::var_os(name),
    }
}

/// Returns all environment variables that are UTF-8.
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    let of_call = surroundings::given().map(|given| given.variables().clone());
    let of_process = of_call.is_none().then(std::env::vars_os).into_iter().flatten();
    let of_process = of_process.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    of_call.into_iter().flatten().chain(of_process)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Environment;

    fn read(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_variables(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn pitons_own_session_wins_over_the_clients() {
        let both = read(&[("PITON_SESSION", "mine"), ("CLAUDE_CODE_SESSION_ID", "theirs")]);
        assert_eq!(both.session.as_deref(), Some("mine"));
        assert!(both.is_agent);
        assert_eq!(read(&[("CLAUDE_CODE_SESSION_ID", "theirs")]).session.as_deref(), Some("theirs"));
        assert_eq!(read(&[]), Environment::default());
    }

    #[test]
    fn a_child_of_a_step_knows_it() {
        let step = |pairs| read(pairs).step;
        let both = [("PITON_RUN", "r"), ("PITON_STEP", "a")];
        assert_eq!(step(&both), Some(("r".to_owned(), "a".to_owned())));
        assert_eq!([step(&both[..1]), step(&both[1..])], [None, None]);
        assert!(read(&both).overrides.is_empty());
    }

    #[test]
    fn state_lives_in_the_first_usable_home() {
        let home = |pairs| read(pairs).state_home.map(|path| path.to_string());
        assert_eq!(home(&[("HOME", "/h")]).as_deref(), Some("/h/.local/state/piton"));
        assert_eq!(home(&[("HOME", "/h"), ("XDG_STATE_HOME", "/x")]).as_deref(), Some("/x/piton"));
        assert_eq!(home(&[("HOME", "/h"), ("XDG_STATE_HOME", "x")]).as_deref(), Some("/h/.local/state/piton"));
        assert_eq!(home(&[("HOME", "/h"), ("PITON_HOME", "/p")]).as_deref(), Some("/p"));
    }

    #[test]
    fn a_folder_that_is_named_must_be_absolute() {
        let relative = |pairs| read(pairs).relative;
        assert_eq!(relative(&[("PITON_HOME", "p"), ("CLAUDE_CONFIG_DIR", "/c")]), Some("PITON_HOME"));
        assert_eq!(relative(&[("PITON_HOME", "/p"), ("CLAUDE_CONFIG_DIR", "~/c")]), Some("CLAUDE_CONFIG_DIR"));
        assert_eq!(relative(&[("PITON_HOME", "/p"), ("CLAUDE_CONFIG_DIR", "/c"), ("HOME", "h")]), None);
    }

    /// S-11: as in `bin/piton`, so that both name the same place.
    #[test]
    fn relative_cache_homes_are_ignored() {
        let cache = |pairs| read(pairs).cache_home.map(|path| path.to_string());
        assert_eq!(cache(&[("HOME", "/h"), ("XDG_CACHE_HOME", ".cache")]).as_deref(), Some("/h/.cache/piton"));
        let both = [("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("PITON_CACHE", "here")];
        assert_eq!(cache(&both).as_deref(), Some("/x/piton"));
        assert_eq!(cache(&[("HOME", ""), ("PITON_CACHE", "here")]), None);
    }

    #[test]
    fn the_lock_timeout_is_bounded_and_nonsense_is_ignored() {
        assert_eq!(read(&[("PITON_LOCK_TIMEOUT_MS", "50")]).lock_timeout, Duration::from_millis(50));
        assert_eq!(read(&[("PITON_LOCK_TIMEOUT_MS", "soon")]).lock_timeout, Duration::from_secs(5));
        assert_eq!(read(&[("PITON_LOCK_TIMEOUT_MS", "99999999999")]).lock_timeout, Duration::from_secs(600));
    }
}
