//! The arguments. What `--help` says is written here, for somebody who reads it for the first time.

use clap::Args;
use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;

use crate::ops::Exit;

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

#[derive(Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub(super) struct Global {
    /// Work in this project instead of the current folder
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) project: Option<String>,
    /// How to print: text for people, json for programs (default: text on a terminal, else json; PITON_FORMAT)
    #[arg(long, global = true, value_enum)]
    pub(super) format: Option<Format>,
    /// How much to ask (default: PITON_MODE, else the mode that the run was started in, else that of piton.toml, else interactive)
    #[arg(long, global = true, value_enum)]
    pub(super) mode: Option<ModeArg>,
    /// Pretend that it is this time (RFC 3339), for tests and reproducible plans
    #[arg(long, global = true, value_name = "RFC3339")]
    pub(super) now: Option<String>,
    /// Also look at the sessions of Prodigy in this folder (usually ~/.prodigy); they are read, never written
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) prodigy_home: Option<String>,
    /// Print results only, no hints
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    /// Say more: the evidence behind each step
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(super) verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
    Markdown,
    /// Only for `context`
    Yaml,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ModeArg {
    /// Go on by itself when nothing blocks and the state is under a day old
    Autopilot,
    /// Ask before going on
    Interactive,
    /// Show every check and want the word "proceed"
    Preflight,
}

// Only the verb that was asked for is built; for help the others are their name and their line in the list.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Verb {
    /// List interrupted runs, newest first
    List(List),
    /// Show where a run goes on, and why; reads only
    Plan(Plan),
    /// Print what the agent of the next step needs to know
    Context(Context),
    /// Say in three lines where a run is, what is stale, and the next command
    Status(RunArg),
    /// Check state files against their schemas and for contradictions
    Validate(Validate),
    /// Print the published JSON Schemas
    Schema(Schema),
    /// Begin a new run
    Start(Start),
    /// Record that a step starts; call it before the agent does (the steps of a session of `run` are begun by `resume`)
    Begin(Begin),
    /// Record how a step ended; call it after the agent is done
    Finish(Finish),
    /// Record that a person approved a gate
    Approve(Approve),
    /// Leave a step out for good
    Skip(Skip),
    /// Let a run rest
    Pause(Rest),
    /// Give a run up; its state stays
    Abort(Rest),
    /// Record that the whole run is over
    Complete(Complete),
    /// Take an interrupted run up again: print the context of its next step, or, for a session of `run`, go on running it
    Resume(Resume),
    /// Run a workflow file, unattended, in a worktree of its own
    Run(Run),
    /// List the sessions of `piton run`, show one, put away those that are over
    Sessions(super::sessions::Sessions),
    /// List earlier checkpoints of a run
    History(History),
    /// Go back to an earlier phase, step, checkpoint or commit: shows what that gives up, and writes with --yes
    Rollback(Rollback),
    /// Bring an earlier checkpoint back; what it replaces stays in the history
    Restore(Restore),
    /// Mend a state that cannot be read: propose the newest sound checkpoint, or a state rebuilt from evidence
    Repair(Repair),
    /// Put the state of a finished or declined run away
    Archive(Archive),
    /// Say which program runs, and let the client run it without asking
    Setup(Setup),
    /// Print a line for the status line of the client, from its JSON on standard input
    Statusline,
    /// Check this installation and project
    Doctor,
    /// Walk through an interrupted run of every kind, in a scratch project that is removed afterwards
    Demo(Demo),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Take an event of the client in; always exits with 0
    #[command(hide = true)]
    Hook(Hook),
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Also those that are complete, given up or archived
    #[arg(long)]
    pub(super) all: bool,
}

#[derive(Debug, Default, Args)]
pub(super) struct RunArg {
    /// Run id, number from `piton list`, or path of a project, worktree or state file (default: the only run there is)
    #[arg(value_name = "RUN")]
    pub(super) run: Option<String>,
}

#[derive(Debug, Default, Args)]
pub(super) struct PlanFlags {
    /// Go on at these steps instead of the first open one; what they depend on must be done (a list with commas, or repeated)
    #[arg(long, value_name = "ID[,ID]")]
    pub(super) from: Vec<String>,
    /// Retry a failed step itself (default: the first that failed), even where it would return to an earlier one
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with = "from")]
    #[expect(clippy::option_option, reason = "given, and given with a value, are two things")]
    pub(super) retry: Option<Option<String>>,
    /// Leave these steps out; what depends on them goes on without them (a list with commas, or repeated)
    #[arg(long, value_name = "ID[,ID]")]
    pub(super) skip: Vec<String>,
    /// Send a failed review back to this step instead of its usual one
    #[arg(long, value_name = "ID")]
    pub(super) to_step: Option<String>,
    /// Go on over unmet dependencies and attempt limits (never over a gate)
    #[arg(long)]
    pub(super) force: bool,
    /// Check that the steps of --from can run side by side
    #[arg(long)]
    pub(super) parallel: bool,
    /// Answer no (exit 1) when dependencies of --from are not met
    #[arg(long, conflicts_with = "force")]
    pub(super) if_dependencies_met: bool,
    /// Do the analysis parts of the chosen steps again
    #[arg(long)]
    pub(super) refresh_analysis: bool,
    /// Go on inside a step at this part
    #[arg(long, num_args = 2, value_names = ["PART", "ID"])]
    pub(super) from_step: Option<Vec<String>>,
    /// Do this part of a step again
    #[arg(long, num_args = 2, value_names = ["PART", "ID"])]
    pub(super) retry_step: Option<Vec<String>>,
    /// Leave this part of a step out
    #[arg(long, num_args = 2, value_names = ["PART", "ID"])]
    pub(super) skip_step: Option<Vec<String>>,
}

#[derive(Debug, Args)]
pub(super) struct Plan {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Print edits of stories and check lists that lag behind, as a patch for `git apply`; nothing is written (exit 1: none)
    #[arg(long)]
    pub(super) patch: bool,
    #[command(flatten)]
    pub(super) flags: PlanFlags,
}

#[derive(Debug, Args)]
pub(super) struct Context {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// For this step instead of the next one
    #[arg(long, value_name = "ID")]
    pub(super) step: Option<String>,
    /// Leave out the least important parts beyond this size; what was left out is listed
    #[arg(long, value_name = "BYTES", default_value_t = 65_536)]
    pub(super) budget: usize,
}

#[derive(Debug, Args)]
pub(super) struct Validate {
    /// A run, or state files (default: every run of the project)
    #[arg(value_name = "RUN|FILE")]
    pub(super) targets: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct Schema {
    /// Which one (default: list their names)
    pub(super) name: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Start {
    /// Which workflow: `nine-step`, `dotagent`, a name in .claude/piton/, or a workflow file (schema: `piton schema workflow`)
    #[arg(value_name = "NAME|FILE")]
    pub(super) workflow: String,
    /// What the run is about; names its state
    #[arg(long, value_name = "NAME", required_unless_present = "print")]
    pub(super) feature: Option<String>,
    /// Print the definition of the workflow instead: `dotagent`, `nine-step`, one of the project, or a file
    #[arg(long, conflicts_with_all = ["feature", "archive"])]
    pub(super) print: bool,
    /// How many phases the plan has, when that is known
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) phases: Option<u32>,
    /// An issue it belongs to (repeatable)
    #[arg(long, value_name = "N")]
    pub(super) issue: Vec<String>,
    /// One line about it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) description: Option<String>,
    /// Branch of the work (default: first branch prefix and the feature)
    #[arg(long, value_name = "NAME")]
    pub(super) branch: Option<String>,
    /// Put an unfinished run of the same name away first
    #[arg(long)]
    pub(super) archive: bool,
}

#[derive(Debug, Default, Args)]
pub(super) struct Target {
    /// The run, where several are open
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<String>,
    /// Refuse when the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    pub(super) if_revision: Option<String>,
    /// Take the change as JSON from standard input (schema: `piton schema change`); the other flags are left out
    #[arg(long, value_name = "-")]
    pub(super) json: Option<String>,
    /// Go on over unmet dependencies, attempt limits, the wrong branch and missing outputs (never over an open gate or review)
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Debug, Args)]
pub(super) struct Begin {
    /// The step, as `piton plan` names it
    #[arg(required_unless_present = "json")]
    pub(super) step: Option<String>,
    /// Who does it
    #[arg(long, value_name = "A")]
    pub(super) agent: Option<String>,
    /// Only this part of the step
    #[arg(long, value_name = "NAME")]
    pub(super) part: Option<String>,
    #[command(flatten)]
    pub(super) target: Target,
}

#[derive(Debug, Args)]
pub(super) struct Finish {
    /// The step, as `piton plan` names it
    #[arg(required_unless_present = "json")]
    pub(super) step: Option<String>,
    /// How it ended (default: completed, or what the verdict says); completed needs the outputs that the step declares, or --force
    #[arg(long, value_enum)]
    pub(super) status: Option<EndStatus>,
    /// What a reviewer said: APPROVED, APPROVED_WITH_CONDITIONS, NEEDS_REVISION, REJECTED, or the agent's own words
    #[arg(long, value_name = "V")]
    pub(super) verdict: Option<String>,
    /// A condition of an approval that is still open (repeatable)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) condition: Vec<String>,
    /// What was done, in a line
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) summary: Option<String>,
    /// What went wrong, or what a review found
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) error: Option<String>,
    /// Files it left; their digests are kept as evidence
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(super) output: Vec<String>,
    /// The commit that holds its result
    #[arg(long, value_name = "SHA")]
    pub(super) commit: Option<String>,
    /// Who did it
    #[arg(long, value_name = "A")]
    pub(super) agent: Option<String>,
    /// Only this part of the step
    #[arg(long, value_name = "NAME")]
    pub(super) part: Option<String>,
    /// Keep an output variable of a part for later ones (repeatable; the value is JSON, else text)
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
    /// The gate, as `piton plan` names it
    #[arg(required_unless_present = "json")]
    pub(super) step: Option<String>,
    /// Who approved
    #[arg(long, value_name = "NAME")]
    pub(super) by: Option<String>,
    /// What they said
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) note: Option<String>,
    #[command(flatten)]
    pub(super) target: Target,
}

#[derive(Debug, Args)]
pub(super) struct Skip {
    /// The step, as `piton plan` names it
    #[arg(required_unless_present = "json")]
    pub(super) step: Option<String>,
    /// Why
    #[arg(long, value_name = "T", required_unless_present = "json", allow_hyphen_values = true)]
    pub(super) reason: Option<String>,
    /// Only this part of the step
    #[arg(long, value_name = "NAME")]
    pub(super) part: Option<String>,
    #[command(flatten)]
    pub(super) target: Target,
}

#[derive(Debug, Args)]
pub(super) struct Rest {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// The run, like RUN
    #[arg(long = "run", value_name = "RUN", conflicts_with = "run")]
    pub(super) named: Option<String>,
    /// Why
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) reason: Option<String>,
    /// Refuse when the state is no longer at this revision
    #[arg(long, value_name = "R")]
    pub(super) if_revision: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Complete {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// The run, like RUN
    #[arg(long = "run", value_name = "RUN", conflicts_with = "run")]
    pub(super) named: Option<String>,
    /// A last word
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) note: Option<String>,
    /// Even though steps are open; never over an open gate or review
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "For a session of `run`: --from ID repeats from a finished step on, --skip ID leaves a step out, --force begins it anew, after it asked."
)]
pub(super) struct Resume {
    #[command(flatten)]
    pub(super) run: RunArg,
    #[command(flatten)]
    pub(super) flags: PlanFlags,
    /// Answer every question with its "go on", but for gates and blocking findings
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Leave out the least important parts of the context beyond this size
    #[arg(long, value_name = "BYTES", default_value_t = 65_536)]
    pub(super) budget: usize,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// For a session of `run`: do finished steps again whose definition was changed
    #[arg(long)]
    pub(super) accept_edits: bool,
    /// For a session of `run`: print what happens as JSON lines
    #[arg(long)]
    pub(super) events: bool,
}

#[derive(Debug, Args)]
pub(super) struct Run {
    /// The workflow file, YAML or JSON (schema: `piton schema script`)
    #[arg(value_name = "FILE")]
    pub(super) file: String,
    /// What `${ARG}` stands for
    #[arg(long, value_name = "VALUE", num_args = 1.., allow_hyphen_values = true)]
    pub(super) args: Vec<String>,
    /// Let the steps work in the project itself instead of a worktree
    #[arg(long)]
    pub(super) no_worktree: bool,
    /// Merge at the end without asking, and remove the worktree when nothing in it is uncommitted
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Print what happens as JSON lines
    #[arg(long)]
    pub(super) events: bool,
    /// Check the file and say what would be done, and do nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Args)]
pub(super) struct History {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Also say what each change did to the steps, and who did them
    #[arg(long)]
    pub(super) changes: bool,
}

#[derive(Debug, Args)]
pub(super) struct Restore {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Which checkpoint, from `piton history` (default: the newest that is readable)
    #[arg(long, value_name = "CHECKPOINT")]
    pub(super) to: Option<String>,
    /// Do it without asking
    #[arg(short, long)]
    pub(super) yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct Rollback {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// The run, like RUN
    #[arg(long = "run", value_name = "RUN", conflicts_with = "run")]
    pub(super) named: Option<String>,
    /// Where to: a phase (its end; 0 is the beginning), a step (before it), a checkpoint of `piton history`, a commit (at least 7
    /// digits), or `last`: the end of the phase before the newest that was begun, else the newest checkpoint. `phase:2`, `step:2`,
    /// `checkpoint:000002` and `commit:SHA` leave no doubt (default: list them)
    #[arg(long, value_name = "TARGET")]
    pub(super) to: Option<String>,
    /// Why; kept in the state where it has a place for it, and in the log of rollbacks
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) reason: Option<String>,
    /// Do it without asking; git commands are printed all the same, never run
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Also after three rollbacks to the same point, and of a run that was given up
    #[arg(long)]
    pub(super) force: bool,
    /// Refuse when the state is no longer at this revision (from `piton plan`)
    #[arg(long, value_name = "R")]
    pub(super) if_revision: Option<String>,
    /// Take target and reason as JSON from standard input (schema: `piton schema change`)
    #[arg(long, value_name = "-", conflicts_with_all = ["to", "reason"])]
    pub(super) json: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Repair {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Rebuild it from stories, artifacts, gates, summaries and commits, and say where each value comes from
    #[arg(long)]
    pub(super) from_evidence: bool,
    /// Write what is proposed without asking; what it replaces is kept
    #[arg(short, long)]
    pub(super) yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct Archive {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// Instead, every run that is over and what was left behind: temporary files, dead locks, copies without an original
    #[arg(long, conflicts_with = "run")]
    pub(super) all: bool,
    /// With --all, only what nobody touched for so long
    #[arg(long, value_name = "DAYS", default_value_t = 30, requires = "all", value_parser = clap::value_parser!(u32).range(0..=36_500))]
    pub(super) after: u32,
    /// Even though steps are open; with --all, do it instead of listing what would be done
    #[arg(short, long)]
    pub(super) yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Keep the scratch project and print where it is
    #[arg(long)]
    pub(super) keep: bool,
}

#[derive(Debug, Args)]
pub(super) struct Setup {
    /// Let the agent call piton without a prompt; shows the change, and makes it with --yes
    #[arg(long)]
    pub(super) permissions: bool,
    /// Show the newest run in the status line of the client; shows the change, and makes it with --yes
    #[arg(long)]
    pub(super) statusline: bool,
    /// Which settings: your own, those of the project, or your own of the project
    #[arg(long, value_enum, default_value_t = SettingsScope::User)]
    pub(super) scope: SettingsScope,
    /// Write what was shown
    #[arg(short, long)]
    pub(super) yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SettingsScope {
    User,
    Project,
    Local,
}

#[derive(Debug, Args)]
pub(super) struct Hook {
    /// Which event; its fields are JSON on standard input
    #[arg(value_name = "EVENT")]
    pub(super) event: String,
}

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Which shell
    #[arg(value_enum)]
    pub(super) shell: clap_complete::Shell,
}
