//! Which contract a component speaks, read from the exact names of what it
//! exports and imports: wasmtime's own look-up takes a newer patch for an older
//! one.

use std::fmt;

use super::LoadError;

/// The package of the contract, and the version that this host speaks.
const PACKAGE: &str = "stagewright:plugin";
const SPOKEN: Version = Version(0, 1, 0);

const EXPORTS: [&str; 3] = ["manifest", "planner", "executor"];
const IMPORTS: [&str; 6] = ["types", "log", "state", "control", "commands", "process"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u64, u64, u64);

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.splitn(3, '.').map(|number| number.parse().ok());
        Some(Self(numbers.next()??, numbers.next()??, numbers.next()??))
    }

    /// Versions of one track understand each other.
    fn is_of_our_track(self) -> bool {
        (self.0, self.1) == (SPOKEN.0, SPOKEN.1)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The interface and the version of `stagewright:plugin/<interface>@<version>`.
fn ours(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(PACKAGE)?
        .strip_prefix('/')?
        .split_once('@')
}

/// Which groups of calls a component exports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exports {
    pub(super) planner: bool,
    pub(super) executor: bool,
}

/// Reads what a component exports.
pub(super) fn exports<'a>(names: impl Iterator<Item = &'a str>) -> Result<Exports, LoadError> {
    let mut found = Exports::default();
    let mut is_plugin = false;
    let mut others = Vec::new();
    for name in names {
        let Some((interface, version)) = ours(name) else {
            others.push(format!("`{name}`"));
            continue;
        };
        check_track("exports", name, version)?;
        match interface {
            "manifest" => is_plugin = true,
            "planner" => found.planner = true,
            "executor" => found.executor = true,
            _ => tracing::warn!(
                "a plugin exports `{name}`, which this host ({PACKAGE}@{SPOKEN}) does not call"
            ),
        }
    }
    if is_plugin {
        return Ok(found);
    }
    let others = if others.is_empty() {
        "nothing that a host calls".to_owned()
    } else {
        others.join(", ")
    };
    Err(LoadError::OtherWorld(format!(
        "is a component of another world: a plugin exports `{PACKAGE}/manifest@{SPOKEN}`, and \
         this exports {others}"
    )))
}

/// Refuses imports of the contract that this host does not have. Those of other
/// packages are the linker's business.
pub(super) fn imports<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), LoadError> {
    for name in names {
        if let Some((interface, version)) = ours(name) {
            check_track("imports", name, version)?;
            if !IMPORTS.contains(&interface) {
                return Err(LoadError::UnknownImport(format!(
                    "imports `{name}`, which this host ({PACKAGE}@{SPOKEN}) does not have: \
                     update the host, or use a build of the plugin that does without"
                )));
            }
        }
    }
    Ok(())
}

fn check_track(verb: &str, name: &str, version: &str) -> Result<(), LoadError> {
    match Version::parse(version) {
        Some(theirs) if theirs.is_of_our_track() => Ok(()),
        theirs => {
            let remedy = if theirs.is_some_and(|theirs| theirs < SPOKEN) {
                "build the plugin again with today's SDK"
            } else {
                "update the host, or use a build of the plugin for the host's version"
            };
            Err(LoadError::OtherContract(format!(
                "{verb} `{name}`, and this host speaks version {SPOKEN} of `{PACKAGE}`: {remedy}"
            )))
        }
    }
}

/// What the linker says of an import that it can't satisfy, in one sentence.
pub(super) fn unknown_import(error: &wasmtime::Error) -> LoadError {
    let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
    let quoted = |text: &str| text.split('`').nth(1).map(str::to_owned);
    let import = chain
        .iter()
        .find(|text| text.starts_with("component imports"))
        .and_then(|text| quoted(text));
    let member = chain
        .iter()
        .find(|text| text.starts_with("instance export"))
        .and_then(|text| quoted(text));
    LoadError::UnknownImport(match (import, member) {
        (Some(import), Some(member)) if has(&import) => format!(
            "imports `{member}` of `{import}`, which this host ({PACKAGE}@{SPOKEN}) does not \
             have in this form: update the host, or build the plugin against the host's version"
        ),
        (Some(import), Some(member)) => {
            format!("imports `{import}` (its `{member}` first), which this host does not have")
        }
        (Some(import), None) => format!("imports `{import}`, which this host does not have"),
        _ => format!("can't be linked: {}", chain.join(": ")),
    })
}

/// What a type check says of an export that is not as the contract has it.
pub(super) fn wrong_export(interface: &str, error: &wasmtime::Error) -> LoadError {
    LoadError::OtherContract(format!(
        "exports `{PACKAGE}/{interface}`, but not as version {SPOKEN}, which this host speaks, \
         has it: {error:#}; build the plugin against the host's version"
    ))
}

fn has(import: &str) -> bool {
    ours(import)
        .is_some_and(|(interface, _)| IMPORTS.contains(&interface) || EXPORTS.contains(&interface))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_patch_is_of_our_track_and_a_newer_track_is_named_with_both_versions() {
        let names = [
            "stagewright:plugin/manifest@0.1.9",
            "stagewright:plugin/executor@0.1.0",
        ];
        assert_eq!(
            exports(names.into_iter()),
            Ok(Exports {
                planner: false,
                executor: true
            })
        );
        let error = exports(["stagewright:plugin/manifest@0.2.0"].into_iter())
            .expect_err("a refusal")
            .to_string();
        assert!(
            error.contains("@0.2.0") && error.contains("version 0.1.0"),
            "{error}"
        );
        assert!(error.contains("update the host"), "{error}");
    }

    #[test]
    fn an_older_track_asks_for_a_new_build_rather_than_an_older_host() {
        let error = exports(["stagewright:plugin/manifest@0.0.3"].into_iter())
            .expect_err("a refusal")
            .to_string();
        assert!(error.contains("build the plugin again"), "{error}");
    }

    #[test]
    fn a_component_without_a_manifest_is_of_another_world() {
        let error = exports(["wasi:cli/run@0.2.0"].into_iter())
            .expect_err("a refusal")
            .to_string();
        assert!(error.contains("another world") && error.contains("`wasi:cli/run@0.2.0`"));
    }

    #[test]
    fn an_interface_of_the_contract_that_this_host_lacks_is_named() {
        let error = imports(["stagewright:plugin/steps@0.1.2"].into_iter())
            .expect_err("a refusal")
            .to_string();
        assert!(
            error.contains("`stagewright:plugin/steps@0.1.2`"),
            "{error}"
        );
        assert!(error.contains("stagewright:plugin@0.1.0"), "{error}");
    }
}
