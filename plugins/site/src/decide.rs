//! Whether a change is small enough to go live at once.

use crate::compare::Changes;

/// What is decided, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Whether at once; else by the pipeline.
    pub(crate) at_once: bool,
    /// What was counted, in a sentence.
    pub(crate) summary: String,
}

/// Decides by what changed. A file that is gone under its name breaks the links
/// to it, so that someone should look first.
pub(crate) fn decide(changes: &Changes, max_files: u32) -> Decision {
    if let Some((first, rest)) = changes.removed.split_first() {
        return Decision {
            at_once: false,
            summary: removal(changes, first, rest),
        };
    }
    let (added, modified) = (changes.added.len(), changes.modified.len());
    let count = added + modified;
    let details = if added > 0 && modified > 0 {
        format!(" ({added} added, {modified} modified)")
    } else {
        String::new()
    };
    let verb = if count > 0 && modified == 0 {
        "added"
    } else {
        "changed"
    };
    let counted = match count {
        0 => "no file changed".to_owned(),
        1 => format!("1 file {verb}, none removed"),
        _ => format!("{count} files {verb}{details}, none removed"),
    };
    let at_once = u32::try_from(count).is_ok_and(|count| count < max_files);
    let limit = match max_files {
        _ if at_once => String::new(),
        0 | 1 => format!("; quickSync.maxFiles is {max_files}"),
        _ => format!("; quick sync is for fewer than {max_files}"),
    };
    Decision {
        at_once,
        summary: format!("{counted}{limit}"),
    }
}

fn removal(changes: &Changes, first: &str, rest: &[String]) -> String {
    match (rest.len(), &changes.first_renamed_to) {
        (0, Some(new)) => format!("{first} was renamed to {new}"),
        (0, None) => format!("{first} was removed"),
        (1, _) => format!("{first} and 1 more file were removed or renamed"),
        (more, _) => format!("{first} and {more} more files were removed or renamed"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Decision, decide};
    use crate::compare::Changes;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("{number}.html")).collect()
    }

    fn decided(added: usize, modified: usize, removed: usize, max_files: u32) -> (bool, String) {
        let changes = Changes {
            added: names(added),
            modified: names(modified),
            removed: names(removed),
            first_renamed_to: None,
        };
        let Decision { at_once, summary } = decide(&changes, max_files);
        (at_once, summary)
    }

    #[test]
    fn fewer_changed_files_than_the_limit_go_live_at_once() {
        assert_eq!(
            decided(0, 3, 0, 20),
            (true, "3 files changed, none removed".into())
        );
        assert_eq!(
            decided(1, 0, 0, 20),
            (true, "1 file added, none removed".into())
        );
        assert_eq!(
            decided(1, 2, 0, 4),
            (
                true,
                "3 files changed (1 added, 2 modified), none removed".into()
            )
        );
        assert_eq!(decided(0, 0, 0, 20), (true, "no file changed".into()));
    }

    #[test]
    fn as_many_as_the_limit_take_the_pipeline_and_the_summary_says_the_limit() {
        assert_eq!(
            decided(0, 20, 0, 20),
            (
                false,
                "20 files changed, none removed; quick sync is for fewer than 20".into()
            )
        );
        assert_eq!(
            decided(0, 0, 0, 0),
            (false, "no file changed; quickSync.maxFiles is 0".into())
        );
    }

    #[test]
    fn one_removed_file_takes_the_pipeline_and_is_named() {
        assert_eq!(decided(0, 1, 1, 20), (false, "0.html was removed".into()));
        assert_eq!(
            decided(0, 1, 3, 20),
            (
                false,
                "0.html and 2 more files were removed or renamed".into()
            )
        );
    }

    #[test]
    fn a_renamed_file_takes_the_pipeline_and_both_names_are_said() {
        let changes = Changes {
            added: vec!["new.html".into()],
            removed: vec!["old.html".into()],
            first_renamed_to: Some("new.html".into()),
            ..Changes::default()
        };
        assert_eq!(
            decide(&changes, 20).summary,
            "old.html was renamed to new.html"
        );
    }
}
