//! What is published, and what is refused.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;

#[test]
fn files_directories_and_inner_links_are_published_as_they_are() {
    let mut world = World::new();
    let source = world
        .host
        .set_target_source(FIRST, &[("a/b/c.txt", "c"), ("index.html", "i")]);
    fs::create_dir(source.join("empty")).expect("made");
    fs::write(source.join("bytes"), [0, 159, 146, 150]).expect("written");
    fs::remove_file(source.join("bytes")).expect("removed");
    symlink("a/b/c.txt", source.join("latest")).expect("linked");
    symlink("../../index.html", source.join("a/b/home")).expect("linked");
    world.works("SITE_SYNC");
    let expected: BTreeMap<String, String> = [
        ("a", "/"),
        ("a/b", "/"),
        ("a/b/c.txt", "c"),
        ("a/b/home", "-> ../../index.html"),
        ("empty", "/"),
        ("index.html", "i"),
        ("latest", "-> a/b/c.txt"),
    ]
    .map(|(path, text)| (path.to_owned(), text.to_owned()))
    .into();
    assert_eq!(live(&world.web()), expected);
}

#[test]
fn a_file_larger_than_a_buffer_is_copied_whole() {
    let mut world = World::new();
    let source = world.host.set_target_source(FIRST, &[]);
    let bytes: Vec<u8> = (0..1_000_003u32).map(|n| (n % 251) as u8).collect();
    fs::write(source.join("large"), &bytes).expect("written");
    world.works("SITE_SYNC");
    assert_eq!(
        fs::read(world.web().join("current/large")).expect("read"),
        bytes
    );
}

#[test]
fn what_the_application_is_deployed_with_is_not_published() {
    let mut world = World::new();
    let files = [
        ("index.html", "i"),
        (".git/config", "x"),
        ("sub/.git", "x"),
        (".pipe/a", "x"),
    ];
    let source = world.host.set_target_source(FIRST, &files);
    world.host.target_source.shared_directory = Some(source.join(".pipe").display().to_string());
    world.works("SITE_SYNC");
    assert_eq!(names(&world.web().join("current")), ["index.html", "sub"]);
    assert_eq!(
        names(&world.web().join("current/sub")),
        Vec::<String>::new()
    );
}

#[test]
fn a_file_that_only_has_the_name_of_the_application_file_is_published() {
    let mut world = World::new();
    world
        .host
        .set_target_source(FIRST, &[("docs/app.pipecd.yaml", "an example")]);
    world.works("SITE_SYNC");
    assert_eq!(names(&world.web().join("current")), ["docs"]);
    assert_eq!(
        names(&world.web().join("current/docs")),
        ["app.pipecd.yaml"]
    );
}

#[test]
fn only_the_directory_of_the_section_is_published_without_what_is_excluded() {
    let mut world = World::new();
    world
        .host
        .set_section(json!({ "directory": "./out/site/", "exclude": ["drafts", "*.map"] }));
    let files = [
        ("out/site/index.html", "i"),
        ("out/site/drafts/x", "x"),
        ("out/site/a.map", "x"),
        ("out/other", "x"),
    ];
    world.host.set_target_source(FIRST, &files);
    world.works("SITE_SYNC");
    assert_eq!(names(&world.web().join("current")), ["index.html"]);
}

#[test]
fn a_link_that_leads_out_is_refused_by_its_name_before_anything_is_done() {
    for (at, to) in [
        ("x", "/etc/passwd"),
        ("x", "../secret"),
        ("dir/x", "../../secret"),
        ("x", "dir/../../secret"),
        ("x", "dir/../index.html"),
    ] {
        let mut world = World::new();
        let source = world
            .host
            .set_target_source(FIRST, &[("index.html", "i"), ("dir/y", "y")]);
        symlink(to, source.join(at)).expect("linked");
        let error = world
            .host
            .quick_sync_plan::<Site>(true)
            .expect_err(to)
            .to_string();
        assert!(
            error.contains(&format!("{at} is a symbolic link to {to}")),
            "{error}"
        );
        let error = world.run("SITE_SYNC").expect_err(to).to_string();
        assert!(error.contains(at), "{error}");
        assert!(!world.web().exists(), "nothing was made");
    }
}

#[test]
fn a_published_directory_that_is_a_link_is_refused() {
    let mut world = World::new();
    let source = world
        .host
        .set_target_source(FIRST, &[("real/index.html", "i")]);
    symlink("/etc", source.join("public")).expect("linked");
    for directory in ["public", "public/ssl"] {
        world.host.set_section(json!({ "directory": directory }));
        let wrong = invalid(world.host.quick_sync_plan::<Site>(true));
        assert_eq!(wrong.path, "/directory");
        assert!(wrong.message.contains("symbolic link"), "{wrong:?}");
    }
}

#[test]
fn what_is_neither_file_directory_nor_link_is_refused_by_its_name() {
    let mut world = World::new();
    let source = world.host.set_target_source(FIRST, &[("index.html", "i")]);
    let _socket = std::os::unix::net::UnixListener::bind(source.join("socket")).expect("bound");
    let error = world.run("SITE_SYNC").expect_err("a socket").to_string();
    assert!(error.contains("socket is neither a file"), "{error}");
    world.host.set_section(json!({ "exclude": ["socket"] }));
    world.works("SITE_SYNC");
}

#[test]
fn a_commit_that_is_no_hash_never_becomes_a_path() {
    for commit in ["../../etc", "", "a/b", ".hidden", "main"] {
        let mut world = World::new();
        world.host.set_target_source(commit, ONE);
        let error = world.run("SITE_SYNC").expect_err(commit).to_string();
        assert!(error.contains("is no hash"), "{error}");
        assert!(!world.web().exists());
    }
}
