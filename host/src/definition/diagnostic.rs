//! What is wrong with a file, as data: where, what, and what would be right.
//!
//! The library makes these, the faces show them: [`Display`](fmt::Display) is
//! the plain text, with the line of the file and a caret under the place; a
//! program that wants colour or JSON takes the fields.

use std::fmt;

use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file can't be used.
    Error,
    /// The file can be used, but not all of it does what it says.
    Warning,
}

/// The line of the file that a diagnostic is about, cut to what fits a screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// The text of the line, or the part of a long one around the place. Control
    /// characters are shown as spaces, so that a caret below stands right.
    pub text: String,
    /// Where the caret goes: characters from the start of `text`.
    pub caret: usize,
    /// How many characters are meant, at least one.
    pub width: usize,
}

/// One problem of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file, as the user named it.
    pub file: String,
    /// The line, from 1; none when the problem is the file as a whole.
    pub line: Option<u32>,
    /// The column in characters, from 1; none when the problem is the file as a
    /// whole.
    pub column: Option<u32>,
    /// What is wrong, in one sentence without an end.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
    /// The line's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Snippet>,
}

impl Diagnostic {
    /// A problem of a file as a whole.
    pub fn of_file(
        severity: Severity,
        file: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            file: file.into(),
            line: None,
            column: None,
            message: message.into(),
            help: Some(help.into()),
            snippet: None,
        }
    }

    /// `file:line:column`, as far as it is known.
    pub fn place(&self) -> String {
        match (self.line, self.column) {
            (Some(line), Some(column)) => format!("{}:{line}:{column}", self.file),
            _ => self.file.clone(),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        writeln!(f, "{}: {severity}: {}", self.place(), self.message)?;
        let number = self.line.map(|line| line.to_string()).unwrap_or_default();
        let margin = number.len();
        if let Some(snippet) = &self.snippet {
            writeln!(f, "{:margin$} |", "")?;
            writeln!(f, "{number} | {}", snippet.text)?;
            writeln!(
                f,
                "{:margin$} | {:caret$}{}",
                "",
                "",
                "^".repeat(snippet.width),
                caret = snippet.caret,
            )?;
        }
        if let Some(help) = &self.help {
            writeln!(f, "{:margin$} = help: {help}", "")?;
        }
        Ok(())
    }
}

/// How many problems of one file are kept: beyond that nobody reads on, and a
/// hostile file must not make the host hold a message for each of its bytes.
const KEPT: usize = 100;

/// The problems of a file, in the order of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    #[serde(skip)]
    warnings: usize,
    #[serde(skip)]
    left_out: usize,
}

impl Diagnostics {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one, in its place. Beyond a hundred they are only counted, an error
    /// taking the place of a warning.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.push_with(diagnostic.severity, || diagnostic);
    }

    /// As [`push`](Self::push), but makes the diagnostic only if it is kept.
    pub(super) fn push_with(&mut self, severity: Severity, make: impl FnOnce() -> Diagnostic) {
        if self.list.len() >= KEPT {
            self.left_out += 1;
            if severity == Severity::Warning || self.warnings == 0 {
                return;
            }
            let last = self
                .list
                .iter()
                .rposition(|kept| kept.severity == Severity::Warning);
            if let Some(warning) = last {
                self.list.remove(warning);
                self.warnings -= 1;
            }
        }
        if severity == Severity::Warning {
            self.warnings += 1;
        }
        let diagnostic = make();
        let place = |d: &Diagnostic| (d.line.unwrap_or(0), d.column.unwrap_or(0));
        let at = self
            .list
            .partition_point(|kept| place(kept) <= place(&diagnostic));
        self.list.insert(at, diagnostic);
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: Self) {
        self.left_out += other.left_out;
        for diagnostic in other.list {
            self.push(diagnostic);
        }
    }

    /// All that were kept, in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// How many were kept.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many more there were than were kept.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Whether one of them forbids to use the file.
    pub fn has_errors(&self) -> bool {
        self.list.len() > self.warnings
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        let mut all = Self::new();
        all.push(diagnostic);
        all
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.list.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            diagnostic.fmt(f)?;
        }
        if self.left_out > 0 {
            writeln!(f, "\nand {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// The candidate that someone who wrote `name` most likely meant, if any is near
/// enough.
pub fn nearest<'a, I>(name: &str, candidates: I) -> Option<&'a str>
where
    I: IntoIterator<Item = &'a str>,
{
    // The distance is quadratic in the length, and no name is that long.
    if name.chars().count() > 64 {
        return None;
    }
    let written = name.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&written, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, candidate)| {
            let longer = written.chars().count().max(candidate.chars().count());
            *distance <= longer.div_ceil(3).min(4)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, severity: Severity) -> Diagnostic {
        Diagnostic {
            severity,
            file: "app.yaml".into(),
            line: Some(line),
            column: Some(3),
            message: format!("problem of line {line}"),
            help: Some("do this".into()),
            snippet: Some(Snippet {
                text: "  nmae: x".into(),
                caret: 2,
                width: 4,
            }),
        }
    }

    #[test]
    fn the_plain_text_shows_the_place_the_line_a_caret_and_the_help() {
        assert_eq!(
            at(12, Severity::Error).to_string(),
            "app.yaml:12:3: error: problem of line 12\n   |\n12 |   nmae: x\n   |   ^^^^\n   = help: do this\n"
        );
    }

    #[test]
    fn problems_come_in_the_order_of_the_file_however_they_were_found() {
        let mut all = Diagnostics::new();
        for line in [9, 2, 5] {
            all.push(at(line, Severity::Error));
        }
        let lines: Vec<_> = all.iter().filter_map(|d| d.line).collect();
        assert_eq!(lines, [2, 5, 9]);
    }

    #[test]
    fn beyond_a_hundred_problems_the_rest_is_counted_and_an_error_is_never_lost_to_warnings() {
        let mut all = Diagnostics::new();
        for line in 1..=150 {
            all.push(at(line, Severity::Warning));
        }
        assert!(!all.has_errors());
        all.push(at(1, Severity::Error));
        assert!(all.has_errors());
        assert_eq!((all.len(), all.left_out()), (100, 51));
        assert!(all.to_string().ends_with("and 51 more\n"));
    }

    #[test]
    fn json_output_has_the_fields_that_a_program_needs() {
        let json = serde_json::to_value(Diagnostics::from(at(4, Severity::Error))).unwrap();
        assert_eq!(json[0]["severity"], "error");
        assert_eq!(json[0]["file"], "app.yaml");
        assert_eq!(json[0]["line"].to_string(), "4");
        assert_eq!(json[0]["help"], "do this");
    }

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not_suggested() {
        let names = ["name", "timeout", "skipOn", "desc"];
        assert_eq!(nearest("timeOut", names), Some("timeout"));
        assert_eq!(nearest("nmae", names), Some("name"));
        assert_eq!(nearest("skip_on", names), Some("skipOn"));
        assert_eq!(nearest("environment", names), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), names), None);
    }
}
