//! What a history is about: a deployment, its stages, who needs and who undoes
//! whom. Stages are named by letters: a small one undoes, among others, the stage
//! of its capital. The name of a stage is its id.

use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;

use super::super::{deployment_of_nothing, planned};
use crate::lifecycle::plan::{self, Answer, Catalogue, Requested};
use crate::model::{
    Deployment, Manifest, OnLoss, Operation, PluginKey, Stage, StageDefinition, StageId,
};

/// As many forward stages as a scene may have.
pub(super) const MOST_STAGES: usize = 5;

/// What is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scene {
    pub(super) auto_rollback: bool,
    /// The deployment's time limit in seconds, if the file gives one.
    pub(super) timeout: Option<u64>,
    /// The forward stages in order, then those that undo.
    pub(super) parts: Vec<Part>,
}

/// A stage of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: char,
    /// The stages that it needs, if the file names them.
    pub(super) needs: Option<Vec<char>>,
    /// For a rollback stage: those that it undoes.
    pub(super) undoes: Vec<char>,
    /// Its time limit in seconds, if the file gives one.
    pub(super) timeout: Option<u64>,
    /// Whether `skipOn` applies to it.
    pub(super) skip: bool,
    /// Whether it must not run twice.
    pub(super) once: bool,
    pub(super) operation: Operation,
    /// Who may do that; empty for anyone.
    pub(super) operators: Vec<String>,
}

impl Part {
    pub(super) fn new(name: char) -> Self {
        Self {
            name,
            needs: None,
            undoes: Vec::new(),
            timeout: None,
            skip: false,
            once: false,
            operation: Operation::None,
            operators: Vec::new(),
        }
    }

    pub(super) fn undoes_others(&self) -> bool {
        self.name.is_ascii_lowercase()
    }
}

impl Scene {
    /// The deployment before it is planned.
    pub(super) fn deployment(&self) -> Deployment {
        let mut deployment = deployment_of_nothing();
        deployment.auto_rollback = self.auto_rollback;
        deployment.timeout = self.timeout.map(Duration::from_secs);
        deployment
    }

    /// The stages that its plan gives.
    pub(super) fn plan(&self) -> Vec<Stage> {
        static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(catalogue);
        let plugin = PluginKey::from("p");
        let forward: Vec<&Part> = self.parts.iter().filter(|p| !p.undoes_others()).collect();
        let place = |name: char| {
            let place = forward.iter().position(|part| part.name == name);
            u32::try_from(place.unwrap()).unwrap()
        };
        let asked: Vec<Requested> = (0..)
            .zip(&forward)
            .map(|(index, part)| Requested {
                index,
                key: Some(part.name.to_string()),
                needs: part
                    .needs
                    .as_ref()
                    .map(|needs| needs.iter().map(char::to_string).collect()),
                description: String::new(),
                timeout: part.timeout.map(Duration::from_secs),
                skip: part.skip.then(|| "skipOn".to_owned()),
                options: Value::Null,
                plugin: plugin.clone(),
            })
            .collect();
        let stages = self.parts.iter().map(|part| {
            let index = place(part.name.to_ascii_uppercase());
            let mut stage = planned(&part.name.to_string(), index, part.undoes_others());
            stage.undoes = part
                .undoes_others()
                .then(|| part.undoes.iter().map(|name| place(*name)).collect());
            stage.operation = part.operation;
            stage.authorized_operators.clone_from(&part.operators);
            stage
        });
        let answer = Answer {
            plugin: plugin.clone(),
            stages: stages.collect(),
        };
        let mut names = self.parts.iter().map(|part| part.name.to_string());
        let mut id = || StageId::new(names.next().unwrap());
        let mut made = plan::pipeline(&CATALOGUE, &asked, vec![answer], true, &mut id).unwrap();
        for stage in &mut made {
            let part = self.parts.iter().find(|part| part.name == name_of(stage));
            if part.unwrap().once {
                stage.on_loss = OnLoss::Fail;
            }
        }
        made
    }
}

/// The letter of a stage.
pub(super) fn name_of(stage: &Stage) -> char {
    stage.name.chars().next().unwrap_or_default()
}

fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    let stages = ('A'..).take(MOST_STAGES).flat_map(|name| {
        [name, name.to_ascii_lowercase()].map(|name| StageDefinition {
            name: name.to_string(),
            description: String::new(),
            rollback: name.is_ascii_lowercase(),
            options_schema: None,
        })
    });
    let manifest = Manifest {
        stages: stages.collect(),
        ..Manifest::default()
    };
    catalogue.define(&PluginKey::from("p"), &manifest);
    catalogue
}
