//! What a call of the program is given from outside: environment, current folder and standard streams. They are those of the process, unless
//! [`within`] gives others: so that many calls can run side by side in one process, each in a project of its own.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::OsStr,
    io,
    process::Command,
    sync::{Arc, Mutex, PoisonError},
};

use camino::Utf8PathBuf;

thread_local! {
    static GIVEN: RefCell<Option<Arc<Surroundings>>> = const { RefCell::new(None) };
}

/// The surroundings of one call that does not take those of the process.
#[derive(Debug)]
pub struct Surroundings {
    variables: BTreeMap<String, String>,
    folder: Utf8PathBuf,
    input: Mutex<io::Cursor<Vec<u8>>>,
    printed: Mutex<Printed>,
}

/// The bytes that a call wrote to its two streams.
#[derive(Clone, Debug, Default)]
pub struct Printed {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// One of the two streams that a call writes to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Out,
    Err,
}

impl Surroundings {
    /// Returns surroundings with the whole environment, an absolute folder and the standard input of a call.
    pub fn new(variables: BTreeMap<String, String>, folder: Utf8PathBuf, input: Vec<u8>) -> Self {
        Self { variables, folder, input: Mutex::new(io::Cursor::new(input)), printed: Mutex::default() }
    }

    /// Returns what was written so far.
    pub fn printed(&self) -> Printed {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn write(&self, stream: Stream, bytes: &[u8]) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        match stream {
            Stream::Out => printed.stdout.extend_from_slice(bytes),
            Stream::Err => printed.stderr.extend_from_slice(bytes),
        }
    }

    pub(in crate::store) const fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    pub(in crate::store) const fn folder(&self) -> &Utf8PathBuf {
        &self.folder
    }
}

/// Restores the surroundings of before, also after a panic.
struct Restored(Option<Arc<Surroundings>>);

impl Drop for Restored {
    fn drop(&mut self) {
        GIVEN.set(self.0.take());
    }
}

/// Does something in the given surroundings; in those of the process for `None`.
pub(crate) fn within<T>(surroundings: Option<Arc<Surroundings>>, work: impl FnOnce() -> T) -> T {
    let _restored = Restored(GIVEN.replace(surroundings));
    work()
}

/// Returns the given surroundings of this thread; `None` if they are those of the process.
pub(crate) fn given() -> Option<Arc<Surroundings>> {
    GIVEN.with_borrow(Clone::clone)
}

/// Returns the work for another thread that does it in the surroundings of this one.
pub(crate) fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let surroundings = given();
    move || within(surroundings, work)
}

/// Returns a child program with the environment and the folder of this call.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    if let Some(given) = given() {
        command.env_clear().envs(&given.variables).current_dir(&given.folder);
    }
    command
}

/// Returns the folder that relative paths start from; empty where it is that of the process.
pub(crate) fn folder() -> Utf8PathBuf {
    given().map(|given| given.folder.clone()).unwrap_or_default()
}

/// Reads the standard input.
///
/// # Errors
///
/// If it cannot be read.
pub(crate) fn read_input<T>(read: impl FnOnce(&mut dyn io::BufRead) -> io::Result<T>) -> io::Result<T> {
    match given() {
        Some(given) => read(&mut *given.input.lock().unwrap_or_else(PoisonError::into_inner)),
        None => read(&mut io::stdin().lock()),
    }
}
