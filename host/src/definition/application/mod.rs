//! An application: what is deployed, by which stages, read from PipeCD v1's file.
//!
//! PipeCD itself ignores what it doesn't know in such a file, so that a pipeline
//! written one level too deep is a quick sync at night. Here everything in it is
//! either served, or warned of, or refused.

mod header;
mod nested;
mod pipeline;
mod spec;
#[cfg(test)]
pub(super) mod tests;
mod unserved;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use regex::Regex;

use super::decode::{Checked, Located, Sink};
use super::diagnostic::{Diagnostic, Diagnostics, Severity};
use super::patterns::PathPatterns;
use super::source::Source;
use super::yaml::{Document, Limits, Node, Span, read_documents, single};

pub use header::{ApiVersion, ApplicationKind};

/// How long a deployment or a stage may take when its file doesn't say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(6 * 3600);

/// What to do about an application file of several documents.
const MANY: &str = "give each application a file of its own, in a directory of its own";

/// Says whether a plugin's own schema declares a key of its section. The
/// arguments are the plugin's key and the key in its section.
pub type DeclaresKey<'a> = &'a dyn Fn(&str, &str) -> bool;

/// What is deployed, and how.
#[derive(Clone, Debug)]
pub struct Application {
    /// Under whose rules the file is written.
    pub api_version: ApiVersion,
    /// `Application`, or the legacy kind.
    pub kind: ApplicationKind,
    /// The name.
    pub name: Located<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// What it is, for people.
    pub description: Option<String>,
    /// How the strategy is chosen.
    pub planner: Planner,
    /// Commit messages that choose the strategy.
    pub commit_matcher: CommitMatcher,
    /// The stages of its pipeline; none means that it is always synced quickly.
    pub stages: Vec<StageSpec>,
    /// How long a deployment may take, where someone wrote it: that counts
    /// suspended time, [`DEFAULT_TIMEOUT`] does not.
    pub timeout: Option<Located<Duration>>,
    /// What each plugin is told about it, in the order of the file.
    pub plugins: Vec<PluginSection>,
    /// The deploy targets meant, by plugin. A plugin that isn't named here is
    /// meant with all of its own.
    pub deploy_targets: Vec<DeployTargets>,
    /// Keys of the application that its file nests under a plugin which declares
    /// them as its own.
    pub nested_keys: Vec<NestedKey>,
    /// The file it was read from.
    pub source: Option<Source>,
}

/// How the strategy is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planner {
    /// Whether the pipeline runs whatever has changed.
    pub always_use_pipeline: bool,
    /// Whether a failed deployment is rolled back.
    pub auto_rollback: bool,
}

impl Default for Planner {
    fn default() -> Self {
        Self {
            always_use_pipeline: false,
            auto_rollback: true,
        }
    }
}

/// Commit messages that choose the strategy.
#[derive(Clone, Debug, Default)]
pub struct CommitMatcher {
    /// A message that matches gets the pipeline.
    pub pipeline: Option<Located<Regex>>,
    /// A message that matches is synced quickly.
    pub quick_sync: Option<Located<Regex>>,
}

/// A stage as it is asked for.
#[derive(Clone, Debug)]
pub struct StageSpec {
    /// What other stages call it in their `needs`.
    pub id: Option<Located<String>>,
    /// Which stage it is, such as `WAIT`.
    pub name: Located<String>,
    /// What it does here, for people.
    pub desc: Option<String>,
    /// How long it may take, where someone wrote it: that counts suspended time,
    /// [`DEFAULT_TIMEOUT`] does not.
    pub timeout: Option<Located<Duration>>,
    /// Its options: a mapping.
    pub with: Node,
    /// When it is skipped.
    pub skip_on: SkipOn,
    /// The ids of the stages it comes after; none means the one before it.
    pub needs: Option<Vec<Located<String>>>,
    /// Where it is written.
    pub span: Option<Span>,
}

impl StageSpec {
    /// A stage without options.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            id: None,
            name: Located::from(name.into()),
            desc: None,
            timeout: None,
            with: Node::empty_mapping(),
            skip_on: SkipOn::default(),
            needs: None,
            span: None,
        }
    }
}

/// When a stage is skipped.
#[derive(Clone, Debug, Default)]
pub struct SkipOn {
    /// Beginnings of commit messages.
    pub commit_message_prefixes: Vec<Located<String>>,
    /// Patterns of paths; all changed files must match.
    pub paths: PathPatterns,
}

/// What a plugin is told about an application.
#[derive(Clone, Debug)]
pub struct PluginSection {
    /// The plugin's key.
    pub plugin: Located<String>,
    /// What stands under it; `null` where nothing does.
    pub config: Node,
}

/// The deploy targets of a plugin that an application is meant for.
#[derive(Clone, Debug)]
pub struct DeployTargets {
    /// The plugin's key.
    pub plugin: Located<String>,
    /// The targets' names.
    pub names: Vec<Located<String>>,
}

/// A key of the application that is nested under a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedKey {
    /// The plugin's key.
    pub plugin: String,
    /// The key in the plugin's section.
    pub key: String,
    /// Where it is written.
    pub span: Option<Span>,
}

impl Application {
    /// An application made in code. Its stages and sections are added to the
    /// fields.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            api_version: ApiVersion::Stagewright,
            kind: ApplicationKind::Application,
            name: Located::from(name.into()),
            labels: BTreeMap::new(),
            description: None,
            planner: Planner::default(),
            commit_matcher: CommitMatcher::default(),
            stages: Vec::new(),
            timeout: None,
            plugins: Vec::new(),
            deploy_targets: Vec::new(),
            nested_keys: Vec::new(),
            source: None,
        }
    }

    /// Reads a file. Without a `name` in it, the application is called after its
    /// directory.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn load(path: &Path, declares: DeclaresKey<'_>) -> Result<Checked<Self>, Diagnostics> {
        if path.to_str().is_none() {
            let name = path.display().to_string();
            return Err(Diagnostics::from(Diagnostic::of_file(
                Severity::Error,
                name,
                "the path of this file is not UTF-8, and can be kept nowhere",
                "rename it",
            )));
        }
        let source = Source::load(path)?;
        let directory = std::path::absolute(path)
            .ok()
            .and_then(|path| Some(path.parent()?.file_name()?.to_string_lossy().into_owned()));
        Self::from_source(
            &source,
            directory.as_deref().unwrap_or("application"),
            declares,
        )
    }

    /// Reads a file's text, `default_name` being the name for a file without
    /// one.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn from_source(
        source: &Source,
        default_name: &str,
        declares: DeclaresKey<'_>,
    ) -> Result<Checked<Self>, Diagnostics> {
        let reading = read_documents(source, &Limits::default());
        let document = single(source, &reading, "an application file", MANY)?;
        Self::read(
            source,
            document,
            reading.diagnostics.clone(),
            default_name,
            declares,
        )
    }

    /// Reads one document of a file, `found` being what is known to be wrong
    /// with the file already.
    ///
    /// # Errors
    /// All problems of the document, and those already found.
    pub fn read(
        source: &Source,
        document: &Document,
        found: Diagnostics,
        default_name: &str,
        declares: DeclaresKey<'_>,
    ) -> Result<Checked<Self>, Diagnostics> {
        let sink = Sink::new(source, found);
        let application = spec::read(&sink, &document.root, default_name, declares);
        sink.finish(application.map(|read| Self {
            source: Some(source.clone()),
            ..read
        }))
    }

    /// How long a deployment may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
            .as_ref()
            .map_or(DEFAULT_TIMEOUT, |timeout| timeout.value)
    }

    /// What a plugin is told about this application, if its file has a section
    /// for it.
    pub fn section(&self, plugin: &str) -> Option<&PluginSection> {
        self.plugins
            .iter()
            .find(|section| section.plugin.value == plugin)
    }

    /// An error at a place of its file, found by someone who knows more than the
    /// file: a stage that nobody defines, an option that a plugin refuses.
    pub fn error(
        &self,
        at: Option<Span>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostic {
        match &self.source {
            Some(source) => source.error(at, message, help),
            None => {
                let name = format!("application {}", self.name.value);
                Diagnostic::of_file(Severity::Error, name, message, help)
            }
        }
    }
}
