//! What holds on one machine only and does not travel with the journal of a run: which processes are behind the names of its drivers, and which
//! of them drives it now.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Timestamp, Uid};

/// The file `local.json` of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Local {
    /// The drivers that were seen on this machine, by the names that records have.
    #[serde(default)]
    pub(crate) drivers: BTreeMap<Uid, DriverProcess>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lease: Option<Lease>,
    /// The file is there and says nothing: the run has been driven.
    #[serde(skip)]
    pub(crate) is_unreadable: bool,
}

impl Local {
    /// Returns the driver that has the lease, alive or not.
    pub(crate) fn holder(&self) -> Option<(&Lease, &DriverProcess)> {
        let lease = self.lease.as_ref()?;
        Some((lease, self.drivers.get(&lease.driver)?))
    }

    /// Returns the client's session that is behind the name of a driver.
    pub(crate) fn session_of(&self, driver: Option<Uid>) -> Option<&str> {
        self.drivers.get(&driver?)?.session.as_deref()
    }
}

/// The process of a driver, and the last sign of its life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DriverProcess {
    /// The client's session; none of a process that drives a run by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    pub(crate) pid: u32,
    /// In clock ticks since boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) process_start: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) boot_id: Option<String>,
    pub(crate) host: String,
    /// `pid` was reported by the client itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_client: bool,
    pub(crate) seen: Timestamp,
}

/// Who drives the run. It informs; it never locks others out for longer than its holder lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lease {
    pub(crate) driver: Uid,
    /// Held by exactly one process: not by its children, and not by other calls of the same session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) strict: bool,
    /// The verb that took it, for people.
    pub(crate) command: String,
    pub(crate) taken_at: Timestamp,
    /// The holder rests: others may take over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_idle: bool,
}
