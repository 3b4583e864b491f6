//! Every file that is no plugin is refused in one sentence that says what it is.

use stagewright::model::{Capability, Export, Plugin};
use stagewright::sandbox::LoadError;

use crate::{bare, probe, probe_bytes, sandbox};

async fn refusal(bytes: &[u8]) -> LoadError {
    sandbox()
        .load(bytes.into(), &bare())
        .await
        .expect_err("a refusal")
}

async fn refusal_of_text(wat: &str) -> LoadError {
    refusal(&wat::parse_str(wat).expect("a component")).await
}

#[tokio::test]
async fn a_plugin_loads_and_says_what_it_is() {
    let plugin = probe().await;
    let manifest = plugin.manifest();
    assert_eq!(
        (manifest.name.as_str(), manifest.version.as_str()),
        ("probe", "0.1.0")
    );
    assert!(
        manifest
            .stage("PROBE")
            .is_some_and(|stage| stage.options_schema.is_some())
    );
    assert!(manifest.asks_for(Capability::Commands) && !manifest.asks_for(Capability::Http));
    assert!(plugin.exports(Export::Planner) && plugin.exports(Export::Executor));
}

#[tokio::test]
async fn an_empty_file_a_module_and_text_are_told_apart() {
    for (bytes, words) in [
        (&b""[..], "is empty"),
        (b"\0asm\x01\0\0\0", "is a core WebAssembly module"),
        (b"(component)", "in its text format"),
        (b"PK\x03\x04", "is no WebAssembly"),
    ] {
        let error = refusal(bytes).await;
        assert!(matches!(error, LoadError::NotAComponent(_)), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_truncated_plugin_is_said_to_be_truncated_wherever_it_is_cut() {
    let bytes = probe_bytes();
    for length in [3, 7, 9, 100, bytes.len() / 2, bytes.len() - 1] {
        let error = refusal(&bytes[..length]).await.to_string();
        assert!(
            error.starts_with(&format!("is truncated: it ends after {length} bytes")),
            "{length}: {error}"
        );
    }
}

#[tokio::test]
async fn garbage_after_a_components_head_is_one_line_and_no_dump() {
    let error = refusal(b"\0asm\x0d\0\x01\0\xff\x01garbage")
        .await
        .to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(!error.contains("backtrace"), "{error}");
}

#[tokio::test]
async fn a_component_of_another_world_is_named_with_what_it_exports() {
    let error = refusal_of_text(
        r#"(component (component $c) (instance $i (instantiate $c))
            (export "wasi:cli/run@0.2.0" (instance $i)))"#,
    )
    .await;
    assert!(matches!(error, LoadError::OtherWorld(_)), "{error:?}");
    assert!(
        error.to_string().contains("`wasi:cli/run@0.2.0`"),
        "{error}"
    );
    let error = refusal_of_text("(component)").await;
    assert!(matches!(error, LoadError::OtherWorld(_)), "{error:?}");
}

#[tokio::test]
async fn a_newer_contract_is_named_with_both_versions() {
    let error = refusal_of_text(
        r#"(component (component $c) (instance $i (instantiate $c))
            (export "stagewright:plugin/manifest@0.2.0" (instance $i)))"#,
    )
    .await;
    assert!(matches!(error, LoadError::OtherContract(_)), "{error:?}");
    let error = error.to_string();
    assert!(
        error.contains("@0.2.0") && error.contains("0.1.0"),
        "{error}"
    );
}

#[tokio::test]
async fn an_export_of_our_track_that_is_not_as_the_contract_has_it_is_refused_at_load() {
    let error = refusal_of_text(
        r#"(component (component $c) (instance $i (instantiate $c))
            (export "stagewright:plugin/manifest@0.1.9" (instance $i)))"#,
    )
    .await;
    assert!(matches!(error, LoadError::OtherContract(_)), "{error:?}");
    assert!(error.to_string().contains("describe"), "{error}");
}

/// A component with a manifest in name, and one import more.
fn importing(import: &str) -> String {
    format!(
        r#"(component {import}
            (component $c) (instance $i (instantiate $c))
            (export "stagewright:plugin/manifest@0.1.0" (instance $i)))"#
    )
}

#[tokio::test]
async fn an_unknown_import_is_named_and_never_stubbed() {
    let error = refusal_of_text(&importing(
        r#"(import "foo:bar/baz@1.0.0" (instance (export "qux" (func))))"#,
    ))
    .await;
    assert!(matches!(error, LoadError::UnknownImport(_)), "{error:?}");
    assert!(
        error.to_string().starts_with(
            "imports `foo:bar/baz@1.0.0` (its `qux` first), which this host does not have"
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_function_that_a_newer_patch_added_is_named_with_its_interface_and_both_versions() {
    let error = refusal_of_text(&importing(
        r#"(import "stagewright:plugin/log@0.1.7" (instance (export "rotate" (func))))"#,
    ))
    .await
    .to_string();
    assert!(
        error.contains("`rotate` of `stagewright:plugin/log@0.1.7`")
            && error.contains("stagewright:plugin@0.1.0"),
        "{error}"
    );
    let error = refusal_of_text(&importing(
        r#"(import "stagewright:plugin/steps@0.1.2" (instance (export "open" (func))))"#,
    ))
    .await
    .to_string();
    assert!(
        error.contains("`stagewright:plugin/steps@0.1.2`"),
        "{error}"
    );
}

/// A component whose core module runs this when it is instantiated. It has a
/// manifest in name, and is never asked for it.
fn starting(code: &str) -> String {
    format!(
        r#"(component
            (core module $m
                (func $start {code})
                (start $start)
                (func (export "describe")))
            (core instance $m (instantiate $m))
            (func $describe (canon lift (core func $m "describe")))
            (instance $i (export "describe" (func $describe)))
            (export "stagewright:plugin/manifest@0.1.0" (instance $i)))"#
    )
}

#[tokio::test]
async fn a_start_function_that_loops_is_ended_by_the_limit_of_describe() {
    let sandbox = stagewright::sandbox::Sandbox::new(stagewright::sandbox::SandboxSettings {
        instances: 1,
        describe_timeout: std::time::Duration::from_millis(50),
        ..Default::default()
    })
    .expect("a sandbox");
    let bytes = wat::parse_str(starting("(loop br 0)")).expect("a component");
    let error = sandbox
        .load(bytes.into(), &bare())
        .await
        .expect_err("a refusal");
    assert!(matches!(error, LoadError::Describe(_)), "{error:?}");
    assert!(
        error.to_string().contains("no answer within 50ms"),
        "{error}"
    );
}

#[tokio::test]
async fn a_call_stack_that_is_exhausted_is_named() {
    let error = refusal_of_text(&starting("(call $start)"))
        .await
        .to_string();
    assert!(error.contains("its call stack is exhausted"), "{error}");
}

#[tokio::test]
async fn a_plugin_that_traps_when_it_is_asked_what_it_is_is_refused_with_the_trap() {
    let bytes = wat::parse_str(starting("unreachable")).expect("a component");
    let error = refusal(&bytes).await;
    assert!(matches!(error, LoadError::Describe(_)), "{error:?}");
    assert!(error.to_string().contains("`unreachable`"), "{error}");
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
}
