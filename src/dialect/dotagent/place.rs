//! Where the two files lie: in `memory/state`, or in a folder of the run's own below it. Archives are no runs.

use crate::model::RelPath;

/// Tells whether a path may be the phase checkpoint of a run.
pub(super) fn is_phase_file(path: &str) -> bool {
    base_of(path).is_some()
}

/// Returns what stands before `memory/state`: the folder that outputs are relative to, with a closing slash or empty.
pub(super) fn base_of(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("/phase.json")?;
    let is_state = |folder: &str| folder == "memory/state" || folder.ends_with("/memory/state");
    let folder =
        if is_state(folder) { folder } else { folder.rsplit_once('/').filter(|(_, run)| *run != ".archive")?.0 };
    if !is_state(folder) || path.split('/').any(|part| part == ".archive") {
        return None;
    }
    folder.strip_suffix("memory/state")
}

/// Returns the path of a file that lies beside the phase checkpoint.
pub(super) fn beside(state: &RelPath, name: &str) -> Option<RelPath> {
    state.parent()?.join(name).ok()
}

#[cfg(test)]
mod tests {
    use super::base_of;

    #[test]
    fn runs_lie_in_memory_state_or_one_below() {
        for (path, base) in [
            ("memory/state/phase.json", Some("")),
            ("memory/state/billing/phase.json", Some("")),
            ("sub/x/memory/state/phase.json", Some("sub/x/")),
            ("sub/memory/state/b/phase.json", Some("sub/")),
            ("memory/state/.archive/phase.json", None),
            ("memory/state/.archive/b_20260131T120000Z/phase.json", None),
            ("memory/state/a/b/phase.json", None),
            ("xmemory/state/phase.json", None),
            ("memory/phase.json", None),
            ("phase.json", None),
        ] {
            assert_eq!(base_of(path), base, "{path}");
        }
    }
}
