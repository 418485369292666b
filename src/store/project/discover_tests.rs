use std::{fs, os::unix::fs::symlink, sync::LazyLock, time::Instant};

use camino::{Utf8Path, Utf8PathBuf};

use super::{CutOff, DEPTH_LIMIT, Scope, WalkLimits, WalkRoot, listing, listings};
use crate::{
    model::{Config, RelPath},
    store::{Environment, Project, testing::Scratch},
};

static CONFIG: LazyLock<Config> = LazyLock::new(Config::default);

fn whole<'a>(root: &'a Utf8Path, worktrees: &'a [Utf8PathBuf]) -> WalkRoot<'a> {
    WalkRoot { root, worktrees, common_dir: None, config: &CONFIG, scope: Scope::Whole }
}

fn up_to(entries: usize) -> WalkLimits {
    WalkLimits { depth: DEPTH_LIMIT, entries, names: 4 }
}

fn seen(scratch: &Scratch, limit: usize) -> Vec<String> {
    listing(whole(&scratch.root, &[]), &|_| false, up_to(limit))
        .entries
        .into_iter()
        .map(|entry| entry.path.as_str().to_owned())
        .collect()
}

#[test]
fn entries_are_in_the_order_of_their_whole_paths() {
    let scratch = Scratch::new();
    for path in ["a/z", "a.b/y", "a-b", "B", "a/b/c"] {
        scratch.write(path, "");
    }
    assert_eq!(seen(&scratch, 100), ["B", "a", "a-b", "a.b", "a.b/y", "a/b", "a/b/c", "a/z"]);
    let listed = listings(&scratch.project(), Scope::Whole, &|_| false);
    assert_eq!(listed.len(), 1);
    assert!(["a-b", "a.b/y", "a/b", "a/b/c"].iter().all(|path| listed[0].contains(path)));
    assert!(!listed[0].contains("a/c"));
}

#[test]
fn a_part_of_a_project_is_listed_with_the_way_to_it() {
    let scratch = Scratch::new();
    for path in ["x", "a/x", "a/b/x", "a/b/c/x", "a/b/c/d/x", "a/y/x", "z/x", "other/.git/HEAD", "other/b/x"] {
        scratch.write(path, "");
    }
    let seen = |scope| -> Vec<String> {
        let ground = WalkRoot { root: &scratch.root, worktrees: &[], common_dir: None, config: &CONFIG, scope };
        listing(ground, &|_| false, up_to(100))
            .entries
            .into_iter()
            .map(|entry| entry.path.as_str().to_owned())
            .collect()
    };
    let way = ["a", "a/b", "a/b/c", "a/b/x", "a/x", "a/y", "other", "x", "z"];
    let (folder, file) = (scratch.root.join("a/b"), scratch.root.join("a/b/x"));
    assert_eq!(seen(Scope::Above(&folder)), way);
    assert_eq!(seen(Scope::Around(&file)), way);
    let below = ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/x", "a/b/c/x", "a/b/x", "a/x", "a/y", "other", "x", "z"];
    assert_eq!(seen(Scope::Around(&folder)), below);
    // Another repository stays closed, also to a path that leads into it.
    assert!(!seen(Scope::Around(&scratch.root.join("other/b"))).iter().any(|path| path.starts_with("other/")));
    assert!(listings(&scratch.project(), Scope::Around(Utf8Path::new("/elsewhere")), &|_| false).is_empty());
}

#[test]
fn heavy_folders_temporaries_and_links_are_not_entered() {
    let scratch = Scratch::new();
    let outside = Scratch::new();
    outside.write("deep/x", "");
    for path in [".git/HEAD", "node_modules/m/x", "target/x", "run/.piton/lock", "a/vendor/x", "a/.venv/x", "a/keep"] {
        scratch.write(path, "");
    }
    scratch.write("a/.state.json.12.0f.piton-tmp", "");
    scratch.write("a/bad\nname", "");
    symlink(&outside.root, scratch.root.join("link")).unwrap();
    symlink("..", scratch.root.join("a/circle")).unwrap();
    assert_eq!(seen(&scratch, 100), ["a", "a/circle", "a/keep", "link", "run"]);
}

#[test]
fn another_repository_is_not_entered_but_a_worktree_of_this_one_is() {
    let scratch = Scratch::new();
    for path in [
        ".git/HEAD",
        "lib/.git/HEAD",
        "lib/.workflow-state.json",
        "lib/zz/x",
        "sub/.git",
        "sub/a",
        "sub/zz/x",
        "wt/.git",
        "wt/a",
        "x",
    ] {
        scratch.write(path, "");
    }
    let worktrees = [scratch.root.join("wt")];
    let paths: Vec<String> = listing(whole(&scratch.root, &worktrees), &|_| false, up_to(100))
        .entries
        .into_iter()
        .map(|entry| entry.path.as_str().to_owned())
        .collect();
    assert_eq!(paths, ["lib", "sub", "wt", "wt/a", "x"]);
}

#[test]
fn a_first_look_is_taken_where_it_is_asked_for() {
    let scratch = Scratch::new();
    scratch.write("a/state.json", "{}");
    scratch.write("a/other.json", "{}");
    symlink("a/state.json", scratch.root.join("state.json")).unwrap();
    fs::create_dir_all(scratch.root.join("b/state.json")).unwrap();
    scratch.write("c/state.json", "");
    fs::File::create(scratch.root.join("c/state.json")).unwrap().set_len((4 << 20) + 1).unwrap();
    let entries = listing(whole(&scratch.root, &[]), &|path| path.ends_with("state.json"), up_to(100)).entries;
    let looks: Vec<(&str, Option<&[u8]>)> = entries
        .iter()
        .filter(|entry| entry.path.name().ends_with(".json"))
        .map(|entry| (entry.path.as_str(), entry.content.as_deref()))
        .collect();
    let expected: [(&str, Option<&[u8]>); 5] = [
        ("a/other.json", None),
        ("a/state.json", Some(b"{}")),
        ("b/state.json", None),
        ("c/state.json", None),
        ("state.json", Some(b"{}")),
    ];
    assert_eq!(looks, expected);
}

#[test]
fn too_much_cuts_the_deepest_levels_first() {
    let scratch = Scratch::new();
    scratch.write("z/state.json", "");
    for count in 0..50 {
        scratch.write(&format!("a/b/c/d/e/f/g/h/i/{count}"), "");
    }
    let found = seen(&scratch, 20);
    assert!(found.contains(&"z/state.json".to_owned()));
    assert!(found.len() <= 20 && !found.iter().any(|path| path.contains("/i/")), "{found:?}");
    assert!(seen(&scratch, 0).is_empty());
}

#[test]
fn worktrees_elsewhere_are_listed_by_themselves() {
    let scratch = Scratch::new();
    let outside = Scratch::new();
    scratch.write(".git/HEAD", "ref: refs/heads/main\n");
    for (name, top) in [("out", outside.root.join("out")), ("in", scratch.root.join(".worktree/in"))] {
        fs::create_dir_all(&top).unwrap();
        scratch.write(&format!(".git/worktrees/{name}/HEAD"), "ref: refs/heads/x\n");
        scratch.write(&format!(".git/worktrees/{name}/commondir"), "../..\n");
        scratch.write(&format!(".git/worktrees/{name}/gitdir"), &format!("{top}/.git\n"));
        fs::write(top.join(".git"), format!("gitdir: {}/.git/worktrees/{name}\n", scratch.root)).unwrap();
        fs::write(top.join("state"), "").unwrap();
    }
    let project = Project::open(&outside.root.join("out"), &Environment::default()).unwrap();
    assert_eq!(project.root, scratch.root);
    let listed = listings(&project, Scope::Whole, &|_| false);
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0].root, scratch.root);
    assert!(listed[0].contains(".worktree/in/state"));
    assert_eq!(listed[1].root, outside.root.join("out"));
    assert!(listed[1].contains("state"));
}

#[test]
#[ignore = "measures; run it in a release build"]
fn a_tree_of_a_hundred_thousand_files_is_listed_in_time() {
    let scratch = Scratch::new();
    for folder in 0..1_000 {
        let top = scratch.root.join(format!("src/m{}/p{folder}", folder % 30));
        fs::create_dir_all(&top).unwrap();
        for file in 0..100 {
            fs::write(top.join(format!("file-{file}.rs")), "").unwrap();
        }
        fs::write(top.join(".workflow-state.json"), "{}").unwrap();
    }
    let project = scratch.project();
    for _ in 0..3 {
        let started = Instant::now();
        let listed = listings(&project, Scope::Whole, &|path| path.ends_with(".workflow-state.json"));
        let spent = started.elapsed();
        assert_eq!(listed[0].entries.len(), 102_031);
        assert!(spent.as_millis() <= 300, "{spent:?}");
    }
}

/// S-2: names in one huge folder count against that folder only, and what was left out is said.
#[test]
fn a_huge_folder_hides_only_what_is_in_it() {
    let scratch = Scratch::new();
    for path in [".worktree/x/STATE", "a/b/c/d/e/f", "memory/state/phase.json", ".piton/lock", ".worktree/x/data/0"] {
        scratch.write(path, "");
    }
    (0..40).for_each(|number| scratch.write(&format!("data/{number}"), ""));
    let listed = listing(whole(&scratch.root, &[]), &|_| false, up_to(30));
    for path in [".worktree/x/STATE", ".worktree/x/data/0", "a/b/c/d/e/f", "memory/state/phase.json", "data"] {
        assert!(listed.contains(path), "{path}");
    }
    assert!(!listed.contains("data/1"));
    let rel = |path| RelPath::parse(path).ok();
    assert_eq!(listed.cut_off, [CutOff { folder: rel("data"), levels: 0 }]);
    // Many folders of a few files each: the known places are looked at, and how deep the rest was.
    (0..40).for_each(|number| scratch.write(&format!("many/{}/{number}/x", number % 4), ""));
    let listed = listing(whole(&scratch.root, &[]), &|_| false, up_to(30));
    assert!(listed.contains(".worktree/x/STATE") && listed.contains("memory/state/phase.json"));
    assert_eq!(listed.cut_off.last(), Some(&CutOff { folder: rel("many/3"), levels: 0 }));
    (0..40).for_each(|number| scratch.write(&format!("more/{}/{}/{number}", number / 16, number / 4 % 4), ""));
    let listed = listing(whole(&scratch.root, &[]), &|_| false, up_to(30));
    assert!(listed.contains(".worktree/x/STATE") && listed.contains("memory/state/phase.json"));
    assert!(listed.cut_off.iter().any(|cut| cut.folder.is_none() && cut.levels > 0), "{:?}", listed.cut_off);
    // The root itself has too many names.
    (0..40).for_each(|number| scratch.write(&number.to_string(), ""));
    let listed = listing(whole(&scratch.root, &[]), &|_| false, up_to(30));
    assert!(listed.contains(".worktree/x/STATE") && listed.contains("memory/state/phase.json"));
    assert_eq!(listed.cut_off, [CutOff { folder: None, levels: 0 }]);
}
