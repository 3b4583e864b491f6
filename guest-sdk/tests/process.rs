//! Programs: scripted ones, and those that really run.
#![cfg(unix)]

mod probe;

use std::path::PathBuf;

use probe::in_stage;
use stagewright_sdk::process::{Command, Exit, wait_any};
use stagewright_sdk::testing::{Answer, FakeHost};
use stagewright_sdk::{Error, Outcome, control, fs};

const SH: &str = "/bin/sh";

fn real_host() -> FakeHost {
    let mut host = FakeHost::new();
    host.run_really(SH);
    host
}

fn sh(script: &str) -> Command {
    Command::new(SH).args(["-c", script])
}

/// Whether a process is gone, or about to be: one that was killed stays listed for
/// a moment, and as a zombie until somebody has waited for it.
fn gone(id: &str) -> bool {
    (0..100_000).any(|_| {
        std::thread::yield_now();
        std::fs::read_to_string(format!("/proc/{id}/stat"))
            .map_or(true, |stat| stat.contains(") Z "))
    })
}

#[test]
fn output_is_captured_and_goes_to_the_log_unless_quiet() {
    let mut host = real_host();
    in_stage(&mut host, |_| {
        let output = sh("echo out; echo err >&2; exit 3").output()?;
        assert_eq!(
            (output.exit, output.text()),
            (Exit::Code(3), "out".to_owned())
        );
        assert_eq!(output.stderr, b"err\n");
        sh("echo unheard").quiet().run()?;
        Ok(Outcome::succeeded())
    })
    .expect("it runs");
    let mut log = host.log();
    log.sort();
    assert_eq!(log, ["err", "out"]);
}

#[test]
fn a_program_reads_its_input_and_sees_no_environment_but_path_and_its_own() {
    in_stage(&mut real_host(), |_| {
        let output = sh("cat; echo \"$A\"; echo \"${HOME-none}\"; echo ${PATH:+path}")
            .stdin("in\n")
            .env("A", "x=y z")
            .output()?;
        assert_eq!(output.text(), "in\nx=y z\nnone\npath");
        Ok(Outcome::succeeded())
    })
    .expect("it runs");
}

#[test]
fn a_program_runs_in_the_scratch_directory_unless_told_otherwise() {
    in_stage(&mut real_host(), |_| {
        sh("echo hello > note").run()?;
        assert_eq!(
            std::fs::read_to_string(fs::scratch().join("note"))?,
            "hello\n"
        );
        Ok(Outcome::succeeded())
    })
    .expect("it runs");
}

#[test]
fn waiting_for_several_says_which_has_ended() {
    in_stage(&mut real_host(), |_| {
        let slow = sh("read line").spawn()?;
        let endless = sh("while :; do sleep 1000; done").spawn()?;
        slow.wait()?;
        assert_eq!(wait_any(&[&endless, &slow])?, 1);
        assert_eq!(endless.exited(), None);
        endless.kill();
        assert_eq!(endless.exited(), Some(Exit::Signal(9)));
        Ok(Outcome::succeeded())
    })
    .expect("it runs");
}

#[test]
fn a_cancel_ends_a_wait_with_an_error_of_its_own_and_the_programs_with_it() {
    let mut host = real_host();
    host.cancel_on_log("started");
    in_stage(&mut host, |_| {
        let child = sh("sleep 100000 & echo started $!; wait").spawn()?;
        assert_eq!(wait_any(&[&child]), Err(Error::Cancelled));
        assert!(control::cancelled());
        assert_eq!(control::check(), Err(Error::Cancelled));
        Ok(Outcome::failed("cancelled"))
    })
    .expect("it is the plugin's to say");
    let descendant = host.log()[0].replace("started ", "");
    assert!(gone(&descendant), "{descendant} is still there");
}

#[test]
fn dropping_a_program_kills_it_and_what_it_started() {
    let mut host = real_host();
    in_stage(&mut host, |_| {
        let child = sh("sleep 100000 & echo $! > id; echo ready; wait").spawn()?;
        while !fs::scratch().join("id").exists()
            || std::fs::read(fs::scratch().join("id"))?.is_empty()
        {
            std::thread::yield_now();
        }
        drop(child);
        let id = std::fs::read_to_string(fs::scratch().join("id"))?;
        assert!(gone(id.trim()), "{id} is still there");
        Ok(Outcome::succeeded())
    })
    .expect("it runs");
}

#[test]
fn a_program_that_cannot_be_started_is_an_error_that_names_it() {
    let mut host = FakeHost::new();
    host.run_really("/nowhere/tool");
    let outcome = in_stage(&mut host, |_| {
        Command::new("/nowhere/tool").run()?;
        Ok(Outcome::succeeded())
    });
    let error = outcome.expect_err("there is no such program").to_string();
    assert!(error.contains("can't start `/nowhere/tool`"), "{error}");
}

#[test]
fn a_program_that_was_not_granted_is_denied_and_shows_in_what_was_asked() {
    let mut host = FakeHost::new();
    let outcome = in_stage(&mut host, |_| {
        Command::new("kubectl").arg("apply").run()?;
        Ok(Outcome::succeeded())
    });
    assert!(matches!(outcome, Err(Error::Denied(_))), "{outcome:?}");
    assert_eq!(host.commands()[0].arguments, ["apply"]);
}

#[test]
fn a_scripted_program_answers_by_its_arguments() {
    let mut host = FakeHost::new();
    host.answer_with("git", |command| match &*command.arguments[0] {
        "describe" => Answer::exits(0).stdout("v1.2.3\n"),
        _ => Answer::exits(128).stderr("fatal: not a git command\n"),
    });
    in_stage(&mut host, |_| {
        assert_eq!(
            Command::new("git").arg("describe").output()?.text(),
            "v1.2.3"
        );
        assert_eq!(Command::new("git").arg("paint").run()?.code(), Some(128));
        Ok(Outcome::succeeded())
    })
    .expect("it runs");
    assert_eq!(host.log(), ["v1.2.3", "fatal: not a git command"]);
}

#[test]
fn a_scripted_program_can_run_until_the_stage_is_cancelled() {
    let mut host = FakeHost::new();
    host.answer("watch", Answer::until_cancelled());
    let outcome = in_stage(&mut host, |_| {
        Command::new("watch").run()?;
        Ok(Outcome::succeeded())
    });
    assert_eq!(outcome, Err(Error::Internal(Error::Cancelled.to_string())));
    // What is cancelled is the stage: its rollback goes on undisturbed.
    in_stage(&mut host, |_| {
        control::check()?;
        Ok(Outcome::succeeded())
    })
    .expect("another stage is not cancelled");
}

#[test]
fn a_program_in_a_source_gets_a_private_copy_that_lasts_for_the_deployment() {
    let mut host = real_host();
    let source = host.set_target_source("abc", &[("a/b.txt", "text\n")]);
    let seen_in = |directory: PathBuf, script: &'static str, expected: &'static str| {
        move |_: &_| {
            let seen = sh(script).current_dir(directory.join("a")).output()?;
            assert_eq!(seen.text(), expected);
            Ok(Outcome::succeeded())
        }
    };
    let write = seen_in(source.clone(), "echo new > new.txt; ls", "b.txt\nnew.txt");
    in_stage(&mut host, write).expect("it runs");
    let look = seen_in(source.clone(), "ls", "b.txt\nnew.txt");
    in_stage(&mut host, look).expect("it runs");
    assert!(!source.join("a/new.txt").exists());
    host.next_deployment();
    let look = seen_in(source, "ls", "b.txt");
    in_stage(&mut host, look).expect("it runs");
}

#[test]
#[should_panic(expected = "suspended while [\"watch\"] still run")]
fn suspending_while_a_program_runs_is_the_mistake_that_it_is() {
    let mut host = FakeHost::new();
    host.answer("watch", Answer::until_cancelled());
    let _ = in_stage(&mut host, |_| {
        // Forgotten, so that dropping it does not end it.
        std::mem::forget(Command::new("watch").spawn()?);
        Ok(Outcome::suspend_for(std::time::Duration::from_secs(1)))
    });
}
