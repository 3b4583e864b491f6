//! Cargo builds a program before the tests of its own package, and of no other.
//! This is that test: with it, `cargo test --workspace` has built the program anew
//! before the workspace's own tests of it start.

use std::path::Path;
use std::process::Command;

/// The program that cargo built for this test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_stagewright");

#[test]
fn the_program_is_where_the_workspaces_tests_look_for_it() {
    let test = std::env::current_exe().expect("a test knows where it is");
    let beside = test
        .ancestors()
        .nth(2)
        .map(|profile| profile.join("stagewright"));
    let built = Path::new(PROGRAM).canonicalize().expect("it was built");
    assert_eq!(
        beside.and_then(|path| path.canonicalize().ok()),
        Some(built)
    );
}

#[test]
fn it_says_which_version_it_is() {
    let output = Command::new(PROGRAM)
        .arg("--version")
        .output()
        .expect("it starts");
    assert!(output.status.success());
    let version = concat!("stagewright ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), version);
}
