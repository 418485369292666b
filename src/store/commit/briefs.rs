//! What is handed to the agent of a step and comes back from it: its brief and its report, as files in Piton's folder of the run.
//!
//! They are copies for one attempt: `finish` removes them, and nothing depends on one that is missing.

use camino::{Utf8Path, Utf8PathBuf};

use super::{lock::RunLock, txn};
use crate::{
    model::{RunFolder, RunId, StepId, sha256_hex},
    store::fs::{calls, error::StoreError, platform, stage, unread},
};

const FOLDER: &str = "briefs";
/// Characters of a step id in the name of its file.
const READABLE_LIMIT: usize = 40;
/// Bytes of a file; a larger one is not a report.
const READ_LIMIT: u64 = 64 << 10;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BriefFile {
    /// For the agent.
    Brief,
    /// From the agent.
    Report,
}

/// Writes a file as a whole, readable only by this user, and returns its absolute path.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn write(
    lock: &RunLock,
    kind: BriefFile,
    run: &RunId,
    step: &StepId,
    bytes: &[u8],
) -> Result<Utf8PathBuf, StoreError> {
    let path = lock.folder(FOLDER)?.join(name(kind, run, step));
    stage::remove_leftovers(std::iter::once(path.as_path()));
    txn::replace_file_as(&path, bytes, platform::DATA_FILE_MODE, None)?;
    Ok(path)
}

/// Reads the report that came back for a step, if there is one.
pub(crate) fn report(folder: &RunFolder, run: &RunId, step: &StepId) -> Option<Vec<u8>> {
    let folder = unread::data_path(&folder.home, &folder.path.join(FOLDER).ok()?)?;
    unread::data_file(&folder.join(name(BriefFile::Report, run, step)), READ_LIMIT)
}

/// Reads a brief by its path, if it is there and no larger than a brief is.
pub(crate) fn text(path: &Utf8Path) -> Option<String> {
    String::from_utf8(unread::data_file(path, READ_LIMIT)?).ok()
}

/// Removes both files of a step; what cannot be removed stays.
pub(crate) fn remove(lock: &RunLock, run: &RunId, step: &StepId) {
    let folder = lock.data_path().join(FOLDER);
    if !folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return;
    }
    for kind in [BriefFile::Brief, BriefFile::Report] {
        let _ = calls::remove_file(&folder.join(name(kind, run, step)));
    }
}

/// Returns the name of a file: ids are untrusted and may contain any characters, so a digest tells them apart.
fn name(kind: BriefFile, run: &RunId, step: &StepId) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let readable: String = step.as_str().chars().map(plain).take(READABLE_LIMIT).collect();
    let digest = sha256_hex(format!("{}\0{}", run.as_str(), step.as_str()).as_bytes());
    let extension = match kind {
        BriefFile::Brief => "md",
        BriefFile::Report => "json",
    };
    format!("{}-{}.{extension}", readable.trim_start_matches(['.', '-']), &digest[..12])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{BriefFile, name, remove, report, write};
    use crate::{
        model::{RunId, StepId},
        store::testing::Scratch,
    };

    #[test]
    fn no_id_becomes_a_path() {
        let run = RunId::new("run");
        let mut names = std::collections::BTreeSet::new();
        for id in
            ["2:3", "2-3", "../../x", "/etc/passwd", ".", "..", "", "a\0b", "-rf", "a\nb", "ä", &"x".repeat(5_000)]
        {
            let name = name(BriefFile::Brief, &run, &StepId::new(id));
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            assert!(name.len() < 80 && name.chars().all(plain) && !name.starts_with('.'), "{id:?}: {name}");
            assert!(names.insert(name), "{id:?}");
        }
        // A person who looks into the folder recognizes the step.
        assert!(name(BriefFile::Brief, &run, &StepId::new("2.3:plan_a")).starts_with("2.3-plan_a-"));
        assert_ne!(
            name(BriefFile::Brief, &run, &StepId::new("a")),
            name(BriefFile::Brief, &RunId::new("other"), &StepId::new("a"))
        );
    }

    #[test]
    fn a_report_is_replaced_as_a_whole_and_removed_with_its_brief() {
        let scratch = Scratch::new();
        let (run, step) = (RunId::new("run"), StepId::new("2:3"));
        let read = || report(&scratch.own(), &run, &step);
        assert_eq!(read(), None);
        let lock = scratch.lock();
        for text in ["a long first text", "short"] {
            write(&lock, BriefFile::Report, &run, &step, text.as_bytes()).unwrap();
            assert_eq!(read().as_deref(), Some(text.as_bytes()));
        }
        let path = write(&lock, BriefFile::Brief, &run, &step, b"brief").unwrap();
        assert!(path.is_absolute());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        remove(&lock, &run, &step);
        assert!(read().is_none() && !path.exists());
        remove(&lock, &run, &step);
    }

    #[cfg(unix)]
    #[test]
    fn links_in_their_place_are_not_followed() {
        let scratch = Scratch::new();
        let (run, step) = (RunId::new("run"), StepId::new("a"));
        let outside = scratch.root.join("outside");
        fs::write(&outside, "kept").unwrap();
        let lock = scratch.lock();
        let path = write(&lock, BriefFile::Report, &run, &step, b"first").unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        assert_eq!(report(&scratch.own(), &run, &step), None);
        write(&lock, BriefFile::Report, &run, &step, b"second").unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "kept");
        assert_eq!(report(&scratch.own(), &run, &step).as_deref(), Some(&b"second"[..]));
        let folder = path.parent().unwrap();
        fs::remove_dir_all(folder).unwrap();
        std::os::unix::fs::symlink(&scratch.root, folder).unwrap();
        assert!(write(&lock, BriefFile::Report, &run, &step, b"third").is_err());
        remove(&lock, &run, &step);
    }
}
