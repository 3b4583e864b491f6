//! Where the output goes: to one who stops reading, to a disk that is full, to a
//! terminal that nobody but the operator may steer.

use std::fs;

use stagewright_tests::{Ended, Gate, Project, Reader, component};

use crate::{course, id};

/// A project whose script says `begun`, waits at a gate, goes on to say much, and
/// ends with a code.
fn gated(gate: &Gate, code: u32) -> Project {
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: |\n      echo begun\n      {}\n      \
         i=0\n      while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done\n      exit {code}\n",
        gate.wait()
    ));
    project
}

#[test]
fn a_run_whose_output_nobody_reads_any_more_goes_on_in_silence_and_ends_as_the_deployment() {
    for (code, exit, status) in [(0, 0, "succeeded"), (3, 1, "failed")] {
        for format in ["text", "json"] {
            let mut gate = Gate::new();
            let project = gated(&gate, code);
            let arguments = ["--output", format, "run", "app.yaml"];
            let mut run = project.start_for(Reader::Head(1), &arguments);
            run.unread();
            gate.open();
            let ended = run.end().exits(exit);
            assert_eq!(ended.stderr, "");
            assert_eq!(ended.stdout.lines().count(), 1, "{ended}");
            let done = project.newest();
            assert_eq!(course(&done), [format!("SCRIPT_RUN {status}")]);
            assert!(project.log(id(&done), "1").len() > 1000);
        }
    }
}

#[test]
fn a_follower_whose_output_nobody_reads_any_more_ends_with_the_next_line() {
    let mut gate = Gate::new();
    let project = Project::with(&["script"]);
    project.grant_shell().pipeline(&format!(
        "- name: SCRIPT_RUN\n  with:\n    run: echo before; {0}; echo after; {0}\n",
        gate.wait()
    ));
    let mut run = project.start(&["run", "app.yaml"]);
    run.line_with("| before");
    let id = id(&project.newest()).to_owned();
    let one = ["logs", &id, "1", "--follow"];
    let all = ["logs", &id, "--follow"];
    let followers = [&one[..], &all].map(|arguments| {
        // All that is said before the gate.
        let lines = project.run(&arguments[..arguments.len() - 1]).stdout;
        let mut follower = project.start_for(Reader::Head(lines.lines().count()), arguments);
        follower.unread();
        follower
    });
    gate.open();
    for follower in followers {
        let ended = follower.end().exits(0);
        assert_eq!(ended.stderr, "");
    }
    gate.open();
    run.end().exits(0);
}

#[test]
fn output_that_can_not_be_written_is_told_once_and_the_exit_code_is_4() {
    let project = Project::with(&["script"]);
    project
        .grant_shell()
        .pipeline("- { name: SCRIPT_RUN, with: { run: echo one; echo two } }\n");
    project.write("wrong.yaml", "kind: Nothing\n");
    let commands: [&[&str]; 8] = [
        &["run", "app.yaml"],
        &["--output", "json", "run", "app.yaml"],
        &["deployments"],
        &["plan", "app.yaml"],
        &["plugins"],
        &["check", "app.yaml"],
        &["--output", "json", "check", "wrong.yaml"],
        &["--help"],
    ];
    for command in commands {
        let ended = project.start_for(Reader::FullDisk, command).end().exits(4);
        assert_eq!(
            ended.stderr.matches("error:").count(),
            1,
            "{ended} should say it once"
        );
        ended.complains("error: the standard output can't be written: No space left on device");
    }
    // What was done is done.
    assert_eq!(course(&project.newest()), ["SCRIPT_RUN succeeded"]);
}

/// What clears a screen, turns the direction of text, rings, and does so in the
/// controls beyond ASCII too.
const STEERING: &str = "\u{1b}[2J\u{202e}\u{7}\u{9b}1A\u{2066}";

/// Demands that words were printed, and nothing that steers a terminal.
#[track_caller]
fn harmless(ended: &Ended, words: &str) {
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains(words), "{ended} should show {words:?}");
    let steers = |c: char| {
        (c.is_control() && c != '\n')
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    let found: Vec<char> = all.chars().filter(|c| steers(*c)).collect();
    assert!(found.is_empty(), "{ended} has {found:?}");
}

#[test]
fn what_a_commit_and_an_application_file_say_can_not_steer_the_terminal() {
    let project = Project::with(&["script"]);
    let quoted = STEERING.replace('\u{1b}', "\\e").replace('\u{7}', "\\a");
    let quoted = quoted.replace('\u{9b}', "\\x9b");
    project.grant_shell().write(
        "app.yaml",
        format!(
            "apiVersion: stagewright.dev/v1\nkind: Application\nspec:\n  name: \"of{quoted}shop\"\n  \
             description: \"{quoted}\"\n  pipeline:\n    stages:\n      - name: SCRIPT_RUN\n        \
             desc: \"desc{quoted}ribed\"\n        with: {{ run: \"printf '\\\\342\\\\200\\\\256said\\\\n'; exit 1\" }}\n"
        ),
    );
    project.commit(".", &format!("Of{STEERING}subject"));
    let commit = ["--commit", "main"];
    let with = |command: &[&str]| project.run(&[command, &commit].concat());
    for format in ["text", "json"] {
        let plan = with(&["--output", format, "plan", "app.yaml"]).exits(0);
        harmless(&plan, "subject");
        harmless(&plan, "shop");
        harmless(&plan, "ribed");
        let run = with(&["--output", format, "run", "app.yaml"]).exits(1);
        harmless(&run, "subject");
        harmless(&run, "said");
        let left = with(&["--output", format, "run", "app.yaml", "--detach"]).exits(5);
        harmless(&left, "subject");
        let listed = project.run(&["--output", format, "deployments"]).exits(0);
        harmless(&listed, "shop");
        let id = id(&project.newest()).to_owned();
        project.run(&["work", "--until-idle"]).exits(0);
        let shown = project.run(&["--output", format, "show", &id]).exits(0);
        harmless(&shown, "subject");
        let logs = project.run(&["--output", format, "logs", &id]).exits(0);
        harmless(&logs, "said");
    }
    // JSON has it all the same.
    let stored = project.newest();
    let message = stored["trigger"]["commit"]["message"].as_str();
    assert_eq!(message, Some(format!("Of{STEERING}subject").as_str()));

    // And where it is wrong, what is quoted of it can't either.
    project.write(
        "wrong.yaml",
        format!(
            "apiVersion: stagewright.dev/v1\nkind: Application\nspec:\n  \
             \"a{quoted}key\": 1 # \u{202e}\n"
        ),
    );
    for command in [
        &["check", "wrong.yaml"][..],
        &["check", "--structure", "wrong.yaml"],
    ] {
        harmless(&project.run(command).exits(2), "wrong.yaml:4:3: error:");
    }
    let missing = format!("no{STEERING}where.yaml");
    for command in ["check", "plan", "run"] {
        harmless(&project.run(&[command, &missing]).exits(2), "where.yaml");
    }
}

#[test]
fn what_a_plugins_manifest_and_file_name_say_can_not_steer_the_terminal() {
    let project = Project::with(&["wait"]);
    // The same plugin, whose words on its option steer.
    let mut plugin = component("wait");
    for (words, others) in [
        ("How long to", "\u{1b}[2Jlong to"),
        (" to wait, such", " to \u{202e}t, such"),
    ] {
        assert_eq!(words.len(), others.len());
        let places = plugin.windows(words.len()).enumerate();
        let found: Vec<usize> = places
            .filter(|(_, bytes)| *bytes == words.as_bytes())
            .map(|(place, _)| place)
            .collect();
        assert!(!found.is_empty(), "the plugin says {words:?} no more");
        for place in found {
            plugin[place..][..words.len()].copy_from_slice(others.as_bytes());
        }
    }
    project.write("plugins/wait.wasm", &plugin);
    fs::write(project.path(&format!("plugins/of{STEERING}file.wasm")), "").unwrap();
    project.pipeline("- { name: WAIT, with: { duration: 10 } }\n");
    for format in ["text", "json"] {
        let check = project
            .run(&["--output", format, "check", "app.yaml"])
            .exits(2);
        harmless(&check, "t, such as");
        harmless(&check, "file.wasm");
        let listed = project.run(&["--output", format, "plugins"]).exits(0);
        harmless(&listed, "file.wasm");
    }
}

#[test]
fn no_colour_of_a_script_or_a_file_passes_where_no_colour_is_wanted() {
    let project = Project::with(&["script"]);
    project
        .grant_shell()
        .pipeline("- { name: SCRIPT_RUN, with: { run: \"printf '\\\\033[31mred\\\\n'\" } }\n");
    let run = project.run(&["run", "app.yaml"]).exits(0);
    harmless(&run, "1 SCRIPT_RUN | red");
    let id = id(&project.newest()).to_owned();
    for logs in [&["logs", &id, "1"][..], &["--color", "never", "logs", &id]] {
        harmless(&project.run(logs).exits(0), "red");
    }
    // Where it is wanted, it ends with its line.
    let painted = ["--color", "always", "logs", &id, "1"];
    project
        .run(&painted)
        .exits(0)
        .says("\u{1b}[31mred\u{1b}[0m\n");

    // What others wrote into a message has none anywhere.
    project.write(
        "wrong.yaml",
        "kind: Application\napiVersion: stagewright.dev/v1\nspec:\n  \"a\\e[31mkey\": 1\n",
    );
    fs::write(project.path("plugins/of\u{1b}[31mfile.wasm"), "").unwrap();
    for colour in ["never", "auto", "always"] {
        let check = project.run(&["--color", colour, "check", "wrong.yaml"]);
        let check = check.exits(2);
        assert!(!check.stderr.contains("\u{1b}[31mkey"), "{check}");
        assert!(!check.stderr.contains("\u{1b}[31mfile"), "{check}");
        check.complains("unknown key `a").complains("kept out: of");
    }
    fs::remove_file(project.path("plugins/of\u{1b}[31mfile.wasm")).unwrap();
    let missing = "no\u{1b}[31mwhere.yaml";
    for command in ["check", "plan", "run"] {
        harmless(&project.run(&[command, missing]).exits(2), "where.yaml");
    }
}
