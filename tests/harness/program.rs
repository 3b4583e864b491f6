//! The built program as a child process: its output as it comes, and how it ended.
//!
//! Nothing here sleeps. A test waits for a line of output or for the end; a guard
//! far beyond any sane duration keeps a hung program from hanging the tests.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, kill_process, prlimit, waitpid};
use serde_json::Value;

/// How long a program may be silent before a test gives it up.
const GUARD: Duration = Duration::from_secs(180);

/// Where the program is: beside the tests, in the same profile.
fn program() -> PathBuf {
    let path = crate::profile_directory().join("stagewright");
    assert!(
        path.is_file(),
        "{} is missing: run `just test`, which builds it",
        path.display()
    );
    path
}

/// Who reads the program's standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The test, to its end.
    Test,
    /// The test, so many lines of it; then the pipe is closed, as `head` does.
    Head(usize),
    /// A disk that is full.
    FullDisk,
}

/// The program while it runs. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    command: String,
    lines: Receiver<String>,
    seen: Vec<String>,
    errors: Receiver<String>,
    complained: Vec<String>,
}

/// How the program ended, and all that it wrote.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    command: String,
}

impl Running {
    /// Starts the program in a directory.
    pub(crate) fn start(directory: &Path, arguments: &[&str], reader: Reader) -> Self {
        Self::spawn(Command::new(program()), directory, arguments, reader)
    }

    /// Starts the program by another one, which is given its path and arguments
    /// as its own last ones.
    pub(crate) fn start_by(by: &[&str], directory: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(by[0]);
        command.args(&by[1..]).arg(program());
        Self::spawn(command, directory, arguments, Reader::Test)
    }

    fn spawn(mut command: Command, directory: &Path, arguments: &[&str], reader: Reader) -> Self {
        let stdout = if reader == Reader::FullDisk {
            let full = OpenOptions::new().write(true).open("/dev/full");
            Stdio::from(full.expect("the system has one"))
        } else {
            Stdio::piped()
        };
        let mut child = command
            .args(arguments)
            .current_dir(directory)
            .env_remove("STAGEWRIGHT_CONFIG")
            .env_remove("STAGEWRIGHT_LOG")
            .env_remove("STAGEWRIGHT_USER")
            .env_remove("NO_COLOR")
            // A panic would show all of itself, and `end` looks for that.
            .env("RUST_BACKTRACE", "1")
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (sender, lines) = channel();
        let most = match reader {
            Reader::Head(lines) => lines,
            Reader::Test | Reader::FullDisk => usize::MAX,
        };
        let stdout = child.stdout.take();
        std::thread::spawn(move || {
            for line in stdout
                .into_iter()
                .flat_map(|o| BufReader::new(o).lines())
                .take(most)
            {
                let line = line.expect("the output is text");
                if sender.send(line).is_err() {
                    break;
                }
            }
            // The pipe is closed by now: who waits for the end of the lines can
            // count on that.
            drop(sender);
        });
        let pipe = child.stderr.take().expect("a pipe");
        let (sender, errors) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines() {
                // Nobody may wait for it any more.
                let _ = sender.send(line.expect("the errors are text"));
            }
        });
        Self {
            child,
            command: format!("stagewright {}", arguments.join(" ")),
            lines,
            seen: Vec::new(),
            errors,
            complained: Vec::new(),
        }
    }

    /// Waits for the first line of output, after those waited for before, that
    /// has these words.
    pub fn line_with(&mut self, words: &str) -> String {
        loop {
            match self.next_line() {
                Some(line) if line.contains(words) => return line,
                Some(_) => {}
                None => {
                    let errors = self.complaints();
                    let (command, lines) = (&self.command, self.seen.join("\n"));
                    panic!("{command} ended without a line with {words:?}:\n{lines}\n{errors}");
                }
            }
        }
    }

    /// Waits for the first line of errors, after those waited for before, that has
    /// these words.
    pub fn complaint_with(&mut self, words: &str) -> String {
        loop {
            match self.next_complaint() {
                Some(line) if line.contains(words) => return line,
                Some(_) => {}
                None => {
                    let (command, lines) = (&self.command, self.complained.join("\n"));
                    panic!("{command} ended without complaining of {words:?}:\n{lines}");
                }
            }
        }
    }

    /// Waits until nobody reads the output any more.
    pub fn unread(&mut self) {
        while self.next_line().is_some() {}
    }

    /// Sends the program what Ctrl-C sends.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Sends the program what a service manager sends to stop it.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends the program what it is sent when its terminal goes.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Has the program stand still, whatever it is at, until it is let go on; and
    /// waits until it does.
    pub fn stand_still(&self) {
        self.signal(Signal::STOP);
        let stopped = waitpid(Some(Pid::from_child(&self.child)), WaitOptions::UNTRACED);
        let (_, status) = stopped.expect("a child of the test").expect("a change");
        assert!(status.stopped(), "{} has ended instead", self.command);
    }

    /// Lets the program go on that stands still.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Lets no file of the program grow beyond so many bytes, or any again: to it,
    /// that is a disk that is full. It has to ignore the signal of that.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let limit = Rlimit {
            current: bytes,
            maximum: None,
        };
        let set = prlimit(Some(Pid::from_child(&self.child)), Resource::Fsize, limit);
        set.expect("it is a child of the test");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is a child of the test");
    }

    /// Kills the program as a crash would.
    pub fn kill(self) {
        self.signal(Signal::KILL);
        let ended = self.end();
        assert_eq!(ended.code, None, "{ended} was killed too late");
    }

    /// Waits for the end.
    pub fn end(mut self) -> Ended {
        while self.next_line().is_some() {}
        let stderr = self.complaints();
        let status = self.child.wait().expect("it is a child of the test");
        let ended = Ended {
            code: status.code(),
            stdout: self.seen.iter().map(|line| format!("{line}\n")).collect(),
            stderr,
            command: std::mem::take(&mut self.command),
        };
        let panic = |line: &str| {
            let words = line.starts_with("thread '") && line.contains("panicked at");
            words || line.contains("stack backtrace")
        };
        assert!(!ended.stderr.lines().any(panic), "{ended} panicked");
        ended
    }

    fn next_complaint(&mut self) -> Option<String> {
        match self.errors.recv_timeout(GUARD) {
            Ok(line) => {
                self.complained.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => self.hangs(),
        }
    }

    fn next_line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(GUARD) {
            Ok(line) => {
                self.seen.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => self.hangs(),
        }
    }

    /// All of the standard error, which is there at the end.
    fn complaints(&mut self) -> String {
        while self.next_complaint().is_some() {}
        let lines = self.complained.iter();
        lines.map(|line| format!("{line}\n")).collect()
    }

    fn hangs(&self) -> ! {
        let lines = self.seen.join("\n");
        panic!("{} hangs; so far it wrote:\n{lines}", self.command)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already in most tests, and then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            stdout,
            stderr,
            command,
        } = self;
        write!(f, "`{command}` ended with {code:?}\n{stdout}{stderr}\nand")
    }
}

impl Ended {
    /// Demands an exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self} should end with {code}");
        self
    }

    /// Demands words in the standard output.
    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        assert!(self.stdout.contains(words), "{self} should say {words:?}");
        self
    }

    /// Demands words in the standard error.
    #[track_caller]
    pub fn complains(self, words: &str) -> Self {
        let found = self.stderr.contains(words);
        assert!(found, "{self} should complain with {words:?}");
        self
    }

    /// The same without its standard output, for those who look at errors alone.
    #[must_use]
    pub fn without_output(self) -> Self {
        let stdout = String::new();
        Self { stdout, ..self }
    }

    /// The standard output, one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("{self} is no JSON value: {error}"),
        }
    }

    /// The standard output, a JSON value a line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        lines
            .map(|line| match serde_json::from_str(line) {
                Ok(value) => value,
                Err(error) => panic!("{self} has a line that is no JSON: {error}"),
            })
            .collect()
    }
}
