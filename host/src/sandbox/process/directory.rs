//! Where a program runs: a path in the sandbox, turned into one of the host.

use std::path::{Path, PathBuf};

use super::private_copy::private_copy;
use crate::model::Refusal;
use crate::sandbox::access::GrantedDirectory;

/// The directories of a call, as the host sees them.
pub(in crate::sandbox) struct Places<'a> {
    pub(in crate::sandbox) target: Option<&'a Path>,
    pub(in crate::sandbox) running: Option<&'a Path>,
    pub(in crate::sandbox) scratch: &'a Path,
    pub(in crate::sandbox) granted: &'a [GrantedDirectory],
}

/// The directory of the host for a path in the sandbox; without one the scratch
/// directory. A source is replaced by its private copy.
pub(in crate::sandbox) async fn resolve(
    places: Places<'_>,
    wanted: Option<&str>,
) -> Result<PathBuf, Refusal> {
    let Some(wanted) = wanted else {
        return Ok(places.scratch.to_owned());
    };
    let names = normalize(wanted)?;
    let (base, rest) = match names.split_first() {
        Some((&"scratch", rest)) => (places.scratch.to_owned(), rest),
        Some((&"target", rest)) => (copy(places.target, places.scratch, "target").await?, rest),
        Some((&"running", rest)) => (copy(places.running, places.scratch, "running").await?, rest),
        _ => granted(places.granted, &names, wanted)?,
    };
    let path = base.join(rest.join("/"));
    let within = |path: PathBuf, base: PathBuf| async move {
        let base = tokio::fs::canonicalize(base).await?;
        let path = tokio::fs::canonicalize(path).await?;
        let is_directory = tokio::fs::metadata(&path).await?.is_dir();
        std::io::Result::Ok((path.starts_with(&base), is_directory, path))
    };
    match within(path, base).await {
        Ok((true, true, path)) => Ok(path),
        Ok((false, ..)) => Err(invalid(wanted, "a link in it leads out of its directory")),
        Ok((_, false, _)) => Err(invalid(wanted, "it is no directory")),
        Err(error) => Err(invalid(wanted, &error.to_string())),
    }
}

async fn copy(
    source: Option<&Path>,
    scratch: &Path,
    name: &'static str,
) -> Result<PathBuf, Refusal> {
    let Some(source) = source else {
        return Err(invalid(&format!("/{name}"), "this call has no such source"));
    };
    let (source, scratch) = (source.to_owned(), scratch.to_owned());
    tokio::task::spawn_blocking(move || private_copy(&source, &scratch, name))
        .await
        .map_err(|error| Refusal::Host(error.to_string()))?
        .map_err(|error| {
            Refusal::Host(format!("could not make a private copy of /{name}: {error}"))
        })
}

/// The granted directory that a path is in: the innermost, if several are.
fn granted<'a, 'b>(
    directories: &[GrantedDirectory],
    names: &'a [&'b str],
    wanted: &str,
) -> Result<(PathBuf, &'a [&'b str]), Refusal> {
    let found = directories
        .iter()
        .filter_map(|directory| {
            let guest: Vec<&str> = directory
                .guest
                .split('/')
                .filter(|name| !name.is_empty() && *name != ".")
                .collect();
            let depth = guest.len();
            let inside = names.len() >= depth && names[..depth].iter().eq(guest.iter());
            inside.then_some((directory, depth))
        })
        .max_by_key(|(_, depth)| *depth);
    match found {
        Some((directory, depth)) if directory.writable => {
            Ok((directory.host.clone(), &names[depth..]))
        }
        Some(_) => Err(invalid(
            wanted,
            "the directory is granted read-only, and a program could write there",
        )),
        None => Err(invalid(
            wanted,
            "it is none of /target, /running, /scratch and the granted directories",
        )),
    }
}

/// The names of an absolute path, without `.` and `..`.
fn normalize(path: &str) -> Result<Vec<&str>, Refusal> {
    if !path.starts_with('/') {
        return Err(invalid(path, "it is not absolute"));
    }
    if path.contains('\0') {
        return Err(invalid(path, "it has a NUL character"));
    }
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.pop().is_none() => {
                return Err(invalid(path, "it leads out of the sandbox"));
            }
            ".." => {}
            name => names.push(name),
        }
    }
    Ok(names)
}

fn invalid(path: &str, why: &str) -> Refusal {
    Refusal::Invalid(format!(
        "process.spawn: `directory` can't be {path:?}: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Fixture {
        root: tempfile::TempDir,
        granted: Vec<GrantedDirectory>,
    }

    impl Fixture {
        fn new() -> Self {
            let root = tempfile::tempdir().expect("a directory");
            for name in ["target/site", "scratch/work", "srv/www", "srv/secret"] {
                fs::create_dir_all(root.path().join(name)).expect("a directory");
            }
            let directory = |name: &str, guest: &str, writable| GrantedDirectory {
                host: root.path().join(name),
                guest: guest.to_owned(),
                writable,
            };
            let granted = vec![
                directory("srv", "/srv", false),
                directory("srv/www", "/srv/www/", true),
            ];
            Self { root, granted }
        }

        async fn resolve(&self, wanted: &str) -> Result<PathBuf, Refusal> {
            let target = self.root.path().join("target");
            let scratch = self.root.path().join("scratch");
            let places = Places {
                target: Some(&target),
                running: None,
                scratch: &scratch,
                granted: &self.granted,
            };
            resolve(places, Some(wanted)).await
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().canonicalize().expect("a path").join(name)
        }
    }

    #[tokio::test]
    async fn a_source_is_its_private_copy_scratch_and_writable_grants_are_themselves() {
        let fixture = Fixture::new();
        assert_eq!(
            fixture.resolve("/target/site").await,
            Ok(fixture.path("scratch/.private/target/site"))
        );
        assert_eq!(
            fixture.resolve("/scratch/./work").await,
            Ok(fixture.path("scratch/work"))
        );
        assert_eq!(
            fixture.resolve("/srv/www").await,
            Ok(fixture.path("srv/www"))
        );
    }

    #[tokio::test]
    async fn what_escapes_or_is_not_the_plugins_is_invalid_and_says_why() {
        let fixture = Fixture::new();
        let link = fixture.root.path().join("scratch/link");
        std::os::unix::fs::symlink("/", link).expect("a link");
        for (path, why) in [
            ("scratch", "not absolute"),
            ("/scratch/../../etc", "out of the sandbox"),
            ("/etc", "none of /target"),
            ("/", "none of /target"),
            ("/scratch/link/etc", "leads out of its directory"),
            ("/scratch/none", "No such file"),
            ("/running", "no such source"),
            ("/srv/secret", "read-only"),
            ("/srv/www/../secret", "read-only"),
        ] {
            match fixture.resolve(path).await {
                Err(Refusal::Invalid(text)) => assert!(text.contains(why), "{path}: {text}"),
                other => panic!("{path} gave {other:?}"),
            }
        }
    }
}
