//! The way of an application through three commits: put live, changed by a
//! pipeline, and rolled back when its check fails.

use std::fs;

use stagewright_tests::Project;

use crate::course;

const CONFIG: &str = "
plugins:
  site:
    deployTargets:
      - name: local
        config: { directory: /www }
    allow:
      filesystem:
        - { host: www, guest: /www, access: read-write }
  script:
    allow:
      commands: [/bin/sh]
";

const APPLICATION: &str = "
apiVersion: pipecd.dev/v1beta1
kind: Application
spec:
  name: documentation
  plugins:
    site:
      directory: pages
  pipeline:
    stages:
      - name: SITE_STAGE
      - name: SCRIPT_RUN
        with:
          run: test -f pages/index.md || { echo no index page; exit 3; }
      - name: WAIT
        with:
          duration: 2s
      - name: SITE_PROMOTE
";

#[test]
fn three_commits_go_live_are_changed_by_a_pipeline_and_rolled_back_to_the_second() {
    let project = Project::with(&["site", "script", "wait"]);
    project.write("stagewright.yaml", CONFIG);
    fs::create_dir(project.path("www")).unwrap();
    project.write("repository/app.yaml", APPLICATION);
    project.write("repository/pages/start.md", "one");
    let first = project.commit("repository", "Publish");
    fs::remove_file(project.path("repository/pages/start.md")).unwrap();
    project.write("repository/pages/index.md", "two");
    let second = project.commit("repository", "Greet on an index page");
    fs::remove_file(project.path("repository/pages/index.md")).unwrap();
    project.write("repository/pages/news.md", "three");
    project.commit("repository", "Lose the index page");
    let run = |commit| project.run(&["run", "repository/app.yaml", "--commit", commit]);
    let live = || fs::read_link(project.path("www/current")).unwrap();

    run("main~2")
        .exits(0)
        .says("1 SITE_SYNC succeeded")
        .says("documentation succeeded");
    assert!(live().to_string_lossy().contains(&first));
    assert_eq!(project.read("www/current/start.md"), "one");

    run("main~1")
        .exits(0)
        .says("3 WAIT suspended until")
        .says("4 SITE_PROMOTE succeeded");
    assert!(live().to_string_lossy().contains(&second));
    assert_eq!(project.read("www/current/index.md"), "two");

    run("main")
        .exits(1)
        .says("2 SCRIPT_RUN | no index page")
        .says("rolling back")
        .says("SITE_ROLLBACK succeeded")
        .says("documentation failed");
    assert!(live().to_string_lossy().contains(&second));
    assert_eq!(project.read("www/current/index.md"), "two");
    let failed = project.newest();
    assert_eq!(
        course(&failed),
        [
            "SITE_STAGE succeeded",
            "SCRIPT_RUN failed",
            "SITE_ROLLBACK succeeded"
        ]
    );
    assert_eq!(failed["stages"][1]["exitCode"], 3);
    assert_eq!(failed["running"]["commit"], second.as_str());

    let table = project.run(&["deployments"]).exits(0).stdout;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|row| row.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows[0][..4],
        ["DEPLOYMENT", "APPLICATION", "COMMIT", "STATUS"]
    );
    let statuses: Vec<&str> = rows[1..].iter().map(|row| row[3]).collect();
    assert_eq!(
        statuses,
        ["failed", "succeeded", "succeeded"],
        "newest first"
    );
    assert!(rows[3][4..].starts_with(&["quick", "sync"]), "{table}");
    assert_eq!(rows[2][4], "pipeline");
    assert_eq!(rows[2][2], &second[..12]);
}
