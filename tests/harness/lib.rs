//! What the tests share: the built components, a host's side that remembers, a
//! call to make, and projects for the built program.

mod call;
mod clock;
mod native;
mod program;
mod project;
mod recorder;
mod state;

use std::path::PathBuf;

pub use call::Scene;
pub use clock::Clock;
pub use native::Native;
pub use program::{Ended, Reader, Running};
pub use project::{Gate, Project, indented};
pub use recorder::Recorder;
pub use state::State;

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
    let profile = profile_directory();
    let target = profile.parent().expect("a profile is in <target>");
    target
        .join("wasm32-wasip2/plugin")
        .join(format!("{name}.wasm"))
}

/// Where the running test's profile is built: `<target>/<profile>`.
fn profile_directory() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let profile = test.ancestors().nth(2);
    profile
        .expect("a test is in <target>/<profile>/deps")
        .to_owned()
}
