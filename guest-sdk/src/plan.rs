//! What a planner is asked and what it answers.

use serde::de::DeserializeOwned;

use crate::bindings::types::Entry;
use crate::decode::decode;
use crate::error::{ConfigKind, Error, Result};

pub use crate::bindings::planner::{
    Decision, Operation, PlannedStage, RequestedStage, Strategy, Version,
};

/// Nobody in particular: who may operate a stage that anyone may. See
/// [`PlannedStage::operated_by`].
pub const ANYONE: [&str; 0] = [];

impl Version {
    /// A version of something named.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            url: None,
        }
    }

    /// Adds a page about it.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }
}

impl Decision {
    /// For the quick sync, because of `summary`.
    pub fn quick_sync(summary: impl Into<String>) -> Self {
        Self {
            strategy: Strategy::QuickSync,
            summary: summary.into(),
        }
    }

    /// For the pipeline, because of `summary`.
    pub fn pipeline(summary: impl Into<String>) -> Self {
        Self {
            strategy: Strategy::Pipeline,
            summary: summary.into(),
        }
    }
}

impl RequestedStage {
    /// Its options (`with`), as the author's own type.
    pub fn options<T: DeserializeOwned>(&self) -> Result<T> {
        decode(ConfigKind::Stage, &self.index.to_string(), &self.options)
    }

    /// The error that its options are wrong at a JSON pointer such as `/duration`.
    pub fn invalid_options(&self, pointer: &str, message: impl std::fmt::Display) -> Error {
        Error::invalid(ConfigKind::Stage, &self.index.to_string(), pointer, message)
    }
}

impl PlannedStage {
    /// A stage of this name, visible, at index 0: for a quick sync.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            index: 0,
            description: String::new(),
            rollback: false,
            undoes: None,
            visible: true,
            predefined: true,
            metadata: Vec::new(),
            operation: Operation::None,
            authorized_operators: Vec::new(),
            min_operators: 1,
        }
    }

    /// The stage that was requested, as it was requested.
    pub fn of(requested: &RequestedStage) -> Self {
        Self {
            predefined: false,
            description: requested.description.clone(),
            ..Self::new(&*requested.name).at(requested.index)
        }
    }

    /// A rollback stage of this name for a requested stage: it gets that stage's
    /// options and runs if that stage had started. Hidden until then.
    pub fn undoing(name: impl Into<String>, requested: &RequestedStage) -> Self {
        Self::new(name).at(requested.index).as_rollback()
    }

    /// Puts it at this index. See the field.
    pub fn at(mut self, index: u32) -> Self {
        self.index = index;
        self
    }

    /// Makes it a rollback stage, hidden until it starts. Without
    /// [`undoing_all`](Self::undoing_all) it undoes its own index in a pipeline, every
    /// stage of this plugin in a quick sync.
    pub fn as_rollback(mut self) -> Self {
        self.rollback = true;
        self.visible = false;
        self
    }

    /// Says which indexes a rollback stage undoes: it runs if one of them had
    /// started.
    pub fn undoing_all(mut self, indexes: impl IntoIterator<Item = u32>) -> Self {
        self.undoes = Some(indexes.into_iter().collect());
        self
    }

    /// Says what it does, instead of the file's or the manifest's text.
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Adds an entry to the metadata that it starts with.
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.push(Entry {
            key: key.into(),
            value: value.into(),
        });
        self
    }

    /// Lets a person approve or skip it from when it starts to its end: those
    /// named, or anyone if none is ([`ANYONE`]). It learns of that by
    /// [`commands`](crate::commands).
    pub fn operated_by<S: Into<String>>(
        mut self,
        operation: Operation,
        operators: impl IntoIterator<Item = S>,
    ) -> Self {
        self.operation = operation;
        self.authorized_operators = operators.into_iter().map(Into::into).collect();
        self
    }

    /// Says how many different people must do so; one, unless this is said. People
    /// are told by it who is still missing; that it is enough, the stage itself has
    /// to find.
    pub fn by_at_least(mut self, people: u32) -> Self {
        self.min_operators = people;
        self
    }
}
