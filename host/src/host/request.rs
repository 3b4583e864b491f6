//! From what is asked for to a deployment: fetched, read and checked; planned for
//! whoever wants to see how it would go, or stored for whoever drives what is due.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use crate::definition::{Application, Built, Diagnostics, Severity, Source as Text};
use crate::error::Error;
use crate::lifecycle::Plan;
use crate::model::{self, Deployment, DeploymentStatus, Revision, Shared, Strategy, Trigger};
use crate::runner::wiring::{Wiring, declares};
use crate::runner::{CallLog, crash, new_deployment_id, now, prune_sources};
use crate::source::{Fetched, Hold, Wanted};

use super::Host;

/// What is to be deployed.
#[derive(Clone, Debug)]
pub struct Request {
    /// The application file; for an application that is built in code, where it
    /// would be.
    pub file: PathBuf,
    /// The application, if it is built in code.
    pub built: Option<Built>,
    /// The commit to take the application and its files from, as git names it:
    /// a hash, a branch, a tag. None for the file's directory as it stands.
    pub commit: Option<String>,
    /// The strategy, if it is forced.
    pub strategy: Option<Strategy>,
    /// The person who asks for it.
    pub commander: Option<String>,
}

impl Request {
    /// To deploy an application as it stands.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            built: None,
            commit: None,
            strategy: None,
            commander: None,
        }
    }

    /// To deploy an application that is built in code, with the files of a
    /// directory. It is told apart from others in the same directory by its name,
    /// whatever that has in it.
    pub fn of(application: Built, directory: impl Into<PathBuf>) -> Self {
        let file = directory.into().join(application.file_name());
        Self {
            built: Some(application),
            ..Self::new(file)
        }
    }

    /// To take it from a commit.
    #[must_use]
    pub fn commit(mut self, commit: impl Into<String>) -> Self {
        self.commit = Some(commit.into());
        self
    }

    /// To force a strategy.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// To say who asks for it.
    #[must_use]
    pub fn commander(mut self, name: impl Into<String>) -> Self {
        self.commander = Some(name.into());
        self
    }
}

/// How a deployment would go.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The deployment as it would be, planned; it is stored nowhere.
    pub deployment: Deployment,
    /// What the plugins said while they planned.
    pub log: Vec<(model::Severity, String)>,
    /// What of the definition does less than it seems to.
    pub warnings: Diagnostics,
}

/// A deployment that is stored nowhere yet.
struct Prepared {
    deployment: Deployment,
    application: Application,
    warnings: Diagnostics,
    /// Keeps its files until they are known to be needed, or are not.
    hold: Hold,
}

impl Host {
    /// Checks an application file as it stands: its structure, whether this host's
    /// plugins define its stages, and its options against the plugins' schemas.
    /// Gives what of it does less than it seems to.
    ///
    /// # Errors
    /// [`Error::Definition`] with all that is wrong.
    pub async fn check(&self, file: &Path) -> Result<Diagnostics, Error> {
        let fleet = self.engine().await?.fleet.clone();
        let declares = |plugin: &str, key: &str| declares(&*fleet, plugin, key);
        let checked = Application::load(file, &declares).map_err(Error::Definition)?;
        let wiring = Wiring::new(&checked.value, &*fleet).map_err(Error::Definition)?;
        let mut warnings = checked.warnings;
        warnings.extend(wiring.warnings);
        Ok(warnings)
    }

    /// Finds out how a deployment would go. Stores nothing.
    ///
    /// # Errors
    /// When the definition is wrong or a plugin can't plan it.
    pub async fn plan(&self, request: &Request) -> Result<Preview, Error> {
        let Prepared {
            mut deployment,
            application,
            warnings,
            hold,
        } = self.prepare(request).await?;
        let runner = &self.engine().await?.runner;
        let lines = Arc::default();
        let log = CallLog::Kept(Arc::clone(&lines));
        let planned = runner.plan_with(&deployment, &application, log).await;
        drop(hold);
        self.prune_sources(&deployment.application.id).await;
        let Plan {
            strategy,
            summary,
            versions,
            plugins,
            stages,
        } = planned.map_err(Error::Plan)?;
        deployment.status = DeploymentStatus::Planned;
        deployment.strategy = Some(strategy);
        deployment.summary = summary;
        deployment.versions = versions.into();
        deployment.plugins = plugins.into();
        deployment.stages = stages.into_iter().map(Shared::from).collect();
        let log = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Preview {
            deployment,
            log,
            warnings,
        })
    }

    /// Stores a deployment and leaves it to whoever drives what is due.
    ///
    /// # Errors
    /// When the definition is wrong, or the store fails.
    pub async fn submit(&self, request: &Request) -> Result<(Deployment, Diagnostics), Error> {
        let Prepared {
            deployment,
            warnings,
            hold,
            ..
        } = self.prepare(request).await?;
        crash::before("submitted");
        self.inner.store.create(&deployment).await?;
        crash::after("submitted");
        drop(hold);
        Ok((deployment, warnings))
    }

    /// Reads and checks what is to be deployed, and makes a deployment of it that
    /// is stored nowhere yet.
    async fn prepare(&self, request: &Request) -> Result<Prepared, Error> {
        let commander = request.commander.as_deref().map(model::person).transpose();
        let commander = commander.map_err(|no_name| Error::Input(no_name.to_string()))?;
        let request = &Request {
            commander: commander.map(str::to_owned),
            ..request.clone()
        };
        let wanted = Wanted {
            file: request.file.clone(),
            commit: request.commit.clone(),
            config: request.built.as_ref().map(Built::text),
            max_size: self.inner.config.limits.max_source_size.bytes(),
        };
        let fetched = self.inner.sources.fetch(&wanted).await?;
        let application = fetched.application.clone();
        let prepared = self.prepare_fetched(request, fetched).await;
        if prepared.is_err() {
            // Nobody holds what was fetched for this any more.
            self.prune_sources(&application).await;
        }
        prepared
    }

    async fn prune_sources(&self, application: &model::ApplicationId) {
        prune_sources(&*self.inner.store, &*self.inner.sources, application).await;
    }

    async fn prepare_fetched(
        &self,
        request: &Request,
        fetched: Fetched,
    ) -> Result<Prepared, Error> {
        let fleet = &self.engine().await?.fleet;
        let hold = fetched.hold.clone();
        let name = request.file.display().to_string();
        let text = Text::from_bytes(name, &fetched.config).map_err(Error::Definition)?;
        let declares = |plugin: &str, key: &str| declares(&**fleet, plugin, key);
        let checked = Application::from_source(&text, &default_name(&fetched), &declares)
            .map_err(Error::Definition)?;
        let mut warnings = checked.warnings;
        let application = checked.value;
        let wiring = Wiring::new(&application, &**fleet).map_err(Error::Definition)?;
        warnings.extend(wiring.warnings);
        debug_assert!(warnings.iter().all(|w| w.severity == Severity::Warning));
        // What a plan would start from now; a deployment that is queued learns it
        // when its turn comes.
        let running = self.inner.store.last_success(&fetched.application).await?;
        let mut deployment = make(request, &application, fetched, text.text());
        deployment.running = running.map(Shared::from);
        Ok(Prepared {
            deployment,
            application,
            warnings,
            hold,
        })
    }
}

fn make(
    request: &Request,
    application: &Application,
    fetched: Fetched,
    config: &str,
) -> Deployment {
    let at = now();
    let target = Revision {
        commit: fetched.commit.hash.clone(),
        path: fetched.path.clone(),
        config: config.to_owned(),
    };
    let trigger = Trigger {
        commit: fetched.commit,
        commander: request.commander.clone(),
        at,
        strategy: request.strategy,
    };
    let deployed = model::Application {
        id: fetched.application,
        name: application.name.value.clone(),
        labels: application.labels.clone(),
        remote: fetched.remote,
        path: fetched.path,
    };
    Deployment {
        auto_rollback: application.planner.auto_rollback,
        timeout: application.timeout.as_ref().map(|timeout| timeout.value),
        ..Deployment::new(new_deployment_id(), deployed, trigger, target, at)
    }
}

/// What an application without a name is called: its directory's name, or that of
/// the whole source.
fn default_name(fetched: &Fetched) -> String {
    let directory = fetched
        .path
        .rsplit_once('/')
        .map(|(directory, _)| directory);
    let directory = directory.unwrap_or(fetched.remote.trim_end_matches('/'));
    let name = directory.rsplit('/').next().unwrap_or(directory);
    let name = name.strip_suffix(".git").unwrap_or(name);
    if name.is_empty() { "application" } else { name }.to_owned()
}
