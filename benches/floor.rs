//! The least a durable checkpoint costs a Rust program, which is loaded and started before it can do anything.
//!
//! `floor FILE` does what `floor.c` does. `floor --kept FILE` does all that `begin` asks of the disk as well: it takes the lock, reads
//! the state and its backup, keeps the old version in the history and as the backup, and adds a line to the log. It reads no
//! arguments, parses nothing and decides nothing.

use std::env;
use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::path::Path;

fn main() -> io::Result<()> {
    let mut arguments = env::args_os().skip(1);
    match (arguments.next(), arguments.next()) {
        (Some(flag), Some(state)) if flag == "--kept" => kept(Path::new(&state)),
        (Some(state), None) => replace(Path::new(&state), || Ok(())),
        _ => Err(io::Error::other("usage: floor [--kept] FILE")),
    }
}

/// Writes a new version beside a file, flushes it, puts it in place and flushes the folder.
fn replace(state: &Path, keep: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let content = fs::read(state)?;
    let temporary = state.with_extension("floor-tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(&content)?;
    file.sync_all()?;
    keep()?;
    fs::rename(&temporary, state)?;
    File::open(state.parent().unwrap_or(Path::new(".")))?.sync_all()
}

fn kept(state: &Path) -> io::Result<()> {
    let own = state.with_extension("floor-own");
    let history = own.join("history");
    let lock = match OpenOptions::new().write(true).open(own.join("lock")) {
        Ok(lock) => lock,
        Err(_) => {
            fs::create_dir_all(&history)?;
            File::create(own.join("lock"))?
        }
    };
    lock.lock()?;
    let backup = state.with_extension("floor-backup");
    let _ = fs::read(&backup);
    replace(state, || {
        let mut kept: Vec<u32> = numbers(&history)?;
        kept.sort_unstable();
        let next = kept.last().map_or(1, |last| last + 1);
        fs::hard_link(state, history.join(next.to_string()))?;
        let temporary = state.with_extension("floor-backup-tmp");
        fs::hard_link(state, &temporary)?;
        fs::rename(&temporary, &backup)?;
        // `begin` keeps 20 versions, the new one among them.
        kept.iter()
            .take(kept.len().saturating_sub(19))
            .try_for_each(|old| fs::remove_file(history.join(old.to_string())))
    })?;
    let mut log = OpenOptions::new().append(true).create(true).open(own.join("log.jsonl"))?;
    log.write_all(b"{\"at\":\"2026-01-31T12:00:00Z\",\"change\":\"begin\",\"step\":\"5:3\"}\n")
}

fn numbers(folder: &Path) -> io::Result<Vec<u32>> {
    let numbers = fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(numbers.collect())
}
