//! What an operator grants a plugin, and what of it the plugin gets: that which
//! its manifest asks for **and** the operator granted. Every refusal says which of
//! the two is missing, and the line that would grant it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::model::{Capability, Manifest, PluginKey};

/// What the operator granted: the plugin's `allow` in the host's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Programs, by absolute path or by a name that is looked up in `PATH` once,
    /// at load (`allow.commands`).
    pub commands: Vec<String>,
    /// Names of environment variables of the host (`allow.env`).
    pub env: Vec<String>,
    /// Directories of the host (`allow.filesystem`).
    pub filesystem: Vec<GrantedDirectory>,
    /// Names of stages of other plugins that it may plan (`allow.stages`).
    pub stages: Vec<String>,
}

/// A directory of the host that a plugin may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedDirectory {
    /// Where it is on the host: an absolute path.
    pub host: PathBuf,
    /// Where the plugin sees it: an absolute path.
    pub guest: String,
    /// Whether the plugin may write there.
    pub writable: bool,
}

impl Grants {
    /// The capabilities that are granted at least in part.
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        [
            (Capability::Commands, self.commands.is_empty()),
            (Capability::Env, self.env.is_empty()),
            (Capability::Filesystem, self.filesystem.is_empty()),
            (Capability::Stages, self.stages.is_empty()),
        ]
        .into_iter()
        .filter(|(_, empty)| !empty)
        .map(|(capability, _)| capability)
        .collect()
    }

    /// What is wrong with the grants themselves, in words for the operator.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for program in &self.commands {
            if program.is_empty() || (program.contains('/') && !program.starts_with('/')) {
                problems.push(format!(
                    "`allow.commands: {program}` is neither an absolute path nor a bare name"
                ));
            }
        }
        for name in &self.env {
            if name.is_empty() || name.contains(['=', '\0']) {
                problems.push(format!("`allow.env: {name}` is no variable's name"));
            }
        }
        let mut guests = BTreeSet::new();
        for directory in &self.filesystem {
            let guest = directory.guest.trim_end_matches('/');
            if !directory.host.is_absolute() {
                problems.push(format!(
                    "`allow.filesystem`: the host's path `{}` is not absolute",
                    directory.host.display()
                ));
            }
            if !guest.starts_with('/') || guest.split('/').any(|name| name == "..") {
                problems.push(format!(
                    "`allow.filesystem`: the plugin's path `{}` is not an absolute path",
                    directory.guest
                ));
            }
            if is_reserved(guest) {
                problems.push(format!(
                    "`allow.filesystem`: the plugin's path `{}` belongs to the host, which \
                     puts its own directories at /target, /running and /scratch",
                    directory.guest
                ));
            }
            if !guests.insert(guest) {
                problems.push(format!(
                    "`allow.filesystem`: the plugin's path `{}` is given twice",
                    directory.guest
                ));
            }
        }
        problems
    }
}

fn is_reserved(guest: &str) -> bool {
    ["/target", "/running", "/scratch"].iter().any(|own| {
        guest == *own
            || guest
                .strip_prefix(own)
                .is_some_and(|rest| rest.starts_with('/'))
    })
}

/// A program that a plugin may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// As the operator wrote it.
    pub(super) granted: String,
    /// Where it is; none if `PATH` has no such program.
    pub(super) path: Option<PathBuf>,
}

/// What a plugin gets.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) key: PluginKey,
    /// Where the operator would write a grant, such as `stagewright.yaml:12`.
    origin: String,
    granted_commands: Vec<String>,
    asks_for_commands: bool,
    programs: Vec<Program>,
    env: Vec<String>,
    directories: Vec<GrantedDirectory>,
}

impl Access {
    /// No capability at all: what `describe` is called with.
    pub(super) fn none(key: PluginKey, origin: String) -> Self {
        Self {
            key,
            origin,
            granted_commands: Vec::new(),
            asks_for_commands: false,
            programs: Vec::new(),
            env: Vec::new(),
            directories: Vec::new(),
        }
    }

    /// What is both asked for and granted. Looks granted names up in the given
    /// search path (the value of `PATH`), this once.
    pub(super) fn new(
        key: PluginKey,
        origin: String,
        manifest: &Manifest,
        grants: &Grants,
        search_path: Option<&std::ffi::OsStr>,
    ) -> Self {
        let mut access = Self::none(key, origin);
        access.granted_commands = grants.commands.clone();
        access.asks_for_commands = manifest.asks_for(Capability::Commands);
        if access.asks_for_commands {
            access.programs = grants
                .commands
                .iter()
                .map(|granted| Program {
                    granted: granted.clone(),
                    path: look_up(granted, search_path),
                })
                .collect();
        }
        if manifest.asks_for(Capability::Env) {
            access.env = grants.env.clone();
        }
        if manifest.asks_for(Capability::Filesystem) {
            access.directories = grants.filesystem.clone();
        }
        access
    }

    /// The directories of the host that it sees.
    pub(super) fn directories(&self) -> &[GrantedDirectory] {
        &self.directories
    }

    /// The variables of the host that it sees, with their values of now.
    pub(super) fn environment(&self) -> impl Iterator<Item = (&str, String)> {
        self.env.iter().filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some((name.as_str(), value.to_string_lossy().into_owned()))
        })
    }

    /// The granted program that a plugin asks for; else why not.
    pub(super) fn program(&self, wanted: &str) -> Result<&Path, String> {
        let Some(program) = self
            .programs
            .iter()
            .find(|program| program.granted == wanted)
        else {
            return Err(self.refuse_program(wanted));
        };
        program.path.as_deref().ok_or_else(|| {
            format!(
                "plugin `{}`: process.spawn: `{wanted}` is granted, but no directory of the \
                 host's PATH had such a program when the plugin was loaded; install it and load \
                 the plugin again, or grant an absolute path",
                self.key
            )
        })
    }

    fn refuse_program(&self, wanted: &str) -> String {
        let ask = "the plugin's author has to ask for it in the manifest (`requests`, `commands`)";
        let granted = self
            .granted_commands
            .iter()
            .any(|granted| granted == wanted);
        let mut all: Vec<&str> = self.granted_commands.iter().map(String::as_str).collect();
        if !granted {
            all.push(wanted);
        }
        let grant = format!(
            "add to {}: plugins.{}.allow.commands: [{}]",
            self.origin,
            self.key,
            all.join(", ")
        );
        let remedy = match (self.asks_for_commands, granted) {
            (false, true) => ask.to_owned(),
            (false, false) => format!("{ask}, and then you grant it: {grant}"),
            (true, _) => grant,
        };
        format!(
            "plugin `{}` may not start `{wanted}` (process.spawn): {remedy}",
            self.key
        )
    }
}

/// Where a program is: an absolute path as it is, a bare name by the search path.
fn look_up(program: &str, search_path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    if program.starts_with('/') {
        return Some(PathBuf::from(program));
    }
    std::env::split_paths(search_path?)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(program))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CapabilityRequest;

    fn manifest(capabilities: &[Capability]) -> Manifest {
        Manifest {
            requests: capabilities
                .iter()
                .map(|capability| CapabilityRequest {
                    capability: *capability,
                    reason: "to test".to_owned(),
                })
                .collect(),
            ..Manifest::default()
        }
    }

    fn access(capabilities: &[Capability], commands: &[&str]) -> Access {
        let grants = Grants {
            commands: commands.iter().map(|&name| name.to_owned()).collect(),
            ..Grants::default()
        };
        Access::new(
            "script".into(),
            "stagewright.yaml:12".to_owned(),
            &manifest(capabilities),
            &grants,
            Some(std::ffi::OsStr::new("/nowhere:/bin")),
        )
    }

    #[test]
    fn a_program_that_is_asked_for_and_granted_is_found() {
        let access = access(&[Capability::Commands], &["/bin/sh", "sh"]);
        assert_eq!(access.program("/bin/sh"), Ok(Path::new("/bin/sh")));
        assert_eq!(access.program("sh"), Ok(Path::new("/bin/sh")));
    }

    #[test]
    fn a_granted_name_does_not_grant_the_path_and_a_path_not_the_name() {
        assert!(
            access(&[Capability::Commands], &["sh"])
                .program("/bin/sh")
                .is_err()
        );
        assert!(
            access(&[Capability::Commands], &["/bin/sh"])
                .program("sh")
                .is_err()
        );
        assert!(
            access(&[Capability::Commands], &["/bin/sh"])
                .program("/bin/../bin/sh")
                .is_err()
        );
    }

    #[test]
    fn a_refusal_names_plugin_call_program_and_the_line_that_would_grant_it() {
        let refusal = access(&[Capability::Commands], &["git"])
            .program("/bin/sh")
            .expect_err("a refusal");
        assert_eq!(
            refusal,
            "plugin `script` may not start `/bin/sh` (process.spawn): add to \
             stagewright.yaml:12: plugins.script.allow.commands: [git, /bin/sh]"
        );
    }

    #[test]
    fn a_grant_that_the_manifest_does_not_ask_for_grants_nothing_and_the_refusal_says_so() {
        let refusal = access(&[], &["/bin/sh"])
            .program("/bin/sh")
            .expect_err("a refusal");
        assert!(
            refusal.contains("has to ask for it in the manifest"),
            "{refusal}"
        );
        assert!(!refusal.contains("allow.commands"), "{refusal}");
    }

    #[test]
    fn a_granted_name_that_no_directory_has_is_said_to_be_missing() {
        let refusal = access(&[Capability::Commands], &["no-such-program"])
            .program("no-such-program")
            .expect_err("a refusal");
        assert!(
            refusal.contains("no directory of the host's PATH"),
            "{refusal}"
        );
    }

    #[test]
    fn grants_that_can_not_be_meant_are_problems() {
        let grants = Grants {
            commands: vec!["bin/sh".to_owned()],
            env: vec!["A=B".to_owned()],
            filesystem: vec![
                GrantedDirectory {
                    host: "relative".into(),
                    guest: "/scratch/x".to_owned(),
                    writable: false,
                },
                GrantedDirectory {
                    host: "/srv".into(),
                    guest: "/scratch/x/".to_owned(),
                    writable: false,
                },
            ],
            stages: Vec::new(),
        };
        let problems = grants.problems().join("\n");
        for words in [
            "bin/sh",
            "A=B",
            "`relative` is not absolute",
            "belongs to the host",
            "twice",
        ] {
            assert!(problems.contains(words), "{words} in {problems}");
        }
    }
}
