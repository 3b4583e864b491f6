//! What aliases and merge keys repeat: which entries, and at what cost.

use super::{Entry, Node, Value};

/// What a copy of a node costs.
#[derive(Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) nodes: usize,
    pub(super) bytes: usize,
    pub(super) depth: usize,
}

/// The entries that a merge key brings in: of a mapping, or of a list of them,
/// in which the earlier wins.
pub(super) fn merged(node: Node) -> Result<Vec<Entry>, Node> {
    match node.value {
        Value::Mapping(mapping) => Ok(mapping.entries),
        Value::Sequence(items)
            if !items.is_empty() && items.iter().all(|item| item.as_mapping().is_some()) =>
        {
            Ok(items
                .into_iter()
                .filter_map(|item| match item.value {
                    Value::Mapping(mapping) => Some(mapping.entries),
                    _ => None,
                })
                .flatten()
                .collect())
        }
        value => Err(Node {
            span: node.span,
            value,
        }),
    }
}

/// What a copy costs. Recursion is safe: the depth has been checked.
pub(super) fn cost_of(node: &Node) -> Cost {
    let mut cost = Cost {
        nodes: 1,
        ..Cost::default()
    };
    let mut add = |inner: Cost| {
        cost.nodes += inner.nodes;
        cost.bytes += inner.bytes;
        cost.depth = cost.depth.max(inner.depth);
    };
    match &node.value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(text) | Value::String(text) => cost.bytes = text.len(),
        Value::Sequence(items) => {
            items.iter().map(cost_of).for_each(&mut add);
            cost.depth += 1;
        }
        Value::Mapping(mapping) => {
            for entry in &mapping.entries {
                let mut inner = cost_of(&entry.value);
                inner.bytes += entry.key.len();
                add(inner);
            }
            cost.depth += 1;
        }
    }
    cost
}
