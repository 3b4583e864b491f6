//! What kind of document it is, told before anything else of it is read: a file
//! of another kind gets one error about its kind, not one for each of its keys.

use std::fmt;

use super::super::decode::{Field, Fields, listed};
use super::super::diagnostic::nearest;
use super::super::yaml::{Node, shortened};

/// Under whose rules a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiVersion {
    /// `pipecd.dev/v1beta1`: PipeCD's keys and no others.
    Pipecd,
    /// `stagewright.dev/v1`: ours as well.
    Stagewright,
}

impl ApiVersion {
    const ALL: [Self; 2] = [Self::Pipecd, Self::Stagewright];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pipecd => "pipecd.dev/v1beta1",
            Self::Stagewright => "stagewright.dev/v1",
        }
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The kind of an application's document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationKind {
    /// `Application`, the only one of v1.
    Application,
    /// `KubernetesApp` of v0.
    Kubernetes,
    /// `TerraformApp` of v0.
    Terraform,
    /// `LambdaApp` of v0.
    Lambda,
    /// `CloudRunApp` of v0.
    CloudRun,
    /// `ECSApp` of v0.
    Ecs,
}

impl ApplicationKind {
    const ALL: [Self; 6] = [
        Self::Application,
        Self::Kubernetes,
        Self::Terraform,
        Self::Lambda,
        Self::CloudRun,
        Self::Ecs,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Application => "Application",
            Self::Kubernetes => "KubernetesApp",
            Self::Terraform => "TerraformApp",
            Self::Lambda => "LambdaApp",
            Self::CloudRun => "CloudRunApp",
            Self::Ecs => "ECSApp",
        }
    }

    /// The plugin that took over what a legacy kind did.
    fn plugin(self) -> &'static str {
        match self {
            Self::Application => "<plugin>",
            Self::Kubernetes => "kubernetes",
            Self::Terraform => "terraform",
            Self::Lambda => "lambda",
            Self::CloudRun => "cloudrun",
            Self::Ecs => "ecs",
        }
    }
}

/// Reads `apiVersion` and `kind`. None: an error is told, and the rest of the
/// document is not worth reading.
pub(super) fn read(top: &mut Fields<'_>, root: &Node) -> Option<(ApiVersion, ApplicationKind)> {
    let kind = top.field("kind");
    let version = top.field("apiVersion");
    let Some(kind) = kind.filter(|kind| !kind.node.is_null()) else {
        top.require::<String>(
            "kind",
            "an application file begins with `kind: Application`",
        );
        return None;
    };
    let name = match kind.node.as_str() {
        Some(name) => name,
        None => {
            kind.mismatch("a name", "write `kind: Application`");
            return None;
        }
    };
    let known = ApplicationKind::ALL
        .into_iter()
        .find(|known| known.as_str() == name);
    let Some(known) = known else {
        refuse_kind(&kind, name);
        return None;
    };
    if known != ApplicationKind::Application && !judge_legacy(&kind, known, root) {
        return None;
    }
    let Some(version) = version.filter(|version| !version.node.is_null()) else {
        let help = format!("write `apiVersion: {}`", ApiVersion::Pipecd);
        top.require::<String>("apiVersion", &help);
        return None;
    };
    let written = version.node.as_str();
    let read = ApiVersion::ALL
        .into_iter()
        .find(|known| Some(known.as_str()) == written);
    if read.is_none() {
        let all = ApiVersion::ALL.map(ApiVersion::as_str);
        version.error(
            format!(
                "`apiVersion` is {}, which is unknown",
                version.node.describe()
            ),
            match written.and_then(|written| nearest(written, all)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "an application has {}",
                    all.map(|v| format!("`{v}`")).join(" or ")
                ),
            },
        );
    }
    Some((read?, known))
}

fn refuse_kind(kind: &Field<'_>, name: &str) {
    const RIGHT: &str = "an application file has `kind: Application`";
    let (message, help) = match name {
        "Piped" => (
            "`kind: Piped` is the configuration of PipeCD's agent, not an application".to_owned(),
            format!("{RIGHT}; plugins, their config and deploy targets go into `stagewright.yaml`"),
        ),
        "ControlPlane" | "AnalysisTemplate" | "EventWatcher" | "Notification" => (
            format!("`kind: {name}` is no application"),
            format!("{RIGHT}; name that file, often `app.pipecd.yaml`"),
        ),
        _ => (
            format!("the kind `{}` is unknown", shortened(name)),
            match nearest(name, ApplicationKind::ALL.map(ApplicationKind::as_str)) {
                Some("Application") => "did you mean `kind: Application`?".to_owned(),
                _ => RIGHT.to_owned(),
            },
        ),
    };
    kind.error(message, help);
}

/// A legacy kind is fine for a file that is otherwise of the v1 form; the sign
/// of that is `spec.plugins`.
fn judge_legacy(kind: &Field<'_>, known: ApplicationKind, root: &Node) -> bool {
    let name = known.as_str();
    let spec = root.get("spec");
    let has_plugins = spec
        .and_then(|spec| spec.get("plugins")?.as_mapping())
        .is_some_and(|plugins| !plugins.entries.is_empty());
    if has_plugins {
        kind.sink.warning(
            kind.span(),
            format!("`kind: {name}` is a legacy kind; it is read as `Application`"),
            "write `kind: Application`",
        );
        return true;
    }
    // The keys that a v0 file has and v1 keeps in the plugin's section.
    const MOVED: [&str; 9] = [
        "input",
        "quickSync",
        "service",
        "workloads",
        "trafficRouting",
        "resourceRoutes",
        "variantLabel",
        "architecture",
        "code",
    ];
    let moved: Vec<_> = MOVED
        .into_iter()
        .filter(|key| spec.is_some_and(|spec| spec.get(key).is_some()))
        .collect();
    let plugin = known.plugin();
    let help = if moved.is_empty() {
        format!(
            "the v1 form is `kind: Application` with what its plugins read under `spec.plugins`, \
             such as `spec.plugins.{plugin}`"
        )
    } else {
        format!(
            "the v1 form is `kind: Application` with {} moved into `spec.plugins.{plugin}`",
            listed(&moved)
        )
    };
    kind.error(
        format!("`kind: {name}` without `spec.plugins` is the v0 form of an application, which is not served"),
        help,
    );
    false
}
