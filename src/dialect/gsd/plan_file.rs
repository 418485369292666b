//! `NN-PP-PLAN.md` and `NN-PP-SUMMARY.md`: front matter, tasks, and what they declare (docs/formats/gsd.md#plans).

use serde_json::json;

use super::names;
use crate::{
    document::{Names, Node, Syntax, parse},
    model::{DeclaredFile, Need, Part, PartKind, RelPath, Status, clean, clean_line, is_commit_hash, mask_secrets},
};

/// Characters of a quoted sentence.
const SENTENCE: usize = 200;
/// Number of lines about when a plan is done.
const CHECKS: usize = 12;
/// Number of commits of a summary.
const COMMITS: usize = 100;

/// Returns the front matter; `None` if there is none, or it does not parse.
pub(super) fn front_matter(bytes: &[u8]) -> Option<Node> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let rest = text.strip_prefix("---\n")?;
    let end = rest.find("\n---").map(|at| at + 1)?;
    parse(&rest.as_bytes()[..end], Syntax::Yaml).ok()
}

pub(super) fn text_of<'a>(node: Option<&'a Node>, key: &str) -> Option<&'a str> {
    node?.get(key)?.scalar()
}

pub(super) fn texts_of(node: Option<&Node>, key: &str) -> Option<Vec<String>> {
    let found = node?.get(key)?;
    found.is_list().then(|| found.items().iter().filter_map(Node::scalar).map(|text| text.trim().to_owned()).collect())
}

/// Returns ids or paths.
pub(super) fn names_of(node: Option<&Node>, key: &str) -> Option<Vec<String>> {
    node?.get(key).map(|found| Names::of(Some(found)).all())
}

/// Returns the files that a plan declares as its result: its artifacts, else the files that it modifies.
pub(super) fn results(front: Option<&Node>) -> Vec<DeclaredFile> {
    let artifacts = front.and_then(|front| front.get("must_haves")).and_then(|must| must.get("artifacts"));
    let artifacts = artifacts.map(Node::items).unwrap_or_default();
    let declared: Vec<DeclaredFile> = artifacts.iter().filter_map(artifact).collect();
    if !declared.is_empty() {
        return declared;
    }
    let modified = names_of(front, "files_modified").unwrap_or_default();
    modified.iter().filter_map(|path| checked(path)).map(DeclaredFile::plain).collect()
}

fn artifact(artifact: &Node) -> Option<DeclaredFile> {
    let path = artifact.scalar().or_else(|| artifact.get("path")?.scalar())?;
    // Models write one text where there may be a list, and a list where there may be one text.
    let texts =
        |key: &str| texts_of(Some(artifact), key).or_else(|| Some(vec![artifact.get(key)?.scalar()?.to_owned()]));
    let texts = |key: &str| texts(key).unwrap_or_default().into_iter().filter(|text| !text.is_empty());
    let mut needs: Vec<Need> = texts("contains").chain(texts("pattern")).map(Need::Text).collect();
    needs.extend(text_of(Some(artifact), "min_lines").and_then(leading_number).map(Need::Lines));
    needs.extend(names_of(Some(artifact), "exports").unwrap_or_default().into_iter().map(Need::Name));
    needs.sort();
    needs.dedup();
    Some(DeclaredFile { path: checked(path)?, needs })
}

/// Returns the number that a text begins with: `30`, `30+`, `30 lines`.
fn leading_number(text: &str) -> Option<u64> {
    let text = text.trim();
    text[..text.bytes().take_while(u8::is_ascii_digit).count()].parse().ok()
}

/// Returns a path that can be looked at: no pattern, no folder, no placeholder.
pub(super) fn checked(path: &str) -> Option<RelPath> {
    let path = path.trim().trim_matches('`');
    let is_plain = !path.contains(['*', '{', '<', ' '])
        && !path.ends_with('/')
        && !path.contains("://")
        && !path.contains("path/to");
    if is_plain { RelPath::parse(path).ok() } else { None }
}

/// Returns the files that a summary names as created.
pub(super) fn created(front: Option<&Node>) -> Vec<DeclaredFile> {
    let files = front.and_then(|front| front.get("key-files").or_else(|| front.get("key_files")));
    let created = names_of(files, "created").unwrap_or_default();
    created.iter().filter_map(|path| checked(path)).map(DeclaredFile::plain).collect()
}

/// A task of a plan.
pub(super) struct GsdTask {
    pub(super) name: String,
    pub(super) files: Vec<RelPath>,
    /// It waits for a person.
    pub(super) is_gate: bool,
    /// How it is verified and when it is done. Text, never run.
    checks: Vec<String>,
}

impl GsdTask {
    pub(super) fn into_part(self, at: usize, is_done: bool) -> Part {
        Part {
            name: (at + 1).to_string(),
            title: self.name,
            kind: PartKind::Work,
            status: if is_done { Status::Completed } else { Status::Pending },
            output: None,
            commands: Vec::new(),
        }
    }
}

/// Returns the tasks of a plan, in order.
pub(super) fn tasks(bytes: &[u8]) -> Vec<GsdTask> {
    let text = String::from_utf8_lossy(bytes);
    let mut tasks = Vec::new();
    for piece in text.split("<task").skip(1).filter(|piece| piece.starts_with([' ', '>', '\n', '\r'])).take(200) {
        let body = piece.split("</task>").next().unwrap_or(piece);
        let attributes = body.split('>').next().unwrap_or_default();
        let name = inner(body, "name").unwrap_or_default();
        let files = inner(body, "files").unwrap_or_default();
        let files = files.split([',', '\n', '\r']).filter_map(checked).collect();
        // Only an attribute that says so lets a checkpoint pass by itself.
        let gate = attributes.split_once("gate=").map(|(_, value)| value.trim_start_matches(['"', '\'']));
        let is_gate = attributes.contains("checkpoint:") && gate.is_none_or(|gate| gate.starts_with("blocking"));
        let number = tasks.len() + 1;
        let name = clean_line(&mask_secrets(name), 100);
        let checks = ["verify", "done"].iter().filter_map(|tag| {
            let text = clean_line(&mask_secrets(inner(body, tag)?), SENTENCE);
            (!text.is_empty()).then(|| format!("part {number}, {tag}: {text}"))
        });
        tasks.push(GsdTask {
            name: if name.is_empty() { format!("task {number}") } else { name },
            files,
            is_gate,
            checks: checks.collect(),
        });
    }
    tasks
}

fn inner<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let start = text.find(&format!("<{tag}>"))? + tag.len() + 2;
    let end = text[start..].find(&format!("</{tag}>"))?;
    Some(text[start..start + end].trim())
}

/// Returns when a plan is done: its truths, and the checks of its tasks.
pub(super) fn acceptance(front: Option<&Node>, tasks: &[GsdTask]) -> Vec<String> {
    let truths = texts_of(front.and_then(|front| front.get("must_haves")), "truths").unwrap_or_default();
    let truths = truths.iter().map(|truth| clean_line(&mask_secrets(truth), SENTENCE));
    truths.chain(tasks.iter().flat_map(|task| task.checks.clone())).take(CHECKS).collect()
}

/// Returns what a summary says came of its plan: its one-liner, else the first sentence of its text.
pub(super) fn one_liner(summary: &[u8], front: Option<&Node>) -> Option<String> {
    let text = String::from_utf8_lossy(summary);
    let stated = ["one-liner", "one_liner"].iter().find_map(|key| text_of(front, key));
    let line = stated.or_else(|| body_of(&text).find(|line| !line.starts_with('|')))?;
    let line = line.trim_matches(['*', '_', ' ']);
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    let sentence = clean_line(&mask_secrets(&line[..end]), SENTENCE);
    (!sentence.is_empty()).then_some(sentence)
}

/// Returns the lines of the text of a document: no front matter, headings, rules or blank lines.
fn body_of(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim_start_matches('\u{feff}');
    let body = text.strip_prefix("---").and_then(|rest| rest.split_once("\n---")).map_or(text, |(_, body)| body);
    body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '-']))
}

/// Returns the objective of a plan.
pub(super) fn objective(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    clean(&mask_secrets(inner(&text, "objective").unwrap_or_default())).into_owned()
}

/// Tells whether a summary begins by saying that nothing was done. Further down, such words are about details.
fn is_empty_summary(bytes: &[u8]) -> bool {
    const STARTS: [&str; 9] = [
        "not executed",
        "not yet executed",
        "not started",
        "not carried out",
        "never executed",
        "nothing was executed",
        "nothing was done",
        "tbd",
        "todo",
    ];
    // Who is meant, and what is said of it.
    const SUBJECTS: [&str; 5] = ["this plan ", "the plan ", "plan ", "execution ", "it "];
    const WORDS: [&str; 6] =
        [" not executed", " not been executed", " never executed", " not carried out", " not started", " not begun"];
    let text = String::from_utf8_lossy(bytes);
    let plain = |line: &str| {
        let text: String = line.chars().filter(|c| !matches!(c, '*' | '_' | '`')).collect();
        text.trim_start_matches(['-', '>', ' ']).to_lowercase()
    };
    let says_nothing = |line: &str| STARTS.iter().any(|start| line.starts_with(start));
    let first = plain(body_of(&text).next().unwrap_or_default());
    let sentence = first.split(['.', ';']).next().unwrap_or_default();
    let is_about_plan = SUBJECTS.iter().any(|start| sentence.starts_with(start))
        || sentence.split(' ').next().is_some_and(names::is_plan);
    let body = text.strip_prefix("---").and_then(|rest| rest.split_once("\n---")).map_or(&*text, |(_, body)| body);
    let mut stated = body.lines().take(20).map(plain);
    says_nothing(&first)
        || (is_about_plan && WORDS.iter().any(|word| sentence.contains(word)))
        || stated.any(|line| line.strip_prefix("status:").is_some_and(|status| says_nothing(status.trim())))
}

/// Tells whether a plan says that it will not be carried out.
pub(super) fn is_dropped(front: Option<&Node>) -> bool {
    text_of(front, "status").is_some_and(is_dropping)
}

/// Tells whether a plan says that it is not carried out without a person.
pub(super) fn needs_person(front: Option<&Node>) -> bool {
    text_of(front, "autonomous") == Some("false")
}

/// Returns the commits that a summary names. Other words that look like a hash are found in no history.
pub(super) fn commits(summary: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(summary);
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| is_commit_hash(word)).take(COMMITS).map(str::to_owned).collect()
}

/// Tells whether a plan calls itself done.
pub(super) fn claims_done(front: Option<&Node>) -> bool {
    let word = text_of(front, "status").unwrap_or_default().trim().to_lowercase();
    ["complete", "completed", "done", "finished", "executed", "shipped"].contains(&word.as_str())
}

/// Tells whether a status says that something will not be done: `superseded by 01-03`, `won't fix`.
pub(super) fn is_dropping(status: &str) -> bool {
    let words = status.trim().to_lowercase().replace(['\'', '’'], "").replace(['-', '_'], " ");
    let first = words.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let is_first =
        ["superseded", "dropped", "skipped", "canceled", "cancelled", "obsolete", "wontfix", "deferred", "abandoned"]
            .contains(&first);
    is_first || words.starts_with("wont fix") || words.starts_with("wont do")
}

/// Tells whether a plan closes gaps that a verification found.
pub(super) fn closes_gaps(plan: &[u8]) -> bool {
    is_gap_plan(front_matter(plan).as_ref())
}

pub(super) fn is_gap_plan(front: Option<&Node>) -> bool {
    text_of(front, "gap_closure") == Some("true")
}

/// Returns a plan that says that it will not be carried out; `None` if it has no front matter.
pub(super) fn superseded(plan: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(plan).ok()?;
    front_matter(plan)?;
    let begin = text.find('\n')? + 1;
    let end = if text[..begin].ends_with("\r\n") { "\r\n" } else { "\n" };
    let mut at = begin;
    for line in text[begin..].split_inclusive('\n').take_while(|line| line.trim_end() != "---") {
        if line.starts_with("status:") {
            return Some(format!("{}status: superseded{end}{}", &text[..at], &text[at + line.len()..]).into_bytes());
        }
        at += line.len();
    }
    Some(format!("{}status: superseded{end}{}", &text[..begin], &text[begin..]).into_bytes())
}

/// Returns the summary that records a plan as carried out after the fact: its path and its text.
pub(super) fn recorded(plan: &RelPath, id: &str) -> Option<(RelPath, Vec<u8>)> {
    let folder = plan.parent()?;
    let path = folder.join(&format!("{}{}", plan.name().strip_suffix(names::PLAN)?, names::SUMMARY)).ok()?;
    let (phase, name) = (json!(folder.name()), json!(id));
    let text = format!(
        "---\nphase: {phase}\nplan: {name}\nstatus: complete\n---\n\n# {} Summary\n\nRecorded afterwards: the plan was carried out without a summary.\n",
        clean_line(id, 40)
    );
    Some((path, text.into_bytes()))
}

/// Returns how a summary says nothing; `None` if it says something.
pub(super) fn emptiness(summary: &[u8]) -> Option<&'static str> {
    if summary.trim_ascii().is_empty() {
        return Some("its summary is empty");
    }
    is_empty_summary(summary).then_some("its summary says that it was not executed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[DeclaredFile]) -> Vec<&str> {
        files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn results_are_artifacts_else_modified_files() {
        for (front, expected) in [
            ("must_haves:\n  artifacts:\n    - path: a.py\n    - b.py\nfiles_modified: [c.py]", vec!["a.py", "b.py"]),
            ("must_haves:\n  truths: [x]\nfiles_modified:\n  - c.py\n  - \"`d.py`\"", vec!["c.py", "d.py"]),
            (
                "files_modified: [\"src/*.py\", \"../x\", \"/etc/x\", \"{a,b}.py\", \"path/to/x.py\", \"http://x/y.py\", \"a/\", \"e.py\"]",
                vec!["e.py"],
            ),
            ("files_modified: none", vec![]),
            ("", vec![]),
        ] {
            let front = front_matter(format!("---\n{front}\n---\ntext").as_bytes());
            assert_eq!(names(&results(front.as_ref())), expected, "{front:?}");
        }
        let front = front_matter(b"---\nmust_haves:\n  artifacts:\n    - path: a.py\n      contains: x\n      min_lines: 3\n      exports: [f]\n---\n");
        let needs = [Need::Text("x".to_owned()), Need::Lines(3), Need::Name("f".to_owned())];
        assert_eq!(results(front.as_ref())[0].needs, needs);
        let (text, name) = (|text: &str| Need::Text(text.to_owned()), |text: &str| Need::Name(text.to_owned()));
        for (artifact, needs) in [
            ("exports: f", vec![name("f")]),
            ("exports: \"f, g\"", vec![name("f"), name("g")]),
            ("exports: none", vec![]),
            ("contains: [x, y]", vec![text("x"), text("y")]),
            ("contains: \"x, y\"", vec![text("x, y")]),
            ("pattern: [\"a.b\"]", vec![text("a.b")]),
            ("min_lines: \"30\"", vec![Need::Lines(30)]),
            ("min_lines: 30+", vec![Need::Lines(30)]),
            ("min_lines: many", vec![]),
        ] {
            let plan = format!("---\nmust_haves:\n  artifacts:\n    - path: a.py\n      {artifact}\n---\n");
            assert_eq!(results(front_matter(plan.as_bytes()).as_ref())[0].needs, needs, "{artifact}");
        }
    }

    #[test]
    fn tasks_have_names_files_gates_and_checks() {
        let text = "<tasks>\r\n<task type=\"auto\">\r\n<name>Task 1: a</name>\r\n<files>a.py, b.py\r\n  c.py</files>\r\n<verify>pytest</verify>\r\n<done>green</done>\r\n</task>\r\n\
                    <task type=\"checkpoint:human-verify\" gate=\"blocking\">\r\n</task>\r\n<task type=\"checkpoint:decision\">\r\n<name>c</name></task>\r\n\
                    <task type='checkpoint:decision' gate='blocking'></task><task type=\"checkpoint:decision\" gate=\"optional\"></task></tasks>";
        let tasks = tasks(text.as_bytes());
        let names: Vec<(&str, usize, bool)> =
            tasks.iter().map(|task| (task.name.as_str(), task.files.len(), task.is_gate)).collect();
        let expected =
            [("Task 1: a", 3, false), ("task 2", 0, true), ("c", 0, true), ("task 4", 0, true), ("task 5", 0, false)];
        assert_eq!(names, expected);
        assert_eq!(acceptance(None, &tasks), ["part 1, verify: pytest", "part 1, done: green"]);
        assert!(super::tasks(b"<task").is_empty() && super::tasks(b"a <tasks> b").is_empty());
    }

    #[test]
    fn what_came_of_a_plan_is_its_one_liner() {
        for (summary, said) in [
            ("---\na: b\n---\n\n# Summary\n\n**Spars are bent**\n", Some("Spars are bent")),
            ("---\none-liner: Bent spars\n---\n\nOther text. More.\n", Some("Bent spars")),
            ("# Summary\r\n\r\nIt works. And more.\r\n", Some("It works.")),
            ("\u{feff}# S\n\n- a list\n\nA text\n", Some("A text")),
            ("# Summary\n", None),
            ("", None),
        ] {
            assert_eq!(
                one_liner(summary.as_bytes(), front_matter(summary.as_bytes()).as_ref()).as_deref(),
                said,
                "{summary:?}"
            );
        }
        for (summary, is_empty) in [
            ("", true),
            ("# S\n\nTBD\n", true),
            ("# S\n\n**Not executed.**\n", true),
            ("# S\n\nIt works; TBD: docs\n", false),
            ("# S\n\nThis plan was not executed because a key is missing.\n", true),
            ("# S\n\n01-02 was never executed.\n", true),
            ("# S\n\n**Phase:** 1\n**Status:** Not executed\n", true),
            ("# S\n\n- **Status**: not started\n", true),
            ("# S\n\nThe migration was not executed in tests.\n", false),
            ("# S\n\nThis plan is done; step 3 was not executed.\n", false),
        ] {
            assert_eq!(emptiness(summary.as_bytes()).is_some(), is_empty, "{summary:?}");
        }
    }

    #[test]
    fn words_of_a_status_say_that_a_plan_is_dropped_or_done() {
        for (status, is_dropped_one, is_done) in [
            ("superseded by 01-03", true, false),
            ("skipped", true, false),
            ("Canceled", true, false),
            ("cancelled", true, false),
            ("obsolete", true, false),
            ("wontfix", true, false),
            ("\"won't fix\"", true, false),
            ("dropped", true, false),
            ("deferred", true, false),
            ("complete", false, true),
            ("Done", false, true),
            ("in progress", false, false),
            ("not skipped", false, false),
        ] {
            let front = front_matter(format!("---\nstatus: {status}\n---\n").as_bytes());
            assert_eq!(
                (is_dropped(front.as_ref()), claims_done(front.as_ref())),
                (is_dropped_one, is_done),
                "{status}"
            );
        }
    }

    #[test]
    fn a_plan_that_is_dropped_says_so_in_its_front_matter() {
        for (plan, expected) in [
            ("---\nwave: 1\n---\ntext\n", Some("---\nstatus: superseded\nwave: 1\n---\ntext\n")),
            ("---\r\nwave: 1\r\nstatus: open # x\r\n---\r\n", Some("---\r\nwave: 1\r\nstatus: superseded\r\n---\r\n")),
            ("---\nwave: 1\n---\nstatus: open\n", Some("---\nstatus: superseded\nwave: 1\n---\nstatus: open\n")),
            ("no front matter\n", None),
            ("---\nwave: 1\n", None),
        ] {
            let found = superseded(plan.as_bytes());
            assert_eq!(found.as_deref().map(String::from_utf8_lossy).as_deref(), expected, "{plan:?}");
            assert!(found.is_none_or(|plan| is_dropped(front_matter(&plan).as_ref())));
        }
    }
}
