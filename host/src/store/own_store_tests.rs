//! The example of a store of one's own, put through what every store promises.

use super::conformance::every_promise;

#[path = "../../examples/own_store/memory.rs"]
mod memory;

fn open() -> (memory::MemoryStore, ()) {
    (memory::MemoryStore::default(), ())
}

every_promise!(open);
