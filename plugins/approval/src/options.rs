//! Who has to approve, as a pipeline says it, and what is refused of that.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// How many characters the host takes in a name.
const LONGEST_NAME: usize = 200;

/// The options of `WAIT_APPROVAL`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Options {
    /// Who may approve, by name; anyone if this is left out.
    #[serde(default, deserialize_with = "list")]
    #[schemars(with = "Vec<String>", length(min = 1))]
    approvers: Option<Vec<String>>,
    /// How many different people must approve; 1 if this is left out.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub(crate) min_approver_num: u32,
}

/// What is wrong with options whose form is right: a JSON pointer to it, and what
/// would be right.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) pointer: String,
    pub(crate) message: String,
}

/// An `approvers:` without a value is no list: it must not come to mean that anyone
/// may approve. Blanks around a name are none of it, as wherever the host takes one.
fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let names: Vec<String> = Vec::deserialize(deserializer)?;
    Ok(Some(
        names.iter().map(|name| name.trim().to_owned()).collect(),
    ))
}

fn one() -> u32 {
    1
}

impl Options {
    /// Who may approve; empty for anyone.
    pub(crate) fn approvers(&self) -> &[String] {
        self.approvers.as_deref().unwrap_or_default()
    }

    /// Refuses what could never be fulfilled.
    pub(crate) fn check(&self) -> Result<(), Wrong> {
        let wrong = |pointer: String, message: String| Err(Wrong { pointer, message });
        if self.approvers.as_ref().is_some_and(Vec::is_empty) {
            let message = "nobody could approve; name someone, or leave `approvers` out to let \
                           anyone approve";
            return wrong("/approvers".to_owned(), message.to_owned());
        }
        for (place, name) in self.approvers().iter().enumerate() {
            let pointer = format!("/approvers/{place}");
            if name.is_empty() {
                return wrong(pointer, "the name is empty".to_owned());
            }
            if name.chars().count() > LONGEST_NAME || name.contains(char::is_control) {
                let message = format!(
                    "nobody can have this name: it has at most {LONGEST_NAME} characters, on one \
                     line, and no control characters"
                );
                return wrong(pointer, message);
            }
            if self.approvers()[..place].contains(name) {
                return wrong(
                    pointer,
                    format!("`{name}` is listed twice, and is counted once"),
                );
            }
        }
        let listed = self.approvers().len();
        let pointer = "/minApproverNum".to_owned();
        if self.min_approver_num == 0 {
            let message = "the stage would not wait at all; give 1 or more, or leave the stage out";
            return wrong(pointer, message.to_owned());
        }
        if listed > 0 && u64::from(self.min_approver_num) > listed as u64 {
            return wrong(
                pointer,
                format!(
                    "{} people must approve, but `approvers` lists {listed}: the stage would wait \
                     for ever",
                    self.min_approver_num
                ),
            );
        }
        Ok(())
    }
}

/// Whose approval is waited for.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.min_approver_num;
        match (self.approvers(), number) {
            ([], 1) => f.write_str("anyone"),
            ([], number) => write!(f, "{number} people"),
            ([one], _) => f.write_str(one),
            (listed, 1) => write!(f, "one of {}", listed.join(", ")),
            (listed, _) if number as usize == listed.len() => f.write_str(&listed.join(", ")),
            (listed, _) => write!(f, "{number} of {}", listed.join(", ")),
        }
    }
}
