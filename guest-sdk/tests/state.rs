//! What a plugin may keep, where, and for how long.

mod probe;

use probe::{Probe, in_stage, while_planning};
use stagewright_sdk::testing::FakeHost;
use stagewright_sdk::{Error, Outcome, state};

#[test]
fn a_value_comes_back_as_it_was_put_and_none_is_no_error() {
    let outcome = in_stage(&mut FakeHost::new(), |_| {
        state::deployment().put("previous", &("releases/1", 3))?;
        assert_eq!(
            state::deployment().get("previous")?,
            Some(("releases/1".to_owned(), 3))
        );
        assert_eq!(state::deployment().get::<String>("next")?, None);
        state::deployment().delete("previous")?;
        state::deployment().delete("previous")?;
        assert_eq!(state::deployment().get_bytes("previous")?, None);
        Ok(Outcome::succeeded())
    });
    assert_eq!(outcome, Ok(Outcome::succeeded()));
}

#[test]
fn keys_are_listed_in_order_by_their_beginning() {
    let outcome = in_stage(&mut FakeHost::new(), |_| {
        let batch = state::stage().put_many().put("b/2", &2)?.put("a", &0)?;
        batch.put_bytes("b/1", b"1").commit()?;
        assert_eq!(state::stage().keys("b/")?, ["b/1", "b/2"]);
        assert_eq!(state::stage().keys("")?, ["a", "b/1", "b/2"]);
        assert_eq!(state::application().keys("")?, Vec::<String>::new());
        Ok(Outcome::succeeded())
    });
    assert_eq!(outcome, Ok(Outcome::succeeded()));
}

#[test]
fn a_value_of_another_type_is_an_error_that_names_the_key() {
    let outcome = in_stage(&mut FakeHost::new(), |_| {
        state::stage().put("count", "three")?;
        state::stage().get::<u32>("count")?;
        Ok(Outcome::succeeded())
    });
    let error = outcome.expect_err("text is no number").to_string();
    assert!(
        error.starts_with("can't read `count` of the stage state: "),
        "{error}"
    );
}

#[test]
fn the_scopes_live_as_long_as_what_they_are_named_for() {
    let mut host = FakeHost::new();
    let put = |_: &_| {
        for scope in [state::stage(), state::deployment(), state::application()] {
            scope.put("seen", &true)?;
        }
        Ok(Outcome::succeeded())
    };
    let seen = |expected: [bool; 3]| {
        move |_: &_| {
            let scopes = [state::stage(), state::deployment(), state::application()];
            for (scope, expected) in scopes.into_iter().zip(expected) {
                assert_eq!(scope.get::<bool>("seen")?.is_some(), expected, "{scope:?}");
            }
            Ok(Outcome::succeeded())
        }
    };
    in_stage(&mut host, put).expect("put");
    in_stage(&mut host, seen([false, true, true])).expect("another stage");
    host.next_deployment();
    in_stage(&mut host, seen([false, false, true])).expect("another deployment");
}

#[test]
fn while_planning_the_application_can_be_read_and_nothing_else() {
    let mut host = FakeHost::new();
    host.put_state(state::application(), "last", "releases/1");
    while_planning(&host, || {
        assert_eq!(
            state::application().get("last")?,
            Some("releases/1".to_owned())
        );
        Ok(())
    })
    .expect("it can be read");
    for refused in [
        || state::application().put("last", &1),
        || state::deployment().get::<u32>("x").map(drop),
        || state::stage().get::<u32>("x").map(drop),
    ] {
        let error = while_planning(&host, refused).expect_err("it is refused");
        assert!(matches!(error, Error::Denied(_)), "{error:?}");
    }
}

#[test]
fn what_the_host_shares_can_be_read_and_not_written() {
    let mut host = FakeHost::new();
    host.put_state_bytes(state::shared(), "summary", "3 files changed".as_bytes());
    let outcome = in_stage(&mut host, |_| {
        assert_eq!(
            state::shared().get_text("summary")?.as_deref(),
            Some("3 files changed")
        );
        state::shared().put("summary", "mine")?;
        Ok(Outcome::succeeded())
    });
    outcome.expect_err("it can't be written");
}

#[test]
fn hosts_on_other_threads_and_on_the_same_one_do_not_disturb_each_other() {
    let mut first = FakeHost::new();
    let mut second = FakeHost::new();
    in_stage(&mut first, |_| {
        state::application().put("whose", "first")?;
        Ok(Outcome::succeeded())
    })
    .expect("put");
    in_stage(&mut second, |_| {
        assert_eq!(state::application().get::<String>("whose")?, None);
        stagewright_sdk::info!("second");
        Ok(Outcome::succeeded())
    })
    .expect("nothing is there");
    assert_eq!(first.log(), Vec::<String>::new());
    assert_eq!(
        first
            .state::<String>(state::application(), "whose")
            .as_deref(),
        Some("first")
    );
}

#[test]
#[should_panic(expected = "call the plugin through `testing::FakeHost`")]
fn outside_of_a_host_the_state_says_what_is_missing() {
    let _ = state::stage().get::<u32>("x");
}

#[test]
fn a_stages_state_is_kept_over_its_turns_and_attempts() {
    let mut host = FakeHost::new();
    let mut stage = host.stage("PROBE", "{}");
    for attempt in 1..=3u32 {
        probe::next_body(move |request| {
            assert_eq!(request.stage.attempt, attempt);
            let before: u32 = state::stage().get("count")?.unwrap_or(0);
            state::stage().put("count", &(before + 1))?;
            Ok(Outcome::succeeded())
        });
        host.execute::<Probe>(&mut stage).expect("counted");
        stage.lose();
    }
    assert_eq!(host.state::<u32>(state::stage(), "count"), Some(3));
}
