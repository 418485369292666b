//! A check list as its grammar reads it, before it becomes a run.

use crate::model::{Part, RelPath};

/// The tasks of a check list in the order of the file.
#[derive(Debug, Default)]
pub(super) struct TaskList {
    /// The first heading.
    pub(super) title: Option<String>,
    pub(super) tasks: Vec<ListedTask>,
    /// Headings that group tasks, in order.
    pub(super) groups: Vec<Group>,
    /// Marks other than a tick, with the line of the first.
    pub(super) odd_marks: Vec<(String, u32)>,
    /// Ids that stand for more than one task, with the line of the second.
    pub(super) repeated: Vec<(String, u32)>,
    /// Lines with an open box that is no task, although tasks stand beside it.
    pub(super) nameless: Vec<u32>,
    /// User stories that wait for others, by number.
    pub(super) story_waits: Vec<(u32, u32)>,
    /// The line of a code fence or comment that is never closed.
    pub(super) unclosed: Option<u32>,
}

/// A heading that groups tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) title: String,
    /// From 1.
    pub(super) line: u32,
    pub(super) stage: Stage,
    /// The words with which the heading says that all of it is done.
    pub(super) says_done: Option<String>,
}

/// The place of a group in the order of a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// In the order of the file.
    #[default]
    Plain,
    /// A user story, with its number; it does not wait for other stories.
    Story(Option<u32>),
}

/// A task of a check list.
#[derive(Clone, Debug, Default)]
pub(super) struct ListedTask {
    pub(super) id: String,
    /// Its first line without id and labels.
    pub(super) title: String,
    /// Its text as written, with the lines below that belong to it.
    pub(super) text: String,
    /// From 1.
    pub(super) line: u32,
    pub(super) claim: Claim,
    /// Position in [`TaskList::groups`].
    pub(super) group: Option<usize>,
    /// The id of the task that it is a piece of: its box is nested below one that is ticked although it is open.
    pub(super) above: Option<String>,
    /// Whether it may be done together with its neighbours.
    pub(super) is_parallel: bool,
    /// Ids of tasks that its text says it waits for.
    pub(super) waits_for: Vec<String>,
    pub(super) parts: Vec<Part>,
    /// The boxes that say whether it is done. One that is struck through is left out.
    pub(super) boxes: Vec<ListedBox>,
    /// The boxes below one that has a box of its own.
    pub(super) below: Vec<ListedBox>,
    pub(super) files: TaskFiles,
    /// Words of its line that say something about its state.
    pub(super) words: Vec<Wording>,
}

/// A box, for a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedBox {
    /// From 1.
    pub(super) line: u32,
    /// The bytes between its brackets.
    pub(super) span: std::ops::Range<usize>,
    /// Its mark; empty if it has none.
    pub(super) mark: String,
}

impl ListedBox {
    pub(super) fn is_ticked(&self) -> bool {
        self.mark.eq_ignore_ascii_case("x")
    }
}

/// The files of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TaskFiles {
    /// Files that it declares to create.
    pub(super) created: Vec<RelPath>,
    /// Files that it declares to modify.
    pub(super) modified: Vec<RelPath>,
    /// Files that its text names as what it works on.
    pub(super) named: Vec<RelPath>,
    /// Whether it declares files outside of the project.
    pub(super) is_outside: bool,
}

/// What the box of a task says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Claim {
    #[default]
    Open,
    Done,
    /// Some of its boxes are ticked.
    Begun,
    /// Left out on purpose.
    Skipped,
}

/// Words in the line of a task that say something else than its box, or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wording {
    /// An open box, but the line says that it is done.
    SaysDone(String),
    /// A ticked box, but the line says that it is not done.
    SaysOpen(String),
    /// It waits for a person, a machine or a date.
    Waits(String),
    /// Its id is in the list twice, once ticked and once not.
    TickedElsewhere(u32),
}
