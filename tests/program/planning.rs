//! Which strategy a deployment takes, rule by rule, with real plugins; and what
//! is no plan.

use std::fs;

use serde_json::{Value, json};
use stagewright_tests::Project;

use crate::texts;

/// A pipeline of one stage that its plugin has a quick sync for too.
const PROBE: &str = "pipeline: { stages: [{ name: PROBE }] }\n";

fn strategy(plan: &Value) -> (&str, &str) {
    let strategy = plan["strategy"].as_str().expect("a strategy");
    (strategy, plan["summary"].as_str().expect("a summary"))
}

/// A repository around `app.yaml`, with one commit of this message.
fn committed(project: &Project, message: &str) {
    project.commit(".", message);
}

#[test]
fn rule_1_the_strategy_that_was_asked_for_overrides_all_others() {
    let project = Project::with(&["probe"]);
    project.application(&format!("planner: {{ alwaysUsePipeline: true }}\n{PROBE}"));
    let plan = project.plan(&["--strategy", "quick-sync"]);
    assert_eq!(
        strategy(&plan),
        ("quick-sync", "quick sync, as was asked for")
    );
    assert_eq!(texts(&plan["stages"], "name"), ["PROBE", "PROBE_ROLLBACK"]);
    assert_eq!(plan["trigger"]["strategy"], "quick-sync");
}

#[test]
fn rule_2_without_a_pipeline_it_is_quick_sync() {
    let project = Project::with(&["probe"]);
    project.application("planner: { alwaysUsePipeline: true }\nplugins: { probe: }\n");
    let plan = project.plan(&[]);
    assert_eq!(strategy(&plan).0, "quick-sync");
    assert!(strategy(&plan).1.contains("no pipeline"), "{plan}");
    // It comes from the plugin, and what it undoes is the plugin's own.
    let stages = &plan["stages"];
    assert_eq!(stages[1]["undoes"], json!([stages[0]["id"]]));
    assert_eq!(stages[1]["visible"], false);
}

#[test]
fn rule_3_always_use_pipeline_holds_on_a_first_deployment_too() {
    let project = Project::with(&["probe"]);
    project.application(&format!("planner: {{ alwaysUsePipeline: true }}\n{PROBE}"));
    let plan = project.plan(&[]);
    assert_eq!(strategy(&plan).0, "pipeline");
    assert!(strategy(&plan).1.contains("alwaysUsePipeline"), "{plan}");
    assert_eq!(plan["running"], Value::Null);
}

#[test]
fn rule_4_the_commit_message_decides_pipeline_first_unless_a_person_asked() {
    let project = Project::with(&["probe"]);
    project.application(&format!(
        "commitMatcher: {{ pipeline: '^big', quickSync: 'change$' }}\n{PROBE}"
    ));
    committed(&project, "small change");
    committed(&project, "big change");
    let plan = project.plan(&["--commit", "main~1"]);
    assert_eq!(strategy(&plan).0, "quick-sync");
    assert!(
        strategy(&plan).1.contains("commitMatcher.quickSync"),
        "{plan}"
    );
    let plan = project.plan(&["--commit", "main"]);
    assert_eq!(strategy(&plan).0, "pipeline");
    assert!(
        strategy(&plan).1.contains("commitMatcher.pipeline"),
        "{plan}"
    );
    let plan = project.plan(&["--commit", "main", "--commander", "ada"]);
    assert_eq!(strategy(&plan).0, "quick-sync");
    assert!(strategy(&plan).1.contains("first deployment"), "{plan}");
    assert_eq!(plan["trigger"]["commander"], "ada");
}

#[test]
fn rule_5_a_first_deployment_is_quick_sync_if_a_plugin_has_stages_for_it() {
    let project = Project::with(&["probe"]);
    let plan = project.application(PROBE).plan(&[]);
    assert_eq!(
        strategy(&plan),
        (
            "quick-sync",
            "quick sync, since this is the first deployment"
        )
    );
}

#[test]
fn rule_5_a_first_deployment_of_plugins_without_a_quick_sync_is_pipeline() {
    let project = Project::with(&["script", "wait"]);
    project.pipeline(
        "- { name: SCRIPT_RUN, with: { run: 'true', onRollback: 'true' } }\n\
         - { name: WAIT, with: { duration: 1s } }\n",
    );
    let plan = project.plan(&[]);
    assert_eq!(strategy(&plan).0, "pipeline");
    assert!(strategy(&plan).1.contains("first deployment"), "{plan}");
    let stages = &plan["stages"];
    assert_eq!(
        texts(stages, "name"),
        ["SCRIPT_RUN", "WAIT", "SCRIPT_RUN_ROLLBACK"]
    );
    assert_eq!(stages[0]["requires"], json!([]));
    assert_eq!(stages[1]["requires"], json!([stages[0]["id"]]));
    assert_eq!(stages[2]["undoes"], json!([stages[0]["id"]]));
}

/// The configuration of a host with a site.
fn site(plugins: &str) -> String {
    format!(
        "
pluginsDirectory: {plugins}
plugins:
  site:
    deployTargets: [{{ name: local, config: {{ directory: /www }} }}]
    allow: {{ filesystem: [{{ host: www, guest: /www, access: read-write }}] }}
"
    )
}

fn application(stages: &str) -> String {
    format!(
        "apiVersion: stagewright.dev/v1\nkind: Application\n\
         spec: {{ name: shop, pipeline: {{ stages: {stages} }} }}\n"
    )
}

#[test]
fn rules_6_and_7_the_plugins_decide_in_the_order_of_the_pipeline_and_without_an_opinion_it_is_pipeline()
 {
    // Once deployed, the probe wants the pipeline, and the site is for a quick sync
    // if little has changed. `others.yaml` is a host with a site and `wait`.
    let project = Project::with(&["site", "probe"]);
    fs::create_dir(project.path("www")).expect("the directory is new");
    fs::create_dir(project.path("others")).expect("the directory is new");
    project.add_plugin("site", "others/site.wasm");
    project.add_plugin("wait", "others/wait.wasm");
    project
        .write("stagewright.yaml", site("plugins"))
        .write("others.yaml", site("others"))
        .write("app/index.html", "one")
        .write("app/app.yaml", application("[{ name: SITE_SYNC }]"));
    project.run(&["run", "app/app.yaml"]).exits(0);
    project.write("app/index.html", "two");
    let plan = |config: &str, stages: &str| {
        project.write("app/app.yaml", application(stages));
        let planned = project.run(&[
            "--output",
            "json",
            "--config",
            config,
            "plan",
            "app/app.yaml",
        ]);
        planned.exits(0).json()["deployment"].clone()
    };
    let by_probe = |plan: &Value| {
        let running = plan["running"]["commit"].as_str().expect("a commit");
        let summary = format!("pipeline: from {running} on");
        assert_eq!(strategy(plan), ("pipeline", summary.as_str()));
    };
    // Only one has an opinion, whoever is asked before.
    let both = plan(
        "others.yaml",
        "[{ name: WAIT, with: { duration: 1s } }, { name: SITE_SYNC }]",
    );
    let summary = "quick sync: 1 file changed, none removed";
    assert_eq!(strategy(&both), ("quick-sync", summary));
    assert_eq!(
        texts(&both["stages"], "name"),
        ["SITE_SYNC", "SITE_ROLLBACK"]
    );
    // The last answer counts, and pipeline ends the asking.
    by_probe(&plan(
        "stagewright.yaml",
        "[{ name: SITE_SYNC }, { name: PROBE }]",
    ));
    by_probe(&plan(
        "stagewright.yaml",
        "[{ name: PROBE }, { name: SITE_SYNC }]",
    ));
    // Nobody has an opinion.
    let none = plan("others.yaml", "[{ name: WAIT, with: { duration: 1s } }]");
    assert_eq!(
        strategy(&none),
        ("pipeline", "pipeline, since no plugin has an opinion")
    );
}

#[test]
fn a_quick_sync_without_a_stage_is_an_error_that_names_who_was_asked() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1s } }\n");
    project
        .run(&["plan", "app.yaml", "--strategy", "quick-sync"])
        .exits(2)
        .complains("no plugin of the application has a stage for a quick sync: asked wait");
}

#[test]
fn a_bad_commit_pattern_is_an_error_with_its_line() {
    let project = Project::with(&["wait"]);
    project.application("commitMatcher:\n  pipeline: '(big'\n");
    project
        .run(&["check", "--structure", "app.yaml"])
        .exits(2)
        .complains("app.yaml:6:15: error:")
        .complains("6 |     pipeline: '(big'");
    project
        .run(&["plan", "app.yaml"])
        .exits(2)
        .complains("app.yaml:6:15: error:");
}

#[test]
fn an_empty_commit_pattern_which_would_match_everything_is_an_error_with_its_line() {
    let project = Project::with(&["wait"]);
    for key in ["pipeline", "quickSync"] {
        for command in [&["check"][..], &["check", "--structure"], &["plan"]] {
            project.application(&format!("commitMatcher:\n  {key}: ''\n"));
            let refused = project.run(&[command, &["app.yaml"]].concat()).exits(2);
            refused
                .complains(&format!("app.yaml:6:{}: error:", 5 + key.len() + 2))
                .complains(&format!("commitMatcher.{key}` is empty"))
                .complains("remove the key, or write what is to match");
        }
    }
    // A key without a value counts as left out.
    project.application("commitMatcher:\n  pipeline:\nplugins: {}\n");
    let left_out = project.run(&["check", "--structure", "app.yaml"]);
    assert!(
        !left_out.stderr.contains("is empty, and would"),
        "{left_out}"
    );
}

#[test]
fn what_is_planned_is_stored_nowhere() {
    let project = Project::with(&["probe"]);
    project.application(PROBE).plan(&[]);
    project
        .run(&["deployments"])
        .exits(0)
        .says("no deployments");
}
