//! Files of steps and their logs, other than the state itself. Paths from a workflow file stay below the working folder of the step.

#![expect(
    clippy::disallowed_methods,
    reason = "output files, logs and `write_file` steps are the runner's own effects"
)]

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    sync::{Mutex, PoisonError},
};

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    model::{RelPath, sha256_hex},
    store::flushed,
};

/// The size limit of a file that a workflow names: a secret, a result, variables.
const READ_LIMIT: u64 = 16 << 20;

static WRITING: Mutex<()> = Mutex::new(());

/// Puts a path of a workflow file below the folder of a step.
///
/// # Errors
///
/// In one sentence: it leads out of the folder, directly or through a link.
pub(super) fn below(folder: &Utf8Path, path: &str) -> Result<Utf8PathBuf, String> {
    let path = match RelPath::parse(path) {
        Ok(path) => path.under(folder),
        Err(error) => return Err(format!("{error}; it must be below the folder of the step")),
    };
    let real_folder = folder.canonicalize_utf8().map_err(|error| format!("{folder}: {error}"))?;
    let there = path.ancestors().find(|part| part.symlink_metadata().is_ok()).unwrap_or(folder);
    match there.canonicalize_utf8() {
        Ok(real) if real.starts_with(&real_folder) => Ok(path),
        Ok(real) => Err(format!("{path} leads to {real}, outside the folder of the step")),
        Err(error) => Err(format!("{there}: {error}")),
    }
}

/// Returns the folder that a step works in.
///
/// # Errors
///
/// In one sentence: it is outside of the project, does not exist, or is no folder.
pub(super) fn working_dir(folder: &Utf8Path, path: &str) -> Result<Utf8PathBuf, String> {
    if path == "." {
        return Ok(folder.to_owned());
    }
    if RelPath::parse(path).is_err() {
        return Err(format!("working_dir must be a relative path inside the project; it is `{path}`"));
    }
    let there = below(folder, path).map_err(|why| format!("working_dir {path}: {why}"))?;
    match (there.is_dir(), there.exists()) {
        (true, _) => Ok(there),
        (_, true) => Err(format!("working_dir {path} is no folder")),
        (_, false) => Err(format!("working_dir {path} does not exist in {folder}")),
    }
}

/// Reads a file that is named in a workflow.
pub(super) fn read(path: &Utf8Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let read = file.take(READ_LIMIT + 1).read_to_string(&mut text).map_err(|error| format!("{path}: {error}"))?;
    if read as u64 > READ_LIMIT { Err(format!("{path} is larger than {READ_LIMIT} bytes")) } else { Ok(text) }
}

/// Writes a file atomically and durably: a reader sees the old content or the new one, and the file of a step that is recorded as
/// done exists.
pub(super) fn write(path: &Utf8Path, content: &str, mode: u32, makes_folders: bool) -> Result<(), String> {
    let failed = |error: io::Error| format!("{path}: {error}");
    let parent = path.parent().unwrap_or(path);
    if makes_folders {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // The name is the same on every try, so the next one replaces a leftover of a kill.
    let name = sha256_hex(path.file_name().unwrap_or_default().as_bytes());
    let temporary = parent.join(format!(".{}.piton-tmp", &name[..16]));
    // Parallel steps may write the same file.
    let _one_at_a_time = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = fs::remove_file(&temporary);
    let written = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary).and_then(|mut file| {
        file.write_all(content.as_bytes())?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        flushed(file.sync_all())
    });
    written.and_then(|()| fs::rename(&temporary, path)).and_then(|()| sync_names(parent)).map_err(|error| {
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

/// Flushes the entries of a folder, where its file system supports that.
fn sync_names(folder: &Utf8Path) -> io::Result<()> {
    flushed(File::open(folder)?.sync_all())
}

/// Opens a private file of the session for appending.
pub(super) fn append_private(path: &Utf8Path) -> io::Result<File> {
    if let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
        crate::store::create_private_dirs(parent).map_err(|error| io::Error::other(error.to_string()))?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Writes a private file of the session, durably.
pub(super) fn write_private(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
        crate::store::create_private_dirs(parent).map_err(|error| io::Error::other(error.to_string()))?;
    }
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes).and_then(|()| flushed(file.sync_all()))
}

/// Removes a file, if there is one.
pub(super) fn remove(path: &Utf8Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Removes the folder that a path was in, and the one around it, if they are empty.
pub(super) fn remove_empty_parents(path: &Utf8Path) {
    // One that is not empty is refused.
    let _ = path.ancestors().skip(1).take(2).try_for_each(fs::remove_dir);
}

/// Tells whether there is a file at a path.
pub(super) fn is_file(path: &Utf8Path) -> bool {
    path.is_file()
}

/// Returns a path without links.
pub(super) fn real(path: &Utf8Path) -> Result<Utf8PathBuf, String> {
    path.canonicalize_utf8().map_err(|error| error.to_string())
}

/// Tells whether a program is on the PATH.
pub(super) fn is_on_path(program: &str) -> bool {
    let path = crate::store::variable("PATH").unwrap_or_default();
    let is_program = |folder: &str| {
        fs::metadata(Utf8Path::new(folder).join(program))
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    path.split(':').filter(|folder| !folder.is_empty()).any(is_program)
}

/// Tells whether a project defines an agent of this name.
pub(super) fn is_agent_defined(project: &Utf8Path, name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    is_plain && !name.starts_with('-') && project.join(format!(".claude/agents/{name}.md")).is_file()
}

/// The most files and folders that one path of a worktree's set-up copies.
const COPIED_LIMIT: usize = 10_000;

/// Copies a file or a folder of the project into a worktree; what an earlier, interrupted copy left is replaced.
///
/// # Errors
///
/// In one sentence: it does not exist, leads out of the project or the worktree, or is too large.
pub(super) fn copy_into(project: &Utf8Path, worktree: &Utf8Path, path: &RelPath) -> Result<(), String> {
    let (from, to) = ends(project, worktree, path)?;
    let mut left = COPIED_LIMIT;
    copy(project, &from, &to, &mut left)
}

fn copy(project: &Utf8Path, from: &Utf8Path, to: &Utf8Path, left: &mut usize) -> Result<(), String> {
    let failed = |error: io::Error| format!("{from}: {error}");
    *left = left.checked_sub(1).ok_or_else(|| format!("{from}: more than {COPIED_LIMIT} files; link the folder"))?;
    let real = from.canonicalize_utf8().map_err(failed)?;
    if !real.starts_with(project.canonicalize_utf8().map_err(failed)?) {
        return Err(format!("{from} leads to {real}, outside of the project"));
    }
    if !real.is_dir() {
        let name = sha256_hex(to.file_name().unwrap_or_default().as_bytes());
        let temporary = to.with_file_name(format!(".{}.piton-tmp", &name[..16]));
        return fs::copy(&real, &temporary).and_then(|_| fs::rename(&temporary, to)).map_err(failed);
    }
    fs::create_dir_all(to).map_err(failed)?;
    for entry in real.read_dir_utf8().map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_owned();
        copy(project, &real.join(&name), &to.join(&name), left)?;
    }
    Ok(())
}

/// Links a file or a folder of the project into a worktree.
///
/// # Errors
///
/// As [`copy_into`], and when something else is there.
pub(super) fn link_into(project: &Utf8Path, worktree: &Utf8Path, path: &RelPath) -> Result<(), String> {
    let (from, to) = ends(project, worktree, path)?;
    match std::os::unix::fs::symlink(&from, &to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match fs::read_link(&to) {
            Ok(there) if there == from.as_std_path() => Ok(()),
            Ok(_) | Err(_) => Err(format!("{to} is there already")),
        },
        linked => linked.map_err(|error| format!("{to}: {error}")),
    }
}

/// Returns a path in the project and in a worktree, where its folder is made.
fn ends(project: &Utf8Path, worktree: &Utf8Path, path: &RelPath) -> Result<(Utf8PathBuf, Utf8PathBuf), String> {
    let from = below(project, path.as_str())?;
    if !from.exists() {
        return Err(format!("{path} does not exist in {project}"));
    }
    let to = path.under(worktree);
    if let Some(parent) = path.parent() {
        let parent = below(worktree, parent.as_str())?;
        fs::create_dir_all(&parent).map_err(|error| format!("{parent}: {error}"))?;
    }
    Ok((from, to))
}

pub(super) fn exists(path: &Utf8Path) -> bool {
    path.exists()
}

pub(super) fn is_folder(path: &Utf8Path) -> bool {
    path.is_dir()
}
