//! From what plugins planned to the stages of a deployment: checks it, gives
//! ids, orders it, says who requires whom.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use crate::model::{
    Attempt, Cause, CommandKind, Manifest, NoName, OnLoss, Operation, PinnedPlugin, PlannedStage,
    PluginKey, Stage, StageId, StageStatus, Strategy, Version, person,
};

/// How a deployment will go.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How the target is brought live.
    pub strategy: Strategy,
    /// Why that strategy, in a sentence.
    pub summary: String,
    /// The versions that it puts live.
    pub versions: Vec<Version>,
    /// The plugins that it needs, as they are now.
    pub plugins: Vec<PinnedPlugin>,
    /// Its stages: the forward ones in order, then the rollback ones.
    pub stages: Vec<Stage>,
}

/// A stage of the pipeline that some plugin was asked to plan.
#[derive(Clone, Debug)]
pub struct Requested {
    /// Its place in the pipeline, from 0.
    pub index: u32,
    /// The `id:` that the file gives it.
    pub key: Option<String>,
    /// The keys of the stages that must have ended well before, if the file names
    /// them; else it is the one above it.
    pub needs: Option<Vec<String>>,
    /// The description in the file; may be empty.
    pub description: String,
    /// How long it may take, if the file says so.
    pub timeout: Option<Duration>,
    /// Why it is to be skipped, if it is.
    pub skip: Option<String>,
    /// Its options, an object.
    pub options: Value,
    /// The plugin that was asked.
    pub plugin: PluginKey,
}

/// What a plugin planned.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The plugin.
    pub plugin: PluginKey,
    /// Its stages.
    pub stages: Vec<PlannedStage>,
}

/// A stage that some plugin defines, as far as planning cares.
#[derive(Clone, Debug)]
pub struct Defined {
    /// The plugin that executes it.
    pub owner: PluginKey,
    /// What it does.
    pub description: String,
    /// Whether it is a rollback stage.
    pub rollback: bool,
    /// What becomes of it when the host dies under it.
    pub on_loss: OnLoss,
}

/// Which stages there are, and who may plan them.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    stages: BTreeMap<String, Defined>,
    granted: BTreeSet<(PluginKey, String)>,
}

impl Catalogue {
    /// Adds the stages that a plugin defines. A name that is there already stays
    /// with its first owner.
    pub fn define(&mut self, owner: &PluginKey, manifest: &Manifest) {
        for stage in &manifest.stages {
            self.stages
                .entry(stage.name.clone())
                .or_insert_with(|| Defined {
                    owner: owner.clone(),
                    description: stage.description.clone(),
                    rollback: stage.rollback,
                    on_loss: manifest.on_loss,
                });
        }
    }

    /// Lets a plugin plan a stage that another one defines.
    pub fn grant(&mut self, plugin: &PluginKey, stage: &str) {
        self.granted.insert((plugin.clone(), stage.to_owned()));
    }

    /// The stage with a name.
    pub fn stage(&self, name: &str) -> Option<&Defined> {
        self.stages.get(name)
    }

    fn may_plan(&self, plugin: &PluginKey, name: &str, owner: &PluginKey) -> bool {
        owner == plugin || self.granted.contains(&(plugin.clone(), name.to_owned()))
    }
}

/// Why what a plugin planned can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// An index that nobody asked it for.
    #[error(
        "plugin `{plugin}` planned {stage} at index {index}, which it was not asked for \
         (it was asked for {asked})"
    )]
    ForeignIndex {
        /// The plugin.
        plugin: PluginKey,
        /// The stage's name.
        stage: String,
        /// The index.
        index: u32,
        /// The indexes it was asked for.
        asked: String,
    },
    /// The same index twice in one group.
    #[error("plugin `{plugin}` planned {stage} at index {index}, where {other} is planned already")]
    IndexTwice {
        /// The plugin.
        plugin: PluginKey,
        /// The stage's name.
        stage: String,
        /// The index.
        index: u32,
        /// The stage that is there.
        other: String,
    },
    /// An index that it was asked for and did not plan.
    #[error("plugin `{plugin}` was asked to plan index {index} and did not")]
    IndexMissing {
        /// The plugin.
        plugin: PluginKey,
        /// The index.
        index: u32,
    },
    /// A stage that nobody defines.
    #[error("plugin `{plugin}` planned {stage}, a stage that no plugin defines")]
    UnknownStage {
        /// The plugin.
        plugin: PluginKey,
        /// The stage's name.
        stage: String,
    },
    /// A stage of another plugin.
    #[error(
        "plugin `{plugin}` planned {stage}, a stage that plugin `{owner}` defines; to let it, \
         grant `plugins.{plugin}.allow.stages: [{stage}]`"
    )]
    ForeignStage {
        /// The plugin.
        plugin: PluginKey,
        /// The stage's name.
        stage: String,
        /// Who defines it.
        owner: PluginKey,
    },
    /// A forward stage planned for a rollback, or the other way round.
    #[error(
        "plugin `{plugin}` planned {stage} as a {planned} stage, but it is defined as a \
         {defined} stage"
    )]
    WrongDirection {
        /// The plugin.
        plugin: PluginKey,
        /// The stage's name.
        stage: String,
        /// How it was planned.
        planned: &'static str,
        /// How it is defined.
        defined: &'static str,
    },
    /// A rollback stage that was not wanted.
    #[error("plugin `{plugin}` planned the rollback stage {stage}, but no rollback was asked for")]
    UnwantedRollback {
        /// The plugin.
        plugin: PluginKey,
        /// The stage's name.
        stage: String,
    },
    /// A rollback stage that undoes a stage that is not there.
    #[error("plugin `{plugin}` planned {stage} to undo index {index}, where no stage is planned")]
    UndoesNothing {
        /// The plugin.
        plugin: PluginKey,
        /// The stage's name.
        stage: String,
        /// The index.
        index: u32,
    },
    /// Someone whose name is none may operate a stage.
    #[error("plugin `{plugin}` planned {stage} for people to {operation}, but {no_name}")]
    NoName {
        /// The plugin.
        plugin: PluginKey,
        /// The stage's name.
        stage: String,
        /// What they may do.
        operation: &'static str,
        /// What is wrong with the name.
        no_name: NoName,
    },
    /// More people must operate a stage than may.
    #[error(
        "plugin `{plugin}` planned {stage} so that {needed} people must {operation} it, but only \
         {listed} may: it would wait for ever"
    )]
    TooFewOperators {
        /// The plugin.
        plugin: PluginKey,
        /// The stage's name.
        stage: String,
        /// What they may do.
        operation: &'static str,
        /// How many must.
        needed: u32,
        /// How many may.
        listed: usize,
    },
    /// A stage needs one that is not there.
    #[error("the stage at index {index} needs `{need}`, but no stage has this id")]
    UnknownNeed {
        /// The stage's index.
        index: u32,
        /// The id that it names.
        need: String,
    },
    /// Nobody planned a forward stage.
    #[error("no plugin of the application has a stage for a {strategy}: asked {asked}")]
    Empty {
        /// The strategy.
        strategy: Strategy,
        /// The plugins that were asked.
        asked: String,
    },
}

/// Makes the stages of a pipeline sync.
pub fn pipeline(
    catalogue: &Catalogue,
    requested: &[Requested],
    answers: Vec<Answer>,
    rollback: bool,
    new_id: &mut dyn FnMut() -> StageId,
) -> Result<Vec<Stage>, PlanError> {
    let asked_plugins = keys(&answers);
    let mut forward: BTreeMap<u32, Stage> = BTreeMap::new();
    let mut undoing: BTreeMap<u32, (PlannedStage, Stage)> = BTreeMap::new();
    for Answer { plugin, stages } in answers {
        let asked: BTreeMap<u32, &Requested> = requested
            .iter()
            .filter(|request| request.plugin == plugin)
            .map(|request| (request.index, request))
            .collect();
        for planned in stages {
            let defined = check(catalogue, &plugin, &planned, rollback)?;
            let Some(request) = asked.get(&planned.index) else {
                return Err(PlanError::ForeignIndex {
                    plugin,
                    stage: planned.name,
                    index: planned.index,
                    asked: list(asked.keys()),
                });
            };
            let index = planned.index;
            let stage = make(defined, &planned, Some(request), new_id());
            let other = if planned.rollback {
                undoing.get(&index).map(|(other, _)| &other.name)
            } else {
                forward.get(&index).map(|other| &other.name)
            };
            if let Some(other) = other {
                return Err(PlanError::IndexTwice {
                    plugin,
                    stage: planned.name,
                    index,
                    other: other.clone(),
                });
            }
            if planned.rollback {
                undoing.insert(index, (planned, stage));
            } else {
                forward.insert(index, stage);
            }
        }
        if let Some(&index) = asked.keys().find(|index| !forward.contains_key(index)) {
            return Err(PlanError::IndexMissing { plugin, index });
        }
    }
    if forward.is_empty() {
        return Err(PlanError::Empty {
            strategy: Strategy::Pipeline,
            asked: asked_plugins,
        });
    }
    let ids: BTreeMap<u32, StageId> = forward
        .iter()
        .map(|(&index, stage)| (index, stage.id.clone()))
        .collect();
    let mut rollbacks = Vec::new();
    for (planned, mut stage) in undoing.into_values() {
        let undone = planned
            .undoes
            .clone()
            .unwrap_or_else(|| vec![planned.index]);
        stage.undoes = look_up(&ids, &undone, &stage)?;
        rollbacks.push(stage);
    }
    let mut stages: Vec<Stage> = forward.into_values().collect();
    chain(&mut stages);
    for request in requested {
        if let Some(needs) = &request.needs {
            require(&mut stages, request.index, needs)?;
        }
    }
    stages.extend(rollbacks);
    Ok(stages)
}

/// Lets a stage require those that its file names.
fn require(stages: &mut [Stage], index: u32, needs: &[String]) -> Result<(), PlanError> {
    let ids: Vec<StageId> = needs
        .iter()
        .map(|need| {
            let named = stages
                .iter()
                .find(|stage| stage.key.as_deref() == Some(need));
            named
                .map(|stage| stage.id.clone())
                .ok_or_else(|| PlanError::UnknownNeed {
                    index,
                    need: need.clone(),
                })
        })
        .collect::<Result<_, _>>()?;
    for stage in stages.iter_mut().filter(|stage| stage.index == index) {
        stage.requires.clone_from(&ids);
    }
    Ok(())
}

/// Makes the stages of a quick sync: those of each plugin in the plugin's order,
/// the plugins in theirs.
pub fn quick_sync(
    catalogue: &Catalogue,
    answers: Vec<Answer>,
    rollback: bool,
    new_id: &mut dyn FnMut() -> StageId,
) -> Result<Vec<Stage>, PlanError> {
    let asked_plugins = keys(&answers);
    let mut stages: Vec<Stage> = Vec::new();
    let mut rollbacks = Vec::new();
    for Answer {
        plugin,
        stages: mut planned,
    } in answers
    {
        // A stable sort: a plugin that gives all its stages the same index means
        // the order of its list.
        planned.sort_by_key(|stage| stage.index);
        let (undoing, forward): (Vec<_>, Vec<_>) =
            planned.into_iter().partition(|stage| stage.rollback);
        let mut own: BTreeMap<u32, Vec<StageId>> = BTreeMap::new();
        for planned in &forward {
            let defined = check(catalogue, &plugin, planned, rollback)?;
            let mut stage = make(defined, planned, None, new_id());
            stage.index = place(stages.len());
            own.entry(planned.index).or_default().push(stage.id.clone());
            stages.push(stage);
        }
        for planned in &undoing {
            let defined = check(catalogue, &plugin, planned, rollback)?;
            let mut stage = make(defined, planned, None, new_id());
            stage.undoes = match &planned.undoes {
                None => own.values().flatten().cloned().collect(),
                Some(indexes) => {
                    let mut ids = Vec::new();
                    for index in indexes {
                        let found = own.get(index).ok_or_else(|| PlanError::UndoesNothing {
                            plugin: plugin.clone(),
                            stage: planned.name.clone(),
                            index: *index,
                        })?;
                        ids.extend(found.iter().cloned());
                    }
                    ids
                }
            };
            // In descending order, a rollback follows the last that it undoes.
            stage.index = stages
                .iter()
                .filter(|forward| stage.undoes.contains(&forward.id))
                .map(|forward| forward.index)
                .max()
                .unwrap_or_default();
            rollbacks.push(stage);
        }
    }
    if stages.is_empty() {
        return Err(PlanError::Empty {
            strategy: Strategy::QuickSync,
            asked: asked_plugins,
        });
    }
    chain(&mut stages);
    stages.extend(rollbacks);
    Ok(stages)
}

fn check<'a>(
    catalogue: &'a Catalogue,
    plugin: &PluginKey,
    planned: &PlannedStage,
    rollback: bool,
) -> Result<&'a Defined, PlanError> {
    let stage = || planned.name.clone();
    let plugin = || plugin.clone();
    let Some(defined) = catalogue.stage(&planned.name) else {
        return Err(PlanError::UnknownStage {
            plugin: plugin(),
            stage: stage(),
        });
    };
    if !catalogue.may_plan(&plugin(), &planned.name, &defined.owner) {
        return Err(PlanError::ForeignStage {
            plugin: plugin(),
            stage: stage(),
            owner: defined.owner.clone(),
        });
    }
    if defined.rollback != planned.rollback {
        let word = |rollback| if rollback { "rollback" } else { "forward" };
        return Err(PlanError::WrongDirection {
            plugin: plugin(),
            stage: stage(),
            planned: word(planned.rollback),
            defined: word(defined.rollback),
        });
    }
    if planned.rollback && !rollback {
        return Err(PlanError::UnwantedRollback {
            plugin: plugin(),
            stage: stage(),
        });
    }
    check_operators(planned, plugin())?;
    Ok(defined)
}

/// Refuses a stage that could never be operated as it is planned.
fn check_operators(planned: &PlannedStage, plugin: PluginKey) -> Result<(), PlanError> {
    let stage = planned.name.clone();
    let operation = match planned.operation {
        Operation::None => return Ok(()),
        Operation::Approve => CommandKind::Approve.as_str(),
        Operation::Skip => CommandKind::Skip.as_str(),
    };
    let listed = match operators(planned) {
        Ok(operators) => operators.len(),
        Err(no_name) => {
            return Err(PlanError::NoName {
                plugin,
                stage,
                operation,
                no_name,
            });
        }
    };
    let needed = planned.min_operators;
    if listed > 0 && usize::try_from(needed).is_ok_and(|needed| needed > listed) {
        return Err(PlanError::TooFewOperators {
            plugin,
            stage,
            operation,
            needed,
            listed,
        });
    }
    Ok(())
}

/// Who may operate a stage, each once, as whoever acts is named.
fn operators(planned: &PlannedStage) -> Result<Vec<String>, NoName> {
    let mut names: Vec<String> = Vec::new();
    for given in &planned.authorized_operators {
        let name = person(given)?;
        if names.iter().all(|known| known != name) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn make(
    defined: &Defined,
    planned: &PlannedStage,
    request: Option<&Requested>,
    id: StageId,
) -> Stage {
    // What a file says of a stage belongs to that stage alone, not to the one
    // that undoes it: only the options are shared with it.
    let own = request.filter(|_| !planned.rollback);
    let description = [
        planned.description.as_str(),
        own.map_or("", |request| request.description.as_str()),
        defined.description.as_str(),
    ]
    .into_iter()
    .find(|text| !text.is_empty())
    .unwrap_or_default();
    Stage {
        id,
        key: own.and_then(|request| request.key.clone()),
        name: planned.name.clone(),
        description: description.to_owned(),
        index: planned.index,
        requires: Vec::new(),
        rollback: planned.rollback,
        undoes: Vec::new(),
        visible: planned.visible && !planned.rollback,
        predefined: planned.predefined,
        metadata: planned.metadata.clone(),
        operation: planned.operation,
        // All of them are names, as was checked.
        authorized_operators: operators(planned).unwrap_or_default(),
        min_operators: planned.min_operators.max(1),
        plugin: defined.owner.clone(),
        options: request.map_or_else(
            || Value::Object(serde_json::Map::new()),
            |request| request.options.clone(),
        ),
        skip: own.and_then(|request| request.skip.clone()),
        timeout: own.and_then(|request| request.timeout),
        on_loss: defined.on_loss,
        status: StageStatus::Waiting,
        reason: String::new(),
        note: String::new(),
        attempt: Attempt::default(),
        losses: 0,
        cause: Cause::First,
        wait: None,
        commands: Vec::new(),
        answered: 0,
        started_at: None,
        turn_started_at: None,
        ended_at: None,
        exit_code: None,
        targets: Vec::new(),
    }
}

fn look_up(
    ids: &BTreeMap<u32, StageId>,
    indexes: &[u32],
    stage: &Stage,
) -> Result<Vec<StageId>, PlanError> {
    indexes
        .iter()
        .map(|index| {
            ids.get(index)
                .cloned()
                .ok_or_else(|| PlanError::UndoesNothing {
                    plugin: stage.plugin.clone(),
                    stage: stage.name.clone(),
                    index: *index,
                })
        })
        .collect()
}

/// Each stage requires the one directly before it.
fn chain(stages: &mut [Stage]) {
    let mut before: Option<StageId> = None;
    for stage in stages {
        stage.requires = before.replace(stage.id.clone()).into_iter().collect();
    }
}

fn place(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn keys(answers: &[Answer]) -> String {
    let mut names: Vec<&str> = answers
        .iter()
        .map(|answer| answer.plugin.as_str())
        .collect();
    names.dedup();
    names.join(", ")
}

fn list<'a>(indexes: impl Iterator<Item = &'a u32>) -> String {
    let indexes: Vec<String> = indexes.map(ToString::to_string).collect();
    if indexes.is_empty() {
        "none".to_owned()
    } else {
        indexes.join(", ")
    }
}
