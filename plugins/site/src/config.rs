//! What the application and the operator write, each value checked as it is read.

use schemars::JsonSchema;
use serde::Deserialize;
use stagewright_sdk::schemars;

use crate::exclude::Exclude;

/// The application's `plugins.site` section.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Section {
    /// The directory to publish, relative to the application file's; by default
    /// that one itself.
    #[schemars(with = "String")]
    pub(crate) directory: Published,
    /// How many old releases are kept besides the live one, at least 1.
    #[schemars(with = "u32", range(min = 1))]
    pub(crate) keep_releases: KeepReleases,
    /// When a change goes live at once.
    pub(crate) quick_sync: QuickSync,
    /// Paths below `directory` that are not published. `*` and `?` stand for
    /// characters of one name, `**` for any number of names.
    #[schemars(with = "Vec<String>")]
    pub(crate) exclude: Exclude,
}

impl Default for Section {
    fn default() -> Self {
        Self {
            directory: Published(".".to_owned()),
            keep_releases: KeepReleases(5),
            quick_sync: QuickSync::default(),
            exclude: Exclude::default(),
        }
    }
}

/// When a change goes live at once, without the pipeline.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct QuickSync {
    /// If fewer files than this were added or modified, and none was removed.
    pub(crate) max_files: u32,
}

impl Default for QuickSync {
    fn default() -> Self {
        Self { max_files: 20 }
    }
}

/// The config of a deploy target.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TargetConfig {
    /// The directory that holds `releases` and `current`: an absolute path in the
    /// plugin's sandbox, in or below a directory granted read-write under
    /// `allow.filesystem`.
    #[schemars(with = "String", regex(pattern = "^/"))]
    pub(crate) directory: TargetDirectory,
}

/// A relative directory that does not leave the application's.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Published(pub(crate) String);

impl TryFrom<String> for Published {
    type Error = String;

    fn try_from(path: String) -> Result<Self, String> {
        if path.is_empty() {
            return Err("the directory is empty: write `.` for the application's own".to_owned());
        }
        if path.starts_with('/') {
            return Err(format!(
                "`{path}` is absolute: write a path relative to the application file's directory, \
                 such as `public`"
            ));
        }
        if path.split('/').any(|name| name == "..") {
            return Err(format!(
                "`{path}` has `..` in it: only what is in or below the application file's \
                 directory can be published"
            ));
        }
        Ok(Self(path))
    }
}

/// At least one, so that there is one to roll back to.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u32")]
pub(crate) struct KeepReleases(pub(crate) u32);

impl TryFrom<u32> for KeepReleases {
    type Error = String;

    fn try_from(count: u32) -> Result<Self, String> {
        if count == 0 {
            return Err("keep at least 1 release: the rollback goes back to it".to_owned());
        }
        Ok(Self(count))
    }
}

/// An absolute directory, without detours so that two can be told apart.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub(crate) struct TargetDirectory(pub(crate) String);

impl TryFrom<String> for TargetDirectory {
    type Error = String;

    fn try_from(path: String) -> Result<Self, String> {
        let Some(below) = path.strip_prefix('/') else {
            return Err(format!(
                "`{path}` is not absolute: write the path in the sandbox (`guest`) of a directory \
                 under `allow.filesystem`, or one below it"
            ));
        };
        let names: Vec<&str> = below.split('/').filter(|name| !name.is_empty()).collect();
        if names.iter().any(|name| matches!(*name, "." | "..")) {
            return Err(format!("`{path}` has `.` or `..` in it: write it without"));
        }
        match names.first() {
            None => Err("`/` is nobody's to publish to: write a directory below it".to_owned()),
            Some(first @ (&"target" | &"running" | &"scratch")) => Err(format!(
                "`{path}` can't be published to: /{first} is the host's own, and goes away with \
                 the deployment"
            )),
            Some(_) => Ok(Self(format!("/{}", names.join("/")))),
        }
    }
}
