//! The client's folder: read within bounds, never written or locked. The folder itself may be a link; below it none is followed, and files
//! of other users, pipes and devices are refused.

use std::{
    fs::{File, Metadata},
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    time::SystemTime,
};

use camino::{Utf8Path, Utf8PathBuf};

use super::scratch::current_dir;
use crate::{
    model::{ReadProblem, RelPath},
    store::fs::{
        environment::{Environment, variable},
        path::Root,
        platform,
        process::{self, Process},
    },
};

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// The client's folder.
#[derive(Debug)]
pub(crate) struct ClientHome {
    root: Root,
}

/// A line of a large file.
#[derive(Debug)]
pub(crate) enum ClientLine<'a> {
    Text(&'a [u8]),
    /// A line of more bytes than the limit, which was not kept.
    Long(usize),
}

impl ClientHome {
    /// Opens it; `None` if there is no such folder.
    pub(crate) fn open(environment: &Environment) -> Option<Self> {
        let real = environment.client_home.as_ref()?.canonicalize_utf8().ok()?;
        Root::open(&real).ok().map(|root| Self { root })
    }

    pub(crate) fn root(&self) -> &Utf8Path {
        self.root.path()
    }

    /// Lists the names in a folder: those of folders, and those of anything else. Empty if it is not a folder of this user.
    pub(crate) fn names(&self, folder: &RelPath) -> (Vec<String>, Vec<String>) {
        let path = folder.under(self.root.path());
        let is_plain =
            self.root.is_plain(folder) && path.symlink_metadata().is_ok_and(|found| platform::is_ours(&found));
        let names = if is_plain { platform::names(&path).unwrap_or_default() } else { Vec::new() };
        let (folders, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|entry| entry.is_dir);
        let [folders, others] = [folders, others].map(|entries| {
            let mut names: Vec<String> = entries.into_iter().map(|entry| entry.name).collect();
            names.sort_unstable();
            names
        });
        (folders, others)
    }

    /// Returns when a file was changed; it chooses what is looked at first, and is never shown.
    pub(crate) fn modified(&self, path: &RelPath) -> Option<SystemTime> {
        path.under(self.root.path()).symlink_metadata().ok()?.modified().ok()
    }

    /// Reads a file of at most `limit` bytes.
    pub(crate) fn small_file(&self, path: &RelPath, limit: u64) -> Option<Vec<u8>> {
        let (file, metadata) = self.file(path).ok()?;
        if metadata.len() > limit {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= limit).then_some(bytes)
    }

    /// Returns the size of a file.
    pub(crate) fn size(&self, path: &RelPath) -> Option<u64> {
        self.file(path).ok().map(|(_, metadata)| metadata.len())
    }

    /// Reads a piece of a file: less than `length` bytes at its end.
    pub(crate) fn piece(&self, path: &RelPath, from: u64, length: u64) -> Option<Vec<u8>> {
        let (mut file, _) = self.file(path).ok()?;
        file.seek(SeekFrom::Start(from)).ok()?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Calls `each` for every line from an offset on, without its end. Keeps no more than `limit` bytes of a line. Returns false if the file
    /// cannot be read.
    pub(crate) fn lines(&self, path: &RelPath, from: u64, limit: usize, each: &mut dyn FnMut(ClientLine<'_>)) -> bool {
        let Ok((mut file, metadata)) = self.file(path) else { return false };
        if file.seek(SeekFrom::Start(from)).is_err() {
            return false;
        }
        // A file that grows while it is read ends where it ended.
        let left = metadata.len().saturating_sub(from);
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file.take(left));
        let mut line: Vec<u8> = Vec::new();
        let mut length = 0;
        loop {
            let Ok(buffer) = reader.fill_buf() else { return false };
            if buffer.is_empty() {
                break;
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..end.unwrap_or(buffer.len())];
            length += part.len();
            if length <= limit {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            reader.consume(used);
            if end.is_some() {
                each(if length <= limit { ClientLine::Text(&line) } else { ClientLine::Long(length) });
                line.clear();
                length = 0;
            }
        }
        if length > 0 {
            each(if length <= limit { ClientLine::Text(&line) } else { ClientLine::Long(length) });
        }
        true
    }

    fn file(&self, path: &RelPath) -> Result<(File, Metadata), ReadProblem> {
        let (file, metadata) = self.root.open_plain(path)?;
        if platform::is_ours(&metadata) { Ok((file, metadata)) } else { Err(ReadProblem::Permission) }
    }
}

/// Tells whether a process is running that a file of the client names: by its start time where the file has one. `None` if it belongs to
/// another machine or container, where the number means another process.
pub(crate) fn is_running(pid: u32, start: Option<u64>, domain: Option<&str>) -> Option<bool> {
    if domain.is_some_and(|domain| own_domain().as_deref() != Some(domain)) {
        return None;
    }
    Some(process::is_alive(Process { pid, start }) != Some(false))
}

/// Tells whether the start time of a process can be compared here.
pub(crate) fn knows_start_times() -> bool {
    process::start_of(std::process::id()).is_some()
}

/// Returns the name that the client gives to the set of processes that this one belongs to.
fn own_domain() -> Option<String> {
    let machine = std::fs::read_to_string("/etc/machine-id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("linux:{}:{}", machine.trim(), namespace.to_str()?))
}

/// Returns the home of this user.
pub(crate) fn user_home() -> Option<Utf8PathBuf> {
    let home = variable("HOME").map(Utf8PathBuf::from);
    home.filter(|home| home.is_absolute() && home.parent().is_some())
}

/// Returns a folder as a word of a shell, with `~` for the home of this user; `None` for the current folder.
pub(crate) fn shell_folder(folder: &str) -> Option<String> {
    let is_here = current_dir().is_ok_and(|here| here == folder);
    if is_here {
        return None;
    }
    let below = user_home().and_then(|home| Utf8Path::new(folder).strip_prefix(&home).ok().map(Utf8Path::to_owned));
    Some(match below {
        Some(below) if below.as_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", crate::model::quoted(below.as_str())),
        None => crate::model::quoted(folder),
    })
}
