//! The page with all runs of a project.

use maud::html;

use super::html::document;
use crate::{
    model::{Suggested, Verb, clean_line, human_age, plural},
    ops::{ListReport, ListedRun},
};

/// Returns the page as one file.
pub(crate) fn index(report: &ListReport) -> String {
    let body = html! {
        header {
            p class="kicker" { b { "Piton" } }
            h1 { "Runs of this project" }
            p class="goal" {
                (plural(report.runs.len(), "run")) ", newest first."
                @if report.hidden > 0 { " " (report.hidden) " finished ones are left out; " code { (Suggested::new(Verb::List).flag("all").flag("html").to_string()) } " has them." }
                @if report.in_review > 0 { " " (report.in_review) " stories wait for a review." }
            }
        }
        main {
            table class="runs" {
                thead { tr { th scope="col" { "Run" } th scope="col" { "Verdict" } th scope="col" { "Steps" } th scope="col" { "Last change" } th scope="col" { "Its page" } } }
                tbody { @for run in &report.runs { (row(run)) } }
            }
        }
    };
    document("Runs of this project", &body)
}

fn row(run: &ListedRun) -> maud::Markup {
    let is_over = run.lifecycle.stage.is_over();
    let age = run.age_seconds.map_or_else(|| "unknown".to_owned(), |age| format!("{} ago", human_age(age)));
    let show = Suggested::of(Verb::Show, &run.id).option("html", "FILE").to_string();
    html! {
        tr {
            th scope="row" {
                bdi { (clean_line(&run.title, 120)) }
                p class="dim" { code { (run.id.as_str()) } " of " (clean_line(&run.workflow, 60)) ", " bdi { (clean_line(&run.position, 160)) } }
            }
            td {
                @if is_over { (clean_line(&run.lifecycle.describe(), 160)) } @else { b { (run.verdict.as_str()) } }
                @if let Some(cause) = run.cause.as_ref().filter(|_| !is_over) { p class="dim" { (cause.kind.as_str()) ": " bdi { (clean_line(&cause.detail, 200)) } } }
            }
            td { @if run.progress.total > 0 { (run.progress.done) " of " (run.progress.total) } }
            td { (age) }
            td { p class="cmd" { code { (show) } button type="button" class="copy" hidden { "Copy" } } }
        }
    }
}
