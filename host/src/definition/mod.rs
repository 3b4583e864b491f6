//! Files to typed definitions with spans: what people write, read strictly.
//!
//! A definition is read once, here, and nothing in it is ignored in silence: an
//! unknown key, a duplicate one, a dangling reference or a bad pattern is an
//! error with its line. The way of a file:
//!
//! ```text
//! bytes ─source─▶ text ─yaml─▶ documents of nodes with spans ─decode─▶ application, host config
//! ```
//!
//! What a plugin will read (a stage's options, its section, its config) stays a
//! [`Node`]: the host can't judge it, so it keeps it as it was written,
//! together with the place of every value, for the day the plugin complains.

// A test that unwraps says enough by its name.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod application;
mod build;
mod decode;
mod diagnostic;
mod duration;
mod host_config;
mod patterns;
mod size;
mod source;
mod yaml;

pub use application::{
    ApiVersion, Application, ApplicationKind, CommitMatcher, DEFAULT_TIMEOUT, DeclaresKey,
    DeployTargets, NestedKey, Planner, PluginSection, SkipOn, StageSpec,
};
pub use build::{Built, BuiltStage};
pub use decode::{Checked, Located};
pub use diagnostic::{Diagnostic, Diagnostics, Severity, Snippet, nearest};
pub use duration::parse_duration;
pub use host_config::{
    Access, Allow, DEFAULT_MEMORY, DeployTarget, DirectoryGrant, HostConfig, HostLimits, Keep,
    PluginConfig, PluginLimits, RESERVED_GUEST_PATHS,
};
pub(crate) use host_config::{PLUGIN_KEY_RULE, is_plugin_key};
pub use patterns::{PathPatterns, PatternError};
pub use size::{ByteSize, parse_size};
pub use source::{MAX_FILE_BYTES, Source};
pub use yaml::{Document, Entry, Limits, Mapping, Node, Reading, Span, Value, read_documents};

pub use crate::model::format_duration;
