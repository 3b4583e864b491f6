//! What the tree of a commit is made of: the commit, and nothing of the machine
//! that it is brought to.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::tests::{Place, read};

/// A repository with a text, a script and a link, committed.
fn committed() -> Place {
    let place = Place::repository();
    place.write("files/site/page", "x\ny $Id$\n");
    place.write("files/site/run", "#!/bin/sh\n");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(place.path("files/site/run"), executable).unwrap();
    symlink("run", place.path("files/site/link")).unwrap();
    place.commit("Only");
    place
}

#[tokio::test]
async fn a_commit_comes_out_the_same_whatever_git_is_told_on_this_machine() {
    let attributes = "* text eol=crlf ident working-tree-encoding=UTF-16\n";
    let settings: [(&str, &[&str]); 6] = [
        ("core.autocrlf", &["true"]),
        ("core.eol", &["crlf"]),
        ("core.fileMode", &["false"]),
        ("core.symlinks", &["false"]),
        ("core.ignoreCase", &["true"]),
        ("core.attributesFile", &["attributes"]),
    ];
    for (key, value) in settings {
        let place = committed();
        place.write("files/attributes", attributes);
        place.git(&[&["config", key], value].concat());
        if key == "core.eol" {
            // It says nothing by itself.
            place.write("files/.git/info/attributes", "* text\n");
        }
        let tree = place.fetch(Some("HEAD")).await.unwrap().tree;
        assert_eq!(read(&tree.join("site/page")), "x\ny $Id$\n", "{key}");
        let mode = fs::metadata(tree.join("site/run")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o111, 0o111, "{key}");
        let link = fs::read_link(tree.join("site/link")).unwrap();
        assert_eq!(link, Path::new("run"), "{key}");
    }
}

#[tokio::test]
async fn attributes_and_replacements_that_only_this_clone_has_do_not_count() {
    let place = committed();
    place.write("files/.git/info/attributes", "* text eol=crlf ident\n");
    place.write("files/other", "another\n");
    place.git(&["add", "other"]);
    place.git(&["replace", "HEAD:site/page", ":other"]);
    let tree = place.fetch(Some("HEAD")).await.unwrap().tree;
    assert_eq!(read(&tree.join("site/page")), "x\ny $Id$\n");
}

#[tokio::test]
async fn attributes_of_the_commit_itself_count_as_in_any_checkout() {
    let place = Place::repository();
    place.write("files/.gitattributes", "*.bat text eol=crlf\n");
    place.write("files/site/.gitattributes", "plain.bat -text\n");
    place.write("files/site/run.bat", "one\ntwo\n");
    place.write("files/site/plain.bat", "one\ntwo\n");
    place.write("files/site/page", "one\ntwo\n");
    place.commit("Only");
    place.write("files/.git/info/attributes", "*.bat -text\n");
    let tree = place.fetch(Some("HEAD")).await.unwrap().tree;
    assert_eq!(read(&tree.join("site/run.bat")), "one\r\ntwo\r\n");
    assert_eq!(read(&tree.join("site/plain.bat")), "one\ntwo\n");
    assert_eq!(read(&tree.join("site/page")), "one\ntwo\n");
}
