//! The table of an application's keys.

use std::collections::BTreeMap;

use super::super::decode::{Field, FirstSeen, Located, Sink};
use super::super::yaml::Node;
use super::{
    ApiVersion, Application, CommitMatcher, DeclaresKey, DeployTargets, Planner, PluginSection,
    header, nested, pipeline, unserved,
};

/// Reads a document that should be an application. Problems go to the sink;
/// what is given back is only of use if none was an error.
pub(super) fn read(
    sink: &Sink<'_>,
    root: &Node,
    default_name: &str,
    declares: DeclaresKey<'_>,
) -> Option<Application> {
    let document = Field {
        sink,
        path: String::new(),
        node: root,
        key_span: root.span,
    };
    if root.as_mapping().is_none() {
        document.error(
            format!(
                "an application file is a mapping, but this is {}",
                root.describe()
            ),
            "begin with `apiVersion:`, `kind: Application` and `spec:`",
        );
        return None;
    }
    let mut top = document.fields()?;
    let (version, kind) = header::read(&mut top, root)?;
    let spec = top.field("spec");
    top.finish();
    let Some(spec) = spec.filter(|spec| !spec.node.is_null()) else {
        document.error(
            "`spec` is missing",
            "write `spec:` with `plugins` or a `pipeline` below it",
        );
        return None;
    };
    let mut fields = spec.fields()?;

    let mut application = Application::new(default_name);
    application.api_version = version;
    application.kind = kind;
    if let Some(name) = fields.take::<String>("name") {
        if name.value.trim().is_empty() {
            sink.error(
                name.span,
                "`spec.name` is empty",
                "give a name or remove the key",
            );
        }
        if let Some(why) = unfit(&name.value) {
            sink.error(name.span, format!("`spec.name` {why}"), UNFIT_HELP);
        }
        application.name = name;
    }
    application.labels = labels(fields.field("labels"));
    application.description = fields.take("description").map(|text| text.value);
    application.planner = planner(fields.field("planner"));
    application.commit_matcher = commit_matcher(fields.field("commitMatcher"));
    application.stages = pipeline::read(fields.field("pipeline"), version);
    application.timeout = fields.take("timeout");
    application.plugins = plugins(fields.field("plugins"));
    application.deploy_targets = deploy_targets(fields.field("deployTargets"), version);
    unserved::check(&mut fields);
    fields.finish_with(|key| misplaced(key, version));

    application.nested_keys = nested::check(sink, &application.plugins, declares);
    // Where something was refused, it may be just what is missing.
    if application.stages.is_empty() && application.plugins.is_empty() && !sink.has_errors() {
        spec.sink.warning(
            spec.span(),
            "this application has no `pipeline` and no `plugins`: nothing can be deployed",
            "name its plugins under `spec.plugins`, or its stages under `spec.pipeline.stages`",
        );
    }
    Some(application)
}

/// How many bytes a name or a label may have. Plugins give them to programs, which
/// can be given about 128 KiB at a time.
const LONGEST_LABEL: usize = 4 * 1024;

const UNFIT_HELP: &str = "names and labels are given to programs: write a short text";

/// Why a text can't be given to a program, if it can't.
fn unfit(text: &str) -> Option<String> {
    if text.contains('\0') {
        Some("has a NUL character, which no program can be given".to_owned())
    } else if text.len() > LONGEST_LABEL {
        let length = text.len();
        Some(format!("has {length} bytes; {LONGEST_LABEL} are the limit"))
    } else {
        None
    }
}

fn labels(field: Option<Field<'_>>) -> BTreeMap<String, String> {
    let Some(field) = field else {
        return BTreeMap::new();
    };
    let mut labels = BTreeMap::new();
    for (entry, value) in field.entries() {
        if let Some(why) = unfit(&entry.key) {
            let message = format!("the name of a label {why}");
            field.sink.error(entry.key_span, message, UNFIT_HELP);
        }
        let Some(text) = value.text() else { continue };
        if let Some(why) = unfit(&text) {
            value.error(format!("`{}` {why}", value.path), UNFIT_HELP);
        }
        labels.insert(entry.key.clone(), text);
    }
    labels
}

fn planner(field: Option<Field<'_>>) -> Planner {
    let mut planner = Planner::default();
    let Some(mut fields) = field.and_then(|field| field.fields()) else {
        return planner;
    };
    if let Some(always) = fields.take("alwaysUsePipeline") {
        planner.always_use_pipeline = always.value;
    }
    if let Some(rollback) = fields.take("autoRollback") {
        planner.auto_rollback = rollback.value;
    }
    fields.finish();
    planner
}

fn commit_matcher(field: Option<Field<'_>>) -> CommitMatcher {
    let mut matcher = CommitMatcher::default();
    let Some(mut fields) = field.and_then(|field| field.fields()) else {
        return matcher;
    };
    matcher.pipeline = fields.take("pipeline");
    matcher.quick_sync = fields.take("quickSync");
    fields.finish();
    matcher
}

fn plugins(field: Option<Field<'_>>) -> Vec<PluginSection> {
    let Some(field) = field else {
        return Vec::new();
    };
    field
        .entries()
        .into_iter()
        .map(|(entry, _)| PluginSection {
            plugin: Located {
                value: entry.key.clone(),
                span: entry.key_span,
            },
            config: entry.value.clone(),
        })
        .collect()
}

fn deploy_targets(field: Option<Field<'_>>, version: ApiVersion) -> Vec<DeployTargets> {
    let Some(field) = field else {
        return Vec::new();
    };
    if version != ApiVersion::Stagewright {
        field.sink.error(
            field.key_span,
            format!("`spec.deployTargets` is no key of `{version}`"),
            format!(
                "write `apiVersion: {}`, or leave it out: all targets of a plugin are meant then",
                ApiVersion::Stagewright
            ),
        );
        return Vec::new();
    }
    let mut all = Vec::new();
    for (entry, targets) in field.entries() {
        if targets.node.is_null() {
            targets.error(
                format!("`{}` names no deploy target", targets.path),
                "list the names, such as `[production]`; remove the key to mean all of them",
            );
        }
        let mut names: Vec<Located<String>> = Vec::new();
        let mut seen = FirstSeen::default();
        for item in targets.items() {
            let Some(name) = item.text() else { continue };
            if let Some(first) = seen.insert(&name, item.span()) {
                item.error(
                    format!("the deploy target `{name}` is named twice; the first is {first}"),
                    "keep one of the two",
                );
                continue;
            }
            names.push(Located {
                value: name,
                span: item.span(),
            });
        }
        let plugin = Located {
            value: entry.key.clone(),
            span: entry.key_span,
        };
        all.push(DeployTargets { plugin, names });
    }
    all
}

/// What to say of a key that is unknown at this place but known at another.
fn misplaced(key: &str, version: ApiVersion) -> Option<String> {
    match key {
        "stages" => Some("stages are listed under `spec.pipeline.stages`".into()),
        "input" | "quickSync" | "service" | "workloads" | "trafficRouting" | "variantLabel" => {
            Some(format!(
                "what a plugin reads stands in its own section: `spec.plugins.<plugin>.{key}`"
            ))
        }
        "deployTarget" if version == ApiVersion::Pipecd => Some(format!(
            "leave it out: all deploy targets of a plugin are meant; to name some, write \
             `apiVersion: {}` and `deployTargets: {{<plugin>: [<name>]}}`",
            ApiVersion::Stagewright
        )),
        "plugin" => Some(
            "did you mean `plugins`? An application's plugins are the keys of `spec.plugins`"
                .into(),
        ),
        _ => None,
    }
}
