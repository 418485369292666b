//! Files left beside the states: temporary files of interrupted writes, copies, and states that were renamed
//! (docs/formats/aios.md#leftovers). They are reported, never read as runs and never renamed.

use super::{
    kind::{self, FileClass},
    layout::{self, Area, COPY, MIGRATED},
    locks,
};
use crate::{
    dialect::Leftover,
    model::{Finding, FindingCode, Listing, ListingEntry, RelPath, quoted},
};

/// Returns the files that no run needs. Migrated files are kept because their system reads them.
pub(super) fn leftovers(listing: &Listing) -> Vec<Leftover> {
    let is_there = |path: &RelPath| listing.entries.binary_search_by(|other| other.path.cmp(path)).is_ok();
    let files = listing.entries.iter().filter(|entry| !entry.is_dir);
    let found = files.filter_map(|entry| {
        let (path, parts) = (&entry.path, layout::split(entry.path.as_str())?);
        let name = path.name();
        let leftover = |why: &'static str| Some(Leftover { file: path.clone(), why, holder: None });
        let is_lock = parts.area == Area::Locks || (parts.area == Area::Runtime && name.ends_with(".lock"));
        if is_lock {
            let holder = entry.content.as_deref().and_then(locks::holder);
            return Some(Leftover { holder, ..leftover("a lock whose process is gone")? });
        }
        if is_temporary(name) && parts.area.holds_states() {
            return leftover("a temporary file of an interrupted write");
        }
        let original = original_of(path)?;
        if name.ends_with(COPY) {
            return if is_there(&original) { None } else { leftover("a copy of a state that no longer exists") };
        }
        if name.ends_with(MIGRATED) { None } else { leftover("a state that was discarded") }
    });
    found.collect()
}

/// Returns whether a name is that of a temporary file.
pub(super) fn is_temporary(name: &str) -> bool {
    let Some((_, end)) = name.rsplit_once(".tmp") else { return false };
    end.is_empty() || end.starts_with('.') && end[1..].bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns the original path of a renamed state or of a copy.
pub(super) fn original_of(path: &RelPath) -> Option<RelPath> {
    let original = layout::original_name(path.name())?;
    let original = match path.parent() {
        Some(folder) => folder.join(original),
        None => RelPath::parse(original),
    };
    original.ok().filter(|original| kind::by_name(original).is_some())
}

/// Reports such a file; `None` for a copy whose original exists.
pub(super) fn report_renamed(listing: &Listing, entry: &ListingEntry, original: &RelPath) -> Option<Finding> {
    let path = &entry.path;
    let is_copy = path.name().ends_with(COPY);
    let is_there = listing.entries.binary_search_by(|other| other.path.cmp(original)).is_ok();
    if is_copy && is_there {
        return None;
    }
    let (at, what) = match entry.content.as_deref().map(|look| kind::classify(original, look)) {
        Some(FileClass::State(kind)) => (None, kind.descriptor().what.to_owned()),
        Some(FileClass::Unreadable(at, problem)) => (Some(at), format!("a file that cannot be parsed: {problem}")),
        Some(FileClass::Evidence(_) | FileClass::Idle | FileClass::NotOurs) => {
            (None, "no known kind of state".to_owned())
        }
        None => (None, "a file that is too large for a state or not readable".to_owned()),
    };
    let how = if is_copy {
        format!("a copy of {original}, which does not exist")
    } else if path.name().ends_with(MIGRATED) {
        format!("{original} before its migration to another format")
    } else {
        format!("{original}, discarded")
    };
    let mut finding = Finding::new(FindingCode::StatePutAside, format!("{how}; it holds {what}")).at(path);
    if let Some(at) = at {
        finding = finding.line(at.line, Some(at.column));
    }
    let words = [path, original].map(|path| quoted(&format!("./{path}")));
    Some(if is_there { finding } else { finding.fix(format!("to restore it: cp {}", words.join(" "))) })
}

#[cfg(test)]
#[path = "leftovers_tests.rs"]
mod tests;
