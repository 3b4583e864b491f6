//! What a plugin keeps from one call to the next.
//!
//! Nothing in memory survives a call. What must survive is put here: the host
//! stores it, and it is durable when the call returns.
//!
//! ```no_run
//! # fn example() -> stagewright_sdk::Result<()> {
//! use stagewright_sdk::state;
//!
//! state::deployment().put("previous", &"releases/4f2a")?;
//! let previous: Option<String> = state::deployment().get("previous")?;
//! # Ok(()) }
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use crate::bindings::imports::stagewright::plugin::state::Scope;
use crate::error::{Context, Error, Result};
use crate::sys;

/// What belongs to the stage, over its attempts and turns.
pub fn stage() -> Scope {
    Scope::Stage
}

/// What belongs to the deployment: all stages of this plugin in it.
pub fn deployment() -> Scope {
    Scope::Deployment
}

/// What belongs to the application: all its deployments, for this plugin. The
/// only scope that can be read while planning.
pub fn application() -> Scope {
    Scope::Application
}

/// What the host tells of the deployment: `trigger.commander`, `strategy`,
/// `summary`, as text; `versions` and `approvals`, as JSON, the latter a list of who
/// approved which stage so far (`stage`, `name`, `index`, `by`, `at`). Can only be
/// read.
pub fn shared() -> Scope {
    Scope::Shared
}

impl Scope {
    /// The value of a key, as it was given to [`put`](Self::put); none if there is
    /// none.
    pub fn get<T: DeserializeOwned>(self, key: &str) -> Result<Option<T>> {
        match self.get_bytes(key)? {
            None => Ok(None),
            Some(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .with_context(|| self.cannot("read", key)),
        }
    }

    /// Sets the value of a key. It is stored as JSON.
    pub fn put<T: Serialize + ?Sized>(self, key: &str, value: &T) -> Result<()> {
        let bytes = serde_json::to_vec(value).with_context(|| self.cannot("write", key))?;
        self.put_bytes(key, &bytes)
    }

    /// The value of a key as it is stored; none if there is none.
    pub fn get_bytes(self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(sys::state_get(self, key)?)
    }

    /// The value of a key as text; none if there is none.
    pub fn get_text(self, key: &str) -> Result<Option<String>> {
        match self.get_bytes(key)? {
            None => Ok(None),
            Some(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| {
                Error::internal(format_args!("{}: no text", self.cannot("read", key)))
            }),
        }
    }

    /// Sets the value of a key to these bytes.
    pub fn put_bytes(self, key: &str, value: &[u8]) -> Result<()> {
        Ok(sys::state_put(self, key, value)?)
    }

    /// Several keys that are set together: all, or none.
    pub fn put_many(self) -> PutMany {
        PutMany {
            scope: self,
            values: Vec::new(),
        }
    }

    /// Removes a key; no error if there is none.
    pub fn delete(self, key: &str) -> Result<()> {
        Ok(sys::state_delete(self, key)?)
    }

    /// The keys that start with a prefix, in order; `""` for all.
    pub fn keys(self, prefix: &str) -> Result<Vec<String>> {
        Ok(sys::state_keys(self, prefix)?)
    }

    fn cannot(self, what: &str, key: &str) -> String {
        let scope = match self {
            Self::Stage => "stage",
            Self::Deployment => "deployment",
            Self::Application => "application",
            Self::Shared => "shared",
        };
        format!("can't {what} `{key}` of the {scope} state")
    }
}

/// Values that are set together. See [`Scope::put_many`].
#[derive(Debug)]
#[must_use = "nothing is stored before `commit`"]
pub struct PutMany {
    scope: Scope,
    values: Vec<(String, Vec<u8>)>,
}

impl PutMany {
    /// Adds a value; it is stored as JSON.
    pub fn put<T: Serialize + ?Sized>(mut self, key: &str, value: &T) -> Result<Self> {
        let bytes = serde_json::to_vec(value).with_context(|| self.scope.cannot("write", key))?;
        self.values.push((key.to_owned(), bytes));
        Ok(self)
    }

    /// Adds a value of bytes.
    pub fn put_bytes(mut self, key: &str, value: &[u8]) -> Self {
        self.values.push((key.to_owned(), value.to_vec()));
        self
    }

    /// Stores all of them, or none.
    pub fn commit(self) -> Result<()> {
        Ok(sys::state_put_many(self.scope, &self.values)?)
    }
}
