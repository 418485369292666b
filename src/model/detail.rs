//! What only whoever does a step has to know, read when somebody asks for it: of a large run few steps are looked at that closely.

use std::sync::Arc;
use std::sync::OnceLock;

use serde_json::Map;
use serde_json::Value;

use super::Part;
use super::Status;

/// Is what a step is made of and asks for; strangers' texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Detail {
    pub(crate) parts: Vec<Part>,
    /// Output variables that its parts left, by name.
    pub(crate) variables: Map<String, Value>,
    pub(crate) focus: Vec<String>,
    pub(crate) targets: Vec<String>,
    pub(crate) requirements: Vec<String>,
    pub(crate) acceptance: Vec<String>,
}

/// Is the detail of a step, or the bytes that say it to its dialect.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepDetail {
    read: OnceLock<Box<Detail>>,
    stored: Option<Stored>,
}

#[derive(Clone, Debug)]
struct Stored {
    bytes: Arc<[u8]>,
    status: Status,
    read: fn(&[u8], Status) -> Detail,
}

impl StepDetail {
    /// Leaves the detail of a step that stands at `status` where it is stored.
    pub(crate) fn stored(bytes: Arc<[u8]>, status: Status, read: fn(&[u8], Status) -> Detail) -> Self {
        Self { read: OnceLock::new(), stored: Some(Stored { bytes, status, read }) }
    }

    pub(crate) fn get(&self) -> &Detail {
        let read = |stored: &Stored| (stored.read)(&stored.bytes, stored.status);
        self.read.get_or_init(|| Box::new(self.stored.as_ref().map(read).unwrap_or_default()))
    }

    pub(crate) fn get_mut(&mut self) -> &mut Detail {
        if self.read.get().is_none() {
            *self = Self::from(self.get().clone());
        }
        self.read.get_mut().expect("it was read above")
    }
}

impl From<Detail> for StepDetail {
    fn from(detail: Detail) -> Self {
        Self { read: OnceLock::from(Box::new(detail)), stored: None }
    }
}
