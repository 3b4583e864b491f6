//! What wit-bindgen makes of the contract in `wit/`.
//!
//! One world per export, so that a component exports exactly what its author
//! names: the section that describes a world's exports is emitted by that
//! world's own macro, which only `export!` calls. The types that the worlds
//! have in common are those of the first, `imports`.
//!
//! Nothing here is public by itself: the other modules re-export what an author
//! sees under a shorter name.
#![allow(
    unsafe_code,
    reason = "the calling convention of a component is a matter of raw memory; wit-bindgen writes it"
)]
#![allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all)]

/// The interfaces that a plugin may call, and the types all of them share.
pub mod imports {
    wit_bindgen::generate!({
        path: "wit",
        world: "imports",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
    });
}

/// The export `manifest`.
pub mod manifest {
    wit_bindgen::generate!({
        path: "wit",
        world: "manifest-export",
        pub_export_macro: true,
        export_macro_name: "export_manifest",
        additional_derives: [PartialEq],
        with: { "stagewright:plugin/types@0.1.0": crate::bindings::imports::stagewright::plugin::types },
    });
    pub use exports::stagewright::plugin::manifest::*;
}

/// The export `planner`.
pub mod planner {
    wit_bindgen::generate!({
        path: "wit",
        world: "planner-export",
        pub_export_macro: true,
        export_macro_name: "export_planner",
        additional_derives: [PartialEq],
        with: { "stagewright:plugin/types@0.1.0": crate::bindings::imports::stagewright::plugin::types },
    });
    pub use exports::stagewright::plugin::planner::*;
}

/// The export `executor`.
pub mod executor {
    wit_bindgen::generate!({
        path: "wit",
        world: "executor-export",
        pub_export_macro: true,
        export_macro_name: "export_executor",
        additional_derives: [PartialEq],
        with: { "stagewright:plugin/types@0.1.0": crate::bindings::imports::stagewright::plugin::types },
    });
    pub use exports::stagewright::plugin::executor::*;
}

pub use imports::stagewright::plugin::types;
