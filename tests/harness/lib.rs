//! What the tests share: the built components, a host's side that remembers, and
//! a call to make.

mod call;
mod recorder;

use std::path::PathBuf;

pub use call::Scene;
pub use recorder::Recorder;

/// The bytes of a component that was built before the tests.
pub fn component(name: &str) -> Vec<u8> {
    let path = component_path(name);
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}: run `just plugins` first, which builds the components",
            path.display()
        )
    })
}

/// Where it is: beside the tests themselves, in the same target directory.
pub fn component_path(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let target = test
        .ancestors()
        .nth(3)
        .expect("a test is in <target>/<profile>/deps");
    target
        .join("wasm32-wasip2/plugin")
        .join(format!("{name}.wasm"))
}
