//! Whether what a plugin says of itself can be: names that people can type and
//! read, schemas that are schemas.

use std::collections::BTreeSet;

use super::schema::Schemas;
use crate::model::{Export, Manifest, Plugin};

/// The longest name of anything.
const LONGEST_NAME: usize = 100;

/// The compiled schemas of a manifest, or everything that is wrong with it.
pub(super) fn check(plugin: &dyn Plugin) -> Result<Schemas, Vec<String>> {
    let manifest = plugin.manifest();
    let mut problems = names(manifest);
    if !manifest.stages.is_empty() && !plugin.exports(Export::Executor) {
        problems.push("it defines stages, and does not export `executor` to run them".to_owned());
    }
    match Schemas::compile(manifest) {
        Ok(schemas) if problems.is_empty() => Ok(schemas),
        Ok(_) => Err(problems),
        Err(more) => {
            problems.extend(more);
            Err(problems)
        }
    }
}

fn names(manifest: &Manifest) -> Vec<String> {
    let mut problems = Vec::new();
    let mut name = |what: &str, name: &str| {
        if let Some(why) = bad_name(name) {
            problems.push(format!("{what} {name:?} {why}"));
        }
    };
    name("its name", &manifest.name);
    name("its version", &manifest.version);
    for stage in &manifest.stages {
        name("the stage name", &stage.name);
    }
    for claim in &manifest.claims {
        name("the kind", &claim.kind);
        name("the type", &claim.type_name);
    }
    let mut seen = BTreeSet::new();
    for stage in &manifest.stages {
        if !seen.insert(&stage.name) {
            problems.push(format!("it defines the stage `{}` twice", stage.name));
        }
    }
    let mut seen = BTreeSet::new();
    for claim in &manifest.claims {
        if !seen.insert((&claim.kind, &claim.type_name)) {
            problems.push(format!(
                "it claims documents of kind `{}` and type `{}` twice",
                claim.kind, claim.type_name
            ));
        }
    }
    problems
}

fn bad_name(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name.chars().count() > LONGEST_NAME {
        Some("is longer than 100 characters")
    } else if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        Some("has spaces or control characters")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Claim, StageDefinition};

    fn stage(name: &str) -> StageDefinition {
        StageDefinition {
            name: name.to_owned(),
            description: String::new(),
            rollback: false,
            options_schema: None,
        }
    }

    #[test]
    fn names_that_are_empty_long_spaced_or_given_twice_are_all_told() {
        let claim = Claim {
            kind: "pipeline".to_owned(),
            type_name: "exec".to_owned(),
        };
        let manifest = Manifest {
            name: "wait".to_owned(),
            version: String::new(),
            stages: vec![
                stage("WAIT"),
                stage("WAIT"),
                stage("A B"),
                stage(&"X".repeat(101)),
            ],
            claims: vec![claim.clone(), claim],
            ..Manifest::default()
        };
        let problems = names(&manifest).join("\n");
        for words in [
            "its version \"\" is empty",
            "`WAIT` twice",
            "\"A B\" has spaces",
            "longer than 100",
            "kind `pipeline` and type `exec` twice",
        ] {
            assert!(problems.contains(words), "{words} in {problems}");
        }
    }
}
