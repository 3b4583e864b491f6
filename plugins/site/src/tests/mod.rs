//! What the plugin promises, tried through the fake host on real directories.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use stagewright_sdk::testing::FakeHost;
use stagewright_sdk::{Error, InvalidConfig, Outcome, Result, Status, TargetStatus, Timestamp};
use tempfile::TempDir;

use crate::Site;

pub(crate) mod kill;

mod at_once;
mod killed;
mod plan;
mod prune;
mod rollback;
mod source;
mod sync;

const FIRST: &str = "aaaa000000000000000000000000000000000001";
const SECOND: &str = "bbbb000000000000000000000000000000000002";
const THIRD: &str = "cccc000000000000000000000000000000000003";

/// Files of a site: path and text.
type Files<'a> = &'a [(&'a str, &'a str)];

const ONE: Files<'_> = &[
    ("index.html", "one"),
    ("css/site.css", "body {}"),
    ("old.html", "old"),
];
const TWO: Files<'_> = &[
    ("index.html", "two"),
    ("css/site.css", "body {}"),
    ("new/a.html", "a"),
];

/// A fake host with deploy targets on disk.
struct World {
    host: FakeHost,
    disk: TempDir,
}

impl World {
    /// One target, `web`.
    fn new() -> Self {
        Self::with_targets(&["web"])
    }

    fn with_targets(names: &[&str]) -> Self {
        let disk = tempfile::tempdir().expect("a directory");
        let mut host = FakeHost::new();
        // The times of files are the machine's.
        let now = fs::metadata(disk.path())
            .and_then(|m| m.modified())
            .expect("a time");
        let now = now
            .duration_since(std::time::UNIX_EPOCH)
            .expect("after 1970");
        host.set_now(Timestamp::from_millis(
            now.as_millis().try_into().expect("not so late"),
        ));
        for name in names {
            host.add_deploy_target(name, json!({ "directory": disk.path().join(name) }));
        }
        Self { host, disk }
    }

    /// The directory of a target.
    fn target(&self, name: &str) -> PathBuf {
        self.disk.path().join(name)
    }

    fn web(&self) -> PathBuf {
        self.target("web")
    }

    fn run(&mut self, stage: &str) -> Result<Outcome> {
        let mut stage = self.host.stage(stage, "{}");
        self.host.execute::<Site>(&mut stage)
    }

    /// Runs a stage that works.
    fn works(&mut self, stage: &str) {
        drop(self.outcome(stage));
    }

    /// The same, and says how its targets fared.
    fn outcome(&mut self, stage: &str) -> Outcome {
        let outcome = self
            .run(stage)
            .unwrap_or_else(|error| panic!("{stage}: {error}"));
        assert_eq!(outcome.status, Status::Succeeded, "{stage}: {outcome:?}");
        outcome
    }

    /// Runs a stage that fails as it should, and says why.
    fn fails(&mut self, stage: &str) -> String {
        let outcome = self
            .run(stage)
            .unwrap_or_else(|error| panic!("{stage}: {error}"));
        match outcome.status {
            Status::Failed(why) => why,
            other => panic!("{stage} did not fail: {other:?}"),
        }
    }

    /// A deployment of its own that puts these files live.
    fn publish(&mut self, commit: &str, files: Files<'_>) {
        self.host.set_target_source(commit, files);
        self.works("SITE_SYNC");
        self.next();
    }

    /// The next deployment, a minute later.
    fn next(&mut self) {
        self.host.next_deployment();
        self.host.advance(std::time::Duration::from_secs(60));
    }

    fn releases(&self) -> Vec<String> {
        names(&self.web().join("releases"))
    }
}

/// What `current` holds.
fn current(target: &Path) -> Option<String> {
    let link = fs::read_link(target.join("current")).ok()?;
    Some(link.to_str().expect("UTF-8").to_owned())
}

/// What is live, by path; links as `-> text`.
fn live(target: &Path) -> BTreeMap<String, String> {
    content(&target.join("current"))
}

/// Everything below a directory, by path: text, `-> text` for links, `/` for
/// directories.
fn content(directory: &Path) -> BTreeMap<String, String> {
    fn read(root: &Path, below: &Path, into: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(below).expect("it can be listed") {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(root)
                .expect("below it")
                .display()
                .to_string();
            let kind = fs::symlink_metadata(&path)
                .expect("it is there")
                .file_type();
            if kind.is_dir() {
                into.insert(name, "/".to_owned());
                read(root, &path, into);
            } else if kind.is_symlink() {
                let to = fs::read_link(&path).expect("a link");
                into.insert(name, format!("-> {}", to.display()));
            } else {
                into.insert(name, fs::read_to_string(&path).expect("text"));
            }
        }
    }
    let mut all = BTreeMap::new();
    read(directory, directory, &mut all);
    all
}

/// Only the files of what `content` gives.
fn files_of(files: Files<'_>) -> BTreeMap<String, String> {
    files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

fn without_directories(mut content: BTreeMap<String, String>) -> BTreeMap<String, String> {
    content.retain(|_, text| text != "/");
    content
}

/// The names in a directory, in order; none if it is not there.
fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    names
}

fn statuses(outcome: &Outcome) -> Vec<(&str, TargetStatus)> {
    outcome
        .targets
        .iter()
        .map(|target| (target.name.as_str(), target.status))
        .collect()
}

fn invalid<T: std::fmt::Debug>(result: Result<T>) -> InvalidConfig {
    match result {
        Err(Error::InvalidConfig(wrong)) => wrong,
        other => panic!("expected invalid-config, got {other:?}"),
    }
}

#[test]
fn the_manifest_defines_four_stages_and_asks_for_the_filesystem_only() {
    let manifest = FakeHost::new().describe::<Site>();
    let stages: Vec<_> = manifest
        .stages
        .iter()
        .map(|stage| (stage.name.as_str(), stage.rollback))
        .collect();
    let expected = [
        ("SITE_STAGE", false),
        ("SITE_PROMOTE", false),
        ("SITE_SYNC", false),
        ("SITE_ROLLBACK", true),
    ];
    assert_eq!(stages, expected);
    assert!(manifest.needs_deploy_target);
    assert_eq!(manifest.requests.len(), 1);
    assert_eq!(
        manifest.requests[0].capability,
        stagewright_sdk::Capability::Filesystem
    );
    let schemas = manifest.stages.iter().map(|stage| &stage.options_schema);
    for schema in schemas.chain([
        &manifest.config_schema,
        &manifest.deploy_target_schema,
        &manifest.application_schema,
    ]) {
        let schema: serde_json::Value =
            serde_json::from_str(schema.as_deref().expect("there is one")).expect("JSON");
        assert_eq!(schema["additionalProperties"], json!(false), "{schema}");
    }
}
