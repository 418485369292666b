//! Paths of the two files: in `memory/state` or in a folder of the run below it. Archives are not runs.

const STATE_DIR: &str = "memory/state";

/// Returns whether a path may be the phase checkpoint of a run.
pub(super) fn is_phase_file(path: &str) -> bool {
    base_of_run(path).is_some()
}

/// Returns the part of a path before `tail`: with a trailing slash, or empty.
pub(super) fn base_of<'a>(path: &'a str, tail: &str) -> Option<&'a str> {
    let base = path.strip_suffix(tail)?;
    (base.is_empty() || base.ends_with('/')).then_some(base)
}

/// Returns the folder that contains `memory/state`, to which the outputs of a run are relative.
pub(super) fn base_of_run(phase: &str) -> Option<&str> {
    let folder = phase.strip_suffix("/phase.json")?;
    if folder.split('/').any(|part| part == ".archive") {
        return None;
    }
    base_of(folder, STATE_DIR).or_else(|| base_of(folder.rsplit_once('/')?.0, STATE_DIR))
}

#[cfg(test)]
mod tests {
    use super::base_of_run;

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
            assert_eq!(base_of_run(path), base, "{path}");
        }
    }
}
