//! The process that called this command, and which of its ancestors owns the run that it drives.

use crate::store::fs::{
    environment::Environment,
    process::{Process, boot_id, host, identify, lineage},
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

    /// Returns this process as the owner of a run that it drives from the first step to the last: neither its child processes
    /// nor other calls of the same session share the lease.
    pub(crate) fn this_process(environment: &Environment) -> Self {
        let pid = std::process::id();
        Self { owner: identify(pid), strict: true, ..Self::find(environment) }
    }
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
