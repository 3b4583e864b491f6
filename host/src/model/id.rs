//! Names that are made once and never change.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes a text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

text_id! {
    /// A deployment.
    DeploymentId
}
text_id! {
    /// A stage of a deployment.
    StageId
}
text_id! {
    /// An application: made from its repository and the path of its file, so that
    /// it stays when the application is renamed.
    ApplicationId
}
text_id! {
    /// A plugin: its key in the host's configuration, which owns its grants, its
    /// configuration, its deploy targets and its state. The name in its manifest
    /// is only a label.
    PluginKey
}
text_id! {
    /// The SHA-256 of a component's bytes, in hexadecimal digits.
    Digest
}

impl Digest {
    /// The first twelve digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}
