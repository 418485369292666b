//! Checks the direction of imports, which rooms use which crates, and the size of files.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use crate::support;

/// Which rooms a crate is used in.
const CRATES: &[(&str, &[&str])] = &[
    ("anyhow", &["cli"]),
    ("anstream", &["cli"]),
    ("anstyle", &["cli"]),
    // The store reads the offset of local time from UTC.
    ("chrono", &["model", "store"]),
    ("chrono_tz", &["store"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("indicatif", &["cli"]),
    ("jsonschema", &["schema"]),
    ("rustix", &["store", "runner", "cli"]),
    ("granit_parser", &["document"]),
    ("regex", &["store"]),
    ("maud", &["page"]),
    ("signal_hook", &["runner"]),
    ("similar", &["model"]),
    ("strsim", &["model"]),
    ("tempfile", &["store"]),
    ("toml", &["store"]),
    ("walkdir", &["store"]),
];

/// The folders inside a room, each of which imports only itself and those before it.
const FOLDERS: &[(&str, &[&str])] = &[("store", &["fs", "commit", "owner", "project"])];

const FILE_LINES: usize = 600;

/// Reads the table of ARCHITECTURE.md: the rooms of `src/`, and which others each may name as `crate::ROOM`.
fn rooms() -> Vec<(String, BTreeSet<String>)> {
    let page = support::read(&support::repository().join("ARCHITECTURE.md"));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `src/"));
    rows.map(|row| {
        let (room, rest) = row.split_once("/` |").expect("a folder in the first column");
        let (_, allowed) =
            rest.trim_end_matches(" |").rsplit_once(" | ").expect("what it may import in the last column");
        let allowed = allowed.split(", ").filter(|name| *name != "nothing").map(str::to_owned).collect();
        (room.to_owned(), allowed)
    })
    .collect()
}

/// Tells whether a file has tests or what only they use.
pub(crate) fn is_test(path: &Utf8Path) -> bool {
    let path = path.as_str();
    let below = path.rsplit_once("/src/").map_or(path, |(_, below)| below);
    ["tests.rs", "testing.rs"].iter().any(|end| below.ends_with(end)) || below.contains("/tests/")
}

/// Returns what a line that begins an import says before `use` and after it.
fn begun_import(line: &str) -> Option<(&str, &str)> {
    let (before, tree) = line.trim_start().split_once("use ")?;
    let is_path = |c: char| c.is_alphanumeric() || "_:{},*; ".contains(c);
    let begins = before.is_empty() || before == "pub " || before.starts_with("pub(") && before.ends_with(") ");
    (begins && tree.chars().all(is_path) && tree.ends_with([';', '{'])).then_some((before, tree))
}

/// Returns each path of a tree of imports, written out.
fn paths_of(before: &str, tree: &str) -> Vec<String> {
    let Some((head, inner)) = tree.split_once('{') else { return vec![format!("{before}{}", tree.trim())] };
    let before = format!("{before}{}", head.trim());
    let inner = inner.trim_end();
    let mut depth = 0;
    let parts = inner.strip_suffix('}').unwrap_or(inner).split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).flat_map(|part| paths_of(&before, part)).collect()
}

/// Returns the code with one import per line, so that each path stands there as a whole.
fn spread(code: &str) -> String {
    let mut lines = code.lines();
    let mut out = Vec::new();
    while let Some(line) = lines.next() {
        let Some((visible, tree)) = begun_import(line) else {
            out.push(line.to_owned());
            continue;
        };
        let mut tree = tree.to_owned();
        while !tree.ends_with(';') {
            tree.push_str(lines.next().expect("an import ends").trim());
        }
        out.extend(paths_of("", tree.trim_end_matches(';')).iter().map(|path| format!("{visible}use {path};")));
    }
    out.join("\n")
}

/// Calls `check` with the path below `src/`, the room and the code of every file, without comments and with one import
/// per line.
fn each_file(mut check: impl FnMut(&Utf8Path, &str, &str)) {
    let source = support::repository().join("src");
    for path in support::files_below(&source, "rs") {
        let relative = path.strip_prefix(&source).expect("it was found below");
        if relative == "main.rs" || relative == "lib.rs" {
            continue;
        }
        let room = relative.components().next().expect("a path has a part").as_str().trim_end_matches(".rs");
        let text = support::read(&path);
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        check(relative, room, &spread(&code.join("\n")));
    }
}

/// Returns the first name after each occurrence of `prefix` as a whole path segment.
fn names_after<'a>(code: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(prefix).filter_map(move |(at, _)| {
        let starts = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        let rest = &code[at + prefix.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        starts.then_some(&rest[..end])
    })
}

#[test]
fn rooms_import_only_what_they_may() {
    let rooms = rooms();
    let mut wrong = Vec::new();
    each_file(|path, room, code| {
        let Some((_, allowed)) = rooms.iter().find(|(name, _)| name == room) else {
            wrong.push(format!("{path}: `{room}` is not in the table of ARCHITECTURE.md"));
            return;
        };
        let allowed: BTreeSet<&str> = allowed.iter().map(String::as_str).chain([room]).collect();
        for name in names_after(code, "crate::") {
            if name.is_empty() {
                wrong.push(format!("{path}: `crate::{{...}}` outside of a `use`"));
            } else if !allowed.contains(name) {
                wrong.push(format!("{path}: `{room}` may not know `crate::{name}`"));
            }
        }
        // The way out of a room without `crate`.
        for (other, _) in rooms.iter().filter(|(other, _)| other != room) {
            if code.contains(&format!("super::{other}::")) || code.contains(&format!("super::{other};")) {
                wrong.push(format!("{path}: `super::{other}`; name other rooms as `crate::{other}`"));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_room_once_and_names_no_other() {
    let rooms = rooms();
    let names: BTreeSet<&str> = rooms.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), rooms.len());
    let mut found: BTreeSet<String> = BTreeSet::new();
    each_file(|_, room, _| {
        found.insert(room.to_owned());
    });
    assert_eq!(names, found.iter().map(String::as_str).collect());
    for (room, allowed) in &rooms {
        assert!(allowed.iter().all(|other| names.contains(other.as_str())), "{room} may import {allowed:?}");
    }
}

/// Returns the roots that two imports of one block share. An import below an attribute stands alone.
fn imported_twice(code: &str) -> Vec<String> {
    let mut twice = Vec::new();
    let mut block = BTreeSet::new();
    let mut inside = false;
    let mut last = "";
    for line in code.lines() {
        match begun_import(line) {
            Some((visible, tree)) if !last.starts_with("#[") => {
                let ups = tree.split("super::").take_while(|before| before.is_empty()).count();
                let root = tree.split([':', ';', ' ']).next().unwrap_or_default();
                if !block.insert((visible.to_owned(), root.to_owned(), ups)) {
                    twice.push(format!("{visible}use {root}"));
                }
                inside = tree.ends_with('{');
            }
            Some(_) => block.clear(),
            None if inside => inside = !line.ends_with(';'),
            None => block.clear(),
        }
        last = line.trim_start();
    }
    twice
}

#[test]
fn the_imports_from_a_crate_stand_in_one_use() {
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for path in support::files_below(&support::repository().join(folder), "rs") {
            let twice = imported_twice(&support::read(&path));
            wrong.extend(twice.iter().map(|line| format!("{path}: `{line}` twice; put both into one")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_stay_in_their_rooms() {
    let mut wrong = Vec::new();
    each_file(|path, room, code| {
        for (name, rooms) in CRATES.iter().filter(|(_, rooms)| !rooms.contains(&room)) {
            if names_after(code, &format!("{name}::")).next().is_some() {
                wrong.push(format!("{path}: `{name}` belongs to {}", rooms.join(", ")));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn dialects_know_of_the_engine_which_records_count() {
    let mut wrong = Vec::new();
    each_file(|path, room, code| {
        let names =
            code.match_indices("engine::").filter(|(at, _)| !code[at + "engine::".len()..].starts_with("share::"));
        if room == "dialect" && !is_test(path) && names.count() > 0 {
            wrong.push(format!("{path}: a dialect translates and does not decide"));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_engine_knows_no_dialect() {
    let mut wrong = Vec::new();
    each_file(|path, room, code| {
        if room == "engine" && !is_test(path) && code.contains("DialectId::") {
            wrong.push(format!("{path}: what a dialect wants reaches the engine as data on the steps"));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the modules that a file declares in files of their own, and whether each is for tests only.
fn declared(path: &Utf8Path, code: &str) -> Vec<(Utf8PathBuf, bool)> {
    let mut found = Vec::new();
    let mut attributes: Vec<&str> = Vec::new();
    for line in code.lines().map(str::trim) {
        if line.starts_with("#[") {
            attributes.push(line);
            continue;
        }
        let name = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod ")).filter(|(before, _)| {
            before.is_empty() || *before == "pub " || before.starts_with("pub(") && before.ends_with(") ")
        });
        if let Some((_, name)) = name {
            let is_folder = ["mod", "lib", "main"].contains(&path.file_stem().unwrap_or_default());
            let (around, below) = (path.with_file_name(""), path.with_extension(""));
            let given = attributes.iter().find_map(|one| one.strip_prefix("#[path = \"")?.strip_suffix("\"]"));
            let file = match given {
                Some(given) => around.join(given),
                None => if is_folder { around } else { below }.join(format!("{name}.rs")),
            };
            let file = if file.exists() { file } else { file.with_extension("").join("mod.rs") };
            found.push((file, attributes.contains(&"#[cfg(test)]")));
        }
        attributes.clear();
    }
    found
}

#[test]
fn what_only_tests_use_is_compiled_for_them_and_named_so() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in support::files_below(&support::repository().join("src"), "rs") {
        for (file, is_cfg_test) in declared(&path, &support::read(&path)) {
            count += usize::from(is_cfg_test);
            if (is_cfg_test || is_test(&path)) != is_test(&file) {
                wrong.push(format!(
                    "{file}: `#[cfg(test)]`, and a name that ends in `tests` or `testing`: both or none"
                ));
            }
        }
    }
    assert!(count > 30, "{count} files");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where a command may be spelled: in one place, and in what only describes commands.
const SPELLS: [&str; 6] = [
    "model/suggested.rs",
    // The help of the program.
    "cli/args.rs",
    // Descriptions of the schemas.
    "published/mod.rs",
    // The name of the program, with its version or with a run.
    "cli/commands/doctor.rs",
    "cli/commands/setup.rs",
    "hook/statusline.rs",
];

/// Returns the verbs that are printed.
fn printed_verbs() -> BTreeSet<String> {
    let text = support::read(&support::repository().join("src/model/suggested.rs"));
    let (_, verbs) = text.split_once("enum Verb {").expect("the verbs");
    let verbs = verbs.split('}').next().unwrap_or_default().lines();
    verbs.filter_map(|line| Some(line.split_once("= \"")?.1.trim_end_matches("\",").to_owned())).collect()
}

/// Returns the code without tests, and without the texts of help, which stand in attributes and in `EXAMPLES`.
fn without_help(code: &str) -> String {
    let code = code.split("\nmod tests {").next().unwrap_or_default();
    let mut kept = Vec::new();
    let mut end = None;
    for line in code.lines() {
        let begun = match line.trim_start() {
            line if line.starts_with("#[command(") || line.starts_with("#[arg(") => Some(")]"),
            line if line.starts_with("const EXAMPLES") => Some("\";"),
            _ => None,
        };
        end = end.or(begun);
        match end {
            Some(last) if line.ends_with(last) => end = None,
            Some(_) => {}
            None => kept.push(line),
        }
    }
    kept.join("\n")
}

/// Returns the lines that spell a command, or read one in a text.
fn spelled<'a>(code: &'a str, verbs: &BTreeSet<String>) -> Vec<&'a str> {
    let is_call = |(at, _): (usize, &str)| {
        let rest = &code[at + "piton ".len()..];
        let word = rest.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or_default();
        let begins = code[..at].ends_with(['"', '`']) && rest.starts_with('{');
        begins || verbs.contains(word) || word.starts_with("--")
    };
    let line = |at: usize| code[..at].rfind('\n').map_or(0, |end| end + 1);
    let found = code.match_indices("piton ").filter(|one| is_call(*one));
    found.filter_map(|(at, _)| code[line(at)..].lines().next()).collect()
}

#[test]
fn commands_are_spelled_in_one_place() {
    let verbs = printed_verbs();
    assert!(verbs.len() > 20, "{verbs:?}");
    let (mut wrong, mut still) = (Vec::new(), BTreeSet::new());
    each_file(|path, _, code| {
        // Rules of the client, and calls that it asks about.
        if is_test(path) || ["hook/permission.rs", "dialect/client_settings.rs"].contains(&path.as_str()) {
            return;
        }
        let code = without_help(code);
        let lines = spelled(&code, &verbs);
        if SPELLS.contains(&path.as_str()) {
            still.extend((!lines.is_empty()).then(|| path.to_string()));
            return;
        }
        wrong.extend(lines.iter().map(|line| format!("{path}: `{}`; build it with `Suggested`", line.trim())));
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let over: Vec<&&str> = SPELLS.iter().filter(|path| !still.contains(**path)).collect();
    assert!(over.is_empty(), "these spell no command any more: {over:?}");
}

/// Returns the name of the type that a line defines.
fn defined(line: &str) -> Option<&str> {
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let (before, name) = kinds.iter().find_map(|kind| line.trim_start().split_once(kind))?;
    let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let begins = before.is_empty() || before == "pub " || before.starts_with("pub(") && before.ends_with(") ");
    (begins && name.starts_with(char::is_uppercase)).then_some(name)
}

/// How many files may define a type of one name.
const SAME_NAME: usize = 3;

#[test]
fn a_name_of_a_type_finds_its_definition() {
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    each_file(|path, _, code| {
        for name in code.lines().filter_map(defined) {
            files.entry(name.to_owned()).or_default().insert(path.to_string());
        }
    });
    let often = files.iter().filter(|(_, files)| files.len() > SAME_NAME);
    let often: Vec<String> =
        often.map(|(name, files)| format!("`{name}`: {}", Vec::from_iter(files.clone()).join(", "))).collect();
    assert!(often.is_empty(), "put the noun of the room in front:\n{}", often.join("\n"));
}

#[test]
fn files_are_short_enough_to_read() {
    let source = support::repository().join("src");
    let mut wrong = Vec::new();
    for path in support::files_below(&source, "rs") {
        let lines = support::read(&path).lines().count();
        if lines > FILE_LINES && !is_test(&path) {
            wrong.push(format!("{path}: {lines} lines, more than {FILE_LINES}; split it by concept"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_room_says_what_it_is_for() {
    let mut wrong = Vec::new();
    for path in support::files_below(&support::repository().join("src"), "rs") {
        if !is_test(&path) && !support::read(&path).starts_with("//! ") {
            wrong.push(format!("{path}: begin with a `//!` line: purpose, and what it may not do"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The path of a module from the crate's root, and what its file names.
type Modules = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

/// Returns every path in `code` that begins with `crate`, `super` or `self`, from the crate's root.
fn named_in(module: &[String], code: &str) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let end = code[at..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
            let path = &code[at..end.map_or(code.len(), |end| at + end)];
            let mut whole: Vec<String> = if start == "crate::" { Vec::new() } else { module.to_vec() };
            for part in path.split("::").filter(|part| !matches!(*part, "crate" | "self" | "")) {
                match part {
                    "super" => drop(whole.pop()),
                    part => whole.push(part.to_owned()),
                }
            }
            found.insert(whole);
        }
    }
    found
}

/// Returns a circle of modules in which each names the next. A `mod.rs` is a table of contents: it names what is in its folder.
fn circle(modules: &Modules) -> Option<Vec<String>> {
    let target = |path: &Vec<String>| {
        (1..=path.len())
            .rev()
            .map(|end| &path[..end])
            .find_map(|module| modules.get_key_value(module))
            .map(|(module, _)| module)
    };
    let mut over = BTreeSet::new();
    for start in modules.keys() {
        let mut way: Vec<(&Vec<String>, Vec<&Vec<String>>)> = Vec::new();
        let mut open = Some(start);
        loop {
            if let Some(module) = open.take().filter(|module| !over.contains(*module)) {
                if let Some(at) = way.iter().position(|(on, _)| *on == module) {
                    return Some(way[at..].iter().map(|(on, _)| on.join("::")).collect());
                }
                let next = modules[module].iter().filter_map(target).filter(|next| *next != module);
                way.push((module, next.collect()));
            }
            let Some((module, next)) = way.last_mut() else { break };
            open = next.pop();
            if open.is_none() {
                over.insert(*module);
                way.pop();
            }
        }
    }
    None
}

/// Returns what each module names, tests and tables of contents left out.
fn modules() -> Modules {
    let mut modules = Modules::new();
    each_file(|path, _, code| {
        let stem = path.as_str().trim_end_matches(".rs");
        if is_test(path) || path.file_name() == Some("mod.rs") {
            return;
        }
        let module: Vec<String> = stem.split('/').map(str::to_owned).collect();
        let code = code.split("\nmod tests {").next().unwrap_or_default();
        let names = named_in(&module, code);
        modules.insert(module, names);
    });
    modules
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let modules = modules();
    assert!(modules.len() > 300, "{} files", modules.len());
    let circle = circle(&modules).unwrap_or_default();
    assert!(circle.is_empty(), "each of these names the next, and the last the first: {}", circle.join(", "));
}

/// Returns the imports inside a room that do not go to the own folder or to one before it.
fn upward(modules: &Modules, room: &str, folders: &[&str]) -> Vec<String> {
    let place = |path: &[String]| match path {
        [first, second, ..] if first == room => Some(folders.iter().position(|folder| folder == second)),
        _ => None,
    };
    let mut found = Vec::new();
    for (module, names) in modules {
        let Some(own) = place(module) else { continue };
        for name in names {
            if place(name).is_some_and(|other| own.is_none() || other.is_none() || other > own) {
                found.push(format!("{} names {}", module.join("::"), name.join("::")));
            }
        }
    }
    found
}

#[test]
fn folders_inside_a_room_import_only_those_before_them() {
    let modules = modules();
    for (room, folders) in FOLDERS {
        let wrong = upward(&modules, room, folders);
        assert!(wrong.is_empty(), "{room} is {}, in this order:\n{}", folders.join(", "), wrong.join("\n"));
        for folder in *folders {
            let inside = |module: &&Vec<String>| module.len() == 3 && module[0] == *room && module[1] == *folder;
            assert!(modules.keys().any(|module| inside(&module)), "{room}/{folder} has no files");
        }
    }
}

#[test]
fn the_guard_sees_what_it_is_for() {
    let code = "use crate::store::Lock;\nlet x = crate::{a, b};\nmycrate::c; other::crate::d";
    assert_eq!(names_after(code, "crate::").collect::<Vec<_>>(), ["store", ""]);
    let code = "    pub(crate) use crate::{\n        cli::{self, a::{B, C as _}},\n        ops::Plan,\n    };\nuse super::page::*;\npub(crate) struct Cause {";
    let spread = spread(code);
    assert_eq!(names_after(&spread, "crate::").collect::<Vec<_>>(), ["cli", "cli", "cli", "ops"]);
    assert!(spread.contains("pub(crate) use crate::cli::a::C as _;\n"), "{spread}");
    assert!(spread.ends_with("use super::page::*;\npub(crate) struct Cause {"), "{spread}");

    let apart = "use crate::{\n    a,\n};\npub use crate::b;\n#[cfg(test)]\nuse crate::c;\nuse super::d;\nuse super::super::e;\n\nuse crate::f;";
    assert!(imported_twice(apart).is_empty(), "{:?}", imported_twice(apart));
    assert_eq!(imported_twice("use crate::{\n    a,\n};\nuse std::fmt;\nuse crate::b;\nuse std::io;").len(), 2);

    assert_eq!(defined("    pub(crate) enum Action: serde {"), Some("Action"));
    assert_eq!(defined("a type of B"), None);
    let code = "mod a;\n#[cfg(test)]\n#[path = \"a_tests.rs\"]\npub(crate) mod tests;\nmod b {";
    let found = declared(Utf8Path::new("/x/mod.rs"), code);
    assert_eq!(found, [("/x/a/mod.rs".into(), false), ("/x/a_tests/mod.rs".into(), true)]);

    let code = "#[command(after_help = \"\\\n  piton plan\")]\nconst EXAMPLES: &str = \"\\\n  piton plan\";\nlet a;\nmod tests {";
    assert_eq!(without_help(&format!("{code}piton plan")), "let a;\n".trim_end());
    let verbs = printed_verbs();
    for (code, count) in [
        ("format!(\"piton {verb}\")", 1),
        ("fix.starts_with(\"piton restore \") || fix.contains(\"`piton close`\")", 2),
        ("a;\n\"see:\\n piton --project DIR list\"", 1),
        ("\"piton reads {file} and piton runs it\"", 0),
        ("Suggested::new(Verb::Plan)", 0),
    ] {
        assert_eq!(spelled(code, &verbs).len(), count, "{code}");
    }

    let path = |text: &str| -> Vec<String> { text.split("::").map(str::to_owned).collect() };
    let named = named_in(&path("store::lock"), "use super::txn::recover;\nx.super_::y; crate::model::Run");
    assert_eq!(named, [path("model::Run"), path("store::txn::recover")].into());
    let mut modules = Modules::from([
        (path("store::lock"), [path("store::txn::recover")].into()),
        (path("store::txn"), [path("store::path::Root")].into()),
        (path("store::path"), BTreeSet::new()),
    ]);
    assert_eq!(circle(&modules), None);
    modules.insert(path("store::path"), [path("store::lock::RunLock")].into());
    assert_eq!(circle(&modules).unwrap().len(), 3);

    let mut modules = Modules::from([
        (path("store::fs::path"), [path("store::fs::error::StoreError"), path("model::RelPath")].into()),
        (path("store::commit::lock"), [path("store::fs::path::Root")].into()),
        (path("ops::plan"), [path("store::lock::RunLock")].into()),
    ]);
    assert!(upward(&modules, "store", &["fs", "commit"]).is_empty());
    modules.insert(path("store::fs::read"), [path("store::commit::lock")].into());
    modules.insert(path("store::commit::txn"), [path("store::StoreError")].into());
    modules.insert(path("store::flat"), [path("store::fs::path")].into());
    assert_eq!(upward(&modules, "store", &["fs", "commit"]).len(), 3);
}
