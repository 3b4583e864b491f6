//! Which paths the application leaves out of what it publishes.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// Patterns over paths below the published directory: `*` and `?` stand for
/// characters of one name, `**` for any number of names. A pattern that matches
/// a directory leaves out all that is in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exclude(Vec<Pattern>);

impl Exclude {
    /// Whether a path is left out.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(path))
    }
}

impl<'de> Deserialize<'de> for Exclude {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self)
    }
}

#[derive(Clone, Debug)]
struct Pattern(Vec<String>);

impl Pattern {
    fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        matches_names(&self.0, &names)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).map_err(de::Error::custom)
    }
}

/// Why a pattern can't be used.
struct BadPattern(String);

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn parse(text: &str) -> Result<Pattern, BadPattern> {
    let names: Vec<String> = text
        .strip_suffix('/')
        .unwrap_or(text)
        .split('/')
        .map(str::to_owned)
        .collect();
    if let Some(name) = names
        .iter()
        .find(|name| matches!(name.as_str(), "" | "." | ".."))
    {
        return Err(BadPattern(format!(
            "`{text}` matches no path, because of `{name}` in it: write a path below the \
             published directory, such as `drafts/**` or `**/*.map`"
        )));
    }
    if names.iter().any(|name| name.contains("**") && name != "**") {
        return Err(BadPattern(format!(
            "`**` in `{text}` must stand alone between slashes, as in `**/*.map`"
        )));
    }
    Ok(Pattern(names))
}

fn matches_names(pattern: &[String], names: &[&str]) -> bool {
    match pattern.split_first() {
        None => names.is_empty(),
        Some((first, rest)) if first == "**" => {
            (0..=names.len()).any(|skipped| matches_names(rest, &names[skipped..]))
        }
        Some((first, rest)) => names
            .split_first()
            .is_some_and(|(name, names)| matches_name(first, name) && matches_names(rest, names)),
    }
}

/// One name, with the last `*` taken back when it took too little: time is at
/// most the product of the two lengths.
fn matches_name(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut in_name) = (0, 0);
    let mut star = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some('?') => (at, in_name) = (at + 1, in_name + 1),
            Some(c) if *c == name[in_name] => (at, in_name) = (at + 1, in_name + 1),
            _ => match star {
                Some((place, taken)) => {
                    star = Some((place, taken + 1));
                    (at, in_name) = (place + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn matches(pattern: &str, path: &str) -> bool {
        parse(pattern)
            .map(|pattern| pattern.matches(path))
            .unwrap_or_else(|why| panic!("{why}"))
    }

    #[test]
    fn a_star_stays_within_one_name() {
        assert!(matches("*.map", "app.map"));
        assert!(!matches("*.map", "js/app.map"));
        assert!(matches("js/*.map", "js/app.map"));
        assert!(!matches("js/*", "js/a/b"));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("a*b*c", "a-b-b"));
    }

    #[test]
    fn two_stars_stand_for_any_number_of_names() {
        assert!(matches("**/*.map", "app.map"));
        assert!(matches("**/*.map", "js/deep/app.map"));
        assert!(matches("drafts/**", "drafts/a/b"));
        assert!(matches("a/**/z", "a/z"));
        assert!(!matches("a/**/z", "a/b/y"));
    }

    #[test]
    fn a_question_mark_is_one_character() {
        assert!(matches("?.txt", "é.txt"));
        assert!(!matches("?.txt", "ab.txt"));
    }

    #[test]
    fn a_pattern_that_can_match_nothing_is_refused_and_says_why() {
        for bad in ["", "/a", "a//b", "./a", "../a", "a/../b"] {
            assert!(parse(bad).is_err_and(|why| why.to_string().contains("matches no path")));
        }
        assert!(parse("a/**b").is_err_and(|why| why.to_string().contains("must stand alone")));
    }
}
