//! Lines on their way from whoever writes a log into the store, and from there
//! to whoever reads along.
//!
//! A [`LogWriter`] takes messages as they come and stores their lines in batches,
//! in order and once. [`follow`] gives what is stored and then what comes. The
//! two know nothing of each other: between them stands the store, so a slow
//! reader never holds up a writer.

mod batch;
mod follow;
mod lines;
mod sink;
mod writer;

pub use follow::follow;
pub use writer::{Clock, LogWriter, Transform};

#[cfg(test)]
mod tests;
