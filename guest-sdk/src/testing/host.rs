//! The fake host as a test sees it.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use super::answer::{Answer, Program};
use super::current::{Owner, World};
use super::{CommandLine, LogLine};
use crate::bindings::types;
use crate::input::{Application, Commit, Deployment, Entry, Source, Trigger};
use crate::state::Scope;
use crate::time::Timestamp;

/// A host that exists in a test only. See [the module](super).
#[derive(Debug)]
pub struct FakeHost {
    /// The deployment that the plugin is given.
    pub deployment: Deployment,
    /// Where the source comes from.
    pub source_remote_url: String,
    /// The commit that was last deployed with success.
    pub last_successful_commit_hash: Option<String>,
    /// The source to deploy.
    pub target_source: Source,
    /// The source that runs now.
    pub running_source: Option<Source>,
    pub(super) config: String,
    pub(super) section: String,
    pub(super) deploy_targets: Vec<types::DeployTarget>,
    pub(super) world: Arc<World>,
    pub(super) directories: Vec<TempDir>,
    pub(super) stages: u32,
    pub(super) last_stage: Option<String>,
}

impl Default for FakeHost {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeHost {
    /// A host with an application named `shop`, an empty target source, no running
    /// source, no deploy targets, `{}` for each configuration, and a clock that
    /// stands still.
    pub fn new() -> Self {
        let world = Arc::new(World::new());
        let now = world.now();
        let mut host = Self {
            deployment: Deployment {
                id: "deployment-1".to_owned(),
                application: Application {
                    id: "application-1".to_owned(),
                    name: "shop".to_owned(),
                    labels: Vec::new(),
                },
                trigger: Trigger {
                    commit: Commit {
                        hash: String::new(),
                        message: "Add a teapot".to_owned(),
                        author: "Ada".to_owned(),
                        branch: Some("main".to_owned()),
                        created_at: now.as_millis(),
                        url: None,
                        pull_request: None,
                    },
                    commander: None,
                    at: now.as_millis(),
                },
            },
            source_remote_url: "https://git.example/shop.git".to_owned(),
            last_successful_commit_hash: None,
            target_source: Source {
                root: String::new(),
                directory: String::new(),
                commit_hash: String::new(),
                config_file_name: String::new(),
                config_text: String::new(),
                shared_directory: None,
            },
            running_source: None,
            config: "{}".to_owned(),
            section: "{}".to_owned(),
            deploy_targets: Vec::new(),
            world,
            directories: Vec::new(),
            stages: 0,
            last_stage: None,
        };
        host.set_target_source("c0ffee0000000000000000000000000000000001", &[]);
        host
    }

    // What the plugin is given.

    /// Sets the plugin's `config`: JSON text, or what [`json!`](super::json) makes.
    pub fn set_config(&mut self, config: impl Display) {
        self.config = config.to_string();
    }

    /// Sets the application's section for the plugin, as JSON.
    pub fn set_section(&mut self, section: impl Display) {
        self.section = section.to_string();
    }

    /// Adds a deploy target with its `config` as JSON.
    pub fn add_deploy_target(&mut self, name: &str, config: impl Display) {
        self.deploy_targets.push(types::DeployTarget {
            name: name.to_owned(),
            labels: Vec::new(),
            config: config.to_string(),
        });
    }

    /// Takes all deploy targets away.
    pub fn clear_deploy_targets(&mut self) {
        self.deploy_targets.clear();
    }

    /// Adds a label to the application.
    pub fn add_label(&mut self, key: &str, value: &str) {
        self.deployment.application.labels.push(Entry {
            key: key.to_owned(),
            value: value.to_owned(),
        });
    }

    /// Makes a commit the one to deploy, with these files (path and text), besides
    /// an application file. Its directory is returned: put there what else the
    /// test needs.
    pub fn set_target_source(&mut self, commit_hash: &str, files: &[(&str, &str)]) -> PathBuf {
        self.target_source = self.make_source(commit_hash, files);
        self.deployment.trigger.commit.hash = commit_hash.to_owned();
        PathBuf::from(&self.target_source.directory)
    }

    /// The same for the commit that runs now, which also becomes the last one
    /// that was deployed with success.
    pub fn set_running_source(&mut self, commit_hash: &str, files: &[(&str, &str)]) -> PathBuf {
        let source = self.make_source(commit_hash, files);
        let directory = PathBuf::from(&source.directory);
        self.running_source = Some(source);
        self.last_successful_commit_hash = Some(commit_hash.to_owned());
        directory
    }

    /// Begins the next deployment after this one succeeded: its target source is
    /// the running one now. Its state is empty but for the application's.
    pub fn next_deployment(&mut self) {
        self.running_source = Some(self.target_source.clone());
        self.last_successful_commit_hash = Some(self.target_source.commit_hash.clone());
        self.retry_deployment();
    }

    /// Begins another deployment after this one failed: what ran still runs. Its
    /// state is empty but for the application's.
    pub fn retry_deployment(&mut self) {
        let number: u32 = self
            .deployment
            .id
            .rsplit('-')
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0);
        self.deployment.id = format!("deployment-{}", number + 1);
        self.last_stage = None;
        self.world.end_deployment();
    }

    fn make_source(&mut self, commit_hash: &str, files: &[(&str, &str)]) -> Source {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let config_text = "apiVersion: pipecd.dev/v1beta1\nkind: Application\n";
        let write = |path: &Path, text: &str| {
            let parent = path.parent().expect("it is below the source");
            std::fs::create_dir_all(parent).expect("a directory of the source");
            std::fs::write(path, text).expect("a file of the source");
        };
        write(&directory.path().join("app.pipecd.yaml"), config_text);
        for (path, text) in files {
            write(&directory.path().join(path), text);
        }
        let root = directory.path().to_owned();
        self.world.facts().sources.push(root.clone());
        self.directories.push(directory);
        let root = root
            .to_str()
            .expect("temporary directories have plain names")
            .to_owned();
        Source {
            directory: root.clone(),
            root,
            commit_hash: commit_hash.to_owned(),
            config_file_name: "app.pipecd.yaml".to_owned(),
            config_text: config_text.to_owned(),
            shared_directory: None,
        }
    }

    // The world around it.

    /// What its clock says.
    pub fn now(&self) -> Timestamp {
        self.world.now()
    }

    /// Sets its clock.
    pub fn set_now(&mut self, now: Timestamp) {
        self.world.facts().now = now;
    }

    /// Moves its clock on.
    pub fn advance(&mut self, by: Duration) {
        let now = self.now() + by;
        self.set_now(now);
    }

    /// Cancels the stage that is executed next, before it begins.
    pub fn cancel(&mut self) {
        self.world.cancel();
    }

    /// Cancels the stage that is executed next, as soon as a line of the log holds
    /// this text.
    pub fn cancel_on_log(&mut self, text: &str) {
        self.world.facts().cancel_on_log = Some(text.to_owned());
    }

    /// Lets the plugin start this program, and really runs it: below a source in a
    /// private copy that lasts for the deployment, with the environment that the
    /// plugin gives and `PATH`.
    pub fn run_really(&mut self, program: &str) {
        self.world
            .facts()
            .programs
            .0
            .insert(program.to_owned(), Program::Real);
    }

    /// Lets the plugin start this program, and answers in its place.
    pub fn answer(&mut self, program: &str, answer: Answer) {
        self.answer_with(program, move |_| answer.clone());
    }

    /// The same, with an answer that depends on the arguments.
    pub fn answer_with(
        &mut self,
        program: &str,
        script: impl Fn(&CommandLine) -> Answer + Send + Sync + 'static,
    ) {
        let scripted = Program::Scripted(Arc::new(script));
        self.world
            .facts()
            .programs
            .0
            .insert(program.to_owned(), scripted);
    }

    /// Sets a value of the state, stored as JSON as the plugin would. For the scope
    /// of the stage, it is the stage that ran last.
    pub fn put_state<T: Serialize + ?Sized>(&mut self, scope: Scope, key: &str, value: &T) {
        let bytes = serde_json::to_vec(value).expect("the value can be stored");
        self.put_state_bytes(scope, key, &bytes);
    }

    /// Sets a value of the state to these bytes.
    pub fn put_state_bytes(&mut self, scope: Scope, key: &str, value: &[u8]) {
        let owner = self.owner(scope);
        self.world
            .facts()
            .state
            .insert((owner, key.to_owned()), value.to_vec());
    }

    // What came of it.

    /// A value of the state. For the scope of the stage, of the one that ran last.
    pub fn state<T: DeserializeOwned>(&self, scope: Scope, key: &str) -> Option<T> {
        let owner = self.owner(scope);
        let facts = self.world.facts();
        let bytes = facts.state.get(&(owner, key.to_owned()))?;
        Some(serde_json::from_slice(bytes).expect("the value is of that type"))
    }

    /// The log's lines, without their severities.
    pub fn log(&self) -> Vec<String> {
        self.world
            .facts()
            .log
            .iter()
            .map(|line| line.text.clone())
            .collect()
    }

    /// The log's lines.
    pub fn log_lines(&self) -> Vec<LogLine> {
        self.world.facts().log.clone()
    }

    /// The status texts that were shown, in order.
    pub fn statuses(&self) -> Vec<String> {
        self.world.facts().statuses.clone()
    }

    /// The programs that the plugin started, or was refused, in order.
    pub fn commands(&self) -> Vec<CommandLine> {
        self.world.facts().commands.clone()
    }

    pub(super) fn owner(&self, scope: Scope) -> Owner {
        let deployment = self.deployment.id.clone();
        match scope {
            Scope::Stage => Owner::Stage(self.last_stage.clone().expect("a stage has run")),
            Scope::Deployment => Owner::Deployment(deployment),
            Scope::Application => Owner::Application,
            Scope::Shared => Owner::Shared(deployment),
        }
    }
}
