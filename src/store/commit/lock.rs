//! One writer at a time for each run. Holding a [`RunLock`] is the permission to write.
//!
//! The lock file is never deleted: a lock on a deleted file would not exclude anyone. The operating system releases the lock
//! when its holder ends, so a killed process leaves nothing to clean up.

use std::{
    fs::{self, File, TryLockError},
    io, thread,
    time::{Duration, Instant},
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    data_dir::{self, subfolder},
    txn,
};
use crate::model::RunFolder;
#[cfg(target_os = "linux")]
use crate::model::clean_line;
#[cfg(target_os = "linux")]
use crate::store::fs::process;
use crate::store::fs::{
    error::StoreError,
    nofollow::{self, OpenMode},
    path::Root,
    platform, stage,
    unread::there,
};

const LOCK_FILE: &str = "lock";
/// Pause after the first failed attempt; doubled after each further one.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
/// Short, so that a long-waiting writer polls as often as a new one and does not starve.
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// The exclusive right to change one run, held until dropped.
#[derive(Debug)]
pub(crate) struct RunLock {
    /// Closing it releases the lock.
    _file: File,
    root: Root,
    /// The folder of the run: absolute, without symlinks.
    data_path: Utf8PathBuf,
    timeout: Duration,
}

impl RunLock {
    /// Waits for the run to be free, then finishes what a killed writer began. Creates the folder of the run if needed. `root`: of the files
    /// that are written.
    ///
    /// # Errors
    ///
    /// If another process holds it for longer than `timeout`, the file system has no locks, the folder cannot be written, or
    /// the change of a killed writer cannot be finished.
    pub(crate) fn acquire(root: &Utf8Path, folder: &RunFolder, timeout: Duration) -> Result<Self, StoreError> {
        let root = Root::open(root)?;
        let started = Instant::now();
        let (file, data_path) = loop {
            let (file, path) = open_or_create(folder)?;
            poll(&path, timeout.saturating_sub(started.elapsed()), timeout, || file.try_lock())?;
            // The whole folder may have been removed while we waited.
            if !platform::is_unlinked(&file) {
                break (file, path.parent().map(Utf8Path::to_owned).unwrap_or_default());
            }
        };
        let lock = Self { _file: file, root, data_path, timeout };
        stage::remove_data_leftovers(&lock.data_path);
        txn::recover(&lock.root, &lock.data_path)?;
        data_dir::drop_partial_backup(&lock.data_path)?;
        Ok(lock)
    }

    /// Returns how long it waits for another process.
    pub(super) const fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(in crate::store) fn root(&self) -> &Root {
        &self.root
    }

    pub(in crate::store) fn data_path(&self) -> &Utf8Path {
        &self.data_path
    }

    /// Returns a subfolder of Piton's folder of the run, created if needed. A symlink in its place is refused.
    pub(super) fn folder(&self, name: &str) -> Result<Utf8PathBuf, StoreError> {
        subfolder(&self.data_path, name)
    }
}

fn open_or_create(folder: &RunFolder) -> Result<(File, Utf8PathBuf), StoreError> {
    let path = folder.absolute().join(LOCK_FILE);
    match nofollow::open(path.as_std_path(), OpenMode::Edit, platform::DATA_FILE_MODE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened.map(|file| (file, path.clone())).map_err(|source| StoreError::io(&path, source)),
    }
    let path = data_dir::create(folder)?.join(LOCK_FILE);
    match nofollow::open(path.as_std_path(), OpenMode::Lock, platform::DATA_FILE_MODE) {
        Ok(file) => Ok((file, path)),
        Err(source) => Err(StoreError::io(&path, source)),
    }
}

/// Tests whether a run could be locked now, without creating anything.
///
/// # Errors
///
/// If another process holds it, or the file system does not support locks.
pub(crate) fn try_lock(folder: &RunFolder) -> Result<(), StoreError> {
    lock_shared(&folder.absolute(), Duration::from_millis(200)).map(drop)
}

/// Waits for the writer to finish and keeps writers out while the result lives. `None` if the run was never written or the lock
/// file cannot be read.
pub(in crate::store) fn lock_shared(data_path: &Utf8Path, timeout: Duration) -> Result<Option<File>, StoreError> {
    let path = data_path.join(LOCK_FILE);
    let Some(file) = there(&path, platform::nofollow_options().read(true).open(&path)) else { return Ok(None) };
    poll(&path, timeout, timeout, || file.try_lock_shared())?;
    Ok(Some(file))
}

/// Tells whether this run was ever written by Piton.
pub(in crate::store) fn has_lock_file(data_path: &Utf8Path) -> bool {
    let path = data_path.join(LOCK_FILE);
    there(&path, path.symlink_metadata()).is_some()
}

/// Polls, because a blocking lock call has no timeout.
pub(in crate::store) fn poll(
    path: &Utf8Path,
    left: Duration,
    timeout: Duration,
    mut attempt: impl FnMut() -> Result<(), TryLockError>,
) -> Result<(), StoreError> {
    let started = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            // A signal; one that comes each time counts towards the limit too.
            Err(TryLockError::Error(cause))
                if cause.kind() == io::ErrorKind::Interrupted && started.elapsed() < timeout => {}
            Err(TryLockError::Error(cause)) => return Err(StoreError::NoLock { path: path.to_owned(), cause }),
            Err(TryLockError::WouldBlock) if started.elapsed() >= left => {
                let holder = holder_of(path);
                return Err(StoreError::LockTimeout { path: path.to_owned(), waited: timeout, holder });
            }
            Err(TryLockError::WouldBlock) => {
                thread::sleep(pause.min(left.saturating_sub(started.elapsed())));
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Returns the process that holds the lock, where the system tells.
#[cfg(target_os = "linux")]
fn holder_of(path: &Utf8Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = fs::metadata(path).ok()?;
    let [major, minor] = [rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev())];
    let file = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
    let pid = fs::read_to_string("/proc/locks").ok()?.lines().find_map(|line| holder_in(line, &file))?;
    let name = process::name_of(pid).map_or_else(String::new, |name| format!(" ({})", clean_line(&name, 40)));
    Some(format!("process {pid}{name}"))
}

/// Reads a line of proc_locks(5): `1: FLOCK ADVISORY WRITE 4242 fe:00:8899 0 EOF`. Waiting processes have an arrow before the
/// kind.
#[cfg(target_os = "linux")]
fn holder_in(line: &str, file: &str) -> Option<u32> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    match fields[..] {
        [_, "FLOCK", _, _, pid, locked, ..] if locked == file => pid.parse().ok().filter(|pid| *pid > 0),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn holder_of(_path: &Utf8Path) -> Option<String> {
    None
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
