//! What a Stagewright plugin is written with.
#![deny(missing_docs)]
