//! What this plugin remembers, so that it can be undone and put in order.
//!
//! The host keeps it: it is durable when a call returns. Each thing is written
//! down before it is done, so that a plugin that is killed in between knows, when
//! it runs again, what it may have done.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::host::{self, Scope};
use crate::layout::{Current, is_release};

/// What a deployment did, or was about to do, to a deploy target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    /// The target's directory then.
    pub(crate) directory: String,
    /// What `current` was before this deployment switched it; none if it never
    /// came to that.
    pub(crate) before: Option<Current>,
    /// The releases that this deployment copied.
    pub(crate) made: Vec<String>,
    /// The releases that it made `current`.
    pub(crate) switched: Vec<String>,
}

const TARGET: &str = "target/";

impl Record {
    /// The record of a target; none if this deployment has not touched it.
    pub(crate) fn load(target: &str) -> Result<Option<Self>, Failure> {
        host::get(Scope::Deployment, &format!("{TARGET}{target}"))
    }

    /// Of a target that has not been touched.
    pub(crate) fn new(directory: &str) -> Self {
        Self {
            directory: directory.to_owned(),
            before: None,
            made: Vec::new(),
            switched: Vec::new(),
        }
    }

    /// Writes it down.
    pub(crate) fn save(&self, target: &str) -> Result<(), Failure> {
        host::put(Scope::Deployment, &format!("{TARGET}{target}"), self)
    }

    /// The targets that this deployment has touched.
    pub(crate) fn targets() -> Result<Vec<String>, Failure> {
        let keys = host::keys(Scope::Deployment, TARGET)?;
        Ok(keys
            .iter()
            .filter_map(|key| key.strip_prefix(TARGET))
            .map(str::to_owned)
            .collect())
    }
}

/// Notes when a release was made live on a target, over all deployments of the
/// application.
pub(crate) fn note_live(target: &str, release: &str) -> Result<(), Failure> {
    host::put(
        Scope::Application,
        &live_key(target, release),
        &host::now_millis(),
    )
}

/// When a release was last made live on a target, in milliseconds since 1970.
pub(crate) fn live_since(target: &str, release: &str) -> Result<Option<u64>, Failure> {
    host::get(Scope::Application, &live_key(target, release))
}

/// Forgets the releases of a target that are no more.
pub(crate) fn forget_live(target: &str, kept: &[String]) -> Result<(), Failure> {
    let prefix = live_key(target, "");
    for key in host::keys(Scope::Application, &prefix)? {
        // The name of another target may start with this one's and a slash.
        let release = key.strip_prefix(&prefix).filter(|rest| is_release(rest));
        if release.is_some_and(|release| kept.iter().all(|kept| kept != release)) {
            host::delete(Scope::Application, &key)?;
        }
    }
    Ok(())
}

fn live_key(target: &str, release: &str) -> String {
    format!("live/{target}/{release}")
}
