//! `process`: programs of the host, as granted.

use tokio::sync::watch;
use wasmtime::component::Resource;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use super::answer;
use super::wit::process::{Captured, Command, Exit, Host, HostChild};
use super::wit::types;
use crate::model::Refusal;
use crate::sandbox::instance::CallState;
use crate::sandbox::process::{self, Child, Order, Places};

/// Ready when a program has ended. Holds nothing of its handle.
struct Ended(watch::Receiver<Option<process::Exit>>);

#[async_trait]
impl Pollable for Ended {
    async fn ready(&mut self) {
        // An error means that nobody watches over the program any more: it is
        // over then too, and `wait` says how.
        drop(self.0.wait_for(Option::is_some).await);
    }
}

impl CallState {
    async fn start(&mut self, command: Command) -> Result<Child, Refusal> {
        let program = self
            .access
            .program(&command.program)
            .map_err(Refusal::Denied)?
            .to_owned();
        if self.cancel.is_cancelled() {
            return Err(Refusal::Cancelled);
        }
        let Some(scratch) = self.mounts.scratch.as_deref() else {
            return Err(Refusal::Denied(format!(
                "plugin `{}`: process.spawn: a planning call starts no programs; do it in a stage",
                self.access.key
            )));
        };
        let running = self.processes.running();
        if running >= self.limits.processes {
            return Err(Refusal::QuotaExceeded(format!(
                "plugin `{key}`: process.spawn: programs that run at a time are limited to \
                 {running}, and `{}` would be one more; raise `plugins.{key}.limits.processes` \
                 if it needs more",
                command.program,
                key = self.access.key,
            )));
        }
        let places = Places {
            target: self.mounts.target.as_deref(),
            running: self.mounts.running.as_deref(),
            scratch,
            granted: self.access.directories(),
        };
        let directory = process::resolve(places, command.directory.as_deref()).await?;
        let child = Child::start(Order {
            environment: self.environment(command.environment)?,
            name: command.program,
            program,
            arguments: plain(command.arguments)?,
            directory,
            stdin: command.stdin,
            capture: command.capture.then_some(self.limits.captured),
            log: command.to_log.then(|| self.services.clone()),
        })?;
        self.processes.add(&child);
        Ok(child)
    }

    /// `PATH` and the granted variables, then the plugin's own.
    fn environment(&self, own: Vec<types::Entry>) -> Result<Vec<(String, String)>, Refusal> {
        let path = std::env::var_os("PATH")
            .map(|path| ("PATH".to_owned(), path.to_string_lossy().into_owned()));
        let mut environment: Vec<(String, String)> = path.into_iter().collect();
        environment.extend(
            self.access
                .environment()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        for types::Entry { key, value } in own {
            if key.is_empty() || key.contains(['=', '\0']) || value.contains('\0') {
                return Err(Refusal::Invalid(format!(
                    "process.spawn: `environment` can't have a variable {key:?}: a name has no \
                     `=`, and neither name nor value a NUL character"
                )));
            }
            environment.push((key, value));
        }
        Ok(environment)
    }
}

fn plain(arguments: Vec<String>) -> Result<Vec<String>, Refusal> {
    match arguments.iter().find(|argument| argument.contains('\0')) {
        Some(argument) => Err(Refusal::Invalid(format!(
            "process.spawn: `arguments` can't have {argument:?}: it has a NUL character"
        ))),
        None => Ok(arguments),
    }
}

fn exit(exit: process::Exit) -> Exit {
    match exit {
        process::Exit::Code(code) => Exit::Code(code),
        process::Exit::Signal(signal) => Exit::Signal(signal),
    }
}

impl Host for CallState {
    async fn spawn(
        &mut self,
        command: Command,
    ) -> wasmtime::Result<Result<Resource<Child>, types::Refusal>> {
        match answer(self.start(command).await)? {
            Ok(child) => Ok(Ok(self.table.push(child)?)),
            Err(refusal) => Ok(Err(refusal)),
        }
    }
}

impl HostChild for CallState {
    async fn subscribe(
        &mut self,
        child: Resource<Child>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        let ended = Ended(self.table.get(&child)?.ended());
        let ended = self.table.push(ended)?;
        subscribe(&mut self.table, ended)
    }

    async fn exited(&mut self, child: Resource<Child>) -> wasmtime::Result<Option<Exit>> {
        Ok(self.table.get(&child)?.exited().map(exit))
    }

    async fn wait(
        &mut self,
        child: Resource<Child>,
    ) -> wasmtime::Result<Result<Exit, types::Refusal>> {
        let child = self.table.get(&child)?;
        // Half the grace period is the program's, the rest the plugin's.
        let ended = child.wait(self.cancel.clone(), self.grace / 2).await;
        answer(ended.map(exit))
    }

    async fn captured(&mut self, child: Resource<Child>) -> wasmtime::Result<Captured> {
        let process::Captured {
            stdout,
            stderr,
            truncated,
        } = self.table.get(&child)?.captured();
        Ok(Captured {
            stdout,
            stderr,
            truncated,
        })
    }

    async fn kill(&mut self, child: Resource<Child>) -> wasmtime::Result<()> {
        self.table.get(&child)?.kill();
        Ok(())
    }

    async fn drop(&mut self, child: Resource<Child>) -> wasmtime::Result<()> {
        self.table.delete(child)?;
        Ok(())
    }
}
