//! Path patterns, as in `skipOn.paths`.
//!
//! They mean what they mean to PipeCD, whose rules are those of a
//! `.dockerignore`:
//!
//! - A pattern is matched against the whole path of a file, relative to the
//!   repository's root, with `/` between its parts.
//! - `*` and `?` stand for any characters and one character, but for no `/`;
//!   `**` stands for any number of directories, none included; `[a-z]` for one
//!   of the characters, `[!a-z]` for any other; `{a,b}` for either; `\` takes
//!   the meaning from the next character.
//! - A pattern that matches a directory matches everything below it: `docs` is
//!   the same as `docs/**`.
//! - A pattern that begins with `!` takes away what it matches, wherever it
//!   stands in the list.
//!
//! A pattern that could never match (`/docs`, `../docs`) is an error.

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use super::yaml::shortened;

/// How many patterns a list may have, and how many bytes one of them: a pattern
/// becomes an automaton, and that of a hostile one is large.
const MOST_PATTERNS: usize = 500;
const MOST_BYTES: usize = 500;

/// A pattern that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no path pattern: {reason}", shortened(pattern))]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
    /// What would be right.
    pub help: &'static str,
}

/// A list of path patterns, ready to match.
#[derive(Clone, Debug)]
pub struct PathPatterns {
    written: Vec<String>,
    wanted: GlobSet,
    excluded: GlobSet,
}

impl Default for PathPatterns {
    fn default() -> Self {
        Self {
            written: Vec::new(),
            wanted: GlobSet::empty(),
            excluded: GlobSet::empty(),
        }
    }
}

impl PathPatterns {
    /// Compiles patterns.
    ///
    /// # Errors
    /// The first pattern that is none.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, PatternError> {
        if patterns.len() > MOST_PATTERNS {
            return Err(PatternError {
                pattern: patterns[MOST_PATTERNS].as_ref().to_owned(),
                reason: format!("it is one more than {MOST_PATTERNS}, the limit of a list"),
                help: "name directories instead of files",
            });
        }
        let mut wanted = GlobSetBuilder::new();
        let mut excluded = GlobSetBuilder::new();
        for written in patterns {
            let written = written.as_ref();
            let failed = |reason: String, help: &'static str| PatternError {
                pattern: written.to_owned(),
                reason,
                help,
            };
            let trimmed = written.trim();
            let (set, pattern) = match trimmed.strip_prefix('!') {
                Some(rest) => (&mut excluded, rest),
                None => (&mut wanted, trimmed),
            };
            if written.len() > MOST_BYTES {
                return Err(failed(
                    format!("it is longer than {MOST_BYTES} bytes, the limit"),
                    "match more with `*` or `**`, or write several patterns",
                ));
            }
            let cleaned = cleaned(pattern).map_err(|(reason, help)| failed(reason.into(), help))?;
            for glob in [cleaned.clone(), format!("{cleaned}/**")] {
                let glob = GlobBuilder::new(&glob)
                    .literal_separator(true)
                    .backslash_escape(true)
                    .build()
                    .map_err(|error| {
                        failed(
                            error.kind().to_string(),
                            "put a `\\` before a character that stands for itself",
                        )
                    })?;
                set.add(glob);
            }
        }
        let build = |set: &GlobSetBuilder| {
            set.build().map_err(|error| PatternError {
                pattern: error.glob().unwrap_or("this list").to_owned(),
                reason: error.kind().to_string(),
                help: "write fewer or simpler patterns",
            })
        };
        Ok(Self {
            written: patterns
                .iter()
                .map(|pattern| pattern.as_ref().to_owned())
                .collect(),
            wanted: build(&wanted)?,
            excluded: build(&excluded)?,
        })
    }

    /// Whether a file's path, relative to the repository's root, matches.
    pub fn matches(&self, path: &str) -> bool {
        let candidate = Candidate::new(path);
        self.wanted.is_match_candidate(&candidate) && !self.excluded.is_match_candidate(&candidate)
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    /// The patterns as they are written.
    pub fn written(&self) -> &[String] {
        &self.written
    }
}

fn cleaned(pattern: &str) -> Result<String, (&'static str, &'static str)> {
    const RELATIVE: &str = "write the path from the repository's root, such as `docs/**`";
    if pattern.starts_with('/') {
        return Err(("paths are relative, so that it never matches", RELATIVE));
    }
    let parts: Vec<_> = pattern
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if parts.contains(&"..") {
        return Err(("no path goes above the repository's root", RELATIVE));
    }
    if parts.is_empty() {
        return Err(("it is empty", "write `**` for every file"));
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(patterns: &[&str], path: &str) -> bool {
        PathPatterns::new(patterns).unwrap().matches(path)
    }

    #[test]
    fn patterns_match_as_in_pipecd() {
        for (pattern, path, expected) in [
            ("README.md", "README.md", true),
            ("README.md", "docs/README.md", false),
            ("*.md", "README.md", true),
            ("*.md", "docs/README.md", false),
            ("**/*.md", "README.md", true),
            ("**/*.md", "docs/a/README.md", true),
            ("docs", "docs/a/b.txt", true),
            ("docs/", "docs/a/b.txt", true),
            ("./docs/*", "docs/a/b.txt", true),
            ("docs/**", "docs/a/b.txt", true),
            ("docs", "docs2/a.txt", false),
            ("docs/*.md", "docs/a.txt", false),
            ("src/**/gen", "src/gen/x.rs", true),
            ("src/**/gen", "src/a/b/gen/x.rs", true),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("[ab].txt", "b.txt", true),
            ("[!ab].txt", "b.txt", false),
            ("**", "any/thing", true),
            ("a.c", "abc", false),
            (r"a\*c", "a*c", true),
            (r"a\*c", "abc", false),
        ] {
            assert_eq!(matches(&[pattern], path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn an_exclusion_wins_wherever_it_stands() {
        for patterns in [["docs", "!docs/api"], ["!docs/api", "docs"]] {
            assert!(matches(&patterns, "docs/index.md"));
            assert!(!matches(&patterns, "docs/api/index.md"));
        }
        assert!(!matches(&["!docs"], "src/main.rs"));
    }

    #[test]
    fn a_list_or_pattern_that_would_fill_the_memory_is_refused_by_its_limit() {
        let error = PathPatterns::new(&vec!["a/**/b"; 501]).unwrap_err();
        assert!(error.reason.contains("500, the limit"), "{error}");
        let error = PathPatterns::new(&["{a,b}".repeat(101)]).unwrap_err();
        assert!(error.reason.contains("500 bytes, the limit"), "{error}");
        assert!(error.to_string().len() < 200, "{error}");
    }

    #[test]
    fn no_pattern_matches_nothing() {
        assert!(!PathPatterns::default().matches("a"));
        assert!(PathPatterns::default().is_empty());
    }

    #[test]
    fn a_pattern_that_could_never_match_is_an_error_with_the_right_form() {
        for pattern in [
            "/docs",
            "../docs",
            "docs/../..",
            "",
            "  ",
            "!",
            "./",
            "a[b",
            "{a",
            "[z-a]",
        ] {
            let error = PathPatterns::new(&[pattern]).unwrap_err();
            assert_eq!(error.pattern, pattern);
            assert!(!error.reason.is_empty() && !error.help.is_empty());
        }
    }
}
