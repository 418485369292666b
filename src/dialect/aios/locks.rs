//! The locks of AIOS (docs/formats/aios.md#locks): processes that claim to drive the runs of a project.
//!
//! A lock ends when its TTL expires or its process is gone. The format does not consider other machines or reused process ids, so
//! the TTL takes precedence.

use super::{
    kind,
    layout::{self, Area},
};
use crate::{
    dialect::Loaded,
    document::Node,
    model::{Content, FileEntry, FileSet, Finding, FindingCode, OwnerProcess, RelPath, clean_line, human_age},
};

/// TTL of locks that name none.
const TTL_SECONDS: i64 = 300;

/// Timestamps further in the future are ignored.
const SKEW_SECONDS: i64 = 300;

/// Checks the locks of the project. The process of a valid lock becomes wanted evidence; other locks are reported.
pub(super) fn check(files: &FileSet, loaded: &mut Loaded) {
    for (path, entry) in &files.files {
        if layout::split(path.as_str()).is_some_and(|parts| parts.area == Area::Locks) {
            match owner_of(files, path, entry) {
                Ok(owner) => loaded.wanted.owner_processes.push(owner),
                Err(why) => {
                    let message = format!("a lock that is not in effect: {why}");
                    loaded.findings.push(Finding::new(FindingCode::OwnerGone, message).at(path));
                }
            }
        }
    }
}

fn owner_of(files: &FileSet, path: &RelPath, entry: &FileEntry) -> Result<OwnerProcess, String> {
    let node = match &entry.content {
        Content::Bytes(bytes) => kind::parse(bytes).map_err(|failure| failure.describe().1)?,
        Content::Problem(problem) => return Err(problem.to_string()),
        Content::NameOnly => return Err("it was not read".to_owned()),
    };
    let pid = number(&node, "pid").and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
    let pid = pid.ok_or("it names no process")?;
    let owner = ["owner", "resource"].iter().find_map(|key| node.get(key)?.scalar()).unwrap_or("unknown owner");
    let owner = clean_line(owner, 60);
    let stamp = ["created_at", "timestamp"].iter().find_map(|key| node.get(key)?.scalar());
    let since = stamp.and_then(|stamp| files.time(stamp)).or(entry.modified);
    let age = since.map(|since| files.clock.now.seconds_since(since)).filter(|age| *age >= -SKEW_SECONDS);
    let ttl = number(&node, "ttl_seconds").filter(|ttl| *ttl >= 0).unwrap_or(TTL_SECONDS);
    if let Some(age) = age.filter(|age| *age > ttl) {
        let age = human_age(age);
        return Err(format!("{owner} (process {pid}) took it {age} ago with a TTL of {ttl} seconds"));
    }
    Ok(OwnerProcess { pid, start: None, session: None, name: format!("{owner}, by the lock {path}"), since })
}

/// Returns the process id in a lock.
pub(super) fn holder(bytes: &[u8]) -> Option<u32> {
    let node = kind::parse(bytes).ok()?;
    number(&node, "pid").and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0)
}

fn number(node: &Node, key: &str) -> Option<i64> {
    node.get(key)?.scalar()?.trim().parse().ok()
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;
