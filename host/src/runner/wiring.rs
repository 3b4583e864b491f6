//! Which plugins an application's file speaks to, and whether what it tells them
//! fits: everything that can be said of a definition without calling a plugin.

use std::collections::{BTreeMap, BTreeSet};

use crate::definition::{
    Application, DeployTargets, Diagnostic, Diagnostics, Located, Node, PluginConfig, Span, nearest,
};
use crate::lifecycle::plan::Catalogue;
use crate::model::DeployTarget;
use crate::plugins::Violation;

use super::providers::{Provider, Providers, object};

/// An application's plugins.
#[derive(Debug)]
pub(crate) struct Wiring {
    /// The plugins that plan it: the owners of its stages in order, or those
    /// that its file has a section for.
    pub(crate) planners: Vec<Provider>,
    /// For each stage of the pipeline, its owner's place in `planners`.
    pub(crate) owners: Vec<usize>,
    /// Which stages there are.
    pub(crate) catalogue: Catalogue,
    /// What of the definition does less than it seems to.
    pub(crate) warnings: Diagnostics,
}

impl Wiring {
    /// Finds the plugins of an application.
    pub(crate) fn new(
        application: &Application,
        providers: &dyn Providers,
    ) -> Result<Self, Diagnostics> {
        let all = providers.all();
        let mut problems = Diagnostics::new();
        let mut planners: Vec<Provider> = Vec::new();
        let mut owners = Vec::new();
        for stage in &application.stages {
            match owner_of(&all, &stage.name.value) {
                Ok(owner) => owners.push(place_of(&mut planners, owner)),
                Err(help) => problems.push(application.error(
                    stage.name.span,
                    format!("no plugin defines the stage {}", stage.name.value),
                    help,
                )),
            }
        }
        let sections = application.plugins.iter().map(|section| &section.plugin);
        let targeted = application.deploy_targets.iter().map(|entry| &entry.plugin);
        for name in sections.clone() {
            match find(&all, &name.value) {
                Some(provider) if application.stages.is_empty() => {
                    place_of(&mut planners, provider);
                }
                Some(_) => {}
                None => problems.push(unknown_plugin(application, name, &all)),
            }
        }
        for entry in &application.deploy_targets {
            match find(&all, &entry.plugin.value) {
                Some(provider) => check_target_names(application, provider, entry, &mut problems),
                None => problems.push(unknown_plugin(application, &entry.plugin, &all)),
            }
        }
        if application.stages.is_empty() && planners.is_empty() && !problems.has_errors() {
            problems.push(application.error(
                application.name.span,
                "the application names no plugin: it has neither stages nor a section for one",
                format!(
                    "add `spec.pipeline.stages`, or `spec.plugins` with a plugin of this host: {}",
                    keys(&all)
                ),
            ));
        }
        for provider in &planners {
            check_texts(application, provider, providers, &mut problems);
            check_needed_target(application, provider, &mut problems);
            check_directories(application, provider, providers, &mut problems);
        }
        check_options(application, &all, &mut problems);
        if problems.has_errors() {
            return Err(problems);
        }
        for (name, what) in sections
            .map(|name| (name, "section"))
            .chain(targeted.map(|name| (name, "list of deploy targets")))
        {
            if !planners.iter().any(|p| p.key().as_str() == name.value)
                && let Some(source) = &application.source
            {
                problems.push(source.warning(
                    name.span,
                    format!("plugin `{}` does not plan this application", name.value),
                    format!(
                        "its {what} is read by nobody: add one of its stages to the pipeline, \
                         or remove it"
                    ),
                ));
            }
        }
        let mut catalogue = Catalogue::default();
        for provider in &all {
            catalogue.define(provider.key(), provider.manifest());
            for stage in &provider.settings.allow.stages {
                catalogue.grant(provider.key(), &stage.value);
            }
        }
        Ok(Self {
            planners,
            owners,
            catalogue,
            warnings: problems,
        })
    }
}

/// Whether some plugin's schema declares a key of its own section: such a key is
/// the plugin's, even if it is named like one of the application's.
pub(crate) fn declares(providers: &dyn Providers, plugin: &str, key: &str) -> bool {
    let all = providers.all();
    find(&all, plugin).is_some_and(|provider| provider.registered.schemas().application_has(key))
}

/// The deploy targets of a plugin that an application is meant for.
pub(crate) fn targets(application: &Application, provider: &Provider) -> Vec<DeployTarget> {
    let entry = application
        .deploy_targets
        .iter()
        .find(|entry| entry.plugin.value == provider.key().as_str());
    let names: Option<Vec<String>> =
        entry.map(|entry| entry.names.iter().map(|name| name.value.clone()).collect());
    provider.targets(names.as_deref())
}

fn owner_of<'a>(all: &'a [Provider], stage: &str) -> Result<&'a Provider, String> {
    let defined: BTreeMap<&str, &Provider> = all
        .iter()
        .rev()
        .flat_map(|provider| {
            let stages = &provider.manifest().stages;
            let forward = stages.iter().filter(|stage| !stage.rollback);
            forward.map(move |stage| (stage.name.as_str(), provider))
        })
        .collect();
    if let Some(provider) = defined.get(stage) {
        return Ok(provider);
    }
    let rollback = all.iter().find(|provider| {
        let definition = provider.manifest().stage(stage);
        definition.is_some_and(|stage| stage.rollback)
    });
    if let Some(provider) = rollback {
        return Err(format!(
            "it is a rollback stage: plugin `{}` adds it by itself; remove it here",
            provider.key()
        ));
    }
    let mut help = match nearest(stage, defined.keys().copied()) {
        Some(name) => format!("did you mean {name}? "),
        None => String::new(),
    };
    let list: Vec<String> = all.iter().filter_map(stages_of).collect();
    if list.is_empty() {
        help.push_str("this host has no plugin that defines a stage");
    } else {
        help.push_str("defined are ");
        help.push_str(&list.join("; "));
    }
    Err(help)
}

fn stages_of(provider: &Provider) -> Option<String> {
    let stages = &provider.manifest().stages;
    let names: Vec<&str> = stages
        .iter()
        .filter(|stage| !stage.rollback)
        .map(|stage| stage.name.as_str())
        .collect();
    let by = provider.registered.place();
    (!names.is_empty()).then(|| format!("{} by {by}", names.join(", ")))
}

fn place_of(planners: &mut Vec<Provider>, provider: &Provider) -> usize {
    match planners
        .iter()
        .position(|known| known.key() == provider.key())
    {
        Some(place) => place,
        None => {
            planners.push(provider.clone());
            planners.len() - 1
        }
    }
}

fn find<'a>(all: &'a [Provider], key: &str) -> Option<&'a Provider> {
    all.iter().find(|provider| provider.key().as_str() == key)
}

fn keys(all: &[Provider]) -> String {
    let keys: Vec<&str> = all.iter().map(|provider| provider.key().as_str()).collect();
    if keys.is_empty() {
        "it has none".to_owned()
    } else {
        keys.join(", ")
    }
}

fn unknown_plugin(
    application: &Application,
    name: &Located<String>,
    all: &[Provider],
) -> Diagnostic {
    let known = all.iter().map(|provider| provider.key().as_str());
    let meant = match nearest(&name.value, known) {
        Some(key) => format!("did you mean `{key}`? "),
        None => String::new(),
    };
    application.error(
        name.span,
        format!("this host has no plugin `{}`", name.value),
        format!("{meant}the plugins of this host: {}", keys(all)),
    )
}

/// Checks the plugin's config, its section and its targets' configs against the
/// plugin's own schemas.
fn check_texts(
    application: &Application,
    provider: &Provider,
    providers: &dyn Providers,
    problems: &mut Diagnostics,
) {
    let schemas = provider.registered.schemas();
    let settings: &PluginConfig = &provider.settings;
    let key = provider.key();
    let in_host_config = |node: &Node, fault: &Violation, message: String| match providers.source()
    {
        Some(source) => source.error(span_of(node, fault), message, &fault.help),
        None => application.error(None, message, &fault.help),
    };
    for fault in schemas.check_config(&object(&settings.config)) {
        let message = format!("the config of plugin `{key}`: {}", fault.message);
        problems.push(in_host_config(&settings.config, &fault, message));
    }
    for target in &settings.deploy_targets {
        for fault in schemas.check_deploy_target(&object(&target.config)) {
            let name = &target.name.value;
            let message = format!("deploy target `{name}` of `{key}`: {}", fault.message);
            problems.push(in_host_config(&target.config, &fault, message));
        }
    }
    let section = application.section(key.as_str());
    let empty = Node::empty_mapping();
    let node = section.map_or(&empty, |section| &section.config);
    for fault in schemas.check_application(&object(node)) {
        let at = span_of(node, &fault).or(section.and_then(|s| s.plugin.span));
        let message = format!("the section for plugin `{key}`: {}", fault.message);
        problems.push(application.error(at, message, &fault.help));
    }
}

fn check_target_names(
    application: &Application,
    provider: &Provider,
    entry: &DeployTargets,
    problems: &mut Diagnostics,
) {
    let key = provider.key();
    let configured = &provider.settings.deploy_targets;
    let known: BTreeSet<&str> = configured.iter().map(|t| t.name.value.as_str()).collect();
    for name in &entry.names {
        if !known.contains(name.value.as_str()) {
            let names: Vec<&str> = known.iter().copied().collect();
            let meant = match nearest(&name.value, names.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`? "),
                None => String::new(),
            };
            problems.push(application.error(
                name.span,
                format!("plugin `{key}` has no deploy target `{}`", name.value),
                format!("{meant}it has: {}", list(&names)),
            ));
        }
    }
}

fn check_needed_target(application: &Application, provider: &Provider, problems: &mut Diagnostics) {
    let key = provider.key();
    if provider.manifest().needs_deploy_target && targets(application, provider).is_empty() {
        let mut entries = application.deploy_targets.iter();
        let entry = entries.find(|entry| entry.plugin.value == key.as_str());
        let at = entry.map_or(application.name.span, |entry| entry.plugin.span);
        problems.push(application.error(
            at,
            format!("plugin `{key}` needs a deploy target, and the application has none of it"),
            format!(
                "add one to the host's configuration under `plugins.{key}.deployTargets`, or \
                 name one under `spec.deployTargets.{key}`"
            ),
        ));
    }
}

/// A directory that is granted has to be there before the plugin is called: each
/// call opens it.
fn check_directories(
    application: &Application,
    provider: &Provider,
    providers: &dyn Providers,
    problems: &mut Diagnostics,
) {
    for grant in &provider.settings.allow.filesystem {
        let path = grant.host.display();
        let (what, help) = match grant.host.metadata() {
            Ok(found) if found.is_dir() => continue,
            Ok(_) => ("is no directory", "name a directory"),
            Err(_) => ("is not there", "make it, or correct the path"),
        };
        let message = format!(
            "{path}, which plugin `{}` is granted, {what}",
            provider.key()
        );
        problems.push(match providers.source() {
            Some(source) => source.error(grant.span, message, help),
            None => application.error(None, message, help),
        });
    }
}

fn check_options(application: &Application, all: &[Provider], problems: &mut Diagnostics) {
    for stage in &application.stages {
        let name = &stage.name.value;
        let owner = all
            .iter()
            .find(|provider| provider.manifest().stage(name).is_some());
        let Some(owner) = owner else { continue };
        for fault in owner
            .registered
            .schemas()
            .check_options(name, &object(&stage.with))
        {
            let at = span_of(&stage.with, &fault).or(stage.name.span);
            let message = format!("the options of {name}: {}", fault.message);
            problems.push(application.error(at, message, &fault.help));
        }
    }
}

/// The place of what a schema finds wrong.
fn span_of(node: &Node, fault: &Violation) -> Option<Span> {
    if fault.is_key {
        node.locate_key(&fault.path)
    } else {
        node.locate(&fault.path)
    }
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
