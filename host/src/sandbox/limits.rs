//! What one call may take of the host's memory.
//!
//! The cap is over all memories of an instance together. A refused growth shows
//! to the guest as a failed allocation, which most languages turn into a bare
//! trap: the refusal is kept, so that the error can name the limit.

use wasmtime::ResourceLimiter;

/// The limits of one plugin's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginLimits {
    /// Bytes over all memories of an instance (`limits.memory`).
    pub memory: u64,
    /// Elements over all tables of an instance (`limits.tableElements`).
    pub table_elements: u64,
    /// Core instances, memories and tables of an instance, each.
    pub parts: usize,
    /// Handles that an instance may hold at a time (`limits.handles`).
    pub handles: usize,
    /// Bytes that one call across the boundary may hand to the host
    /// (`limits.output`).
    pub output: usize,
    /// Programs that run at a time in one call (`limits.processes`).
    pub processes: usize,
    /// Bytes kept of each of a program's outputs when they are captured
    /// (`limits.captured`).
    pub captured: usize,
}

impl Default for PluginLimits {
    fn default() -> Self {
        Self {
            memory: 128 << 20,
            table_elements: 100_000,
            parts: 64,
            handles: 10_000,
            output: 16 << 20,
            processes: 64,
            captured: 1 << 20,
        }
    }
}

/// Counts what an instance takes, over all its memories and tables.
pub(super) struct Limiter {
    memory_limit: u64,
    memory: u64,
    table_limit: u64,
    elements: u64,
    parts: usize,
    denied: Option<Denied>,
}

/// A growth that was refused, and nothing grew since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// Of memory, to so many bytes altogether.
    Memory(u64),
    /// Of tables, to so many elements altogether.
    Tables(u64),
}

impl Limiter {
    pub(super) fn new(limits: &PluginLimits) -> Self {
        Self {
            memory_limit: limits.memory,
            memory: 0,
            table_limit: limits.table_elements,
            elements: 0,
            parts: limits.parts,
            denied: None,
        }
    }

    /// The refused growth that the guest has not got over, if there is one.
    pub(super) fn denied(&self) -> Option<Denied> {
        self.denied
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        match growth(current, desired, maximum) {
            None => Ok(false),
            Some(growth) => {
                let wanted = self.memory.saturating_add(growth);
                let permitted = wanted <= self.memory_limit;
                self.denied = (!permitted).then_some(Denied::Memory(wanted));
                if permitted {
                    self.memory = wanted;
                }
                Ok(permitted)
            }
        }
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        match growth(current, desired, maximum) {
            None => Ok(false),
            Some(growth) => {
                let wanted = self.elements.saturating_add(growth);
                let permitted = wanted <= self.table_limit;
                self.denied = (!permitted).then_some(Denied::Tables(wanted));
                if permitted {
                    self.elements = wanted;
                }
                Ok(permitted)
            }
        }
    }

    fn instances(&self) -> usize {
        self.parts
    }

    fn tables(&self) -> usize {
        self.parts
    }

    fn memories(&self) -> usize {
        self.parts
    }
}

/// By how much something grows; none if its own type doesn't let it.
///
/// What is permitted here and fails later in the system stays counted: taking
/// it back on wasmtime's word would let a guest un-count what it holds, since
/// that word also comes for growths that were never asked for here.
fn growth(current: usize, desired: usize, maximum: Option<usize>) -> Option<u64> {
    if maximum.is_some_and(|maximum| desired > maximum) {
        return None;
    }
    Some(desired.saturating_sub(current) as u64)
}

/// A number of bytes for people, such as `128 MiB`. Rounded up, so that what was
/// wanted never looks like what is allowed.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (unit, size) in UNITS {
        if count >= size {
            let tenths = (u128::from(count) * 10).div_ceil(u128::from(size));
            return if tenths.is_multiple_of(10) {
                format!("{} {unit}", tenths / 10)
            } else {
                format!("{}.{} {unit}", tenths / 10, tenths % 10)
            };
        }
    }
    format!("{count} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(memory: u64) -> Limiter {
        Limiter::new(&PluginLimits {
            memory,
            ..PluginLimits::default()
        })
    }

    #[test]
    fn the_cap_is_over_all_memories_together_and_the_refusal_is_kept() {
        let mut limiter = limiter(100);
        assert!(limiter.memory_growing(0, 60, None).expect("an answer"));
        assert!(!limiter.memory_growing(0, 60, None).expect("an answer"));
        assert_eq!(limiter.denied(), Some(Denied::Memory(120)));
        assert!(limiter.memory_growing(0, 40, None).expect("an answer"));
        assert_eq!(limiter.denied(), None, "the guest got over it");
    }

    #[test]
    fn a_growth_beyond_the_memorys_own_maximum_is_refused_and_no_limit_is_blamed() {
        let mut limiter = limiter(100);
        assert!(!limiter.memory_growing(0, 60, Some(50)).expect("an answer"));
        assert_eq!(limiter.denied(), None);
        assert!(limiter.memory_growing(0, 100, None).expect("an answer"));
    }

    #[test]
    fn bytes_are_shown_in_the_unit_that_fits_and_never_rounded_down() {
        assert_eq!(bytes(128 << 20), "128 MiB");
        assert_eq!(bytes((128 << 20) + 1), "128.1 MiB");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(7), "7 bytes");
    }
}
