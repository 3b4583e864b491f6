//! `stagewright check`.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use crate::definition::{Application, Diagnostics, Limits, Source, read_documents};
use crate::{Error, Host};

use super::clean::clean;
use super::output::{Colour, Output, list};
use super::{CheckArgs, Exit};

/// A document of a file, as `--structure` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Printed<'a> {
    file: &'a str,
    first_line: u32,
    document: Value,
}

/// Checks files alone, without asking plugins, and prints their documents.
pub(super) fn structure(files: &[PathBuf], output: &Output) -> Exit {
    let mut exit = Exit::Success;
    for file in files {
        let problems = match Source::load(file) {
            Ok(source) => {
                for document in read_documents(&source, &Limits::default()).documents {
                    output.json(&Printed {
                        file: source.name(),
                        first_line: document.first_line,
                        document: document.root.to_json(),
                    });
                }
                let checked = Application::load(file, &|_, _| false);
                checked.map(|checked| checked.warnings)
            }
            Err(problems) => Err(problems),
        };
        exit = worse(exit, say(file, problems, output));
    }
    exit
}

/// Checks files against this host's plugins.
pub(super) async fn with_plugins(
    host: &Host,
    args: &CheckArgs,
    output: &Output,
) -> Result<Exit, Error> {
    let mut exit = Exit::Success;
    for file in &args.files {
        let problems = match host.check(file).await {
            Ok(warnings) => Ok(warnings),
            Err(Error::Definition(problems)) => Err(problems),
            Err(error) => return Err(error),
        };
        exit = worse(exit, say(file, problems, output));
    }
    Ok(exit)
}

fn say(file: &Path, checked: Result<Diagnostics, Diagnostics>, output: &Output) -> Exit {
    let ok = checked.is_ok();
    let (Ok(problems) | Err(problems)) = checked;
    let name = file.display().to_string();
    if output.is_json() {
        let verdict = json!({ "file": name, "ok": ok });
        output.json(&list(&problems, "problems", verdict));
    } else if ok {
        output.warnings(&problems);
        let ok = output.paint(Colour::Green, "ok");
        output.line(format!("{}: {ok}", clean(name)));
    } else {
        output.diagnostics(&problems);
    }
    if ok { Exit::Success } else { Exit::BadInput }
}

fn worse(a: Exit, b: Exit) -> Exit {
    if a == Exit::Success { b } else { a }
}
