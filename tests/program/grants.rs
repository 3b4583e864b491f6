//! Default deny: what a plugin is refused, in which words, and what no grant gives.

use std::fs;

use stagewright_tests::Project;

use crate::{course, id};

const ECHO: &str = "- { name: SCRIPT_RUN, with: { run: echo done } }\n";

const SITE: &str = "
apiVersion: pipecd.dev/v1beta1
kind: Application
spec: { plugins: { site: } }
";

#[test]
fn a_script_without_the_grant_of_its_shell_is_refused_with_the_line_that_would_grant_it() {
    let project = Project::with(&["script"]);
    project.pipeline(ECHO).write(
        "stagewright.yaml",
        "plugins:\n  # Nothing is allowed yet.\n  script:\n    limits: { memory: 64MiB }\n",
    );
    let run = project.run(&["run", "app.yaml"]).exits(1);
    for words in [
        "plugin `script`",
        "process.spawn",
        "`/bin/sh`",
        "plugins.script.allow.commands",
        "stagewright.yaml:3",
    ] {
        assert!(run.stdout.contains(words), "{run} should name {words}");
    }
    let failed = project.newest();
    assert_eq!(course(&failed), ["SCRIPT_RUN failed"]);
    assert!(
        project
            .log(id(&failed), "1")
            .iter()
            .any(|line| line.contains("process.spawn"))
    );
    // It says so beforehand, too.
    project
        .run(&["plugins"])
        .exits(0)
        .says("not granted: commands");
}

#[test]
fn a_plugin_without_an_entry_or_without_any_configuration_gets_nothing() {
    let for_another = "plugins: { wait: { allow: { commands: [/bin/sh] } } }\n";
    for (plugins, config) in [(&["script"][..], ""), (&["script", "wait"], for_another)] {
        let project = Project::with(plugins);
        if !config.is_empty() {
            project.write("stagewright.yaml", config);
        }
        project.pipeline(ECHO);
        project
            .run(&["run", "app.yaml"])
            .exits(1)
            .says("plugin `script` may not start `/bin/sh` (process.spawn)")
            .says("plugins.script.allow.commands");
        // A grant to one is no grant to another, and what was not asked for is
        // not had either.
        let listed = project
            .run(&["--output", "json", "plugins"])
            .exits(0)
            .json();
        let had = listed["plugins"].as_array().expect("a list").iter();
        for plugin in had {
            assert_eq!(plugin["granted"], serde_json::json!([]), "{plugin}");
        }
    }
}

#[test]
fn a_site_without_the_grant_of_its_directory_fails_and_writes_nothing() {
    let project = Project::with(&["site"]);
    fs::create_dir(project.path("www")).unwrap();
    project.write(
        "stagewright.yaml",
        "plugins: { site: { deployTargets: [{ name: local, config: { directory: /www } }] } }\n",
    );
    project
        .write("app/index.html", "hello")
        .write("app/app.yaml", SITE);
    project
        .run(&["run", "app/app.yaml"])
        .exits(1)
        .says("/www")
        .says("allow.filesystem")
        .says("SITE_ROLLBACK");
    assert_eq!(fs::read_dir(project.path("www")).unwrap().count(), 0);
}

#[test]
fn a_read_only_grant_is_not_written_to() {
    let project = Project::with(&["site"]);
    fs::create_dir(project.path("www")).unwrap();
    project.write(
        "stagewright.yaml",
        "
plugins:
  site:
    deployTargets: [{ name: local, config: { directory: /www } }]
    allow: { filesystem: [{ host: www, guest: /www, access: read-only }] }
",
    );
    project
        .write("app/index.html", "hello")
        .write("app/app.yaml", SITE);
    project.run(&["run", "app/app.yaml"]).exits(1);
    assert_eq!(fs::read_dir(project.path("www")).unwrap().count(), 0);
}

#[test]
fn what_a_script_writes_beside_its_application_reaches_neither_the_user_nor_the_next_plugin() {
    let project = Project::with(&["script", "site"]);
    fs::create_dir(project.path("www")).unwrap();
    project.write(
        "stagewright.yaml",
        "
plugins:
  script: { allow: { commands: [/bin/sh] } }
  site:
    deployTargets: [{ name: local, config: { directory: /www } }]
    allow: { filesystem: [{ host: www, guest: /www, access: read-write }] }
",
    );
    project.write("app/pages/index.html", "as committed");
    project.write(
        "app/app.yaml",
        "
apiVersion: pipecd.dev/v1beta1
kind: Application
spec:
  name: shop
  plugins: { site: { directory: pages } }
  planner: { alwaysUsePipeline: true }
  pipeline:
    stages:
      - name: SCRIPT_RUN
        with: { run: echo forged > pages/index.html; echo new > pages/new.html; cat pages/* }
      - name: SITE_SYNC
",
    );
    project
        .run(&["run", "app/app.yaml"])
        .exits(0)
        .says("1 SCRIPT_RUN | forged");
    assert_eq!(project.read("app/pages/index.html"), "as committed");
    assert!(!project.path("app/pages/new.html").exists());
    assert_eq!(project.read("www/current/index.html"), "as committed");
    assert!(!project.path("www/current/new.html").exists());
}

#[test]
fn each_plugin_is_given_its_own_deploy_targets_and_no_others() {
    let project = Project::with(&["site", "probe"]);
    fs::create_dir(project.path("www")).unwrap();
    project.write(
        "stagewright.yaml",
        "
plugins:
  probe:
    deployTargets: [{ name: of-the-probe }]
  site:
    deployTargets: [{ name: of-the-site, config: { directory: /www } }]
    allow: { filesystem: [{ host: www, guest: /www, access: read-write }] }
",
    );
    project.write("app/index.html", "hello").write(
        "app/app.yaml",
        "{ apiVersion: stagewright.dev/v1, kind: Application, \
         spec: { plugins: { probe: , site: } } }\n",
    );
    project.run(&["run", "app/app.yaml"]).exits(0);
    let done = project.newest();
    let targets: Vec<(&str, usize, &str)> = done["stages"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|stage| stage["status"] == "succeeded")
        .map(|stage| {
            let targets = stage["targets"].as_array().expect("a list");
            let name = targets[0]["name"].as_str().expect("a name");
            (stage["name"].as_str().expect("a name"), targets.len(), name)
        })
        .collect();
    assert_eq!(
        targets,
        [
            ("PROBE", 1, "of-the-probe"),
            ("SITE_SYNC", 1, "of-the-site")
        ]
    );
}

#[test]
fn a_granted_directory_that_is_missing_is_bad_input_with_the_line_of_the_grant() {
    let project = Project::with(&["site"]);
    project.write(
        "stagewright.yaml",
        "
plugins:
  site:
    deployTargets: [{ name: local, config: { directory: /www } }]
    allow:
      filesystem:
        - { host: www, guest: /www, access: read-write }
",
    );
    project
        .write("app/index.html", "hello")
        .write("app/app.yaml", SITE);
    let www = project.path("www");
    for command in ["check", "plan", "run"] {
        let refused = project.run(&[command, "app/app.yaml"]).exits(2);
        let refused = refused
            .complains("stagewright.yaml:7:")
            .complains("www, which plugin `site` is granted, is not there")
            .complains("help: make it, or correct the path");
        assert_eq!(refused.stderr.matches("error:").count(), 1, "{refused}");
    }
    project.write("www", "a file");
    project
        .run(&["run", "app/app.yaml"])
        .exits(2)
        .complains("stagewright.yaml:7:")
        .complains("is no directory");
    project
        .run(&["deployments"])
        .exits(0)
        .says("no deployments");
    // Another plugin's application does not need it.
    project.add_plugin("wait", "plugins/wait.wasm");
    project.pipeline("- { name: WAIT, with: { duration: 10ms } }\n");
    project.run(&["run", "app.yaml"]).exits(0);
    fs::remove_file(&www).unwrap();
    fs::create_dir(&www).unwrap();
    project.run(&["run", "app/app.yaml"]).exits(0);
}

/// The advice on each capability that the probe asks for.
fn advice(log: &[String]) -> Vec<&str> {
    let lines = log
        .iter()
        .filter_map(|line| line.split_once(" to grant it, add "));
    lines
        .map(|(_, rest)| rest.split_once(" to ").expect("and where").0)
        .collect()
}

#[test]
fn what_to_grant_is_told_after_a_plugins_own_error_and_after_no_other() {
    let project = Project::with(&["probe"]);
    let missing = [
        "`plugins.probe.allow.commands`",
        "`plugins.probe.allow.env`",
        "`plugins.probe.allow.filesystem`",
    ];
    let config = |limits: &str, allow: &str| {
        let text = format!("plugins: {{ probe: {{ {limits}allow: {{ {allow} }} }} }}\n");
        project.write("stagewright.yaml", text);
    };
    let failed = |step: &str, timeout: &str| {
        project.application(&format!(
            "planner: {{ alwaysUsePipeline: true }}\npipeline:\n  stages:\n    \
             - {{ name: PROBE, {timeout}with: {{ do: [{step}] }} }}\n"
        ));
        project.run(&["run", "app.yaml"]).exits(1);
        project.log(id(&project.newest()), "1")
    };
    config("", "");
    // Of its own accord: it may have missed any of them.
    for step in ["{ fail: it is not there }", "unknown-step"] {
        let log = failed(step, "");
        assert_eq!(advice(&log), missing, "{step}: {log:?}");
    }
    // Broken down, ended, or badly configured: a grant would not have helped.
    config("limits: { memory: 64MiB }, ", "");
    for (step, timeout) in [
        ("{ panic: these very words }", ""),
        ("{ exit: 3 }", ""),
        ("{ alloc: 1000 }", ""),
        ("spin", "timeout: 1s, "),
        ("{ invalid-config: /do }", ""),
    ] {
        let log = failed(step, timeout);
        assert_eq!(advice(&log), [""; 0], "{step}: {log:?}");
    }
    // What was granted was not missing, nor is anything when all goes well.
    config("", "commands: [/bin/sh], env: [HOME]");
    let log = failed("{ fail: it is not there }", "");
    assert_eq!(advice(&log), missing[2..], "{log:?}");
    project.application(
        "planner: { alwaysUsePipeline: true }\npipeline: { stages: [{ name: PROBE }] }\n",
    );
    project.run(&["run", "app.yaml"]).exits(0);
    let log = project.log(id(&project.newest()), "1");
    assert_eq!(advice(&log), [""; 0], "{log:?}");
}
