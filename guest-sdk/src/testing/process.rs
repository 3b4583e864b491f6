//! The programs that a plugin starts in a test, from start to end.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;

use super::CommandLine;
use super::answer::Program;
use super::current::{Facts, World};
use crate::error::Refusal;
use crate::log::Severity;
use crate::process::{CapturedRecord, CommandRecord, Exit, ExitRecord};

/// A program that was started.
#[derive(Debug, Default)]
pub(super) struct Running {
    name: String,
    exit: Option<Exit>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    capture: bool,
    /// The process group of one that really runs.
    group: Option<u32>,
    killed: bool,
}

/// The handle of a started program.
#[derive(Debug)]
pub(crate) struct Child {
    world: Arc<World>,
    place: usize,
}

impl Child {
    pub(crate) fn how_it_ended(&self) -> Option<ExitRecord> {
        self.world.facts().running[self.place]
            .exit
            .map(|exit| match exit {
                Exit::Code(code) => ExitRecord::Code(code),
                Exit::Signal(signal) => ExitRecord::Signal(signal),
            })
    }

    pub(crate) fn what_it_wrote(&self) -> CapturedRecord {
        let facts = self.world.facts();
        let running = &facts.running[self.place];
        let kept = |bytes: &Vec<u8>| {
            if running.capture {
                bytes.clone()
            } else {
                Vec::new()
            }
        };
        CapturedRecord {
            stdout: kept(&running.stdout),
            stderr: kept(&running.stderr),
            truncated: false,
        }
    }

    /// Kills it and waits until it is gone, as the host does.
    pub(crate) fn end(&self) {
        let mut facts = self.world.facts();
        let running = &mut facts.running[self.place];
        if running.exit.is_some() {
            return;
        }
        match running.group {
            None => running.exit = Some(Exit::Signal(9)),
            Some(group) => {
                if !std::mem::replace(&mut running.killed, true) {
                    kill_group(group);
                }
                while facts.running[self.place].exit.is_none() {
                    facts = self
                        .world
                        .changed
                        .wait(facts)
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                }
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

impl Facts {
    /// The programs that have not ended.
    pub(super) fn still_running(&self) -> Vec<String> {
        self.running
            .iter()
            .filter(|running| running.exit.is_none())
            .map(|running| running.name.clone())
            .collect()
    }

    /// Where a program runs: below a source, in a private copy of that source.
    fn directory_for(&mut self, wanted: Option<&str>) -> PathBuf {
        let Some(wanted) = wanted.map(Path::new) else {
            return self.scratch.path().to_owned();
        };
        let Some(root) = self
            .sources
            .iter()
            .find(|root| wanted.starts_with(root))
            .cloned()
        else {
            return wanted.to_owned();
        };
        let below = wanted
            .strip_prefix(&root)
            .expect("it starts with it")
            .to_owned();
        let copy = self.copies.entry(root.clone()).or_insert_with(|| {
            let copy = tempfile::tempdir().expect("a temporary directory");
            copy_directory(&root, copy.path()).expect("the source can be copied");
            copy
        });
        copy.path().join(below)
    }
}

impl World {
    pub(crate) fn spawn(self: &Arc<Self>, command: &CommandRecord) -> Result<Child, Refusal> {
        let mut facts = self.facts();
        if facts.cancelled {
            return Err(Refusal::Cancelled);
        }
        let line = CommandLine::from(command);
        facts.commands.push(line.clone());
        let Some(program) = facts.programs.0.get(&command.program).cloned() else {
            return Err(Refusal::Denied(format!(
                "the test does not let the plugin start `{}`: see `FakeHost::run_really` and `FakeHost::answer`",
                command.program
            )));
        };
        let place = facts.running.len();
        let child = Child {
            world: Arc::clone(self),
            place,
        };
        facts.running.push(Running {
            name: command.program.clone(),
            capture: command.capture,
            ..Running::default()
        });
        match program {
            Program::Scripted(script) => {
                drop(facts);
                let answer = script(&line);
                for bytes in [&answer.stdout, &answer.stderr] {
                    if command.to_log && !bytes.is_empty() {
                        self.log(Severity::Info, &String::from_utf8_lossy(bytes));
                    }
                }
                let mut facts = self.facts();
                let running = &mut facts.running[place];
                running.exit = answer.exit;
                running.stdout = answer.stdout;
                running.stderr = answer.stderr;
            }
            Program::Real => {
                let directory = facts.directory_for(command.directory.as_deref());
                // Until it is known to run, it counts as ended.
                facts.running[place].exit = Some(Exit::Code(127));
                drop(facts);
                self.start(command, &directory, place)?;
            }
        }
        Ok(child)
    }

    /// Really starts a program, in a process group of its own.
    fn start(
        self: &Arc<Self>,
        command: &CommandRecord,
        directory: &Path,
        place: usize,
    ) -> Result<(), Refusal> {
        let mut real = std::process::Command::new(&command.program);
        real.args(&command.arguments)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs(
                command
                    .environment
                    .iter()
                    .map(|entry| (&entry.key, &entry.value)),
            )
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut real, 0);
        let mut process = real.spawn().map_err(|error| {
            Refusal::Invalid(format!(
                "can't start `{}` in {}: {error}",
                command.program,
                directory.display()
            ))
        })?;
        {
            let mut facts = self.facts();
            facts.running[place].exit = None;
            facts.running[place].group = Some(process.id());
        }
        let mut stdin = process.stdin.take().expect("it is piped");
        let input = command.stdin.clone();
        // A program may end without reading its input, which is no error.
        thread::spawn(move || drop(stdin.write_all(&input)));
        let stdout = process.stdout.take().expect("it is piped");
        let stderr = process.stderr.take().expect("it is piped");
        let to_log = command.to_log;
        let readers = [
            self.read(stdout, to_log, place, |running| &mut running.stdout),
            self.read(stderr, to_log, place, |running| &mut running.stderr),
        ];
        let world = Arc::clone(self);
        thread::spawn(move || {
            let ended = process.wait();
            // What it left running would hold its output open.
            kill_group(process.id());
            for reader in readers {
                // A reader that panicked has said so on the standard error stream.
                drop(reader.join());
            }
            let exit = ended.map_or(Exit::Signal(9), |status| exit_of(&status));
            world.facts().running[place].exit = Some(exit);
            world.changed.notify_all();
        });
        Ok(())
    }

    /// Reads what a program writes, line by line, until it ends.
    fn read(
        self: &Arc<Self>,
        output: impl Read + Send + 'static,
        to_log: bool,
        place: usize,
        kept: fn(&mut Running) -> &mut Vec<u8>,
    ) -> thread::JoinHandle<()> {
        let world = Arc::clone(self);
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            while output
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                kept(&mut world.facts().running[place]).extend_from_slice(&line);
                if to_log {
                    let text = String::from_utf8_lossy(&line);
                    world.log(Severity::Info, text.strip_suffix('\n').unwrap_or(&text));
                }
                line.clear();
            }
        })
    }

    pub(crate) fn wait_any(&self, children: &[&Child]) -> Result<usize, Refusal> {
        let mut facts = self.facts();
        loop {
            let ended = |child: &&Child| facts.running[child.place].exit.is_some();
            if let Some(place) = children.iter().position(ended) {
                return Ok(place);
            }
            if facts.cancelled {
                drop(facts);
                children.iter().for_each(|child| child.end());
                return Err(Refusal::Cancelled);
            }
            if children
                .iter()
                .all(|child| facts.running[child.place].group.is_none())
            {
                // `Answer::until_cancelled`: nothing else would end the wait.
                facts.cancelled = true;
                continue;
            }
            facts = self
                .changed
                .wait(facts)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

#[cfg(unix)]
fn exit_of(status: &ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(9)),
    }
}

#[cfg(not(unix))]
fn exit_of(status: &ExitStatus) -> Exit {
    Exit::Code(status.code().unwrap_or(1))
}

/// Ends a process group. The standard library has no safe call for it, so the
/// shell's is used; a group that is gone already is what is wanted.
fn kill_group(group: u32) {
    let killed = std::process::Command::new("/bin/sh")
        .args(["-c", "kill -9 \"-$0\"", &group.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if let Err(error) = killed {
        eprintln!("can't end the process group {group}: {error}");
    }
}

fn copy_directory(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            crate::fs::symlink(std::fs::read_link(&path)?, &copy)?;
        } else if kind.is_dir() {
            std::fs::create_dir(&copy)?;
            copy_directory(&path, &copy)?;
        } else {
            std::fs::copy(&path, &copy)?;
        }
    }
    Ok(())
}
