//! The plugins of a host: found in its plugins directory, checked, and known by
//! their keys.
//!
//! ```text
//! directory ─scan─▶ files ─bind─▶ (key, file) ─sandbox─▶ plugins ─manifest─▶ Registry
//! ```
//!
//! A bad plugin is kept out with its reason, and the good ones serve.

mod bind;
mod directory;
mod manifest;
mod registered;
mod registry;
mod schema;
#[cfg(test)]
mod schema_tests;

pub use self::bind::PluginEntry;
pub use self::directory::DirectoryError;
pub use self::registered::Registered;
pub use self::registry::{DirectorySettings, Registry, Rejected};
pub use self::schema::{Schemas, Violation};
