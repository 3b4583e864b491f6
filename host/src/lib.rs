//! Stagewright runs deployment pipelines in which every platform provider is a
//! WebAssembly component.
#![deny(missing_docs)]

pub mod definition;
pub mod lifecycle;
pub mod logs;
pub mod model;
pub mod plugins;
pub mod sandbox;
pub mod source;
pub mod store;
