//! `log`: messages and the short text beside a stage.

use super::wit::log::{Host, Severity};
use crate::model;
use crate::sandbox::failure::Ended;
use crate::sandbox::instance::CallState;

impl Host for CallState {
    async fn write(&mut self, severity: Severity, message: String) -> wasmtime::Result<()> {
        let severity = match severity {
            Severity::Info => model::Severity::Info,
            Severity::Success => model::Severity::Success,
            Severity::Error => model::Severity::Error,
        };
        self.services.log(severity, &message);
        self.services.log_room().await;
        Ok(())
    }

    async fn status(&mut self, text: String) -> wasmtime::Result<()> {
        match self.services.status(&text).await {
            // The contract has no answer to give: a stage that no longer counts
            // learns so from `control` and from `state`.
            Ok(()) | Err(model::Refusal::Cancelled | model::Refusal::StaleAttempt) => Ok(()),
            Err(model::Refusal::Host(text)) => Err(Ended::Host(text).into()),
            Err(refusal) => {
                let line = format!("the status {text:?} is not shown: {refusal}");
                self.services.log(model::Severity::Error, &line);
                Ok(())
            }
        }
    }
}
