//! Reports for people.

use super::page::Page;
use super::page::decided;
use super::page::next_command;
use super::page::reported;
use super::page::tone_of;
use super::patch;
use super::plan;
use super::repair;
use super::rollback;
use super::sessions;
use crate::cli::output::Text;
use crate::cli::output::Tone;
use crate::model::Context;
use crate::model::Finding;
use crate::model::Mode;
use crate::model::Progress;
use crate::model::Severity;
use crate::model::clean_line;
use crate::model::human_age;
use crate::model::plural;
use crate::ops::ArchiveReport;
use crate::ops::Body;
use crate::ops::CheckpointReport;
use crate::ops::CleanupReport;
use crate::ops::DemoReport;
use crate::ops::DoctorReport;
use crate::ops::HistoryReport;
use crate::ops::ListReport;
use crate::ops::ListedRun;
use crate::ops::Report;
use crate::ops::RestoreReport;
use crate::ops::SchemaList;
use crate::ops::SetupReport;
use crate::ops::Stage;
use crate::ops::StatusReport;
use crate::ops::ValidateReport;

/// Renders a report for a person.
pub(in crate::cli) fn text(report: &Report, verbose: bool, quiet: bool) -> Text {
    rendered(report, Page { text: Text::default(), verbose, quiet, asks: false })
}

/// Renders a plan before its question is asked.
pub(in crate::cli) fn asked(report: &Report) -> Text {
    rendered(report, Page { text: Text::default(), verbose: false, quiet: false, asks: true })
}

fn rendered(report: &Report, mut page: Page) -> Text {
    let mut list_findings = true;
    match &report.body {
        Body::List(list) => page.list(list),
        Body::Plan(body) if body.plan.patch.is_some() => {
            patch::patch(&mut page, &body.plan);
            list_findings = false;
        }
        Body::Plan(body) => {
            page.verbose |= body.plan.mode == Mode::Preflight;
            plan::plan(&mut page, body, &report.findings);
            list_findings = false;
        }
        Body::Context(body) => page.context(&body.context),
        Body::Status(status) => {
            page.status(status);
            list_findings = false;
        }
        Body::Validate(validate) => page.validate(validate, &report.findings),
        Body::SchemaList(list) => page.schemas(list),
        Body::Document(document) => {
            page.text.block(document);
        }
        Body::Checkpoint(checkpoint) => page.checkpoint(checkpoint),
        Body::Resume(resume) => {
            plan::resumed(&mut page, &resume.plan);
            if let Some(context) = &resume.context {
                page.text.end();
                page.context(context);
            }
        }
        Body::History(history) => page.history(history),
        Body::Restore(restore) => page.restore(restore),
        Body::Rollback(back) => rollback::rollback(&mut page, back),
        Body::Repair(repair) => repair::repair(&mut page, repair),
        Body::Archive(archive) => page.archive(archive),
        Body::Cleanup(cleanup) => page.cleanup(cleanup),
        Body::Doctor(doctor) => page.doctor(doctor),
        Body::Setup(setup) => page.setup(setup),
        Body::Demo(demo) => page.demo(demo),
        Body::Sessions(list) => sessions::list(&mut page, list),
        Body::Session(detail) => sessions::show(&mut page, detail),
        Body::Clean(report) => sessions::clean(&mut page, report),
        Body::Import(report) => sessions::import(&mut page, report),
    }
    // A resume repeats its plan, which keeps the notes for `-v`.
    let is_shown = |finding: &&Finding| {
        finding.severity != Severity::Info || page.verbose || !matches!(report.body, Body::Resume(_))
    };
    let findings: Vec<Finding> = report.findings.iter().filter(is_shown).cloned().collect();
    if list_findings && !findings.is_empty() {
        page.text.end();
        page.findings(&findings);
    }
    page.text
}

/// Renders a context as plain text.
pub(in crate::cli) fn context(context: &Context) -> String {
    let mut page = Page { text: Text::default(), verbose: false, quiet: true, asks: false };
    page.context(context);
    page.text.into_plain()
}

impl Page {
    fn list(&mut self, list: &ListReport) {
        if list.in_review > 0 {
            self.text.line(format!("{} stories wait for a review: `piton list --all`", list.in_review));
        }
        if list.runs.is_empty() {
            return;
        }
        let all_open = list.runs.iter().all(|run| !run.lifecycle.stage.is_over());
        let any_cut_off = list.runs.iter().any(|run| run.is_cut_off);
        let heading = if all_open && any_cut_off { "Found interrupted workflows:" } else { "Runs:" };
        self.text.bold(heading).end();
        for run in &list.runs {
            self.listed(run);
        }
        if list.hidden > 0 && !self.quiet {
            self.text.dim(format!("{} left out; --all shows them", plural(list.hidden, "finished run"))).end();
        }
        if !self.quiet {
            self.text.line("→ piton plan NUMBER");
        }
    }

    fn listed(&mut self, run: &ListedRun) {
        let stage = run.lifecycle.stage;
        let age = run.age_seconds.map_or_else(|| "unknown age".to_owned(), |age| format!("{} ago", human_age(age)));
        self.text.plain(format!("{:>2}. ", run.number)).bold(run.id.as_str());
        if !stage.is_over() {
            self.text.plain(format!(" ({})", run.position));
        }
        self.text.plain(" - ");
        if stage != Stage::Open {
            self.text.put(Tone::Warn, run.lifecycle.describe()).plain(", ");
        }
        self.text.plain(format!("{age}  "));
        if !stage.is_over() {
            self.text.put(tone_of(run.verdict), run.verdict.as_str()).plain("  ");
        }
        if let Some(cause) = run.cause.as_ref().filter(|_| !stage.is_over()) {
            self.text.put(Tone::Warn, cause.kind.as_str()).plain("  ");
        }
        let Progress { done, total } = run.progress;
        // An archived run is not loaded for the list.
        let progress = if total == 0 && stage.is_over() { String::new() } else { format!(" {done}/{total}") };
        self.text.dim(format!("{}{progress}  {}", run.workflow, run.state)).end();
    }

    fn status(&mut self, status: &StatusReport) {
        self.text.bold("Where you are  ").line(&status.where_you_are);
        if let Some(cause) = &status.cause {
            self.text.bold("Cut off by     ").line(format!("{}: {}", cause.kind.as_str(), cause.detail));
        }
        self.text.bold("What's stale   ").line(&status.what_is_stale);
        self.text.bold("Next command   ").line(&status.next_command);
        if self.verbose {
            self.said(&status.reports, &status.decisions);
        }
    }

    fn validate(&mut self, validate: &ValidateReport, findings: &[Finding]) {
        for file in &validate.files {
            let (tone, mark) = if file.problems == 0 { (Tone::Good, "ok ") } else { (Tone::Warn, "?? ") };
            self.text.put(tone, mark).plain(&file.file);
            if file.problems > 0 {
                self.text.plain(format!(": {}", plural(file.problems, "finding")));
            }
            self.text.end();
        }
        if validate.valid {
            match findings.iter().filter(|finding| finding.code.is_contradiction()).count() {
                0 => self.text.put(Tone::Good, "Valid.").end(),
                count => self.text.put(Tone::Warn, format!("Valid, {}.", plural(count, "contradiction"))).end(),
            };
        } else {
            self.text.put(Tone::Bad, "Not valid.").end();
        }
    }

    fn schemas(&mut self, list: &SchemaList) {
        let width = list.schemas.iter().map(|schema| schema.name.len() + 2).max().unwrap_or_default();
        for schema in &list.schemas {
            self.text.bold(format!("{:<width$}", schema.name)).line(&schema.about);
        }
        if !self.quiet {
            self.text.line("→ piton schema NAME");
        }
    }

    fn checkpoint(&mut self, checkpoint: &CheckpointReport) {
        let (tone, mark) = match (checkpoint.recorded, checkpoint.is_setback) {
            (false, _) => (Tone::Dim, "= "),
            (true, false) => (Tone::Good, "✅ "),
            (true, true) => (Tone::Bad, "✗ "),
        };
        self.text.put(tone, mark).plain(format!("{}: {}", checkpoint.run, checkpoint.message)).end();
        if let Some(brief) = &checkpoint.brief {
            self.text.end();
            self.context(brief);
        }
        if let Some(file) = &checkpoint.brief_file {
            self.text.line(format!("Brief for the agent: {} ({} bytes)", file.path, file.bytes));
        }
        if let (Some(next), false) = (&checkpoint.next, self.quiet) {
            self.text.line(next_command(next));
        }
    }

    fn history(&mut self, history: &HistoryReport) {
        if history.checkpoints.is_empty() {
            self.text.line(format!("{} has no earlier checkpoints.", history.run));
        }
        for checkpoint in &history.checkpoints {
            let at = checkpoint.at.map_or_else(String::new, |at| at.to_string());
            let step = checkpoint.step.as_ref().map_or_else(String::new, |step| format!(" {step}"));
            self.text.bold(&checkpoint.id).plain(format!("  before {}{step}, {at}", checkpoint.replaced_by));
            self.text.dim(format!("  {}, {} bytes", plural(checkpoint.files.len(), "file"), checkpoint.bytes)).end();
            if checkpoint.is_damaged {
                self.text.put(Tone::Warn, "        changed by another program since: it cannot be restored").end();
            }
            let session = checkpoint.session.as_deref().map(|session| clean_line(session, 8));
            let agent = checkpoint.agent.as_deref().map(|agent| clean_line(agent, 60));
            let who = [agent, session.map(|session| format!("session {session}"))];
            let who: Vec<String> = who.into_iter().flatten().collect();
            if !who.is_empty() {
                self.text.line(format!("        by {}", who.join(", ")));
            }
            for change in checkpoint.changes.iter().flatten() {
                self.text.line(format!("        {}", clean_line(change, 120)));
            }
            let said = checkpoint.report.iter().map(reported).chain(checkpoint.decision.iter().map(decided));
            for line in said.collect::<Vec<String>>().iter().flat_map(|said| said.lines()) {
                self.text.line(format!("        {line}"));
            }
        }
        if !history.checkpoints.is_empty() && !self.quiet {
            self.text.line(format!("→ piton restore {} --to CHECKPOINT", history.run));
        }
    }

    fn restore(&mut self, restore: &RestoreReport) {
        let from = match restore.from.as_str() {
            "copy" => "at its last copy".to_owned(),
            "backup" => "at its backup".to_owned(),
            // Checkpoints have no slash in their names.
            archive if archive.contains('/') => format!("from {archive}"),
            checkpoint => format!("at {checkpoint}"),
        };
        self.text.put(Tone::Good, "✅ ").plain(format!("{} is back {from}", restore.run)).end();
        for file in &restore.files {
            self.text.line(format!("   {file}"));
        }
        if !restore.repeats.is_empty() {
            let steps: Vec<&str> = restore.repeats.iter().map(|step| step.as_str()).collect();
            self.text.put(Tone::Warn, format!("Done again: {}", steps.join(", "))).end();
        }
        for kept in &restore.kept {
            self.text.line(format!("The unreadable state is kept as {kept}"));
        }
    }

    fn archive(&mut self, archive: &ArchiveReport) {
        self.text.put(Tone::Good, "✅ ").plain(format!("{} is archived in {}", archive.run, archive.to)).end();
        if !self.quiet {
            let again = if archive.next.starts_with("piton start ") { "   # begin it again" } else { "" };
            self.text.line(format!("→ {}{again}", archive.next));
            if let Some(restore) = &archive.restore {
                self.text.line(format!("→ {restore}   # bring it back"));
            }
            if let Some(start) = &archive.start {
                self.text.line(format!("To begin again, {start}."));
            }
        }
        if let Some(patch) = &archive.patch {
            patch::suggested(self, &archive.run, patch);
        }
    }

    fn cleanup(&mut self, cleanup: &CleanupReport) {
        if cleanup.items.is_empty() {
            self.text.line(format!(
                "No finished run or leftover file is older than {}.",
                plural(cleanup.after_days as usize, "day")
            ));
        }
        for item in &cleanup.items {
            let age = human_age(item.age_seconds);
            match (&item.to, &item.problem) {
                (Some(to), _) => self.text.put(Tone::Good, "✅ ").line(format!("{} is in {to}", item.path)),
                (None, Some(problem)) => {
                    self.text.put(Tone::Bad, "✗  ").line(format!("{} is kept: {problem}", item.path))
                }
                (None, None) if item.removes && cleanup.written => {
                    self.text.put(Tone::Good, "✅ ").line(format!("{} is removed", item.path))
                }
                (None, None) => self.text.plain("   ").line(format!("{}: {}, {age} old", item.path, item.why)),
            };
        }
        if let Some(next) = cleanup.next.as_ref().filter(|_| !self.quiet) {
            self.text.line(format!("→ {next}"));
        }
    }

    fn doctor(&mut self, doctor: &DoctorReport) {
        self.text.bold(format!("piton {}", doctor.version)).end();
        for check in &doctor.checks {
            let tone = match check.result.as_str() {
                "ok" => Tone::Good,
                "warning" => Tone::Warn,
                _ => Tone::Bad,
            };
            self.text
                .put(tone, format!("{:<8} ", check.result))
                .plain(format!("{}: {}", check.name, check.detail))
                .end();
            if let Some(fix) = &check.fix {
                self.text.line(format!("         → {fix}"));
            }
        }
    }

    fn setup(&mut self, setup: &SetupReport) {
        let program = setup.program.as_deref().unwrap_or("of unknown path");
        self.text.put(Tone::Good, "✅ ").plain(format!("piton {}: {program}", setup.version)).end();
        if let (Some(cache), false) = (&setup.cache, setup.in_cache) {
            self.text.line(format!("   not the one in {cache}, where the plugin looks first"));
        }
        let Some(settings) = &setup.settings else { return };
        match (settings.needed, settings.written) {
            (false, _) => self.text.line(format!("   {} has these settings already", settings.file)),
            (true, true) => self.text.put(Tone::Good, "✅ ").line(format!("{} is changed:", settings.file)),
            (true, false) => self.text.line(format!("   {} would change:", settings.file)),
        };
        for line in &settings.diff {
            let tone = match line.as_bytes().first() {
                Some(b'+') => Tone::Good,
                Some(b'-') => Tone::Bad,
                Some(_) | None => Tone::Dim,
            };
            self.text.put(tone, format!("   {line}")).end();
        }
        if settings.needed && !settings.written && !self.quiet {
            self.text.line("→ the same command with --yes writes it");
        }
    }

    fn demo(&mut self, demo: &DemoReport) {
        let mut dialect = None;
        for scene in &demo.scenes {
            if dialect != Some(scene.dialect) {
                dialect = Some(scene.dialect);
                self.text.end().bold(format!("== A run of {}", scene.dialect)).end();
            }
            self.text.end().line(format!("# {}", scene.say));
            if let Some(command) = &scene.command {
                self.text.bold(format!("$ {command}")).end();
            }
            for line in scene.output.lines() {
                self.text.line(format!("  {line}"));
            }
            if let Some(exit) = scene.exit.filter(|exit| *exit != 0) {
                self.text.dim(format!("  [exit {exit}]")).end();
            }
        }
        self.text.end();
        match &demo.kept {
            Some(place) => self.text.line(format!("The scratch project is kept in {place}")),
            None => self
                .text
                .line("The scratch project is removed. Start your own run: piton start nine-step --feature NAME"),
        };
    }
}
