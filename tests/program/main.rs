//! The built program over the built plugins, as people use it: what it prints, how
//! it ends, what it leaves behind.

mod approving;
mod bad_input;
mod cancelling;
mod check;
mod clock;
mod commits;
mod crowds;
mod disk;
mod embedding;
mod grants;
mod hangup;
mod json;
mod keeping;
mod leaving;
mod leftovers;
mod logs;
mod losing_the_state;
mod output;
mod places;
mod plan_errors;
mod planning;
mod queueing;
mod read_only;
mod reports;
mod rollback;
mod sharing;
mod skipping;
mod skipping_by_hand;
mod standing_still;
mod story;
mod time_limits;
mod working;

use serde_json::Value;

/// The texts under a key of each object of a list.
fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let items = list.as_array().expect("a list").iter();
    items
        .map(|item| item[key].as_str().expect("a text"))
        .collect()
}

/// A deployment's stages as `NAME status`, those that never ran left out.
fn course(deployment: &Value) -> Vec<String> {
    let stages = deployment["stages"].as_array().expect("a list").iter();
    stages
        .filter(|stage| stage["status"] != "not-run")
        .map(|stage| {
            let (name, status) = (stage["name"].as_str(), stage["status"].as_str());
            format!("{} {}", name.expect("a name"), status.expect("a status"))
        })
        .collect()
}

/// The id of a deployment.
fn id(deployment: &Value) -> &str {
    deployment["id"].as_str().expect("an id")
}
