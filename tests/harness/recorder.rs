//! The host's side of a call, in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use stagewright::model::{Command, Refusal, Scope, Services, Severity};
use tokio::sync::watch;

/// Remembers what a call wrote.
#[derive(Debug)]
pub struct Recorder {
    lines: watch::Sender<Vec<(Severity, String)>>,
    status: Mutex<String>,
    state: Mutex<BTreeMap<(String, String), Vec<u8>>>,
    /// What people did to the stage.
    pub commands: Mutex<Vec<Command>>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            lines: watch::Sender::new(Vec::new()),
            status: Mutex::default(),
            state: Mutex::default(),
            commands: Mutex::default(),
        }
    }
}

impl Recorder {
    /// The texts of the lines so far, of all severities.
    pub fn lines(&self) -> Vec<String> {
        let lines = self.lines.borrow();
        lines.iter().map(|(_, text)| text.clone()).collect()
    }

    /// The lines so far with their severities.
    pub fn log(&self) -> Vec<(Severity, String)> {
        self.lines.borrow().clone()
    }

    /// Waits for a line that has these words, and gives it.
    pub async fn line_with(&self, words: &str) -> String {
        let mut lines = self.lines.subscribe();
        let found = |lines: &[(Severity, String)]| {
            lines
                .iter()
                .find(|(_, text)| text.contains(words))
                .map(|(_, text)| text.clone())
        };
        let lines = lines
            .wait_for(|lines| found(lines).is_some())
            .await
            .expect("the recorder lives");
        found(&lines).expect("what was waited for")
    }

    /// The last status text.
    pub fn shown_status(&self) -> String {
        self.status.lock().expect("no panic").clone()
    }
}

#[async_trait]
impl Services for Recorder {
    fn log(&self, severity: Severity, message: &str) {
        self.lines.send_modify(|lines| {
            lines.extend(message.split('\n').map(|line| (severity, line.to_owned())));
        });
    }

    async fn log_room(&self) {}

    async fn status(&self, text: &str) -> Result<(), Refusal> {
        text.clone_into(&mut self.status.lock().expect("no panic"));
        Ok(())
    }

    async fn get(&self, scope: Scope, key: &str) -> Result<Option<Vec<u8>>, Refusal> {
        let state = self.state.lock().expect("no panic");
        Ok(state.get(&(format!("{scope:?}"), key.to_owned())).cloned())
    }

    async fn put(&self, scope: Scope, values: Vec<(String, Vec<u8>)>) -> Result<(), Refusal> {
        if values.iter().any(|(key, _)| key == "refuse-me") {
            return Err(Refusal::StaleAttempt);
        }
        if values.iter().any(|(key, _)| key == "break") {
            return Err(Refusal::Host("the disk is full".to_owned()));
        }
        let mut state = self.state.lock().expect("no panic");
        for (key, value) in values {
            state.insert((format!("{scope:?}"), key), value);
        }
        Ok(())
    }

    async fn delete(&self, scope: Scope, key: &str) -> Result<(), Refusal> {
        let mut state = self.state.lock().expect("no panic");
        state.remove(&(format!("{scope:?}"), key.to_owned()));
        Ok(())
    }

    async fn commands(&self, after: u64) -> Result<Vec<Command>, Refusal> {
        if after == u64::MAX {
            return Err(Refusal::StaleAttempt);
        }
        let commands = self.commands.lock().expect("no panic");
        let new = commands.iter().filter(|command| command.number > after);
        Ok(new.cloned().collect())
    }

    async fn keys(&self, scope: Scope, prefix: &str) -> Result<Vec<String>, Refusal> {
        let state = self.state.lock().expect("no panic");
        Ok(state
            .keys()
            .filter(|(of, key)| *of == format!("{scope:?}") && key.starts_with(prefix))
            .map(|(_, key)| key.clone())
            .collect())
    }
}
