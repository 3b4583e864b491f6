//! `stagewright plugins`.

use crate::model::Capability;
use crate::{Error, Host, Serving};

use super::Exit;
use super::clean::clean;
use super::output::{Cell, Colour, Output};

pub(super) async fn list(host: &Host, output: &Output) -> Result<Exit, Error> {
    let fleet = host.plugins().await?;
    let (serving, kept_out) = (fleet.serving(), fleet.kept_out());
    if output.is_json() {
        output.json(&serde_json::json!({ "plugins": serving, "keptOut": kept_out }));
        return Ok(Exit::Success);
    }
    let rows: Vec<Vec<Cell>> = serving
        .iter()
        .map(|plugin| {
            let stages = plugin.manifest.stages.iter();
            let stages: Vec<&str> = stages.map(|stage| stage.name.as_str()).collect();
            vec![
                Cell::painted(Colour::Bold, plugin.key),
                Cell::from(&plugin.manifest.version),
                Cell::from(stages.join(" ")),
                Cell::from(capabilities(plugin)),
            ]
        })
        .collect();
    output.table(&["PLUGIN", "VERSION", "STAGES", "CAPABILITIES"], &rows);
    for plugin in kept_out {
        output.line("");
        let file = output.paint(Colour::Red, clean(plugin.file));
        output.line(format!("kept out: {file} {}", clean(plugin.reason)));
    }
    Ok(Exit::Success)
}

/// What a plugin has, lacks and was given for nothing.
fn capabilities(plugin: &Serving<'_>) -> String {
    let groups = [
        ("", &plugin.granted),
        ("not granted: ", &plugin.missing),
        ("granted, not asked for: ", &plugin.unused),
    ];
    let texts: Vec<String> = groups
        .into_iter()
        .filter(|(_, capabilities)| !capabilities.is_empty())
        .map(|(word, capabilities)| {
            let names: Vec<&str> = capabilities
                .iter()
                .map(|c: &Capability| c.as_str())
                .collect();
            format!("{word}{}", names.join(" "))
        })
        .collect();
    if texts.is_empty() {
        "none".to_owned()
    } else {
        texts.join("; ")
    }
}
