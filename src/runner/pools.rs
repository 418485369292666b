//! Pools: how many of the steps and items that name one run at the same time.

use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::exec::{Signals, Stop};

/// How long one wait for a slot lasts before signals are looked at.
const WAIT: Duration = Duration::from_millis(100);

/// The free slots of the pools of a workflow.
#[derive(Debug, Default)]
pub(super) struct Pools {
    free: Mutex<BTreeMap<String, usize>>,
    freed: Condvar,
}

/// A slot of a pool, free again when it is dropped.
#[derive(Debug)]
pub(super) struct PoolSlot<'a> {
    pools: &'a Pools,
    name: String,
}

impl Pools {
    pub(super) fn of(sizes: &BTreeMap<String, usize>) -> Self {
        Self { free: Mutex::new(sizes.clone()), freed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_from<'a>(&'a self, free: &mut BTreeMap<String, usize>, name: &str) -> Option<PoolSlot<'a>> {
        let slots = free.get_mut(name).filter(|slots| **slots > 0)?;
        *slots -= 1;
        Some(PoolSlot { pools: self, name: name.to_owned() })
    }

    /// Takes a slot, if one is free.
    pub(super) fn try_take(&self, name: &str) -> Option<PoolSlot<'_>> {
        self.take_from(&mut self.lock(), name)
    }

    /// Takes a slot as soon as one is free, unless a signal stops the runner before.
    pub(super) fn take(&self, name: &str, signals: &Signals) -> Result<PoolSlot<'_>, Stop> {
        let mut free = self.lock();
        loop {
            if let Some(slot) = self.take_from(&mut free, name) {
                return Ok(slot);
            }
            if let Some(stop) = signals.stop() {
                return Err(stop);
            }
            free = self.freed.wait_timeout(free, WAIT).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for PoolSlot<'_> {
    fn drop(&mut self) {
        if let Some(slots) = self.pools.lock().get_mut(&self.name) {
            *slots += 1;
        }
        self.pools.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::Pools;

    #[test]
    fn a_slot_is_free_again_when_it_is_dropped() {
        let pools = Pools::of(&[("gpu".to_owned(), 1)].into());
        let slot = pools.try_take("gpu");
        assert!(slot.is_some() && pools.try_take("gpu").is_none() && pools.try_take("cpu").is_none());
        drop(slot);
        assert!(pools.try_take("gpu").is_some());
    }
}
