//! Every cited heading exists, and rules are cited in one form: `docs/formats/ccw.md#task-file`.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use crate::support;

/// Pages that were cited by the number of a section and are not in the repository.
const GONE: [&str; 4] = ["design.md", "dotagent-and-aios.md", "house.md", "plans.md"];

/// Pages that were cited in the same way and are below `docs/` now. A citation names that path and a heading; other pages may
/// name them without.
const MOVED: [&str; 5] = ["ccw.md", "claude-code.md", "claude.md", "nine-step.md", "prodigy.md"];

/// Folders and files whose text may cite pages.
const PLACES: [&str; 17] = [
    ".ci",
    ".github",
    "benches",
    "bin",
    "commands",
    "docs",
    "examples",
    "fuzz",
    "hooks",
    "schemas",
    "skills",
    "src",
    "tests",
    "workflows",
    "Cargo.toml",
    "clippy.toml",
    "rustfmt.toml",
];

/// This file quotes the refused forms.
const ITSELF: &str = "tests/formats.rs";

/// Returns the paths of the texts that may cite pages, relative to the repository.
fn texts() -> Vec<Utf8PathBuf> {
    let root = support::repository();
    let mut open: Vec<Utf8PathBuf> = PLACES.iter().map(Utf8PathBuf::from).collect();
    let top = root.read_dir_utf8().expect("the repository is readable");
    let names = top.map(|entry| entry.expect("a readable folder").file_name().to_owned());
    open.extend(names.filter(|name| name.ends_with(".md")).map(Utf8PathBuf::from));
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        let at = root.join(&path);
        if at.is_dir() {
            let entries = at.read_dir_utf8().unwrap_or_else(|error| panic!("{path}: {error}"));
            let names = entries.map(|entry| entry.expect("a readable folder").file_name().to_owned());
            open.extend(names.filter(|name| name != "target").map(|name| path.join(name)));
        } else if at.exists() && path != ITSELF {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the text of a file; `None` if it is not UTF-8.
fn text(path: &Utf8Path) -> Option<String> {
    String::from_utf8(std::fs::read(support::repository().join(path)).ok()?).ok()
}

/// Returns the anchor that GitHub gives a heading: link and code marks gone, lower case, white space as `-`, and nothing else
/// but letters, digits, `-` and `_`.
fn slug(heading: &str) -> String {
    let mut plain = String::new();
    let mut rest = heading;
    // A link shows only its text.
    while let Some((before, link)) = rest.split_once('[') {
        let parts = link.split_once("](").and_then(|(shown, target)| Some((shown, target.split_once(')')?.1)));
        let Some((shown, after)) = parts else { break };
        plain.push_str(before);
        plain.push_str(shown);
        rest = after;
    }
    plain.push_str(rest);
    let kept = plain.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the anchors of a page. Of equal headings the second has `-1` at its end, the third `-2`.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for (_, line) in outside_fences(page) {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if (1..=6).contains(&level) && title.starts_with(' ') {
            let slug = slug(title);
            let seen = times.entry(slug.clone()).or_default();
            anchors.insert(if *seen == 0 { slug } else { format!("{slug}-{seen}") });
            *seen += 1;
        }
    }
    anchors
}

/// Returns the lines of a page with their numbers, without those of fenced blocks.
fn outside_fences(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_fenced = false;
    page.lines().zip(1..).filter_map(move |(line, number)| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        (!is_fence && !is_fenced).then_some((number, line))
    })
}

/// Returns the citations of a line: each `docs/....md#anchor`, and each `docs/formats/....md` without an anchor.
fn citations(line: &str) -> Vec<(&str, Option<&str>)> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices("docs/") {
        let begins = !line[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
        let cited = &line[at..];
        let end = cited
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.')))
            .unwrap_or(cited.len());
        let Some(path) = cited[..end].strip_suffix('.').or(Some(&cited[..end])).filter(|path| path.ends_with(".md"))
        else {
            continue;
        };
        let anchor = cited[path.len()..].strip_prefix('#').map(|anchor| {
            let end = anchor.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_'))).unwrap_or(anchor.len());
            &anchor[..end]
        });
        if begins && (anchor.is_some() || path.starts_with("docs/formats/")) {
            found.push((path, anchor));
        }
    }
    found
}

/// Returns the targets of the links of a Markdown line that stay in the repository. Text in code marks is not a link.
fn links(line: &str) -> Vec<String> {
    let shown: String = line.split('`').step_by(2).collect();
    let targets = shown.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains(':') && !target.contains(' ')).map(str::to_owned).collect()
}

/// Returns what a line of a file cites in the old form: a page without its path or by the number of a section, a contradiction
/// by its number.
fn old_citations<'a>(file: &Utf8Path, line: &'a str) -> Vec<&'a str> {
    let is_cited = |name: &str, is_bare_allowed: bool| {
        line.match_indices(name).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let is_whole = !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
            let is_bare = before != Some('/');
            is_whole && ((is_bare && !is_bare_allowed) || begins_with_section(&line[at + name.len()..]))
        })
    };
    let is_page = file.extension() == Some("md");
    let gone = GONE.into_iter().filter(|name| is_cited(name, false));
    let moved = MOVED.into_iter().filter(|name| is_cited(name, is_page));
    let words = line.split(|c: char| !(c.is_alphanumeric() || c == '-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = words.filter(|word| line.contains("//") && word.strip_prefix("C-").is_some_and(is_number));
    gone.chain(moved).chain(numbers).collect()
}

/// Tells whether a text continues with the number of a section: ` B7.3`, ` 2.10`, ` C-17`.
fn begins_with_section(text: &str) -> bool {
    let Some(text) = text.strip_prefix(' ') else { return false };
    let text = text.strip_prefix(|c: char| c.is_ascii_uppercase()).unwrap_or(text);
    text.strip_prefix('-').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit())
}

#[test]
fn every_citation_leads_to_a_heading() {
    let root = support::repository();
    let mut pages: BTreeMap<Utf8PathBuf, Option<BTreeSet<String>>> = BTreeMap::new();
    let mut problem_of = |page: &Utf8Path, anchor: Option<&str>| -> Option<String> {
        let read = || root.join(page).exists().then(|| text(page).map(|page| anchors(&page)).unwrap_or_default());
        match (pages.entry(page.to_owned()).or_insert_with(read), anchor) {
            (None, _) => Some(format!("{page} does not exist")),
            (Some(anchors), Some(anchor)) if !anchors.contains(anchor) => {
                Some(format!("{page} has no heading #{anchor}"))
            }
            (Some(_), _) => None,
        }
    };
    let mut wrong = Vec::new();
    for path in texts() {
        let Some(text) = text(&path) else { continue };
        for (line, number) in text.lines().zip(1..) {
            let problems =
                citations(line).into_iter().filter_map(|(page, anchor)| problem_of(Utf8Path::new(page), anchor));
            wrong.extend(problems.map(|problem| format!("{path}:{number}: {problem}")));
        }
        if path.extension() != Some("md") || path.starts_with("examples") {
            continue;
        }
        for (number, line) in outside_fences(&text) {
            for target in links(line) {
                let split = target.split_once('#');
                let (page, anchor) = split.map_or((target.as_str(), None), |(page, anchor)| (page, Some(anchor)));
                let folder = path.parent().unwrap_or(Utf8Path::new(""));
                let page = if page.is_empty() { path.clone() } else { flat(&folder.join(page)) };
                wrong.extend(problem_of(&page, anchor).map(|problem| format!("{path}:{number}: {problem}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} citations lead nowhere:\n{}", wrong.len(), wrong.join("\n"));
}

/// Takes `..` out of a path.
fn flat(path: &Utf8Path) -> Utf8PathBuf {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.as_str().split('/') {
        match part {
            ".." => {
                parts.pop();
            }
            "" | "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/").into()
}

#[test]
fn rules_are_cited_by_page_and_heading() {
    let mut wrong = Vec::new();
    for path in texts() {
        let Some(text) = text(&path) else { continue };
        for (line, number) in text.lines().zip(1..) {
            wrong.extend(old_citations(&path, line).iter().map(|cited| format!("{path}:{number}: {cited}")));
        }
    }
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} citations in the old form; write docs/...md#heading:\n{}", wrong.join("\n"));
}

#[test]
fn anchors_are_those_of_github() {
    for (heading, expected) in [
        ("Task file", "task-file"),
        (" `plan --to-step`, and what it does", "plan---to-step-and-what-it-does"),
        ("`last_execution`", "last_execution"),
        ("What is written?", "what-is-written"),
        ("1.2 Steps & agents", "12-steps--agents"),
        ("The [checklist](#checklist) of CCW", "the-checklist-of-ccw"),
        ("Prüfung: 状态", "prüfung-状态"),
        ("A [bracket", "a-bracket"),
    ] {
        assert_eq!(slug(heading), expected, "{heading}");
    }
    let page = "# One\n\n## One\n\n```sh\n# Two\n```\n\n####### Seven\n#Three\n### One\n";
    assert_eq!(anchors(page), ["one", "one-1", "one-2"].map(str::to_owned).into());
}

#[test]
fn citations_are_found_in_any_line() {
    for (line, expected) in [
        ("//! Fields (docs/formats/ccw.md#task-file).", vec![("docs/formats/ccw.md", Some("task-file"))]),
        (
            "see `docs/formats/ccw.md#a`, docs/findings.md#b-1; not docs/findings.md",
            vec![("docs/formats/ccw.md", Some("a")), ("docs/findings.md", Some("b-1"))],
        ),
        ("/// (formats: docs/formats/ccw.md).", vec![("docs/formats/ccw.md", None)]),
        ("/// The page is docs/formats/ccw.md.", vec![("docs/formats/ccw.md", None)]),
        ("\"path\": \"docs/design.md\", other/docs/a.md#b", vec![]),
    ] {
        assert_eq!(citations(line), expected, "{line}");
    }
    assert_eq!(links("[a](b.md#c), [d](https://x/y.md), [`e`](#f), `[g](h.md)`"), ["b.md#c", "#f"]);
    assert_eq!(flat(Utf8Path::new("docs/formats/../a.md")), "docs/a.md");
}

#[test]
fn the_old_form_is_refused() {
    for (file, line, expected) in [
        ("a.rs", "/// Reads a word (ccw.md B8.2).", vec!["ccw.md"]),
        ("a.rs", "//! The nine-step plugin (formats: nine-step.md).", vec!["nine-step.md"]),
        ("a.rs", "// dotagent-and-aios.md C-17, prodigy.md 3.2", vec!["dotagent-and-aios.md", "prodigy.md", "C-17"]),
        ("a.rs", "//! The lines of design.md 7.", vec!["design.md"]),
        ("a.md", "The lines of design.md allow it.", vec!["design.md"]),
        ("a.rs", "claude-code.md 1.1: it would be loaded twice", vec!["claude-code.md"]),
        ("a.md", "`docs/` has `claude-code.md`, what the plugin relies on", vec![]),
        ("a.md", "It would be loaded twice (claude-code.md 1.1).", vec!["claude-code.md"]),
        ("a.rs", "/// See docs/formats/nine-step.md A5.", vec!["nine-step.md"]),
        ("a.rs", "/// See docs/formats/nine-step.md#decision-table.", vec![]),
        ("a.md", "[ccw.md](ccw.md#task-file) and [the client](../claude-code.md)", vec![]),
        ("a.rs", "created_by_step: 1, path: docs/design.md", vec![]),
        ("a.rs", "tech-design.md, own-prodigy.md and CLAUDE.md", vec![]),
        ("a.rs", "//! lap (C-17): then neither is believed; Ctrl-C, C-x", vec!["C-17"]),
        ("a.md", "    - C-17", vec![]),
    ] {
        assert_eq!(old_citations(Utf8Path::new(file), line), expected, "{line}");
    }
}
