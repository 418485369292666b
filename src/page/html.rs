//! The page of one run.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{picture, policy, sections};
use crate::{
    model::{Finding, clean},
    ops::ShowReport,
};

/// Returns the page of a run as one file. `brief` is the brief of the first next step as text.
pub(crate) fn page(report: &ShowReport, findings: &[Finding], brief: Option<&str>) -> String {
    let body = html! {
        (picture::symbols())
        (sections::head(report))
        main {
            (sections::facts(report))
            (sections::next(report))
            (sections::decision(report, findings))
            (sections::contradictions(findings))
            (picture::graph(report))
            (picture::timeline(report))
            (sections::steps(report))
            (sections::notes(findings))
            (sections::history(report))
            (sections::brief(report, brief))
        }
        (sections::foot(report))
    };
    document(&format!("{} – {}", report.run.title, report.verdict.as_str()), &body)
}

/// Returns a whole document. The text of state files was escaped when it was put into the markup; what could control a terminal or reverse
/// text goes here, for all of it.
pub(super) fn document(title: &str, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy::policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(policy::STYLE)) }
            }
            body {
                (body)
                script { (PreEscaped(policy::SCRIPT)) }
            }
        }
    };
    let mut text = clean(&markup.into_string()).into_owned();
    text.push('\n');
    text
}
