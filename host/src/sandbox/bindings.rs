//! The contract of `wit/` as Rust types, made by wasmtime from the same files
//! that plugins are built against.
//!
//! One module a world, so that a component may export any of them; the types
//! that worlds share are those of [`imports`].

#![allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all)]

/// What a plugin may import.
pub(super) mod imports {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "imports",
        imports: {
            "stagewright:plugin/control": trappable,
            default: async | trappable,
        },
        with: {
            "wasi:io/poll": wasmtime_wasi::p2::bindings::io::poll,
            "stagewright:plugin/process.child": crate::sandbox::process::Child,
        },
        require_store_data_send: true,
    });
}

/// What every plugin exports.
pub(super) mod manifest {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "manifest-export",
        exports: { default: async },
        with: {
            "stagewright:plugin/types": crate::sandbox::bindings::imports::stagewright::plugin::types,
        },
        require_store_data_send: true,
    });
}

/// What a plugin that plans exports.
pub(super) mod planner {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "planner-export",
        exports: { default: async },
        with: {
            "stagewright:plugin/types": crate::sandbox::bindings::imports::stagewright::plugin::types,
        },
        require_store_data_send: true,
    });
}

/// What a plugin that executes stages exports.
pub(super) mod executor {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "executor-export",
        exports: { default: async },
        with: {
            "stagewright:plugin/types": crate::sandbox::bindings::imports::stagewright::plugin::types,
        },
        require_store_data_send: true,
    });
}
