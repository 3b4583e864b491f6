//! Keys that PipeCD's v1 defines and that are not served yet.
//!
//! Each is warned of, and its inside is read as strictly as everything else: a
//! typing error in a block that does nothing today would do harm on the day it
//! does something.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::decode::{Decode, Field, Fields, Located};

/// The shape of a value.
enum Shape {
    Text,
    Flag,
    Time,
    Texts,
    TextMap,
    List(&'static Shape),
    Keys(&'static [(&'static str, Shape)]),
}

use Shape::{Flag, Keys, List, Text, TextMap, Texts, Time};

/// The keys, what each would do, and their shape.
const UNSERVED: &[(&str, &str, Shape)] = &[
    (
        "trigger",
        "nothing is triggered by itself; start a deployment with `stagewright run`",
        TRIGGER,
    ),
    (
        "postSync",
        "no other application is deployed after this one",
        POST_SYNC,
    ),
    (
        "encryption",
        "secrets are not decrypted: files hold their placeholders",
        ENCRYPTION,
    ),
    (
        "attachment",
        "files are not attached: targets hold their placeholders",
        ATTACHMENT,
    ),
    ("notification", "nobody is notified", NOTIFICATION),
    ("eventWatcher", "events are not watched", EVENT_WATCHER),
    ("driftDetection", "drift is not looked for", DRIFT_DETECTION),
];

const TRIGGER: Shape = Keys(&[
    (
        "onCommit",
        Keys(&[("disabled", Flag), ("paths", Texts), ("ignores", Texts)]),
    ),
    ("onCommand", Keys(&[("disabled", Flag)])),
    (
        "onOutOfSync",
        Keys(&[("disabled", Flag), ("minWindow", Time)]),
    ),
    ("onChain", Keys(&[("disabled", Flag)])),
]);

const POST_SYNC: Shape = Keys(&[(
    "chain",
    Keys(&[(
        "applications",
        List(&Keys(&[
            ("name", Text),
            ("kind", Text),
            ("labels", TextMap),
        ])),
    )]),
)]);

const ENCRYPTION: Shape = Keys(&[("encryptedSecrets", TextMap), ("decryptionTargets", Texts)]);

const ATTACHMENT: Shape = Keys(&[("sources", TextMap), ("targets", Texts)]);

const NOTIFICATION: Shape = Keys(&[(
    "mentions",
    List(&Keys(&[
        ("event", Text),
        ("slack", Texts),
        ("slackUsers", Texts),
        ("slackGroups", Texts),
        // PipeCD ignores the case of keys, and its own code spells these two so.
        ("slackusers", Texts),
        ("slackgroups", Texts),
        ("email", Texts),
    ])),
)]);

const EVENT_WATCHER: Shape = List(&Keys(&[
    ("matcher", Keys(&[("name", Text), ("labels", TextMap)])),
    (
        "handler",
        Keys(&[
            ("type", Text),
            (
                "config",
                Keys(&[
                    ("commitMessage", Text),
                    ("makePullRequest", Flag),
                    (
                        "replacements",
                        List(&Keys(&[
                            ("file", Text),
                            ("yamlField", Text),
                            ("jsonField", Text),
                            ("HCLField", Text),
                            ("regex", Text),
                        ])),
                    ),
                ]),
            ),
        ]),
    ),
]));

const DRIFT_DETECTION: Shape = Keys(&[("ignoreFields", Texts)]);

/// Takes these keys out of `spec`, warns of them and checks their inside.
pub(super) fn check(spec: &mut Fields<'_>) {
    for (key, effect, shape) in UNSERVED {
        let Some(field) = spec.field(key) else {
            continue;
        };
        if field.node.is_null() {
            continue;
        }
        field.sink.warning(
            field.key_span,
            format!("`{}` is known but not served yet: {effect}", field.path),
            "the rest of the file is served as it stands",
        );
        shape.check(&field);
    }
}

impl Shape {
    fn check(&self, field: &Field<'_>) {
        if field.node.is_null() {
            return;
        }
        match self {
            Text => fits::<String>(field),
            Flag => fits::<bool>(field),
            Time => fits::<Duration>(field),
            Texts => fits::<Vec<Located<String>>>(field),
            TextMap => fits::<BTreeMap<String, String>>(field),
            List(inner) => field.items().iter().for_each(|item| inner.check(item)),
            Keys(known) => {
                let Some(mut fields) = field.fields() else {
                    return;
                };
                for (key, shape) in *known {
                    if let Some(child) = fields.field(key) {
                        shape.check(&child);
                    }
                }
                fields.finish();
            }
        }
    }
}

/// Reads the value for what is wrong with it; the value itself is of no use yet.
fn fits<T: Decode>(field: &Field<'_>) {
    T::decode(field);
}
