//! The programs of one call: counted, and gone when the call is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::child::{Child, State, end};

/// How long a call waits for its killed programs to be reaped. A killed process
/// ends at once unless the system itself holds it, as a dead network file system
/// does.
const REAP: Duration = Duration::from_secs(2);

/// The programs that a call has started.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Processes(Mutex<Vec<Arc<State>>>);

impl Processes {
    /// How many run.
    pub(in crate::sandbox) fn running(&self) -> usize {
        self.states().len()
    }

    /// The names of those that run and that nobody has ended.
    pub(in crate::sandbox) fn left_running(&self) -> Vec<String> {
        self.states()
            .iter()
            .filter(|state| state.is_left_running())
            .map(|state| state.name.clone())
            .collect()
    }

    /// Takes in one that was started.
    pub(in crate::sandbox) fn add(&self, child: &Child) {
        self.states().push(child.state.clone());
    }

    /// Kills those that run, and waits until they are gone.
    pub(in crate::sandbox) async fn end(&self) {
        let states = self.states().clone();
        for state in &states {
            state.abandon();
        }
        for state in states {
            let ended = tokio::time::timeout(REAP, end(&mut state.subscribe())).await;
            if !matches!(ended, Ok(Ok(_))) {
                tracing::error!(program = state.name, "a killed program does not end");
            }
        }
    }

    /// Those that run; the others are forgotten.
    fn states(&self) -> std::sync::MutexGuard<'_, Vec<Arc<State>>> {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|state| state.exited().is_none());
        states
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for state in self.states().iter() {
            state.abandon();
        }
    }
}
