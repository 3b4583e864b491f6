//! What sources promise, tried on repositories that git itself made.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::*;

const APPLICATION: &str = "kind: Application\n";

/// A directory with files to deploy, and a place for what is fetched.
pub(super) struct Place {
    directory: TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        let place = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        place.write("files/site/app.yaml", APPLICATION);
        place
    }

    pub(super) fn repository() -> Self {
        let place = Self::new();
        place.git(&["-c", "init.defaultBranch=main", "init", "--quiet"]);
        place
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn git(&self, arguments: &[&str]) {
        let done = Command::new("git")
            .current_dir(self.path("files"))
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    pub(super) fn sources(&self) -> LocalSources {
        LocalSources::new(self.path("kept"), vec![self.path("files/site/state.db")])
    }

    pub(super) async fn fetch(&self, commit: Option<&str>) -> Result<Fetched, SourceError> {
        let wanted = Wanted {
            file: self.path("files/site/app.yaml"),
            config: None,
            commit: commit.map(str::to_owned),
            max_size: 1 << 20,
        };
        self.sources().fetch(&wanted).await
    }
}

pub(super) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn a_commit_is_read_from_the_repository_whatever_the_work_tree_holds() {
    let place = Place::repository();
    place.write("files/site/page", "one");
    place.commit("First\n\nwith a body");
    place.write("files/site/page", "two");
    place.commit("Second");
    place.write("files/site/page", "not committed");

    let first = place.fetch(Some("main~1")).await.unwrap();
    assert_eq!(read(&first.tree.join("site/page")), "one");
    assert_eq!(first.config, APPLICATION.as_bytes());
    assert_eq!(first.path, "site/app.yaml");
    assert_eq!(first.commit.message, "First\n\nwith a body");
    assert_eq!(first.commit.author, "Ada");
    assert_eq!(first.commit.hash.len(), 40);

    let head = place.fetch(Some("HEAD")).await.unwrap();
    assert_eq!(read(&head.tree.join("site/page")), "two");
    assert_eq!(head.commit.branch.as_deref(), Some("main"));
    assert_eq!(head.application, first.application);
    assert!(!head.tree.join(".git").exists());
}

#[tokio::test]
async fn a_short_hash_a_tag_and_a_branch_name_the_same_commit() {
    let place = Place::repository();
    place.commit("Only");
    place.git(&["tag", "v1"]);
    let hash = place.fetch(Some("HEAD")).await.unwrap().commit.hash;
    for name in ["v1", "main", &hash[..8]] {
        assert_eq!(place.fetch(Some(name)).await.unwrap().commit.hash, hash);
    }
}

#[tokio::test]
async fn executable_files_and_links_come_out_of_a_commit_as_they_went_in() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::repository();
    place.write("files/site/run", "#!/bin/sh\n");
    let script = place.path("files/site/run");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("run", place.path("files/site/link")).unwrap();
    place.commit("Add a script");
    let tree = place.fetch(Some("HEAD")).await.unwrap().tree;
    assert!(
        fs::metadata(tree.join("site/run"))
            .unwrap()
            .permissions()
            .mode()
            & 0o111
            != 0
    );
    assert_eq!(
        fs::read_link(tree.join("site/link")).unwrap(),
        Path::new("run")
    );
}

#[tokio::test]
async fn a_filter_of_this_machine_is_not_run_on_what_is_checked_out() {
    let place = Place::repository();
    place.write("files/.gitattributes", "* filter=shout\n");
    place.write("files/site/page", "quiet");
    place.commit("Add a page");
    place.git(&["config", "filter.shout.smudge", "tr a-z A-Z"]);
    let tree = place.fetch(Some("HEAD")).await.unwrap().tree;
    assert_eq!(read(&tree.join("site/page")), "quiet");
}

#[tokio::test]
async fn the_application_stays_the_same_for_its_remote_and_path_and_no_secret_is_kept() {
    let place = Place::repository();
    place.commit("Only");
    place.git(&[
        "remote",
        "add",
        "origin",
        "https://ada:secret@example.com/shop.git",
    ]);
    let fetched = place.fetch(Some("HEAD")).await.unwrap();
    assert_eq!(fetched.remote, "https://example.com/shop.git");
    let elsewhere = Place::repository();
    elsewhere.commit("Another");
    elsewhere.git(&[
        "remote",
        "add",
        "origin",
        "https://token@example.com/shop.git",
    ]);
    let same = elsewhere.fetch(Some("HEAD")).await.unwrap();
    assert_eq!(same.application, fetched.application);
    // Over SSH the user is a part of the way there.
    for remote in ["git@example.com:shop.git", "ssh://git@example.com/shop.git"] {
        elsewhere.git(&["remote", "set-url", "origin", remote]);
        assert_eq!(elsewhere.fetch(Some("HEAD")).await.unwrap().remote, remote);
    }
}

#[tokio::test]
async fn a_commit_that_is_not_there_and_a_file_that_is_not_in_it_are_told() {
    let place = Place::repository();
    place.write("files/other", "");
    place.git(&["add", "other"]);
    place.git(&["commit", "--quiet", "--message", "Without the application"]);
    let error = place.fetch(Some("nowhere")).await.unwrap_err().to_string();
    assert!(error.contains("`nowhere` names no commit"), "{error}");
    let error = place.fetch(Some("HEAD")).await.unwrap_err().to_string();
    assert!(error.contains("site/app.yaml is not in commit"), "{error}");
}

#[tokio::test]
async fn a_commit_is_asked_of_a_repository_only() {
    let error = Place::new()
        .fetch(Some("HEAD"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("is in no git repository"), "{error}");
}

#[tokio::test]
async fn a_directory_as_it_stands_is_named_by_its_content() {
    let place = Place::new();
    let one = place.fetch(None).await.unwrap();
    let same = place.fetch(None).await.unwrap();
    assert_eq!(one.commit.hash, same.commit.hash);
    place.write("files/site/page", "new");
    let other = place.fetch(None).await.unwrap();
    assert_ne!(one.commit.hash, other.commit.hash);
    assert_eq!(other.path, "app.yaml");
    place.write("files/site/page", "changed after it was fetched");
    assert_eq!(read(&other.tree.join("page")), "new");
}

#[tokio::test]
async fn within_a_repository_a_directory_lies_where_it_lies_in_a_commit() {
    let place = Place::repository();
    place.write("files/.pipe/shared.yaml", "shared");
    place.write("files/elsewhere/page", "not of this application");
    let fetched = place.fetch(None).await.unwrap();
    assert_eq!(fetched.path, "site/app.yaml");
    assert!(fetched.tree.join("site/app.yaml").exists());
    assert_eq!(read(&fetched.tree.join(".pipe/shared.yaml")), "shared");
    assert!(!fetched.tree.join("elsewhere").exists());
    assert!(!fetched.tree.join(".git").exists());
}

#[tokio::test]
async fn the_hosts_own_files_are_no_part_of_a_directory() {
    let place = Place::new();
    let before = place.fetch(None).await.unwrap().commit.hash;
    place.write("files/site/state.db", "state");
    assert_eq!(place.fetch(None).await.unwrap().commit.hash, before);
}

#[tokio::test]
async fn too_many_bytes_are_refused_with_the_limit_to_raise() {
    for place in [Place::new(), Place::repository()] {
        place.write("files/site/large", &"x".repeat(2 << 20));
        let commit = place.path("files/.git").exists().then(|| {
            place.commit("Add something large");
            "HEAD"
        });
        let error = place.fetch(commit).await.unwrap_err().to_string();
        assert!(error.contains("`limits.maxSourceSize`"), "{error}");
    }
}

#[tokio::test]
async fn a_pipe_in_a_directory_is_refused_by_its_name() {
    let place = Place::new();
    let pipe = place.path("files/site/pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let error = place.fetch(None).await.unwrap_err().to_string();
    assert!(
        error.contains("site/pipe is no file, directory or link"),
        "{error}"
    );
}

#[tokio::test]
async fn a_missing_file_and_a_directory_are_told_apart() {
    let place = Place::new();
    let fetch = |path: &str| {
        let wanted = Wanted {
            file: place.path(path),
            config: None,
            commit: None,
            max_size: 1,
        };
        let sources = place.sources();
        async move { sources.fetch(&wanted).await.unwrap_err().to_string() }
    };
    assert!(
        fetch("files/none.yaml")
            .await
            .contains("is the path right?")
    );
    assert!(fetch("files/site").await.contains("is a directory"));
}

#[test]
fn what_changed_is_told_by_content_not_by_time() {
    let place = Place::new();
    for side in ["old", "new"] {
        place.write(&format!("{side}/same"), "same");
        place.write(&format!("{side}/dir/edited"), side);
        place.write(&format!("{side}/only-in-{side}"), "");
        symlink(side, place.path(&format!("{side}/link"))).unwrap();
    }
    let changed = changed_files(&place.path("old"), &place.path("new")).unwrap();
    let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
    assert_eq!(
        changed,
        ["dir/edited", "link", "only-in-new", "only-in-old"]
    );
}

#[tokio::test]
async fn names_that_are_no_texts_tell_two_directories_apart() {
    use std::os::unix::ffi::OsStrExt;
    let hash = async |name: &[u8]| {
        let place = Place::new();
        fs::write(place.path("files/site").join(OsStr::from_bytes(name)), "x").unwrap();
        place.fetch(None).await.unwrap().commit.hash
    };
    assert_ne!(hash(b"a\xfe").await, hash(b"a\xff").await);
}
