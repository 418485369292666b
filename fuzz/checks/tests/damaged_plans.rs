//! Plans of public projects, where they are beside the repository, with every file that is read cut off, without a line, or with the markers
//! of a merge: nothing panics, nothing that was open is called done, nothing that was done runs again.
//!
//! `PITON_TESTS=all` damages them at every tenth byte and at every line; otherwise a few files at a few places. A plan is made in memory: as
//! processes, the whole would take days.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use camino::Utf8PathBuf;
use serde_json::Value;

use super::super::bundle::{Bundle, clock};
use super::repository;
use crate::{
    dialect::{Dialect, by_id},
    engine::Planned,
    model::{
        Action, Candidate, CommitLog, Content, DeclaredFile, DeclaredState, DialectId, Evidence, FileSet,
        GuestEvidence, Listing, ListingEntry, Options, RelPath, Run, Status, Verdict,
    },
    ops::{self, OpenedRun},
    store::{self, Trusted},
};

const MARKERS: &str = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n";
/// Bytes from one cut to the next.
const STEP: usize = 10;
/// Files of a run of which some places are damaged, unless all are.
const FILES: usize = 2;
/// Time in which every damaged plan is planned, also on a busy machine.
const TIME: Duration = Duration::from_secs(10);

/// A run of a public project.
struct Sample {
    id: String,
    root: Utf8PathBuf,
    dialect: &'static dyn Dialect,
    bundle: Bundle,
    listing: Listing,
    candidate: Candidate,
    files: FileSet,
    log: Option<Arc<CommitLog>>,
    /// The files that steps declare, each looked at once.
    declared: BTreeMap<DeclaredFile, DeclaredState>,
}

/// What is right about a run, by its undamaged files.
struct Known {
    done: BTreeSet<String>,
    /// Titles of steps whose ids are made of their places, which move when a line is lost.
    done_titles: BTreeSet<String>,
    open: Vec<(String, String)>,
    is_complete: bool,
}

/// A way to damage a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Cut(usize),
    WithoutLine(usize),
    Conflict(usize),
}

impl Sample {
    fn open(project: &Path, case: &Value) -> Option<Self> {
        let (id, run) = (case["id"].as_str()?, case["run"].as_str()?);
        let dialect = by_id(match case["system"].as_str()? {
            "gsd" => DialectId::Gsd,
            "taskmaster" => DialectId::Taskmaster,
            "bmad" => DialectId::Bmad,
            _ => DialectId::Checklist,
        });
        let root = Utf8PathBuf::from_path_buf(project.to_owned()).ok()?;
        let listed = git(project, &["ls-files", "-z"]);
        let paths = listed.split('\0').filter_map(|path| RelPath::parse(path).ok());
        let read = |path: RelPath| Some((path.clone(), fs::read(project.join(path.as_str())).ok()?.into()));
        let bundle = Bundle { changes: Vec::new(), files: paths.filter_map(read).collect() };
        let listing = bundle.listing(dialect);
        let probed = dialect.probe(&listing);
        let is_it = |candidate: &Candidate| candidate.state.as_str() == run || candidate.name == run;
        let found: Vec<Candidate> = probed.candidates.into_iter().chain(probed.ended).filter(is_it).collect();
        let first = found.iter().min_by_key(|candidate| candidate.rank.as_ref().map(|rank| rank.order));
        let candidate = first.unwrap_or_else(|| panic!("{id}: {run} is not found")).clone();
        let files = bundle.read(&candidate);
        let log = store::commit_log(&root).map(Arc::new);
        Some(Self {
            id: id.to_owned(),
            root,
            dialect,
            bundle,
            listing,
            candidate,
            files,
            log,
            declared: BTreeMap::new(),
        })
    }

    /// Returns the plan of the run with another content of a file; `None` if its run is not found, or cannot be read.
    fn plan(&mut self, path: &RelPath, bytes: &[u8]) -> Option<(Run, Planned)> {
        let bytes: Arc<[u8]> = bytes.into();
        let is_listed = |entry: &ListingEntry| entry.path == *path && entry.content.is_some();
        let candidate = if self.listing.entries.iter().any(is_listed) {
            let mut listing = self.listing.clone();
            let listed = listing.entries.iter_mut().filter(|entry| entry.path == *path);
            listed.for_each(|entry| entry.content = Some(Arc::clone(&bytes)));
            let probed = self.dialect.probe(&listing);
            let is_it = |one: &Candidate| one.state == self.candidate.state && one.name == self.candidate.name;
            probed.candidates.into_iter().chain(probed.ended).find(is_it)?
        } else {
            self.candidate.clone()
        };
        let mut files =
            if candidate.reads == self.candidate.reads { self.files.clone() } else { self.bundle.read(&candidate) };
        if let Some(entry) = files.files.get_mut(path) {
            entry.content = Content::Bytes(bytes);
        }
        let opened = OpenedRun::new(candidate, files, &Trusted::nothing());
        let run = opened.loaded.run.clone()?;
        let evidence = self.evidence(&opened);
        let planned = ops::evaluate(&opened, &run, &evidence, &Options::at(clock().now));
        Some((run, planned))
    }

    fn evidence(&mut self, opened: &OpenedRun) -> Evidence {
        let Some(request) = &opened.loaded.wanted.guest else { return Evidence::default() };
        let unseen: BTreeSet<DeclaredFile> =
            request.files.iter().filter(|file| !self.declared.contains_key(file)).cloned().collect();
        if !unseen.is_empty() {
            self.declared.extend(store::declared_files(&self.root, &unseen));
        }
        let state = |file: &DeclaredFile| Some((file.clone(), self.declared.get(file)?.clone()));
        let guest = GuestEvidence {
            files: request.files.iter().filter_map(state).collect(),
            log: self.log.clone().filter(|_| request.wants_log),
            state_folders: request.state_folders.clone(),
            was_asked: true,
        };
        Evidence { guest, ..Evidence::default() }
    }

    /// Returns the files that are read about the run, without those that only define commands.
    fn damaged_files(&self) -> Vec<(RelPath, String)> {
        let text = |(path, entry): (&RelPath, &crate::model::FileEntry)| match &entry.content {
            Content::Bytes(bytes) if !path.as_str().starts_with(".claude/") => {
                Some((path.clone(), String::from_utf8_lossy(bytes).into_owned()))
            }
            Content::Bytes(_) | Content::NameOnly | Content::Problem(_) => None,
        };
        self.files.files.iter().filter_map(text).filter(|(_, text)| !text.is_empty()).collect()
    }
}

impl Known {
    fn of(run: &Run, planned: &Planned) -> Self {
        let claimed = |status: Status| status == Status::Completed;
        let title = |title: &str| title.trim().to_owned();
        Self {
            done: run
                .steps
                .iter()
                .filter(|step| claimed(step.status))
                .map(|step| step.id.as_str().to_owned())
                .collect(),
            done_titles: run.steps.iter().filter(|step| claimed(step.status)).map(|step| title(&step.title)).collect(),
            open: run
                .steps
                .iter()
                .filter(|step| !step.status.is_over())
                .map(|step| (step.id.as_str().to_owned(), title(&step.title)))
                .collect(),
            is_complete: planned.plan.verdict == Verdict::Complete,
        }
    }

    /// Returns what is wrong with the plan of damaged files. `lost` is the text that is no longer there, `left` what is.
    fn wrong(&self, run: &Run, planned: &Planned, left: &str, is_cut: bool) -> Vec<String> {
        let last_line = left.lines().next_back().unwrap_or_default();
        let mut wrong = Vec::new();
        for id in &planned.plan.steps.completed {
            let step = run.step(id).expect("a finished step is one of the run");
            let (id, title) = (id.as_str(), step.title.trim());
            let is_known = self.done.contains(id) || self.done_titles.contains(title);
            // The end of a file that is cut off in the id or title of a finished step.
            let is_stump = is_cut
                && last_line.contains(title)
                && (self.done_titles.iter().any(|done| done.starts_with(title))
                    || self.done.iter().any(|done| done.starts_with(id)));
            if !is_known && !is_stump {
                wrong.push(format!("{id} ({title}) is done"));
            }
        }
        let is_work = |action: Action| matches!(action, Action::Run | Action::Retry | Action::Exec);
        for next in planned.plan.next.iter().filter(|next| is_work(next.action)) {
            let title = run.step(&next.step).map_or("", |step| step.title.trim());
            let was_done = self.done.contains(next.step.as_str()) && self.done_titles.contains(title);
            if was_done {
                wrong.push(format!("{} ({title}) runs again", next.step));
            }
        }
        if planned.plan.verdict == Verdict::Complete && !self.is_complete {
            let is_there = |title: &str| title.len() > 3 && left.contains(title);
            let forgotten = self.open.iter().filter(|(_, title)| is_there(title));
            wrong.extend(forgotten.map(|(id, title)| format!("complete, and {id} ({title}) is still written there")));
        }
        wrong
    }
}

/// Returns the ways to damage a text.
fn damages(text: &str, lines: usize, is_whole: bool) -> Vec<Damage> {
    let some = |total: usize| (0..3).map(move |at| total * at / 3);
    let cuts: Vec<usize> = if is_whole { (0..text.len()).step_by(STEP).collect() } else { some(text.len()).collect() };
    let places: Vec<usize> = if is_whole { (0..lines).collect() } else { some(lines).collect() };
    let of_lines = places.into_iter().flat_map(|at| [Damage::WithoutLine(at), Damage::Conflict(at)]);
    cuts.into_iter().map(Damage::Cut).chain(of_lines).collect()
}

fn damaged(text: &str, lines: &[&str], damage: Damage) -> String {
    match damage {
        Damage::Cut(at) => {
            let end = (0..=at).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
            text[..end].to_owned()
        }
        Damage::WithoutLine(at) => {
            let (before, behind) = lines.split_at(at);
            before.iter().chain(behind.iter().skip(1)).copied().collect()
        }
        Damage::Conflict(at) => {
            let (before, behind) = lines.split_at(at);
            [before.concat(), MARKERS.to_owned(), behind.concat()].concat()
        }
    }
}

fn git(project: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(project).args(arguments).output().expect("git is there");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Damages every file of a run in every way, and returns the number of plans, the longest time of one, and what was wrong.
fn try_all(sample: &mut Sample, is_whole: bool) -> (usize, Duration, Vec<String>) {
    let (mut plans, mut longest, mut failures) = (0, Duration::ZERO, Vec::new());
    let state = sample.damaged_files();
    let (path, text) = state.first().expect("a run has a file").clone();
    let (run, planned) = sample.plan(&path, text.as_bytes()).expect("an undamaged run is read");
    let known = Known::of(&run, &planned);
    // A planning folder has hundreds of files.
    let files = if is_whole { state.len() } else { state.len().min(FILES) };
    for (path, text) in (0..files).map(|at| &state[at * state.len() / files]) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for damage in damages(text, lines.len(), is_whole) {
            let left = damaged(text, &lines, damage);
            let start = Instant::now();
            let seen = catch_unwind(AssertUnwindSafe(|| sample.plan(path, left.as_bytes())));
            longest = longest.max(start.elapsed());
            plans += 1;
            let is_cut = matches!(damage, Damage::Cut(_));
            let wrong = match seen {
                Err(_) => vec!["panics".to_owned()],
                Ok(None) => Vec::new(),
                Ok(Some((run, planned))) => known.wrong(&run, &planned, &left, is_cut),
            };
            failures.extend(wrong.into_iter().map(|what| format!("{} {path} {damage:?}: {what}", sample.id)));
        }
    }
    (plans, longest, failures)
}

#[test]
fn damaged_folders_of_plans_say_nothing_wrong() {
    check(|system| system == "gsd");
}

#[test]
fn damaged_lists_and_sprints_say_nothing_wrong() {
    check(|system| system != "gsd");
}

/// Damages the samples of some systems. Two tests share the work, because they run side by side.
fn check(is_own: fn(&str) -> bool) {
    let samples = repository().ancestors().map(|above| above.join("shared/real/plans")).find(|path| path.is_dir());
    let Some(samples) = samples else { return say("left out: there is no shared/real/plans beside the repository") };
    let is_whole = std::env::var("PITON_TESTS").is_ok_and(|asked| asked == "all");
    let answers = fs::read(samples.join("answers.json")).expect("the samples have answers");
    let answers: Value = serde_json::from_slice(&answers).expect("answers are JSON");
    let scratch = format!("piton-damaged-plans-{}-{}", std::process::id(), is_own("gsd"));
    let scratch = std::env::temp_dir().join(scratch);
    fs::create_dir_all(&scratch).expect("there is a temporary folder");
    let mut projects: BTreeMap<String, PathBuf> = BTreeMap::new();
    let (mut total, mut failures) = (0, Vec::new());
    let cases = answers["cases"].as_array().expect("a list of cases").iter();
    for case in cases.filter(|case| is_own(case["system"].as_str().unwrap_or_default())) {
        let repo = case["repo"].as_str().expect("a repository").replace('/', "+");
        let project = projects.entry(repo.clone()).or_insert_with(|| {
            let project = scratch.join(&repo);
            fs::create_dir(&project).expect("the folder is new");
            let archive = samples.join(format!("{repo}.tar.gz"));
            let tar = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&project).status();
            assert!(tar.is_ok_and(|status| status.success()), "{}", archive.display());
            git(&project, &["checkout", "-qf", "main"]);
            project
        });
        let Some(mut sample) = Sample::open(project, case) else { continue };
        let start = Instant::now();
        let (plans, longest, wrong) = try_all(&mut sample, is_whole);
        let seconds = start.elapsed().as_secs();
        if is_whole {
            say(&format!(
                "{}: {plans} plans in {seconds} s, the longest {longest:?}, {} wrong",
                sample.id,
                wrong.len()
            ));
        }
        assert!(longest < TIME, "{}: a plan took {longest:?}", sample.id);
        total += plans;
        failures.extend(wrong);
    }
    fs::remove_dir_all(&scratch).expect("the folder is our own");
    let shown: Vec<&String> = failures.iter().take(60).collect();
    assert!(failures.is_empty(), "{} of {total} plans are wrong: {shown:#?}", failures.len());
    if is_whole {
        say(&format!("{total} plans of damaged files"));
    }
}
