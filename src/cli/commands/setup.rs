//! `setup`.

use clap::ValueEnum;

use super::prelude::*;
use crate::ops::SetupScope;

#[derive(Debug, Args)]
pub(in crate::cli) struct Setup {
    /// Let the agent read and record runs without a permission prompt; shows the change, and writes it with --yes
    #[arg(long)]
    permissions: bool,
    /// Show the newest run in the client's status line; shows the change, and writes it with --yes
    #[arg(long)]
    statusline: bool,
    /// Which settings to change: yours, the project's, or yours for this project
    #[arg(long, value_enum, default_value_t = SettingsScope::User)]
    scope: SettingsScope,
    /// Write the change shown
    #[arg(short, long)]
    yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SettingsScope {
    User,
    Project,
    Local,
}

impl Command for Setup {
    fn run(&self, call: &Call<'_>) -> Result<Exit, CommandError> {
        let scope = match self.scope {
            SettingsScope::User => SetupScope::User,
            SettingsScope::Project => SetupScope::Project,
            SettingsScope::Local => SetupScope::Local,
        };
        let Self { permissions, statusline, yes, .. } = *self;
        let wanted = ops::SetupRequest { permissions, statusline, scope, yes };
        call.answer(ops::setup(&call.request(None), wanted))
    }
}

impl Shown for ops::SetupReport {
    fn text(&self, page: &mut Page, _: &[Finding]) {
        let program = self.program.as_deref().unwrap_or("of unknown path");
        page.text.put(Tone::Good, "✅ ").plain(format!("piton {}: {program}", self.version)).end();
        if let (Some(cache), false) = (&self.cache, self.in_cache) {
            page.text.line(format!("   not the one in {cache}, where the plugin looks first"));
        }
        let Some(settings) = &self.settings else { return };
        match (settings.needed, settings.written) {
            (false, _) => page.text.line(format!("   {} has these settings already", settings.file)),
            (true, true) => page.text.put(Tone::Good, "✅ ").line(format!("{} is changed:", settings.file)),
            (true, false) => page.text.line(format!("   {} would change:", settings.file)),
        };
        for line in &settings.diff {
            let tone = match line.as_bytes().first() {
                Some(b'+') => Tone::Good,
                Some(b'-') => Tone::Bad,
                Some(_) | None => Tone::Dim,
            };
            page.text.put(tone, format!("   {line}")).end();
        }
        if settings.needed && !settings.written && !page.quiet {
            page.text.line("→ the same command with --yes writes it");
        }
    }
}
