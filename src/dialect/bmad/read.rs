//! Reads a sprint with its stories as a run (docs/formats/bmad.md#sprint-and-story).

use std::collections::{BTreeMap, BTreeSet};

use super::{
    findings, probe,
    sprint::{self, Epic, KeyKind, STEPS, Sprint, SprintStory},
    words::{self, SprintWord},
};
use crate::{
    dialect::{
        Loaded, guest,
        markdown::heading,
        story::{self, SectionKind, Story, StoryStatus},
    },
    document::salvage,
    model::{
        Action, CommitName, DeclaredFile, DialectId, Doubt, FileSet, Finding, FindingCode, FollowUp, Followers,
        GuestProof, GuestWord, Hold, Need, Pace, Part, PartKind, Records, RelPath, Run, Status, Step, StepId, Weight,
        clean_line, mask_secrets, plural,
    },
};

/// Characters of what came of a story.
const SAID: usize = 300;
/// What newer versions write before the key of a story in the name of its file.
const SPEC: &str = "spec-";
/// Paths of a story that count.
const FILES: usize = 64;

/// Reads a run.
pub(super) fn load(files: &FileSet) -> Loaded {
    read(files).unwrap_or_else(|unreadable| *unreadable)
}

fn read(files: &FileSet) -> Result<Loaded, Box<Loaded>> {
    let sprint = sprint::read(guest::state(files)?)
        .map_err(|error| guest::unreadable(files, error.message, Some(error.place.line)))?;
    let folders = probe::story_folders(&files.state, sprint.story_location.as_deref());
    let documents = documents(files, &folders);
    let project = sprint.project.as_deref().map(|project| format!("{project}: sprint"));
    let title = project.unwrap_or_else(|| "sprint".to_owned());
    let mut run = Run::new(
        files.name.clone(),
        DialectId::Bmad,
        clean_line(&mask_secrets(&title), 60),
        "bmad",
        vec![files.state.clone()],
    );
    run.records = Records::NONE;
    run.writable = false;
    let stories: Vec<StoryStep<'_>> = sprint
        .stories
        .iter()
        .take(STEPS)
        .map(|entry| StoryStep { files, sprint: &sprint, entry, document: document_of(&documents, entry) })
        .collect();
    run.steps = stories.iter().enumerate().map(|(at, story)| story.step(at)).collect();
    order(&mut run.steps);
    let unplanned = unplanned(&files.state, &sprint, &run.steps);
    run.steps.extend(unplanned);
    if sprint.stories.len() > STEPS {
        run.steps.push(guest::rest(&files.state, &run.steps, "stories", STEPS));
    }
    let mut findings = findings::findings(files, &sprint, &run);
    findings.extend(findings::orphans(&sprint, &documents));
    findings.extend(unread(files, &folders, &run));
    run.follow_up = Some(FollowUp {
        action: Action::Archive,
        title: "retrospective".to_owned(),
        agent: None,
        reason: "every story is done: a retrospective may follow".to_owned(),
        merge: None,
    });
    let state_folders = files.state.parent().into_iter().chain(folders).collect();
    let package = guest::package(&files.state, &["_bmad-output", "docs"]);
    let wanted = guest::wanted(&run.steps, state_folders, None, package);
    Ok(Loaded { run: Some(run), findings, wanted, ..Loaded::default() })
}

/// Returns the story files by their names in lower case, without extension.
fn documents<'a>(files: &'a FileSet, folders: &[RelPath]) -> BTreeMap<String, (&'a RelPath, &'a [u8])> {
    let mut found = BTreeMap::new();
    for folder in folders {
        for (path, _) in files.in_dir(folder) {
            let name = path.name().to_lowercase();
            let Some(stem) = name.strip_suffix(".md") else { continue };
            if let Some(bytes) = files.bytes(path) {
                found.entry(stem.to_owned()).or_insert((path, bytes));
            }
        }
    }
    found
}

/// Returns the file of a story: the one with its key, else the only one with its number. Newer versions write `spec-` in front, and may
/// write other words behind the number.
fn document_of<'a>(
    documents: &BTreeMap<String, (&'a RelPath, &'a [u8])>,
    entry: &SprintStory,
) -> Option<(&'a RelPath, &'a [u8])> {
    let key = entry.key.to_lowercase();
    let number = entry.number.as_ref();
    let is_its = |stem: &str| match sprint::kind_of(stem.strip_prefix(SPEC).unwrap_or(stem)) {
        KeyKind::Story(epic, story) => number.is_some_and(|(own, number)| *own == epic && *number == story),
        KeyKind::Epic(_) | KeyKind::Retrospective | KeyKind::Other => false,
    };
    let exact = documents.get(&key).or_else(|| documents.get(&format!("{SPEC}{key}")));
    let mut others = documents.iter().filter(|(stem, _)| stem.starts_with(SPEC) && is_its(stem));
    exact.or_else(|| others.next().filter(|_| others.next().is_none()).map(|(_, document)| document)).copied()
}

/// Names the stories whose files cannot be read whole.
fn unread(files: &FileSet, folders: &[RelPath], run: &Run) -> Vec<Finding> {
    let paths = folders.iter().flat_map(|folder| files.in_dir(folder)).map(|(path, _)| path);
    let conflict = |path: &RelPath| {
        let bytes = files.bytes(path)?;
        // A line of `=` alone may underline a heading.
        let is_marker = |line: &[u8]| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> ");
        bytes.split(|byte| *byte == b'\n').find(|line| is_marker(line))?;
        let (line, problem) = salvage::conflict(bytes)?;
        let finding = Finding::new(FindingCode::PartUnreadable, format!("{path}: {problem}")).at(path);
        Some(finding.line(line, None))
    };
    let found = paths.filter_map(|path| Some((path, guest::unread(files, path).or_else(|| conflict(path))?)));
    let named = found.map(|(path, finding)| {
        let stem = path.name().trim_end_matches(".md");
        let key = stem.strip_prefix(SPEC).unwrap_or(stem);
        let step = run.steps.iter().find(|step| step.id.as_str().eq_ignore_ascii_case(key));
        match step {
            Some(step) => finding.on(&step.id),
            None => finding,
        }
    });
    named.collect()
}

/// A story of the sprint with its file.
struct StoryStep<'a> {
    files: &'a FileSet,
    sprint: &'a Sprint,
    entry: &'a SprintStory,
    document: Option<(&'a RelPath, &'a [u8])>,
}

/// What the file of a story says.
struct StoryFile {
    status: Option<StoryStatus>,
    /// As written.
    word: String,
    ticked: usize,
    open: usize,
    first_open: Option<String>,
    listed: Vec<RelPath>,
}

impl StoryFile {
    fn of(story: &Story<'_>) -> Self {
        let is_struck = |text: &str| text.trim_start_matches(['*', '_', ' ']).starts_with("~~");
        let boxes = || story.tasks.iter().filter(|task| !is_struck(&task.text));
        let mention = story.status();
        let listed = story.files.iter().filter_map(|path| RelPath::parse(path).ok());
        Self {
            // A sprint's own words count in its stories too.
            status: mention.map(|mention| match words::meaning(&mention.raw) {
                // `Merged` says that it was built.
                SprintWord::LeftOut if mention.status == StoryStatus::Done => StoryStatus::Done,
                SprintWord::LeftOut => StoryStatus::TerminalOther,
                SprintWord::Ready => StoryStatus::Ready,
                SprintWord::Backlog => StoryStatus::Draft,
                SprintWord::InProgress => StoryStatus::InProgress,
                SprintWord::Review => StoryStatus::InReview,
                SprintWord::Done | SprintWord::Awaiting | SprintWord::Held | SprintWord::Unknown => mention.status,
            }),
            word: mention.map(|mention| clean_line(&mention.raw, 40)).unwrap_or_default(),
            ticked: boxes().filter(|task| task.done).count(),
            open: boxes().filter(|task| !task.done).count(),
            first_open: boxes().find(|task| !task.done).map(|task| clean_line(&task.text, 100)),
            listed: listed.filter(|path| path.name().contains('.')).take(FILES).collect(),
        }
    }

    const fn is_all_ticked(&self) -> bool {
        self.ticked > 0 && self.open == 0
    }
}

impl StoryStep<'_> {
    fn step(&self, at: usize) -> Step {
        let entry = self.entry;
        let parsed = self.document.map(|(path, bytes)| (path, story::parse(path, bytes)));
        let file = parsed.as_ref().map(|(_, story)| StoryFile::of(story));
        let title = parsed.as_ref().and_then(|(_, story)| story.title.clone()).unwrap_or_else(|| self.title());
        let mut step = Step::new(StepId::new(&entry.key), clean_line(&mask_secrets(&title), 120));
        step.plan_order = Some(at);
        step.group = entry.epic.and_then(|epic| self.sprint.epics.get(epic)).map(|epic| epic.key.clone());
        step.recorded = false;
        step.file = Some(parsed.as_ref().map_or_else(|| self.files.state.clone(), |(path, _)| (*path).clone()));
        if let Some((number, _)) = entry.number.as_ref().map(|(epic, number)| (format!("{epic}-{number}"), ())) {
            step.short = Some(number);
        }
        if let Some((_, story)) = &parsed {
            step.detail.acceptance = story.section(SectionKind::Acceptance);
        }
        step.detail.targets = file
            .as_ref()
            .map(|file| file.listed.iter().map(|path| path.as_str().to_owned()).collect())
            .unwrap_or_default();
        let mut proof = GuestProof {
            document: step.file.clone(),
            // The sprint may name a story long before its file is written.
            named_in: Some(self.files.state.clone()),
            followers: Followers::Support,
            names: self.names(),
            pace: Pace::Step,
            record: self.record(),
            said: self.document.filter(|_| entry.word == SprintWord::Done).and_then(|(_, bytes)| completion(bytes)),
            ..GuestProof::default()
        };
        step.status = self.status(file.as_ref(), &mut proof);
        let is_open = matches!(step.status, Status::Pending | Status::InProgress);
        if is_open && self.sprint.done_before.contains(&entry.key) {
            let source = "an earlier line of the sprint".to_owned();
            proof.words.push(GuestWord { source, done: true, weight: Weight::Record });
        }
        if entry.word == SprintWord::Held {
            step.hold = Some(Hold::Because(format!("its status is `{}`", entry.value)));
        }
        if let Some(file) = &file {
            self.declare(file, step.status, &mut proof);
        }
        step.detail.parts = parts(entry.word, file.is_some());
        step.guest = Some(Box::new(proof));
        step
    }

    /// Adds the File List. It grows with the work: while boxes are open, it says nothing about the rest. If none is ticked, what is there of it
    /// says that the story was begun, and never that it was built: the first task is not ticked.
    fn declare(&self, file: &StoryFile, status: Status, proof: &mut GuestProof) {
        let listed = file.listed.iter().cloned();
        let is_whole = file.open == 0 || status == Status::Completed;
        let first_open = file.first_open.as_ref().filter(|_| file.ticked == 0 && !file.listed.is_empty());
        match (first_open, self.document) {
            _ if is_whole => proof.results = listed.map(DeclaredFile::plain).collect(),
            (Some(first), Some((path, _))) => {
                let needs = vec![Need::Text(format!("[x] {first}"))];
                let ticked = DeclaredFile { path: path.clone(), needs };
                proof.results = listed.map(DeclaredFile::plain).chain([ticked]).collect();
                let names: Vec<&str> = file.listed.iter().map(RelPath::as_str).collect();
                proof.notes.push(format!("its File List names {}", findings::listed(&names)));
            }
            _ => proof.mentioned = listed.collect(),
        }
    }

    /// Returns a title made of the key.
    fn title(&self) -> String {
        let key = &self.entry.key;
        let slug = match &self.entry.number {
            Some((epic, number)) => key.get(epic.len() + number.len() + 2..).unwrap_or(key),
            None => key,
        };
        slug.replace('-', " ")
    }

    /// Returns how a person records what they found out.
    fn record(&self) -> String {
        let (condition, word) = match self.entry.word {
            SprintWord::Review => ("if it passes", "`done`"),
            SprintWord::Done => ("if it is not done", "the status of its story file"),
            SprintWord::Backlog
            | SprintWord::Ready
            | SprintWord::InProgress
            | SprintWord::Awaiting
            | SprintWord::Held
            | SprintWord::LeftOut
            | SprintWord::Unknown => ("if it is built", "`review`"),
        };
        format!("{condition}, set {} to {word} in {} (line {})", self.entry.key, self.files.state, self.entry.line)
    }

    /// Returns how commits name the story.
    fn names(&self) -> Vec<CommitName> {
        let mut names = vec![CommitName::Word(self.entry.key.clone())];
        if let Some((epic, number)) = &self.entry.number {
            names.push(CommitName::After { noun: "story", id: format!("{epic}.{number}") });
            names.push(CommitName::After { noun: "story", id: format!("{epic}-{number}") });
            names.push(CommitName::Scope(format!("{epic}-{number}")));
        }
        names
    }

    /// Returns the claim of the sprint, and adds what the story file says about it.
    fn status(&self, file: Option<&StoryFile>, proof: &mut GuestProof) -> Status {
        match self.entry.word {
            SprintWord::Done => {
                if let Some(file) = file {
                    compare_done(file, proof);
                }
                Status::Completed
            }
            SprintWord::Review => {
                self.review(file, proof);
                Status::InProgress
            }
            SprintWord::InProgress | SprintWord::Ready => {
                let Some(file) = file else {
                    proof.notes.push("it has no story file".to_owned());
                    return if self.entry.word == SprintWord::Ready { Status::Pending } else { Status::InProgress };
                };
                says_done(file, proof);
                if let Some(first) = file.first_open.as_ref().filter(|_| file.ticked > 0) {
                    let of = file.ticked + file.open;
                    proof.notes.push(format!(
                        "{} of {} ticked, continue with: {first}",
                        file.ticked,
                        plural(of, "task")
                    ));
                }
                let is_begun = self.entry.word == SprintWord::InProgress
                    || file.ticked > 0
                    || file.status == Some(StoryStatus::InProgress);
                if is_begun { Status::InProgress } else { Status::Pending }
            }
            SprintWord::Backlog => {
                let is_written =
                    matches!(file.and_then(|file| file.status), None | Some(StoryStatus::Draft | StoryStatus::Ready));
                if let Some(file) = file.filter(|_| !is_written) {
                    let reason = format!("backlog in the sprint, but its story file says {}", file.word);
                    proof
                        .doubts
                        .push(Doubt::conflict("backlog in the sprint, but further in their story file", reason));
                } else if let Some(file) = file {
                    says_done(file, proof);
                    if file.ticked > 0 && !file.is_all_ticked() {
                        let reason = "backlog in the sprint, but tasks of its story file are ticked".to_owned();
                        proof
                            .doubts
                            .push(Doubt::conflict("backlog in the sprint, but begun in their story file", reason));
                    }
                }
                Status::Pending
            }
            SprintWord::Awaiting => {
                proof.notes.push(format!("its status is `{}`: a person goes on", self.entry.value));
                Status::WaitingApproval
            }
            SprintWord::Held => Status::Blocked,
            SprintWord::LeftOut => Status::Skipped,
            SprintWord::Unknown => {
                proof.doubts.push(Doubt::look("its status is not in the vocabulary"));
                Status::Pending
            }
        }
    }

    fn review(&self, file: Option<&StoryFile>, proof: &mut GuestProof) {
        let is_lower = |file: &&StoryFile| {
            let is_before = matches!(
                file.status,
                Some(StoryStatus::Draft | StoryStatus::Ready | StoryStatus::InProgress | StoryStatus::Blocked)
            );
            is_before && file.open > 0
        };
        if let Some(file) = file.filter(is_lower) {
            let reason = format!(
                "in review in the sprint, but its story file says {} and has {} open",
                file.word,
                plural(file.open, "task")
            );
            proof.doubts.push(Doubt::conflict("in review, but not yet there in their story file", reason));
            return;
        }
        let said = match file {
            Some(file) if !file.word.is_empty() => format!("in review in the sprint, {} in its story file", file.word),
            Some(_) | None => "in review in the sprint".to_owned(),
        };
        let reason = format!("{said}: review it in a fresh session, do not build it again");
        proof.doubts.push(Doubt::look(reason));
    }
}

/// Adds what the file of a finished story says against that. Ten to thirty percent of the files of finished stories lag behind.
fn compare_done(file: &StoryFile, proof: &mut GuestProof) {
    let is_mostly_open = file.open > file.ticked;
    let weight = match file.status {
        Some(StoryStatus::Draft | StoryStatus::Ready | StoryStatus::InProgress) => Weight::Record,
        Some(StoryStatus::InReview | StoryStatus::Blocked | StoryStatus::TerminalOther | StoryStatus::Unknown)
            if is_mostly_open =>
        {
            Weight::Unproved
        }
        Some(StoryStatus::InReview | StoryStatus::Blocked | StoryStatus::Unknown) => Weight::Hint,
        // `Closed` says nothing against it.
        Some(StoryStatus::TerminalOther) if words::meaning(&file.word) == SprintWord::LeftOut => Weight::Hint,
        Some(StoryStatus::Done) | None if is_mostly_open => Weight::Hint,
        Some(StoryStatus::Done | StoryStatus::TerminalOther) | None => return,
    };
    proof.words.push(GuestWord { source: "their story file".to_owned(), done: false, weight });
    if !file.word.is_empty() {
        proof.notes.push(format!(
            "the story file says {} and has {} of {} ticked",
            file.word,
            file.ticked,
            plural(file.ticked + file.open, "task")
        ));
    }
}

/// Adds what the file of an open story says in favour of done.
fn says_done(file: &StoryFile, proof: &mut GuestProof) {
    if matches!(file.status, Some(StoryStatus::Done | StoryStatus::InReview)) {
        proof.words.push(GuestWord { source: "its story file".to_owned(), done: true, weight: Weight::Hint });
        proof.notes.push(format!("the story file says {}", file.word));
    } else if file.is_all_ticked() {
        proof.words.push(GuestWord { source: "its list of tasks".to_owned(), done: true, weight: Weight::Hint });
    }
}

/// Returns the first note of the agent that finished a story.
fn completion(story: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(story);
    let mut lines = text.lines().skip_while(|line| {
        !heading(line).is_some_and(|found| found.text.to_lowercase().starts_with("completion notes"))
    });
    lines.next()?;
    let mut lines = lines.take_while(|line| heading(line).is_none()).map(|line| line.trim_matches(['-', '*', ' ']));
    let first = lines.find(|line| !line.is_empty())?;
    Some(clean_line(&mask_secrets(first), SAID))
}

/// Returns the three parts of a story.
fn parts(word: SprintWord, has_file: bool) -> Vec<Part> {
    let (create, develop, review) = match word {
        SprintWord::Backlog if !has_file => (Status::Pending, Status::Pending, Status::Pending),
        SprintWord::Backlog | SprintWord::Ready | SprintWord::Unknown | SprintWord::Awaiting | SprintWord::Held => {
            (Status::Completed, Status::Pending, Status::Pending)
        }
        SprintWord::InProgress => (Status::Completed, Status::InProgress, Status::Pending),
        SprintWord::Review => (Status::Completed, Status::Completed, Status::InProgress),
        SprintWord::Done => (Status::Completed, Status::Completed, Status::Completed),
        SprintWord::LeftOut => (Status::Skipped, Status::Skipped, Status::Skipped),
    };
    let part = |name: &str, title: &str, status: Status| Part {
        name: name.to_owned(),
        title: title.to_owned(),
        kind: PartKind::Work,
        status,
        output: None,
        commands: Vec::new(),
    };
    vec![
        part("create", "write the story", create),
        part("develop", "build it", develop),
        part("review", "review it", review),
    ]
}

/// Adds the order of the file: a story waits for the one before it; for what that one waits for, if it is an open story of the same epic
/// that was not begun, so that both can be built together. One that was begun waits for nothing.
fn order(steps: &mut [Step]) {
    let mut last: Option<usize> = None;
    for at in 0..steps.len() {
        let before = last.map(|last| &steps[last]);
        let is_untouched = |step: &&Step| {
            step.status == Status::Pending
                && step.group == steps[at].group
                && step.guest.as_ref().is_none_or(|proof| proof.doubts.is_empty() && proof.words.is_empty())
        };
        let on = match before {
            Some(before) if !steps[at].status.is_over() && is_untouched(&before) => before.depends_on.clone(),
            before => before.map(|before| before.id.clone()).into_iter().collect(),
        };
        let step = &mut steps[at];
        if !matches!(step.status, Status::InProgress | Status::WaitingApproval) {
            step.depends_on = on;
        }
        // What is held back does not hold back the others.
        if !matches!(step.status, Status::Blocked | Status::Failed | Status::Cancelled) {
            last = Some(at);
        }
    }
}

/// Returns a step for each epic that is not over and has no stories yet: behind all stories, since it has no work that is known.
fn unplanned(state: &RelPath, sprint: &Sprint, stories: &[Step]) -> Vec<Step> {
    let with_stories: BTreeSet<usize> = sprint.stories.iter().filter_map(|entry| entry.epic).collect();
    let word = |epic: &Epic| epic.claim.as_deref().map(words::meaning);
    let is_over = |epic: &&Epic| matches!(word(epic), None | Some(SprintWord::Done | SprintWord::LeftOut));
    let empty = sprint.epics.iter().enumerate().filter(|(at, _)| !with_stories.contains(at));
    let empty = empty.map(|(_, epic)| epic).filter(|epic| !is_over(epic));
    let step = |(at, epic): (usize, &Epic)| {
        let mut step = Step::new(StepId::new(&epic.key), format!("write the stories of {}", epic.key));
        step.plan_order = Some(stories.len() + at);
        step.group = Some(epic.key.clone());
        step.recorded = false;
        step.file = Some(state.clone());
        step.depends_on = stories.last().map(|last| last.id.clone()).into_iter().collect();
        let mut proof = GuestProof { pace: Pace::Step, ..GuestProof::default() };
        let claim = epic.claim.as_deref().unwrap_or_default();
        match word(epic) {
            Some(SprintWord::Held) => {
                step.status = Status::Blocked;
                step.hold = Some(Hold::Because(format!("its status is `{claim}`")));
            }
            Some(SprintWord::Awaiting) => step.status = Status::WaitingApproval,
            Some(SprintWord::Backlog | SprintWord::Ready | SprintWord::InProgress) => {
                proof.notes.push("the sprint has no stories of it".to_owned());
            }
            Some(SprintWord::Review | SprintWord::Unknown | SprintWord::Done | SprintWord::LeftOut) | None => {
                let reason = format!("its status is `{claim}`, and the sprint has no stories of it");
                proof.doubts.push(Doubt::look(reason));
            }
        }
        step.guest = Some(Box::new(proof));
        step
    };
    empty.enumerate().map(step).collect()
}
