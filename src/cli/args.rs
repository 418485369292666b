//! The arguments and the text of `--help`, written for a first-time reader.

use clap::Args;
use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;

use super::begin_args::Begin;
use super::reading_args::Answer;
use super::reading_args::List;
use super::reading_args::RunArg;
use super::reading_args::Schema;
use super::reading_args::StatusArgs;
use super::reading_args::Validate;
use super::setup_args::Completions;
use super::setup_args::Demo;
use super::setup_args::Hook;
use super::setup_args::Setup;
use super::shared_args::Format;
use super::shared_args::ModeArg;
use super::shared_args::Target;
use crate::ops::Exit;
use crate::ops::PlanRequest;

/// Durable checkpoints and resume plans for multi-step agent work.
#[derive(Debug, Parser)]
#[command(
    name = "piton",
    version,
    propagate_version = true,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = after_help()
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) verb: Verb,
}

fn after_help() -> String {
    let mut text =
        "Start with `piton list`, then `piton plan`. Try it all in a scratch project: `piton demo`.\n\nExit codes:\n"
            .to_owned();
    for exit in Exit::ALL {
        text.push_str(&format!("  {:>2}  {}\n", exit.code(), exit.meaning()));
    }
    text
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(super) struct Global {
    /// Work in this project instead of the current folder
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) project: Option<String>,
    /// Output format: text for people, json for programs (default: PITON_FORMAT, else text on a terminal and json elsewhere)
    #[arg(long, global = true, value_enum)]
    pub(super) format: Option<Format>,
    /// How much to ask before continuing (default: PITON_MODE, else the mode the run was started in, else piton.toml, else interactive)
    #[arg(long, global = true, value_enum)]
    pub(super) mode: Option<ModeArg>,
    /// Plan as if it were this time (RFC 3339); for tests and reproducible plans
    #[arg(long, global = true, value_name = "RFC3339")]
    pub(super) now: Option<String>,
    /// Also look at Prodigy sessions in this folder (usually ~/.prodigy); they are read, never written
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) prodigy_home: Option<String>,
    /// Print results only, no hints
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    /// Print more: the evidence behind each step
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(super) verbose: bool,
}

// With `defer`, clap builds only the requested verb; the others contribute just a name and a summary line to the help.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Verb {
    /// List interrupted runs, newest first
    List(List),
    /// Show which step a run continues with, and why; reads only
    Plan(Plan),
    /// Print the context that the agent of the next step needs
    Context(Context),
    /// Show in three lines where a run is, what is stale, and the next command
    Status(StatusArgs),
    /// Check state files against their schemas and for contradictions
    Validate(Validate),
    /// Print the published JSON Schemas
    Schema(Schema),
    /// Start a new run
    Start(Start),
    /// Record that a step starts; call it before the agent starts (`resume` begins the steps of a `run` session itself)
    Begin(Begin),
    /// Record how a step ended; call it after the agent has finished
    Finish(Finish),
    /// Record that a person approved a gate
    Approve(Approve),
    /// Record that a person takes work although its review or gate said no
    Accept(Decide),
    /// Record that a person wants a step done again: what a rejection returns to, a step at its limit, a finished step
    Redo(Decide),
    /// Record that a person lets a step start out of order, or end without its outputs
    Override(Decide),
    /// Skip a step for good
    Skip(Skip),
    /// Pause a run
    Pause(PauseArgs),
    /// Abort a run; its state is kept
    Abort(AbortArgs),
    /// Record that the whole run is over
    Complete(Complete),
    /// Resume an interrupted run: print the context of its next step or, for a session of `run`, continue running it
    Resume(Resume),
    /// Run a workflow file unattended, in its own worktree
    Run(Run),
    /// List sessions of `piton run`, show one, or archive those that are merged
    Sessions(super::sessions_args::Sessions),
    /// List earlier checkpoints of a run
    History(History),
    /// Go back to an earlier phase, step, checkpoint or commit: shows what would be lost, and writes with --yes
    Rollback(Rollback),
    /// Restore an earlier checkpoint; the state it replaces stays in the history
    Restore(Restore),
    /// Repair an unreadable state: propose the newest readable checkpoint, or a state rebuilt from evidence
    Repair(Repair),
    /// Archive the state of a finished or aborted run
    Archive(Archive),
    /// Show which program is used, and configure the client: permissions, status line
    Setup(Setup),
    /// Print the client's status line, from its JSON on standard input
    Statusline,
    /// Check this installation and project
    Doctor,
    /// Walk through an interrupted run of each kind, in a scratch project that is removed afterwards
    Demo(Demo),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Handle a hook event of the client; always exits with 0
    #[command(hide = true)]
    Hook(Hook),
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

#[derive(Debug, Default, Args)]
pub(super) struct PlanFlags {
    /// Continue with these steps instead of the first open one; their dependencies must be done (comma-separated or repeated)
    #[arg(long, value_name = "ID[,ID]")]
    pub(super) from: Vec<String>,
    /// Retry this failed step (default: the first failed one), even when its failure would send the run back to an earlier step
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with = "from")]
    #[expect(clippy::option_option, reason = "the flag alone and the flag with a value mean different things")]
    pub(super) retry: Option<Option<String>>,
    /// Skip these steps; steps that depend on them run without them (comma-separated or repeated)
    #[arg(long, value_name = "ID[,ID]")]
    pub(super) skip: Vec<String>,
    /// Send a failed review back to this step instead of the usual one
    #[arg(long, value_name = "ID")]
    pub(super) to_step: Option<String>,
    /// Ignore unmet dependencies and attempt limits (never gates)
    #[arg(long)]
    pub(super) force: bool,
    /// Check that the steps of --from can run in parallel
    #[arg(long)]
    pub(super) parallel: bool,
    /// Exit with 1 when dependencies of --from are not met
    #[arg(long, conflicts_with = "force")]
    pub(super) if_dependencies_met: bool,
    /// Repeat the analysis parts of the chosen steps
    #[arg(long)]
    pub(super) refresh_analysis: bool,
    /// Continue inside a step at this part
    #[arg(long, num_args = 2, value_names = ["PART", "ID"])]
    pub(super) from_step: Option<Vec<String>>,
    /// Repeat this part of a step
    #[arg(long, num_args = 2, value_names = ["PART", "ID"])]
    pub(super) retry_step: Option<Vec<String>>,
    /// Skip this part of a step
    #[arg(long, num_args = 2, value_names = ["PART", "ID"])]
    pub(super) skip_step: Option<Vec<String>>,
}

impl PlanFlags {
    /// Returns what the flags ask for.
    pub(super) fn request(&self) -> PlanRequest {
        let part = |pair: &Option<Vec<String>>| match pair.as_deref() {
            Some([part, step]) => Some((part.clone(), step.clone())),
            Some(_) | None => None,
        };
        PlanRequest {
            from: self.from.clone(),
            retry: self.retry.clone(),
            skip: self.skip.clone(),
            to_step: self.to_step.clone(),
            force: self.force,
            parallel: self.parallel,
            if_dependencies_met: self.if_dependencies_met,
            refresh_analysis: self.refresh_analysis,
            from_part: part(&self.from_step),
            retry_part: part(&self.retry_step),
            skip_part: part(&self.skip_step),
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Plan {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Print suggested edits for outdated stories and check lists as a patch for `git apply`; writes nothing (exit 1: no edits)
    #[arg(long)]
    pub(super) patch: bool,
    #[command(flatten)]
    pub(super) detail: Detail,
    #[command(flatten)]
    pub(super) answer: Answer,
    #[command(flatten)]
    pub(super) flags: PlanFlags,
}

#[derive(Clone, Copy, Debug, Default, Args)]
pub(super) struct Detail {
    /// Add the answer in the words and form of the run's own system to the JSON
    #[arg(long)]
    pub(super) native: bool,
    /// List the ids of all steps and all state files in the JSON, finished and open ones too
    #[arg(long)]
    pub(super) steps: bool,
}

#[derive(Debug, Args)]
pub(super) struct Context {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Print the context of this step instead of the next one
    #[arg(long, value_name = "ID")]
    pub(super) step: Option<String>,
    /// Size limit (default: 4096, with --native 65536); the least important parts are left out first, and listed
    #[arg(long, value_name = "BYTES")]
    pub(super) budget: Option<usize>,
    /// Add the fields and the prompt of the run's own system in their form
    #[arg(long)]
    pub(super) native: bool,
}

#[derive(Debug, Args)]
pub(super) struct Start {
    /// The workflow: `nine-step`, `dotagent`, a name in .claude/piton/, or a workflow file (schema: `piton schema workflow`)
    #[arg(value_name = "NAME|FILE")]
    pub(super) workflow: String,
    /// Name of the feature; the run is named after it
    #[arg(long, value_name = "NAME", required_unless_present = "print")]
    pub(super) feature: Option<String>,
    /// Print the definition of the workflow instead of starting a run
    #[arg(long, conflicts_with_all = ["feature", "archive"])]
    pub(super) print: bool,
    /// Number of phases in the plan, if known
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) phases: Option<u32>,
    /// An issue the run belongs to (repeatable)
    #[arg(long, value_name = "N")]
    pub(super) issue: Vec<String>,
    /// One-line description
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) description: Option<String>,
    /// Branch to work on (default: the first branch prefix and the feature)
    #[arg(long, value_name = "NAME")]
    pub(super) branch: Option<String>,
    /// Archive an unfinished run of the same name first
    #[arg(long)]
    pub(super) archive: bool,
}

#[derive(Debug, Args)]
pub(super) struct Finish {
    /// The step id, as shown by `piton plan`
    #[arg(required_unless_present = "json")]
    pub(super) step: Option<String>,
    /// How the step ended (default: completed, or as the verdict says); completed requires the declared outputs
    #[arg(long, value_enum)]
    pub(super) status: Option<EndStatus>,
    /// Verdict of a review: APPROVED, APPROVED_WITH_CONDITIONS, NEEDS_REVISION, REJECTED, or the agent's own wording
    #[arg(long, value_name = "V")]
    pub(super) verdict: Option<String>,
    /// An open condition of an approval (repeatable)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) condition: Vec<String>,
    /// Something that a review or test found and that has to be addressed (repeatable)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) finding: Vec<String>,
    /// What was done: the agents of later steps read it
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) summary: Option<String>,
    /// What went wrong, or what a review found
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) error: Option<String>,
    /// Files the step produced; their digests are kept as evidence
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(super) output: Vec<String>,
    /// The commit with the result
    #[arg(long, value_name = "SHA")]
    pub(super) commit: Option<String>,
    /// Number of phases in the plan, for systems that record it
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) phases: Option<u32>,
    /// The step that the failure returns to, where that can be recorded
    #[arg(long, value_name = "ID")]
    pub(super) to_step: Option<String>,
    /// The agent that ran the step
    #[arg(long, value_name = "A")]
    pub(super) agent: Option<String>,
    /// Only this part of the step
    #[arg(long, value_name = "NAME")]
    pub(super) part: Option<String>,
    /// Set an output variable of a part for later parts (repeatable; the value is read as JSON, else as text)
    #[arg(long, value_name = "NAME=VALUE", requires = "part", allow_hyphen_values = true)]
    pub(super) set: Vec<String>,
    #[command(flatten)]
    pub(super) target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum EndStatus {
    Completed,
    Failed,
    WaitingApproval,
}

#[derive(Debug, Args)]
pub(super) struct Approve {
    /// The gate's step id, as shown by `piton plan`
    #[arg(required_unless_present = "json")]
    pub(super) step: Option<String>,
    /// The person who approved
    #[arg(long, value_name = "NAME")]
    pub(super) by: Option<String>,
    /// Their comment
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) note: Option<String>,
    /// Number of phases in the approved plan, for systems that record it
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) phases: Option<u32>,
    #[command(flatten)]
    pub(super) target: Target,
}

#[derive(Debug, Args)]
pub(super) struct Decide {
    /// The step id, as shown by `piton plan`
    pub(super) step: String,
    /// The person who decided
    #[arg(long, value_name = "NAME")]
    pub(super) by: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) note: Option<String>,
    /// The run, if several are open
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<String>,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    pub(super) if_revision: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Skip {
    /// The step id, as shown by `piton plan`
    #[arg(required_unless_present_any = ["json", "phase"])]
    pub(super) step: Option<String>,
    /// Leave out every open step of a phase, its gate and reviews too (nine-step)
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["step", "part", "json", "if_revision"])]
    pub(super) phase: Option<u32>,
    /// The reason
    #[arg(
        long,
        visible_alias = "note",
        value_name = "T",
        required_unless_present = "json",
        allow_hyphen_values = true
    )]
    pub(super) reason: Option<String>,
    /// The person who decided
    #[arg(long, value_name = "NAME")]
    pub(super) by: Option<String>,
    /// Only this part of the step
    #[arg(long, value_name = "NAME")]
    pub(super) part: Option<String>,
    #[command(flatten)]
    pub(super) target: Target,
}

#[derive(Debug, Args)]
pub(super) struct AbortArgs {
    #[command(flatten)]
    pub(super) pause: PauseArgs,
    /// The person who decided
    #[arg(long, value_name = "NAME")]
    pub(super) by: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Same as RUN
    #[arg(long = "run", value_name = "RUN", conflicts_with = "run")]
    pub(super) named: Option<String>,
    /// The reason
    #[arg(long, visible_alias = "note", value_name = "T", allow_hyphen_values = true)]
    pub(super) reason: Option<String>,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    pub(super) if_revision: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Complete {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Same as RUN
    #[arg(long = "run", value_name = "RUN", conflicts_with = "run")]
    pub(super) named: Option<String>,
    /// A closing note
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) note: Option<String>,
    /// Complete the run although steps are open; never over an open gate or review
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "For a session of `run`: --from ID repeats the finished step ID and all after it, --skip ID skips a step, --force starts from the beginning (it asks first)."
)]
pub(super) struct Resume {
    #[command(flatten)]
    pub(super) run: RunArg,
    #[command(flatten)]
    pub(super) detail: Detail,
    #[command(flatten)]
    pub(super) flags: PlanFlags,
    /// Continue without asking; gates and blocking findings still stop it
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Size limit of the context (default: 4096, with --native 65536); the least important parts are left out first
    #[arg(long, value_name = "BYTES")]
    pub(super) budget: Option<usize>,
    /// Show what would be done, without doing it
    #[arg(long)]
    pub(super) dry_run: bool,
    /// For a session of `run`: repeat finished steps whose definition has changed
    #[arg(long)]
    pub(super) accept_edits: bool,
    /// For a session of `run`: print events as JSON lines
    #[arg(long)]
    pub(super) events: bool,
}

#[derive(Debug, Args)]
pub(super) struct Run {
    /// The workflow file, YAML or JSON (schema: `piton schema script`)
    #[arg(value_name = "FILE")]
    pub(super) file: String,
    /// Value of `${ARG}`; several are joined by spaces, and one that begins with `-` is written `--args=VALUE`
    #[arg(long, value_name = "VALUE")]
    pub(super) args: Vec<String>,
    /// More values of `${ARG}`
    #[arg(value_name = "VALUES", last = true)]
    pub(super) rest: Vec<String>,
    /// Run the steps in the project itself instead of a worktree
    #[arg(long)]
    pub(super) no_worktree: bool,
    /// Merge at the end without asking, and remove the worktree if everything in it is committed
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Print events as JSON lines
    #[arg(long)]
    pub(super) events: bool,
    /// Check the file and show what would be done, without doing it
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Args)]
pub(super) struct History {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Also show what each change did to the steps, and who made it
    #[arg(long)]
    pub(super) changes: bool,
}

#[derive(Debug, Args)]
pub(super) struct Restore {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// The checkpoint, from `piton history` (default: the newest readable one)
    #[arg(long, value_name = "CHECKPOINT")]
    pub(super) to: Option<String>,
    /// Write without asking
    #[arg(short, long)]
    pub(super) yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct Rollback {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Same as RUN
    #[arg(long = "run", value_name = "RUN", conflicts_with = "run")]
    pub(super) named: Option<String>,
    /// Where to go back to: the end of a phase (0: the beginning), before a step, a checkpoint of `piton history`, a commit (at
    /// least 7 digits), or `last`: the end of the phase before the latest one begun, else the newest checkpoint. Where a name is
    /// ambiguous, write `phase:2`, `step:2`, `checkpoint:000002` or `commit:SHA` (default: list the targets)
    #[arg(long, value_name = "TARGET")]
    pub(super) to: Option<String>,
    /// The reason; kept in the log of rollbacks, and in the state if its format has a field for it
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) reason: Option<String>,
    /// Write without asking; git commands are only printed, never run
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Allow a fourth rollback to the same point, and the rollback of an aborted run
    #[arg(long)]
    pub(super) force: bool,
    /// Fail if the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    pub(super) if_revision: Option<String>,
    /// Read target and reason as JSON from standard input (schema: `piton schema change`)
    #[arg(long, value_name = "-", conflicts_with_all = ["to", "reason"])]
    pub(super) json: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Repair {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Rebuild the state from stories, artifacts, gates, summaries and commits, and show the source of each value
    #[arg(long)]
    pub(super) from_evidence: bool,
    /// Record that the branch of the run was renamed; nothing else of the state is replaced
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from_evidence", "yes"])]
    pub(super) branch: Option<String>,
    /// Write the proposal without asking; the state it replaces is kept
    #[arg(short, long)]
    pub(super) yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct Archive {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Archive every run that has ended, and leftovers: temporary files, dead locks, copies without an original
    #[arg(long, conflicts_with = "run")]
    pub(super) all: bool,
    /// With --all: minimum age
    #[arg(long, value_name = "DAYS", default_value_t = 30, requires = "all", value_parser = clap::value_parser!(u32).range(0..=36_500))]
    pub(super) after: u32,
    /// Archive although steps are open; with --all: archive instead of listing
    #[arg(short, long)]
    pub(super) yes: bool,
}
