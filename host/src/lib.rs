//! Stagewright runs deployment pipelines in which every platform provider is a
//! WebAssembly component.
#![deny(missing_docs)]

pub mod lifecycle;
pub mod logs;
pub mod model;
pub mod source;
pub mod store;
