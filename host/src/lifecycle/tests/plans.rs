//! From what plugins planned to stages.

use super::*;

#[test]
fn a_plan_that_failed_ends_the_deployment_with_its_reason() {
    let mut d = deployment("A");
    d.status = DeploymentStatus::Planning;
    let change = apply(&d, Event::PlanFailed("no such stage".into()), at(1)).unwrap();
    assert_eq!(change.deployment.status, DeploymentStatus::Failed);
    assert_eq!(change.deployment.reason, "no such stage");
}

fn assemble(asked: &[u32], stages: Vec<PlannedStage>) -> Result<Vec<Stage>, PlanError> {
    let asked: Vec<Requested> = asked.iter().map(|index| requested(*index)).collect();
    let answer = Answer {
        plugin: PluginKey::from("p"),
        stages,
    };
    plan::pipeline(&catalogue(), &asked, vec![answer], true, &mut ids())
}

#[test]
fn each_stage_of_a_pipeline_requires_the_id_of_the_one_directly_before() {
    let stages = assemble(
        &[0, 1],
        vec![planned("A", 1, false), planned("A", 0, false)],
    )
    .unwrap();
    assert_eq!(stages[0].requires, []);
    assert_eq!(stages[1].requires, [stages[0].id.clone()]);
    assert_ne!(stages[0].id, stages[1].id, "names repeat, ids do not");
}

#[test]
fn a_rollback_stage_shares_its_stages_options_but_neither_its_timeout_nor_its_skip() {
    let mut asked = requested(0);
    asked.timeout = Some(SECOND);
    asked.skip = Some("because".into());
    let answer = Answer {
        plugin: PluginKey::from("p"),
        stages: vec![planned("A", 0, false), planned("a", 0, true)],
    };
    let stages = plan::pipeline(&catalogue(), &[asked], vec![answer], true, &mut ids()).unwrap();
    assert_eq!(stages[1].options, stages[0].options);
    assert_eq!((stages[0].timeout, stages[1].timeout), (Some(SECOND), None));
    assert_eq!(stages[1].skip, None);
    assert_eq!(stages[1].undoes, [stages[0].id.clone()]);
}

#[test]
fn every_fault_in_a_plugins_plan_is_named() {
    let twice = assemble(&[0], vec![planned("A", 0, false), planned("B", 0, false)]);
    assert!(matches!(twice, Err(PlanError::IndexTwice { index: 0, .. })));
    let foreign = assemble(&[0], vec![planned("A", 3, false)]);
    assert!(matches!(
        foreign,
        Err(PlanError::ForeignIndex { index: 3, .. })
    ));
    let missing = assemble(&[0, 1], vec![planned("A", 0, false)]);
    assert!(matches!(
        missing,
        Err(PlanError::IndexMissing { index: 1, .. })
    ));
    let unknown = assemble(&[0], vec![planned("Z", 0, false)]);
    assert!(matches!(unknown, Err(PlanError::UnknownStage { .. })));
    let others = assemble(&[0], vec![planned("X", 0, false)]);
    assert!(
        others
            .unwrap_err()
            .to_string()
            .contains("plugins.p.allow.stages: [X]")
    );
    let wrong = assemble(&[0], vec![planned("A", 0, true)]);
    assert!(matches!(wrong, Err(PlanError::WrongDirection { .. })));
    let rollback_twice = assemble(
        &[0],
        vec![
            planned("A", 0, false),
            planned("a", 0, true),
            planned("b", 0, true),
        ],
    );
    assert!(matches!(rollback_twice, Err(PlanError::IndexTwice { .. })));
    let undoes = PlannedStage {
        undoes: Some(vec![7]),
        ..planned("a", 0, true)
    };
    let nothing = assemble(&[0], vec![planned("A", 0, false), undoes]);
    assert!(matches!(
        nothing,
        Err(PlanError::UndoesNothing { index: 7, .. })
    ));
}

#[test]
fn who_may_operate_a_stage_is_named_as_whoever_acts_and_there_are_enough_of_them() {
    let by = |names: &[&str], needed| PlannedStage {
        operation: Operation::Approve,
        authorized_operators: names.iter().map(|name| (*name).to_owned()).collect(),
        min_operators: needed,
        ..planned("A", 0, false)
    };
    let made = assemble(&[0], vec![by(&[" ann ", "bob", "ann"], 2)]).unwrap();
    assert_eq!(made[0].authorized_operators, ["ann", "bob"]);
    let no_name = assemble(&[0], vec![by(&["ann", "b\nob"], 1)]).unwrap_err();
    assert!(no_name.to_string().contains("is no name"), "{no_name}");
    let too_few = assemble(&[0], vec![by(&["ann", "bob", "ann"], 3)]).unwrap_err();
    assert!(too_few.to_string().contains("only 2 may"), "{too_few}");
    assert!(assemble(&[0], vec![by(&[], 3)]).is_ok(), "anyone may");
}

#[test]
fn a_granted_stage_of_another_plugin_is_executed_by_its_owner() {
    let mut catalogue = catalogue();
    catalogue.grant(&PluginKey::from("p"), "X");
    let answer = Answer {
        plugin: PluginKey::from("p"),
        stages: vec![planned("X", 0, false)],
    };
    let stages =
        plan::pipeline(&catalogue, &[requested(0)], vec![answer], true, &mut ids()).unwrap();
    assert_eq!(stages[0].plugin, PluginKey::from("q"));
}

#[test]
fn a_quick_sync_chains_in_plugin_order_and_each_rollback_undoes_its_own_plugins_stages() {
    let answers = vec![
        Answer {
            plugin: PluginKey::from("p"),
            stages: vec![
                planned("B", 0, false),
                planned("A", 0, false),
                planned("a", 0, true),
            ],
        },
        Answer {
            plugin: PluginKey::from("q"),
            stages: vec![planned("X", 0, false)],
        },
    ];
    let stages = plan::quick_sync(&catalogue(), answers, true, &mut ids()).unwrap();
    let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["B", "A", "X", "a"]);
    assert_eq!(stages[2].requires, [stages[1].id.clone()]);
    assert_eq!(
        stages[3].undoes,
        [stages[0].id.clone(), stages[1].id.clone()]
    );
}

#[test]
fn a_quick_sync_without_a_single_stage_is_an_error_that_names_who_was_asked() {
    let answers = vec![Answer {
        plugin: PluginKey::from("p"),
        stages: Vec::new(),
    }];
    let error = plan::quick_sync(&catalogue(), answers, true, &mut ids()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no plugin of the application has a stage for a quick sync: asked p"
    );
}

#[test]
fn a_rollback_stage_that_nobody_asked_for_is_refused() {
    let answer = Answer {
        plugin: PluginKey::from("p"),
        stages: vec![planned("A", 0, false), planned("a", 0, true)],
    };
    let made = plan::pipeline(
        &catalogue(),
        &[requested(0)],
        vec![answer],
        false,
        &mut ids(),
    );
    assert!(matches!(made, Err(PlanError::UnwantedRollback { .. })));
}

#[test]
fn each_stage_has_a_place_of_its_own_that_people_can_name() {
    let answers = vec![Answer {
        plugin: PluginKey::from("p"),
        stages: vec![
            planned("A", 0, false),
            planned("B", 1, false),
            planned("a", 0, true),
            planned("a", 1, true),
            PlannedStage {
                undoes: Some(vec![0]),
                ..planned("b", 2, true)
            },
        ],
    }];
    let mut d = deployment_of_nothing();
    let stages = plan::quick_sync(&catalogue(), answers, true, &mut ids()).unwrap();
    d.stages = stages.into_iter().map(Shared::from).collect();
    let places: Vec<String> = d.stages.iter().map(|stage| d.place(stage)).collect();
    assert_eq!(places, ["1", "2", "r2.1", "r2.2", "r1"]);
}
