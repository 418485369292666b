//! The process that called this command, and which of its ancestors owns the run that it drives.

use camino::Utf8Path;

use crate::{
    model::Uid,
    store::fs::{
        environment::Environment,
        platform,
        process::{Process, boot_id, host, identify, lineage},
        unread::there,
    },
};

/// Programs that start others and end with them, and so do not own a run.
#[cfg(target_os = "linux")]
const SHELLS: [&str; 15] = [
    "sh", "bash", "dash", "ash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh", "busybox", "env", "timeout", "nohup",
    "sudo",
];

/// The caller of this command: session, process and host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) session: Option<String>,
    /// The process that owns the run: when it ends, the run has no driver.
    pub(crate) owner: Process,
    /// Claude Code started it.
    pub(crate) is_agent: bool,
    /// `owner` was reported by the client itself.
    pub(crate) is_client: bool,
    /// All processes that this one descends from, nearest first.
    pub(crate) ancestors: Vec<Process>,
    pub(crate) boot_id: Option<String>,
    pub(crate) host: String,
    /// `owner` is this process, and its lease is not shared with the session.
    pub(crate) strict: bool,
}

impl Caller {
    /// Finds the caller. Under an agent the owner is the nearest ancestor that is not a shell, else the parent process.
    pub(crate) fn find(environment: &Environment) -> Self {
        let lineage = lineage();
        let parent = lineage.first().map_or(Process { pid: std::process::id(), start: None }, |(process, _)| *process);
        let agent = lineage.iter().find(|(_, name)| !is_shell(name)).map(|(process, _)| *process);
        Self {
            session: environment.session.clone(),
            owner: agent.filter(|_| environment.is_agent).unwrap_or(parent),
            is_agent: environment.is_agent,
            is_client: false,
            ancestors: lineage.into_iter().map(|(process, _)| process).collect(),
            boot_id: boot_id(),
            host: host(),
            strict: false,
        }
    }

    /// Returns the name of this driver in the clone that has its runs in `home`: of its session, else of its lasting process. `None` for a call
    /// from a passing shell.
    pub(crate) fn driver(&self, home: &Utf8Path) -> Option<Uid> {
        let Process { pid, start } = self.owner;
        match &self.session {
            Some(session) if !self.strict => Some(name_of([session.as_str()], home)),
            Some(_) | None if self.is_passing() => None,
            Some(_) | None => {
                let facts = [pid.to_string(), start.unwrap_or_default().to_string(), self.host.clone()];
                let boot = self.boot_id.as_deref().unwrap_or_default();
                Some(name_of(facts.iter().map(String::as_str).chain([boot]), home))
            }
        }
    }

    /// Tells whether it is a shell that may end before the work that it begins: no session of the client, and no process that drives the run.
    pub(crate) const fn is_passing(&self) -> bool {
        self.session.is_none() && !self.is_agent && !self.strict
    }

    /// Returns this process as the owner of a run that it drives from the first step to the last: neither its child processes
    /// nor other calls of the same session share the lease.
    pub(crate) fn this_process(environment: &Environment) -> Self {
        let pid = std::process::id();
        Self { owner: identify(pid), strict: true, ..Self::find(environment) }
    }
}

/// [`Caller::driver`] of the caller of this command. The processes that it descends from are only looked at where one of them may be it.
pub(crate) fn driver(environment: &Environment, home: &Utf8Path) -> Option<Uid> {
    match &environment.session {
        Some(session) => Some(name_of([session.as_str()], home)),
        None if environment.is_agent => Caller::find(environment).driver(home),
        None => None,
    }
}

/// Returns the name of a driver. In a copy of the folder it is another one.
fn name_of<'a>(facts: impl IntoIterator<Item = &'a str>, home: &Utf8Path) -> Uid {
    let facts: Vec<&str> = facts.into_iter().collect();
    let place = there(home, home.metadata()).map(|found| platform::identity(&found)).unwrap_or_default();
    Uid::of(facts.into_iter().chain([home.as_str(), place.as_str()]))
}

#[cfg(target_os = "linux")]
fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

#[cfg(not(target_os = "linux"))]
fn is_shell(_name: &str) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Caller;
    use crate::store::{Environment, fs::process::is_alive};

    #[test]
    fn this_process_descends_from_living_ones() {
        let caller = Caller::find(&Environment::default());
        assert_eq!(caller.owner, caller.ancestors[0]);
        assert_eq!(is_alive(caller.owner), Some(true));
        assert!(!caller.host.is_empty());
    }
}
