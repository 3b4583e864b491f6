//! The built program is killed, again and again, at random moments under load and
//! at every point of its way; and nothing is lost by it.
//!
//! `STAGEWRIGHT_KILLS` says how often the first is done; `STAGEWRIGHT_SEED` makes
//! its choices those of an earlier run, whose seed a failure prints.

mod points;
mod random;
mod workload;
