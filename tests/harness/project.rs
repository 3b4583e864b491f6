//! A project of its own for a test of the program: a directory with plugins, a
//! configuration, applications, and git if it is wanted.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::{Ended, Reader, Running, component_path};

/// A directory that the program is started in.
#[derive(Debug)]
pub struct Project {
    root: TempDir,
}

impl Project {
    /// A project with some of the built plugins, each granted nothing.
    pub fn with(plugins: &[&str]) -> Self {
        let project = Self::empty();
        fs::create_dir(project.path("plugins")).expect("a directory");
        for name in plugins {
            project.add_plugin(name, &format!("plugins/{name}.wasm"));
        }
        project
    }

    /// A directory with nothing in it.
    pub fn empty() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        Self { root }
    }

    /// Puts a built plugin into the project, at a path.
    pub fn add_plugin(&self, name: &str, path: &str) {
        let from = component_path(name);
        if let Err(error) = fs::copy(&from, self.path(path)) {
            panic!(
                "{}: {error}: run `just plugins` first, which builds it",
                from.display()
            );
        }
    }

    /// A path in the project.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file, and the directories above it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        let parent = path.parent().expect("it is below the project");
        fs::create_dir_all(parent).expect("a directory");
        fs::write(path, content).expect("a file");
        self
    }

    /// Reads a file.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        match fs::read_to_string(self.path(name)) {
            Ok(text) => text,
            Err(error) => panic!("{name}: {error}"),
        }
    }

    /// Writes `app.yaml`: an application named `shop` with these stages, as the
    /// file lists them.
    pub fn pipeline(&self, stages: &str) -> &Self {
        self.application(&format!("pipeline:\n  stages:\n{}", indented(stages, 4)))
    }

    /// Writes `app.yaml`: an application named `shop` with these further keys.
    pub fn application(&self, spec: &str) -> &Self {
        let text = format!(
            "apiVersion: stagewright.dev/v1\nkind: Application\nspec:\n  name: shop\n{}",
            indented(spec, 2)
        );
        self.write("app.yaml", text)
    }

    /// Grants the plugin `script` its shell.
    pub fn grant_shell(&self) -> &Self {
        self.write(
            "stagewright.yaml",
            "plugins:\n  script:\n    allow:\n      commands: [/bin/sh]\n",
        )
    }

    /// Runs git in a directory of the project.
    #[track_caller]
    pub fn git(&self, directory: &str, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@localhost"])
            .args([
                "-c",
                "init.defaultBranch=main",
                "-c",
                "commit.gpgSign=false",
            ])
            .args(arguments)
            .current_dir(self.path(directory))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git is there");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {error}");
        let text = String::from_utf8(output.stdout).expect("git writes text");
        text.trim_end().to_owned()
    }

    /// Commits all files of a directory, which becomes a repository if it was
    /// none. Gives the hash.
    #[track_caller]
    pub fn commit(&self, directory: &str, message: &str) -> String {
        self.git(directory, &["init", "--quiet"]);
        self.git(directory, &["add", "--all"]);
        self.git(
            directory,
            &["commit", "--quiet", "--allow-empty", "--message", message],
        );
        self.git(directory, &["rev-parse", "HEAD"])
    }

    /// Starts the program.
    pub fn start(&self, arguments: &[&str]) -> Running {
        self.start_for(Reader::Test, arguments)
    }

    /// Starts the program, with somebody who reads its output.
    pub fn start_for(&self, reader: Reader, arguments: &[&str]) -> Running {
        Running::start(self.root.path(), arguments, reader)
    }

    /// Starts the program by another one, such as `env`, which is given the
    /// program and its arguments after its own.
    pub fn start_by(&self, by: &[&str], arguments: &[&str]) -> Running {
        Running::start_by(by, self.root.path(), arguments)
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.start(arguments).end()
    }

    /// How a deployment of `app.yaml` would go.
    #[track_caller]
    pub fn plan(&self, arguments: &[&str]) -> Value {
        let mut all = vec!["--output", "json", "plan", "app.yaml"];
        all.extend(arguments);
        let planned = self.run(&all).exits(0).json();
        planned["deployment"].clone()
    }

    /// A deployment, as it is stored.
    #[track_caller]
    pub fn show(&self, id: &str) -> Value {
        self.run(&["--output", "json", "show", id]).exits(0).json()
    }

    /// The newest deployment, as it is stored.
    #[track_caller]
    pub fn newest(&self) -> Value {
        let listed = self.run(&["--output", "json", "deployments", "--limit", "1"]);
        let listed = listed.exits(0).json();
        assert!(listed[0].is_object(), "there is no deployment: {listed}");
        listed[0].clone()
    }

    /// The texts of a log, in order.
    #[track_caller]
    pub fn log(&self, id: &str, stage: &str) -> Vec<String> {
        let lines = self.log_lines(id, stage);
        let texts = lines.iter().map(|line| line["text"].as_str());
        texts.map(|text| text.expect("a text").to_owned()).collect()
    }

    /// The lines of a log, in order.
    #[track_caller]
    pub fn log_lines(&self, id: &str, stage: &str) -> Vec<Value> {
        let printed = self.run(&["--output", "json", "logs", id, stage]).exits(0);
        let lines = printed.json_lines();
        lines.into_iter().map(|line| line["line"].clone()).collect()
    }
}

/// A named pipe that a script waits at with `read`, until the test opens it; or
/// is gone.
#[derive(Debug)]
pub struct Gate {
    // Outside of every project: a source can hold no named pipe.
    directory: TempDir,
    file: File,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// A gate that is shut.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("gate");
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo is there").success());
        // Open for both, so that neither side ever waits for the other to come.
        let file = OpenOptions::new().read(true).write(true).open(&path);
        Self {
            directory,
            file: file.expect("a named pipe"),
        }
    }

    /// The shell command that waits.
    pub fn wait(&self) -> String {
        format!("read line < '{}/gate'", self.directory.path().display())
    }

    /// The shell command that lets one go on who waits in `pass`.
    pub fn tell(&self) -> String {
        format!("echo > '{}/gate'", self.directory.path().display())
    }

    /// Waits until somebody tells to go on.
    pub fn pass(&mut self) {
        let mut byte = [0];
        self.file.read_exact(&mut byte).expect("a pipe can be read");
    }

    /// Lets one who waits, or will, go on.
    pub fn open(&mut self) {
        self.file.write_all(b"\n").expect("a pipe has room");
    }
}

/// A text with each line moved to the right.
pub fn indented(text: &str, by: usize) -> String {
    let lines = text.lines();
    lines
        .map(|line| format!("{:by$}{line}\n", ""))
        .collect::<String>()
}
