//! Which processes are alive, and what this one descends from. A process is identified by pid and start time, because pids are reused.

use camino::Utf8Path;
#[cfg(unix)]
use rustix::{
    io::Errno,
    process::{Pid, test_kill_process_group},
};

/// How many ancestors of the caller are inspected.
const ANCESTORS_LIMIT: usize = 32;

/// A process, identified beyond the reuse of its pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Start time in clock ticks since boot; `None` if the system does not tell.
    pub(crate) start: Option<u64>,
}

impl Process {
    /// Tells whether exactly this process is running.
    pub(crate) fn is_running(self) -> bool {
        is_alive(self) == Some(true)
    }
}

/// Finds processes with an environment variable and one of several others, each as `NAME=value`, except this process. Empty if the system
/// does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn processes_with_variables(variable: &str, others: &[String]) -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_marked = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let has = |wanted: &str| environment.split(|byte| *byte == 0).any(|given| given == wanted.as_bytes());
        has(variable) && others.iter().any(|other| has(other))
    };
    pids.filter(|pid| *pid != std::process::id()).filter(is_marked).map(identify).collect()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn processes_with_variables(_variable: &str, _others: &[String]) -> Vec<Process> {
    Vec::new()
}

/// Tells whether a process of a group is running; a zombie is not.
#[cfg(target_os = "linux")]
pub(crate) fn is_group_running(group: Pid) -> bool {
    if test_kill_process_group(group) == Err(Errno::SRCH) {
        return false;
    }
    let Ok(entries) = std::fs::read_dir("/proc") else { return true };
    let mut pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let group = group.as_raw_nonzero().get();
    pids.any(|pid| stat(pid).is_some_and(|found| found.group == group && !found.is_over()))
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) fn is_group_running(group: Pid) -> bool {
    test_kill_process_group(group) != Err(Errno::SRCH)
}

/// Tells whether a call of git runs in a folder; `None` if the system does not tell.
#[cfg(target_os = "linux")]
pub(in crate::store) fn is_git_at_work_in(folder: &Utf8Path) -> Option<bool> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let mut pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_there = |pid: u32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    let is_git = |pid: u32| stat(pid).is_some_and(|found| found.name.starts_with("git") && !found.is_over());
    Some(pids.any(|pid| is_git(pid) && is_there(pid)))
}

#[cfg(not(target_os = "linux"))]
pub(in crate::store) fn is_git_at_work_in(_folder: &Utf8Path) -> Option<bool> {
    None
}

/// Returns the process that has this pid now.
pub(in crate::store) fn identify(pid: u32) -> Process {
    Process { pid, start: start_of(pid) }
}

/// The fields of `/proc/PID/stat` that are used.
#[cfg(target_os = "linux")]
struct ProcStat {
    name: String,
    state: char,
    parent: u32,
    group: i32,
    start: u64,
}

#[cfg(target_os = "linux")]
impl ProcStat {
    /// Tells whether it is a zombie.
    const fn is_over(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

#[cfg(target_os = "linux")]
fn stat(pid: u32) -> Option<ProcStat> {
    let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&bytes))
}

/// Parses `/proc/PID/stat`. The name is in parentheses and may contain parentheses and spaces, so the last closing one ends it.
#[cfg(target_os = "linux")]
fn parse_stat(text: &str) -> Option<ProcStat> {
    let (head, tail) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let mut fields = tail.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // The 22nd field of proc(5).
    let start = fields.nth(16)?.parse().ok()?;
    Some(ProcStat { name: name.to_owned(), state, parent, group, start })
}

/// Returns the name of a process.
#[cfg(target_os = "linux")]
pub(in crate::store) fn name_of(pid: u32) -> Option<String> {
    stat(pid).map(|found| found.name)
}

/// Returns the start time of a process in clock ticks since boot.
#[cfg(target_os = "linux")]
pub(in crate::store) fn start_of(pid: u32) -> Option<u64> {
    stat(pid).map(|found| found.start)
}

#[cfg(target_os = "linux")]
pub(in crate::store) fn lineage() -> Vec<(Process, String)> {
    let mut lineage = Vec::new();
    let mut next = stat(std::process::id()).map(|own| own.parent);
    while let Some(pid) = next.filter(|pid| *pid > 0 && lineage.len() < ANCESTORS_LIMIT) {
        let Some(found) = stat(pid) else { break };
        lineage.push((Process { pid, start: Some(found.start) }, found.name));
        next = Some(found.parent);
    }
    lineage
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(in crate::store) fn lineage() -> Vec<(Process, String)> {
    const { assert!(ANCESTORS_LIMIT > 0) };
    let parent = rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
    parent.map(|pid| (Process { pid, start: None }, String::new())).into_iter().collect()
}

#[cfg(not(unix))]
pub(in crate::store) fn lineage() -> Vec<(Process, String)> {
    const { assert!(ANCESTORS_LIMIT > 0) };
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn start_of(_pid: u32) -> Option<u64> {
    None
}

/// Tells whether no process of this machine has the pid.
pub(crate) fn is_gone(pid: u32) -> bool {
    is_alive(Process { pid, start: None }) == Some(false)
}

/// Tells whether exactly this process is running on this machine; a zombie is not. `None` if only the pid is known and some
/// process has it.
#[cfg(target_os = "linux")]
pub(in crate::store) fn is_alive(process: Process) -> Option<bool> {
    let Some(found) = stat(process.pid) else { return Some(false) };
    if found.is_over() {
        return Some(false);
    }
    process.start.map(|start| start == found.start)
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(super) fn is_alive(process: Process) -> Option<bool> {
    let pid = i32::try_from(process.pid).ok().and_then(rustix::process::Pid::from_raw);
    let Some(pid) = pid else { return Some(false) };
    match rustix::process::test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => Some(false),
        Ok(()) | Err(_) => None,
    }
}

#[cfg(not(unix))]
pub(super) fn is_alive(_process: Process) -> Option<bool> {
    None
}

/// Returns the id of the current boot, if the system tells.
pub(in crate::store) fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(unix)]
pub(in crate::store) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
pub(in crate::store) fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Tells whether this process was started with a signal ignored. Where the system does not tell, it is not.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    u32::try_from(signal - 1).is_ok_and(|bit| mask.checked_shr(bit).unwrap_or_default() & 1 == 1)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Process, is_alive, parse_stat, stat};

    #[test]
    fn names_with_brackets_and_spaces_are_read() {
        let rest = "0 ".repeat(16);
        let found = parse_stat(&format!("42 (a) b (c) S 7 5 {rest}991 1 2")).unwrap();
        assert_eq!((found.name.as_str(), found.state, found.parent), ("a) b (c", 'S', 7));
        assert_eq!((found.group, found.start), (5, 991));
        assert!(parse_stat("42 cut").is_none());
    }

    #[test]
    fn a_recycled_number_and_a_zombie_are_not_alive() {
        let pid = std::process::id();
        let start = stat(pid).unwrap().start;
        assert_eq!(is_alive(Process { pid, start: Some(start) }), Some(true));
        assert_eq!(is_alive(Process { pid, start: Some(start + 1) }), Some(false));
        assert_eq!(is_alive(Process { pid, start: None }), None);

        let mut child = std::process::Command::new("true").spawn().unwrap();
        let start = stat(child.id()).map(|found| found.start);
        while stat(child.id()).unwrap().state != 'Z' {
            std::thread::yield_now();
        }
        assert_eq!(is_alive(Process { pid: child.id(), start }), Some(false));
        child.wait().unwrap();
    }
}
