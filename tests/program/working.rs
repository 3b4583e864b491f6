//! `work`: what it says of what it leaves.

use stagewright::{Host, Request};
use stagewright_tests::Project;

#[test]
fn all_that_is_left_is_listed_however_much_it_is() {
    let project = Project::with(&["wait"]);
    project.pipeline("- { name: WAIT, with: { duration: 1h } }\n");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let host = Host::builder()
            .plugins_directory(project.path("plugins"))
            .state_file(project.path(".stagewright/state.db"))
            .build();
        let host = host.await.expect("a host");
        let request = Request::new(project.path("app.yaml"));
        for _ in 0..60 {
            host.submit(&request).await.expect("a deployment");
        }
    });
    let work = project.run(&["--output", "json", "work", "--until-idle"]);
    let left = work.exits(5).json();
    assert_eq!(left.as_array().expect("a list").len(), 60);
    let work = project.run(&["work", "--until-idle"]).exits(5);
    let rows = work.stdout.lines().filter(|line| line.contains("shop"));
    assert_eq!(rows.count(), 60, "{work}");
}
