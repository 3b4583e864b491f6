//! What reading the host's configuration promises.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Access, HostConfig, HostLimits, PluginConfig};
use crate::definition::{ByteSize, Checked, Source};

fn load(text: &str) -> Result<Checked<HostConfig>, String> {
    let source = Source::from_text("stagewright.yaml", text);
    HostConfig::from_source(&source, Path::new("/srv/deploy")).map_err(|told| told.to_string())
}

fn read(text: &str) -> HostConfig {
    let checked = load(text).unwrap_or_else(|told| panic!("{told}"));
    assert!(checked.warnings.is_empty(), "{}", checked.warnings);
    checked.value
}

fn refused(text: &str) -> String {
    load(text).expect_err("it is refused")
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "missing: {part}\n{text}");
    }
}

pub(in crate::definition) const WHOLE: &str = r#"
pluginsDirectory: ../plugins
stateFile: /var/lib/stagewright/state.db
limits:
  maxSourceSize: 2GiB
  maxPluginFileSize: 1048576
  planTimeout: 2m
  describeTimeout: 5s
  attempts: 5
  gracePeriod: 500ms
  concurrentStages: 8
plugins:
  site:
    file: site-2.wasm
    config: {keep: 3}
    deployTargets:
      - name: eu
        labels: {region: eu}
        config: {directory: /sites/eu}
      - name: us
    allow:
      commands: [git, /usr/bin/rsync]
      env: [HOME]
      filesystem:
        - {host: public, guest: /sites/eu, access: read-write}
        - {host: /etc/ssl, guest: /ssl}
      stages: [WAIT]
    limits:
      memory: 256MiB
  wait:
"#;

#[test]
fn every_key_is_read_and_paths_are_relative_to_the_file() {
    let config = read(WHOLE);
    assert_eq!(
        config.plugins_directory,
        PathBuf::from("/srv/deploy/../plugins")
    );
    assert_eq!(
        config.state_file,
        PathBuf::from("/var/lib/stagewright/state.db")
    );
    assert_eq!(
        config.limits,
        HostLimits {
            max_source_size: ByteSize(2 << 30),
            max_plugin_file_size: ByteSize::mib(1),
            plan_timeout: Duration::from_secs(120),
            describe_timeout: Duration::from_secs(5),
            attempts: 5.try_into().unwrap(),
            grace_period: Duration::from_millis(500),
            concurrent_stages: 8.try_into().unwrap(),
        }
    );
    let site = config.plugin("site").unwrap();
    assert_eq!(site.file, "site-2.wasm");
    assert_eq!(site.config.to_json_text(), r#"{"keep":3}"#);
    assert_eq!(site.deploy_targets[0].labels["region"], "eu");
    assert_eq!(
        site.deploy_targets[0].config.to_json_text(),
        r#"{"directory":"/sites/eu"}"#
    );
    assert!(site.deploy_targets[1].config.is_null());
    let allowed = |list: &[crate::definition::Located<String>]| {
        list.iter()
            .map(|name| name.value.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(allowed(&site.allow.commands), ["git", "/usr/bin/rsync"]);
    assert_eq!(allowed(&site.allow.env), ["HOME"]);
    assert_eq!(allowed(&site.allow.stages), ["WAIT"]);
    let [public, ssl] = site.allow.filesystem.as_slice() else {
        panic!("two grants")
    };
    assert_eq!(public.host, PathBuf::from("/srv/deploy/public"));
    assert_eq!(
        (public.guest.as_str(), public.access),
        ("/sites/eu", Access::ReadWrite)
    );
    assert_eq!(
        (ssl.host.as_path(), ssl.access),
        (Path::new("/etc/ssl"), Access::ReadOnly)
    );
    assert_eq!(site.limits.memory, ByteSize::mib(256));
}

#[test]
fn what_is_left_out_has_its_default_and_grants_nothing() {
    let config = read("plugins:\n  wait:\n");
    assert_eq!(
        config.plugins_directory,
        PathBuf::from("/srv/deploy/plugins")
    );
    assert_eq!(
        config.state_file,
        PathBuf::from("/srv/deploy/.stagewright/state.db")
    );
    assert_eq!(config.limits.attempts.get(), 3);
    assert_eq!(config.limits.concurrent_stages.get(), 64);
    assert_eq!(config.limits.max_source_size, ByteSize(1 << 30));
    assert_eq!(config.limits.grace_period, Duration::from_secs(30));
    let wait = config.plugin("wait").unwrap();
    assert_eq!(wait.file, "wait.wasm");
    assert_eq!(wait.limits.memory, ByteSize::mib(128));
    assert!(wait.config.is_null() && wait.deploy_targets.is_empty());
    assert!(wait.allow.commands.is_empty() && wait.allow.env.is_empty());
    assert!(wait.allow.filesystem.is_empty() && wait.allow.stages.is_empty());
}

#[test]
fn a_configuration_can_be_made_in_code() {
    let mut config = HostConfig::in_directory(Path::new("/x"));
    config.plugins.push(PluginConfig::new("wait"));
    assert_eq!(config.plugin("wait").unwrap().file, "wait.wasm");
    assert_eq!(config.plugin("wait").unwrap().grant_span(), None);
}

#[test]
fn the_line_that_would_grant_something_can_be_named() {
    let config = read(WHOLE);
    let line = |key: &str| config.plugin(key).unwrap().grant_span().unwrap().line;
    assert_eq!(line("site"), 21, "its allow block");
    assert_eq!(line("wait"), 30, "its key, as it has none");
    assert_eq!(
        config.plugins_span.unwrap().line,
        12,
        "where an entry would go"
    );
    let site = config.plugin("site").unwrap();
    assert_eq!(site.allow.commands[1].span.unwrap().line, 22);
    assert_eq!(site.allow.filesystem[1].span.unwrap().line, 26);
}

#[test]
fn unknown_keys_are_refused_at_every_level_with_the_nearest_name() {
    for (text, message, help) in [
        (
            "pluginDirectory: x\n",
            "stagewright.yaml:1:1: error: unknown key `pluginDirectory`",
            "`pluginsDirectory`",
        ),
        ("limits: {attempt: 3}\n", "in `limits`", "`attempts`"),
        ("plugins: {a: {fiel: x}}\n", "in `plugins.a`", "`file`"),
        (
            "plugins: {a: {commands: [git]}}\n",
            "unknown key `commands`",
            "`allow.commands`",
        ),
        (
            "plugins: {a: {allow: {comands: [git]}}}\n",
            "in `plugins.a.allow`",
            "`commands`",
        ),
        (
            "plugins: {a: {limits: {mem: 1MiB}}}\n",
            "in `plugins.a.limits`",
            "`memory`",
        ),
        (
            "plugins: {a: {deployTargets: [{name: x, label: {}}]}}\n",
            "in `plugins.a.deployTargets[0]`",
            "`labels`",
        ),
        (
            "plugins: {a: {allow: {filesystem: [{host: x, guest: /x, mode: ro}]}}}\n",
            "allow.filesystem[0]`",
            "`access`",
        ),
        (
            "kind: Application\n",
            "unknown key `kind`",
            "is this an application file?",
        ),
    ] {
        has(&refused(text), &[message, help]);
    }
}

#[test]
fn limits_must_be_possible() {
    for (text, message) in [
        (
            "limits: {attempts: 0}\n",
            "`limits.attempts` must be a whole number of at least 1",
        ),
        ("limits: {attempts: 2.5}\n", "at least 1"),
        ("limits: {planTimeout: 60}\n", "`60` has no unit"),
        ("limits: {maxSourceSize: 1G}\n", "`G` is no unit"),
        ("limits: {maxSourceSize: 0}\n", "is zero"),
        (
            "plugins: {a: {limits: {memory: 5GiB}}}\n",
            "`plugins.a.limits.memory` is 5GiB",
        ),
        (
            "plugins: {a: {limits: {memory: 1KiB}}}\n",
            "give from 64KiB to 4GiB",
        ),
    ] {
        has(&refused(text), &["stagewright.yaml:1:", message]);
    }
}

#[test]
fn a_guest_path_is_absolute_normalised_unique_and_not_the_hosts() {
    let grant = |guest: &str| {
        refused(&format!(
            "plugins: {{a: {{allow: {{filesystem: [{{host: x, guest: {guest}}}]}}}}}}\n"
        ))
    };
    has(
        &grant("public"),
        &["`public` is not absolute", "such as `/public`"],
    );
    for path in ["/", "/a/../b", "/a/./b", "/a//b", "/a/", "//a"] {
        has(&grant(path), &["is not a path in its shortest form"]);
    }
    for path in ["/target", "/running/x", "/scratch"] {
        has(
            &grant(path),
            &[
                "belongs to the host",
                "/target, /running, /scratch are taken",
            ],
        );
    }
    let two = "plugins:\n  a:\n    allow:\n      filesystem:\n        - {host: x, guest: /p}\n        - {host: y, guest: /p}\n";
    has(
        &refused(two),
        &[
            "stagewright.yaml:6:28: error: a second directory at `/p`; the first is granted on line 5",
        ],
    );
    // A name that only begins like a taken one is free.
    read("plugins: {a: {allow: {filesystem: [{host: x, guest: /targets}]}}}\n");
}

#[test]
fn a_grant_that_could_not_mean_what_it_says_is_refused() {
    let allow = |text: &str| refused(&format!("plugins: {{a: {{allow: {{{text}}}}}}}\n"));
    has(
        &allow("commands: [bin/sh]"),
        &[
            "`plugins.a.allow.commands[0]` can't be `bin/sh`",
            "absolute path",
        ],
    );
    has(&allow("env: [A=b]"), &["can't be `A=b`"]);
    has(&allow("stages: ['']"), &["can't be ``"]);
    has(&allow("filesystem: [{guest: /x}]"), &["has no `host`"]);
    has(&allow("filesystem: [{host: x}]"), &["has no `guest`"]);
    has(
        &allow("filesystem: [{host: x, guest: /x, access: rw}]"),
        &["must be `read-only` or `read-write`"],
    );
    has(&allow("commands: git"), &["must be a list"]);
}

#[test]
fn keys_files_and_deploy_targets_must_be_names() {
    has(
        &refused("plugins: {../x: {}}\n"),
        &["`../x` can't be a plugin's key"],
    );
    for file in ["../x.wasm", "a/b.wasm", "x.so", ".wasm"] {
        has(
            &refused(&format!("plugins: {{a: {{file: {file}}}}}\n")),
            &["no name of a plugin's file"],
        );
    }
    let twice = "plugins:\n  a:\n    deployTargets:\n      - name: eu\n      - name: eu\n";
    has(
        &refused(twice),
        &[
            "stagewright.yaml:5:15: error: the deploy target `eu` is here for the second time; the first is on line 4",
        ],
    );
    has(
        &refused("plugins: {a: {deployTargets: [{labels: {}}]}}\n"),
        &["has no `name`"],
    );
    has(
        &refused("plugins:\n  a:\n  a:\n"),
        &["the key `a` is here for the second time; the first is on line 2"],
    );
}

#[test]
fn a_file_that_is_no_configuration_says_so() {
    has(
        &refused("- a\n"),
        &["a host configuration is a mapping, but this is a list"],
    );
    has(&refused("# nothing\n"), &["this file is empty"]);
    has(
        &refused("stateFile: a\n---\nstateFile: b\n"),
        &["the first begins on line 1, the second on line 3"],
    );
    has(&refused("stateFile: ''\n"), &["`stateFile` is empty"]);
}

#[test]
fn a_file_is_loaded_from_disk_and_its_directory_is_that_of_its_paths() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stagewright.yaml");
    std::fs::write(&path, "pluginsDirectory: p\n").unwrap();
    let config = HostConfig::load(&path).unwrap().value;
    assert_eq!(config.plugins_directory, directory.path().join("p"));
}
