//! What a plugin may touch: the `allow` block of its entry.
//!
//! A grant that could not mean what it says (a path that climbs, a name with a
//! `=` in it, two directories in one place) is refused here, so that the sandbox
//! never has to guess.

use std::path::Path;

use super::super::decode::{Decode, Field, FirstSeen, Located};
use super::{Access, Allow, DirectoryGrant, RESERVED_GUEST_PATHS};

impl Decode for Access {
    fn decode(field: &Field<'_>) -> Option<Self> {
        match field.node.as_str() {
            Some("read-only") => Some(Self::ReadOnly),
            Some("read-write") => Some(Self::ReadWrite),
            _ => {
                field.mismatch("`read-only` or `read-write`", "write one of the two");
                None
            }
        }
    }
}

/// Reads an `allow` block; host paths in it are relative to `directory`.
pub(super) fn read(field: &Field<'_>, directory: &Path) -> Allow {
    let mut allow = Allow {
        span: field.span(),
        ..Allow::default()
    };
    let Some(mut fields) = field.fields() else {
        return allow;
    };
    allow.commands = names(
        fields.field("commands"),
        |name| !name.contains('/') || name.starts_with('/'),
        "give a program's name, such as `git`, or its absolute path",
    );
    allow.env = names(
        fields.field("env"),
        |name| !name.contains('='),
        "give the name of an environment variable, such as `HOME`",
    );
    if let Some(list) = fields.field("filesystem") {
        allow.filesystem = directories(&list, directory);
    }
    allow.stages = names(
        fields.field("stages"),
        |_| true,
        "give the name of a stage that another plugin defines, such as `WAIT`",
    );
    fields.finish();
    allow
}

fn names(
    field: Option<Field<'_>>,
    fits: impl Fn(&str) -> bool,
    help: &str,
) -> Vec<Located<String>> {
    let mut names = Vec::new();
    for item in field.iter().flat_map(Field::items) {
        let Some(name) = item.text() else { continue };
        if name.trim().is_empty() || name.contains('\0') || !fits(&name) {
            item.error(format!("`{}` can't be `{name}`", item.path), help);
        } else {
            names.push(Located {
                value: name,
                span: item.span(),
            });
        }
    }
    names
}

fn directories(field: &Field<'_>, directory: &Path) -> Vec<DirectoryGrant> {
    let mut grants = Vec::new();
    let mut seen = FirstSeen::default();
    for item in field.items() {
        let Some(mut fields) = item.fields() else {
            continue;
        };
        let host = fields.require::<String>("host", "give the host's directory: `host: public`");
        let guest =
            fields.require::<String>("guest", "say where the plugin sees it: `guest: /public`");
        let access = fields.take("access").unwrap_or_default().value;
        fields.finish();
        let (Some(host), Some(guest)) = (host, guest) else {
            continue;
        };
        if host.value.is_empty() || host.value.contains('\0') {
            item.sink.error(
                host.span,
                format!("`{}.host` is no path", item.path),
                "give the host's directory; `.` is the directory of this file",
            );
            continue;
        }
        if let Err((message, help)) = check_guest(&guest.value) {
            item.sink.error(
                guest.span,
                format!("`{}.guest`: {message}", item.path),
                help,
            );
            continue;
        }
        if let Some(first) = seen.insert(&guest.value, item.span()) {
            item.sink.error(
                guest.span,
                format!(
                    "a second directory at `{}`; the first is granted {first}",
                    guest.value
                ),
                "give each directory a guest path of its own",
            );
            continue;
        }
        grants.push(DirectoryGrant {
            host: directory.join(host.value),
            guest: guest.value,
            access,
            span: item.span(),
        });
    }
    grants
}

fn check_guest(path: &str) -> Result<(), (String, String)> {
    let form =
        || "give an absolute path without `.`, `..` and doubled `/`, such as `/public`".to_owned();
    let Some(inner) = path.strip_prefix('/') else {
        return Err((format!("`{path}` is not absolute"), form()));
    };
    if inner.split('/').any(|part| matches!(part, "" | "." | "..")) || path.contains('\0') {
        return Err((
            format!("`{path}` is not a path in its shortest form"),
            form(),
        ));
    }
    let first = inner.split('/').next().unwrap_or_default();
    if let Some(taken) = RESERVED_GUEST_PATHS
        .iter()
        .find(|taken| taken[1..] == *first)
    {
        return Err((
            format!("`{taken}` belongs to the host"),
            format!(
                "take another; {} are taken",
                RESERVED_GUEST_PATHS.join(", ")
            ),
        ));
    }
    Ok(())
}
