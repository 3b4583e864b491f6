//! The stages of a pipeline, and what they need of each other.

use std::collections::HashMap;

use super::super::decode::{Field, Located, Sink};
use super::super::diagnostic::nearest;
use super::super::patterns::PathPatterns;
use super::super::yaml::{Node, Span, Value};
use super::{ApiVersion, SkipOn, StageSpec};

/// How many stages a pipeline may have.
const MOST_STAGES: usize = 1000;
/// How many path patterns all its stages may have, each being an automaton.
const MOST_PATTERNS: usize = 1000;

/// Reads `spec.pipeline`.
pub(super) fn read(field: Option<Field<'_>>, version: ApiVersion) -> Vec<StageSpec> {
    let Some(field) = field else {
        return Vec::new();
    };
    let Some(mut fields) = field.fields() else {
        return Vec::new();
    };
    let listed = fields.field("stages");
    fields.finish();
    let items = listed.as_ref().map(Field::items).unwrap_or_default();
    if items.is_empty() && listed.is_none_or(|stages| stages.node.as_sequence().is_some()) {
        field.sink.warning(
            field.span(),
            "this pipeline has no stages and counts as left out",
            "list its stages under `stages`, or remove `pipeline` for quick sync",
        );
    }
    if let Some(over) = items.get(MOST_STAGES) {
        over.error(
            format!(
                "a pipeline has at most {MOST_STAGES} stages, but this one {}",
                items.len()
            ),
            "split the application, or let a plugin do more in a stage",
        );
        return Vec::new();
    }
    let mut patterns_left = MOST_PATTERNS;
    let stages: Vec<_> = items
        .iter()
        .filter_map(|item| stage(item, version, &mut patterns_left))
        .collect();
    // Places of stages only make sense while none is missing.
    if stages.len() == items.len() {
        check_needs(field.sink, &stages);
    }
    stages
}

fn stage(item: &Field<'_>, version: ApiVersion, patterns_left: &mut usize) -> Option<StageSpec> {
    if item.node.as_mapping().is_none() {
        item.mismatch(
            "a stage",
            "write `- name: <STAGE>`, its other keys below `name`",
        );
        return None;
    }
    let mut fields = item.fields()?;
    let name = fields.require::<String>("name", "say which stage it is, such as `name: WAIT`");
    if let Some(name) = name.as_ref().filter(|name| name.value.trim().is_empty()) {
        let message = format!("`{}.name` is empty", item.path);
        item.sink.error(
            name.span,
            message,
            "say which stage it is, such as `name: WAIT`",
        );
    }
    let stage = StageSpec {
        id: fields.take("id"),
        desc: fields.take("desc").map(|text| text.value),
        timeout: fields.take("timeout"),
        with: options(fields.field("with")),
        skip_on: skip_on(fields.field("skipOn"), patterns_left),
        needs: needs(fields.field("needs"), version),
        span: item.span(),
        // Only used if there was one: `name?` below.
        ..StageSpec::new("")
    };
    fields.finish_with(|key| match key {
        "stage" | "type" | "kind" => Some("the stage is named by `name`".into()),
        "description" => Some("did you mean `desc`?".into()),
        "options" | "config" | "input" => Some("a stage's options stand under `with`".into()),
        _ => None,
    });
    Some(StageSpec {
        name: name?,
        ..stage
    })
}

/// Options are a mapping, to which plugins and their schemas can point.
fn options(field: Option<Field<'_>>) -> Node {
    let Some(field) = field else {
        return Node::empty_mapping();
    };
    match &field.node.value {
        Value::Mapping(_) => field.node.clone(),
        Value::Null => Node {
            span: field.key_span,
            ..Node::empty_mapping()
        },
        _ => {
            field.mismatch(
                "a mapping",
                "write the stage's options below it, indented: `key: value`",
            );
            Node::empty_mapping()
        }
    }
}

fn skip_on(field: Option<Field<'_>>, patterns_left: &mut usize) -> SkipOn {
    let mut skip_on = SkipOn::default();
    let Some(field) = field else { return skip_on };
    let sink = field.sink;
    let Some(mut fields) = field.fields() else {
        return skip_on;
    };
    skip_on.commit_message_prefixes = fields
        .take("commitMessagePrefixes")
        .unwrap_or_default()
        .value;
    for prefix in skip_on
        .commit_message_prefixes
        .iter()
        .filter(|prefix| prefix.value.is_empty())
    {
        sink.error(
            prefix.span,
            "an empty prefix begins every commit message: the stage would never run",
            "give the beginning of a message, or remove the item",
        );
    }
    if let Some(paths) = fields.field("paths") {
        skip_on.paths = patterns(&paths, patterns_left);
    }
    fields.finish();
    skip_on
}

fn patterns(field: &Field<'_>, left: &mut usize) -> PathPatterns {
    let mut patterns = Vec::new();
    for item in field.items() {
        let Some(pattern) = item.text() else { continue };
        if *left == 0 {
            item.error(
                format!("the stages of a pipeline have at most {MOST_PATTERNS} path patterns"),
                "name directories instead of files",
            );
            return PathPatterns::default();
        }
        *left -= 1;
        // One by one, so that each bad one is told at its own place.
        match PathPatterns::new(&[&pattern]) {
            Ok(_) => patterns.push(pattern),
            Err(error) => item.error(error.to_string(), error.help),
        }
    }
    PathPatterns::new(&patterns).unwrap_or_else(|error| {
        field.error(error.to_string(), error.help);
        PathPatterns::default()
    })
}

fn needs(field: Option<Field<'_>>, version: ApiVersion) -> Option<Vec<Located<String>>> {
    let field = field?;
    if version != ApiVersion::Stagewright {
        field.sink.error(
            field.key_span,
            format!("`needs` is no key of a stage under `{version}`"),
            format!("write `apiVersion: {}`", ApiVersion::Stagewright),
        );
        return None;
    }
    let items = field.items();
    let read = items.iter().filter_map(|item| {
        item.text().map(|value| Located {
            value,
            span: item.span(),
        })
    });
    Some(read.collect())
}

fn check_needs(sink: &Sink<'_>, stages: &[StageSpec]) {
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    for (index, stage) in stages.iter().enumerate() {
        let Some(id) = &stage.id else { continue };
        if id.value.trim().is_empty() {
            sink.error(
                id.span,
                format!("the id of {} is empty", called(stage)),
                "give it a name, or leave `id` out",
            );
            continue;
        }
        if let Some(first) = by_id.get(id.value.as_str()) {
            sink.error(
                id.span,
                format!(
                    "the id `{}` is here for the second time; the first is that of {}",
                    id.value,
                    called(&stages[*first])
                ),
                "give every stage an id of its own",
            );
            continue;
        }
        by_id.insert(&id.value, index);
    }
    let mut edges: Vec<Vec<(usize, Option<Span>)>> = Vec::with_capacity(stages.len());
    for (index, stage) in stages.iter().enumerate() {
        let Some(needs) = &stage.needs else {
            edges.push(
                index
                    .checked_sub(1)
                    .map(|before| (before, stage.span))
                    .into_iter()
                    .collect(),
            );
            continue;
        };
        let mut own = Vec::new();
        for (place, need) in needs.iter().enumerate() {
            if needs[..place].iter().any(|other| other.value == need.value) {
                sink.error(
                    need.span,
                    format!("{} needs `{}` twice", called(stage), need.value),
                    "take one of the two out",
                );
                continue;
            }
            match by_id.get(need.value.as_str()) {
                Some(target) => own.push((*target, need.span)),
                None => sink.error(
                    need.span,
                    format!(
                        "{} needs `{}`, but no stage has this id",
                        called(stage),
                        need.value
                    ),
                    match nearest(&need.value, by_id.keys().copied()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("write `id: {}` at the stage that is meant", need.value),
                    },
                ),
            }
        }
        edges.push(own);
    }
    if let Some((cycle, span)) = find_cycle(&edges) {
        let way: Vec<_> = cycle.iter().map(|index| called(&stages[*index])).collect();
        sink.error(
            span,
            format!(
                "these stages wait for each other: {}",
                way.join(", which comes after ")
            ),
            "a stage without `needs` comes after the one above it; take one of these out",
        );
    }
}

/// The first circle found: its stages, the first of them again at the end, and
/// the place of the reference that closes it.
fn find_cycle(edges: &[Vec<(usize, Option<Span>)>]) -> Option<(Vec<usize>, Option<Span>)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnTheWay,
        Done,
    }
    let mut marks = vec![Mark::New; edges.len()];
    for start in 0..edges.len() {
        // A stack instead of recursion: a file may have many thousand stages.
        let mut way: Vec<(usize, usize)> = Vec::new();
        if marks[start] == Mark::New {
            marks[start] = Mark::OnTheWay;
            way.push((start, 0));
        }
        while let Some((at, next)) = way.last_mut() {
            let Some((target, span)) = edges[*at].get(*next).copied() else {
                marks[*at] = Mark::Done;
                way.pop();
                continue;
            };
            *next += 1;
            match marks[target] {
                Mark::Done => {}
                Mark::New => {
                    marks[target] = Mark::OnTheWay;
                    way.push((target, 0));
                }
                Mark::OnTheWay => {
                    let mut cycle: Vec<_> = way
                        .iter()
                        .map(|(index, _)| *index)
                        .skip_while(|index| *index != target)
                        .collect();
                    cycle.push(target);
                    return Some((cycle, span));
                }
            }
        }
    }
    None
}

fn called(stage: &StageSpec) -> String {
    let name = match &stage.id {
        Some(id) => format!("stage `{}` ({})", id.value, stage.name.value),
        None => format!("stage `{}`", stage.name.value),
    };
    match stage.span {
        Some(span) => format!("{name} on line {}", span.line),
        None => name,
    }
}
