//! What hooks have said, one line each, in a file of this user's state home: some of it is said only once.

use std::slice;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::{
    model::{Timestamp, clean_line},
    store::{
        commit::journal,
        fs::{environment::Environment, error::StoreError, stage},
    },
};

const FILE: &str = "hooks.jsonl";
/// Size in bytes at which the file is rotated.
const LIMIT: u64 = 64 << 10;
/// Characters of a topic that count.
const TOPIC_CHARS: usize = 200;

/// The file. It need not exist.
#[derive(Debug)]
pub(crate) struct HookMemory {
    folder: Utf8PathBuf,
}

#[derive(Debug, Deserialize, Serialize)]
struct MemoryLine {
    at: Timestamp,
    topic: String,
}

impl HookMemory {
    /// Returns the memory of this user; `None` if the environment names no state folder.
    pub(crate) fn of(environment: &Environment) -> Option<Self> {
        Some(Self { folder: environment.state_home.clone()? })
    }

    /// Returns how often a topic was noted.
    pub(crate) fn count(&self, topic: &str) -> usize {
        let topic = clean_line(topic, TOPIC_CHARS);
        journal::read::<MemoryLine>(&self.folder, FILE).iter().filter(|line| line.topic == topic).count()
    }

    /// Notes a topic.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(crate) fn note(&self, at: Timestamp, topic: &str) -> Result<(), StoreError> {
        stage::create_private_dirs(&self.folder)?;
        journal::append(
            &self.folder,
            FILE,
            slice::from_ref(&MemoryLine { at, topic: clean_line(topic, TOPIC_CHARS) }),
            LIMIT,
        )
    }
}
