//! The log of rollbacks: how often a run went back to a point, and which evidence is outdated since.

use camino::Utf8Path;
use std::slice;

use super::{journal, lock::RunLock};
use crate::{
    model::{RelPath, RollBackRecord},
    store::fs::{error::StoreError, unread},
};

const LOG: &str = "rollbacks.jsonl";

/// Appends a rollback, durably: later plans act on it.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn record_rollback(lock: &RunLock, record: &RollBackRecord, limit: u64) -> Result<(), StoreError> {
    journal::append_durably(lock.data_path(), LOG, slice::from_ref(record), limit)
}

/// Reads the rollbacks, oldest first.
pub(crate) fn rollbacks(root: &Utf8Path, data_dir: &RelPath) -> Vec<RollBackRecord> {
    let data_path = unread::data_path(root, data_dir);
    data_path.as_deref().map(rollbacks_in).unwrap_or_default()
}

pub(in crate::store) fn rollbacks_in(data_path: &Utf8Path) -> Vec<RollBackRecord> {
    journal::read(data_path, LOG)
}
