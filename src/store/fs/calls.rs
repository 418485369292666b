//! The system calls that write a checkpoint, one function each, along paths without symlinks (see `nofollow`). Tests let any of
//! them fail or be the last one before a crash.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
};

use camino::Utf8Path;

use super::{
    nofollow::{self, OpenMode},
    platform::{self, Attributes},
};

pub(in crate::store) fn create_new(path: &Utf8Path, mode: u32) -> io::Result<File> {
    fault_point()?;
    nofollow::open(path.as_std_path(), OpenMode::Create, mode)
}

pub(in crate::store) fn write(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    fault_point()?;
    file.write_all(bytes)
}

pub(in crate::store) fn apply(file: &File, attributes: Attributes) -> io::Result<()> {
    fault_point()?;
    platform::apply(file, attributes)
}

pub(in crate::store) fn sync_data(file: &File) -> io::Result<()> {
    fault_point()?;
    platform::flushed(file.sync_data())
}

pub(in crate::store) fn sync_all(file: &File) -> io::Result<()> {
    fault_point()?;
    platform::flushed(file.sync_all())
}

pub(super) fn sync_dir(path: &Utf8Path) -> io::Result<()> {
    fault_point()?;
    nofollow::sync_dir(path.as_std_path())
}

pub(in crate::store) fn set_len(file: &File, length: u64) -> io::Result<()> {
    fault_point()?;
    file.set_len(length)
}

pub(in crate::store) fn rename(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    fault_point()?;
    nofollow::rename(from, to)
}

pub(in crate::store) fn remove_file(path: &Utf8Path) -> io::Result<()> {
    fault_point()?;
    nofollow::remove_file(path)
}

pub(in crate::store) fn create_dir(path: &Utf8Path, mode: u32) -> io::Result<()> {
    fault_point()?;
    nofollow::create_dir(path.as_std_path(), mode)
}

pub(in crate::store) fn symlink(target: &Path, path: &Utf8Path) -> io::Result<()> {
    fault_point()?;
    nofollow::symlink(target, path.as_std_path())
}

/// Removes an empty folder.
pub(in crate::store) fn remove_dir(path: &Utf8Path) -> io::Result<()> {
    fault_point()?;
    nofollow::remove_dir(path.as_std_path())
}

/// Removes a folder and its content.
pub(in crate::store) fn remove_dir_all(path: &Utf8Path) -> io::Result<()> {
    fault_point()?;
    nofollow::remove_dir_all(path.as_std_path())
}

/// Runs before every call; does nothing outside of tests.
#[cfg(not(test))]
pub(super) const fn fault_point() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(in crate::store) use failing::Fault;
#[cfg(test)]
pub(super) use failing::fault_point;
#[cfg(test)]
pub(in crate::store) use failing::with_fault;

#[cfg(test)]
mod failing {
    use std::{cell::Cell, io};

    /// What happens to a call in a test.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in crate::store) enum Fault {
        /// The process ends first: neither this call nor any later one is made.
        Kill,
        /// The system refuses it once.
        Once,
        /// The system refuses it and the next one.
        Twice,
        /// The system refuses it and every later one.
        FromThere,
    }

    #[derive(Clone, Copy)]
    struct Plan {
        at: usize,
        made: usize,
        fault: Fault,
    }

    thread_local! {
        static PLAN: Cell<Option<Plan>> = const { Cell::new(None) };
    }

    pub(in crate::store) fn fault_point() -> io::Result<()> {
        let Some(mut plan) = PLAN.get() else { return Ok(()) };
        plan.made += 1;
        PLAN.set(Some(plan));
        let is_hit = match plan.fault {
            Fault::Once => plan.made == plan.at,
            Fault::Twice => (plan.at..=plan.at + 1).contains(&plan.made),
            Fault::Kill | Fault::FromThere => plan.made >= plan.at,
        };
        if is_hit { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    /// Runs `work` with a fault at the `at`-th call of this thread. `None` if it made fewer calls.
    pub(in crate::store) fn with_fault<T>(at: usize, fault: Fault, work: impl FnOnce() -> T) -> Option<T> {
        PLAN.set(Some(Plan { at, made: 0, fault }));
        let result = work();
        let made = PLAN.take().map_or(0, |plan| plan.made);
        (made >= at).then_some(result)
    }
}
