//! `stagewright backup`.

use std::path::Path;

use serde_json::json;

use crate::{Error, Host};

use super::Exit;
use super::output::Output;

pub(super) async fn backup(host: &Host, to: &Path, output: &Output) -> Result<Exit, Error> {
    host.backup(to).await?;
    if output.is_json() {
        output.json(&json!({ "backup": to }));
    } else {
        output.line(format!("copied the state to {}", to.display()));
    }
    Ok(Exit::Success)
}
