//! A deployment's stage to execute: its source, its scratch directory, its call.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use stagewright::model::{
    Application, Attempt, Call, Cancel, Canceller, Cause, Commit, PlanInput, Source, StageRequest,
    Timestamp, Trigger,
};
use tempfile::TempDir;

use crate::Recorder;

/// Everything that a call needs.
#[derive(Debug)]
pub struct Scene {
    /// What the call writes.
    pub recorder: Arc<Recorder>,
    /// Cancels the call.
    pub canceller: Canceller,
    /// The call.
    pub call: Call,
    root: TempDir,
}

impl Default for Scene {
    fn default() -> Self {
        Self::new()
    }
}

impl Scene {
    /// A source with the application file `site/app.pipecd.yaml`, and no file
    /// that ran before.
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        for name in ["target/site", "target/.pipe", "scratch"] {
            std::fs::create_dir_all(root.path().join(name)).expect("a directory");
        }
        std::fs::write(
            root.path().join("target/site/app.pipecd.yaml"),
            "kind: Application\n",
        )
        .expect("a file");
        let recorder = Arc::new(Recorder::default());
        let (canceller, cancel) = Cancel::new();
        let call = Call {
            services: recorder.clone(),
            scratch: Some(root.path().join("scratch")),
            cancel,
            timeout: Duration::from_secs(60),
        };
        Self {
            recorder,
            canceller,
            call,
            root,
        }
    }

    /// A path below the scene's own directory: `target/…`, `scratch/…`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// What a plan is given.
    pub fn plan_input(&self) -> PlanInput {
        let application = Application {
            id: "app-1".into(),
            name: "shop".to_owned(),
            labels: BTreeMap::new(),
            remote: "https://example.com/shop.git".to_owned(),
            path: "site/app.pipecd.yaml".to_owned(),
        };
        PlanInput {
            deployment: "deployment-1".into(),
            application: application.into(),
            trigger: Trigger {
                commit: Commit {
                    hash: "c0ffee".to_owned(),
                    message: "Change the colour".to_owned(),
                    author: "ada".to_owned(),
                    branch: Some("main".to_owned()),
                    created_at: Timestamp(1),
                    url: None,
                    pull_request: None,
                },
                commander: None,
                at: Timestamp(2),
                strategy: None,
            }
            .into(),
            last_successful_commit: None,
            last_successful_config_file: None,
            plugin_config: json!({}),
            application_section: json!({}),
            deploy_targets: Vec::new(),
            target: Source {
                root: self.path("target"),
                commit: "c0ffee".to_owned(),
                path: "site/app.pipecd.yaml".to_owned(),
                config: "kind: Application\n".to_owned(),
            },
            running: None,
        }
    }

    /// The execution of a stage that does these steps.
    pub fn stage(&self, steps: Value) -> StageRequest {
        StageRequest {
            input: self.plan_input(),
            stage: "stage-1".into(),
            name: "PROBE".to_owned(),
            index: 0,
            rollback: false,
            metadata: BTreeMap::new(),
            first_started_at: Timestamp(3),
            attempt: Attempt { number: 1, turn: 1 },
            cause: Cause::First,
            options: json!({ "do": steps }),
        }
    }
}
