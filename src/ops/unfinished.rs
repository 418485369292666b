//! Findings about what was cut off: a walk through a project that is too large, and a change that another program came between.

use super::opened_run::OpenedRun;
use crate::{
    engine::quoted,
    model::{CutOff, Finding, FindingCode, Listing, RelPath, Suggested, Verb, plural},
    store,
};

/// Number of folders that a walk names as too large.
const CUT_OFF_SHOWN: usize = 3;

/// Returns a finding if the project was too large to look at all of it.
pub(super) fn walk(listing: &Listing) -> Option<Finding> {
    let first = listing.cut_off.first()?;
    let name = |cut: &CutOff| {
        let folder = cut.folder.as_ref().map_or(listing.root.as_str(), RelPath::as_str);
        if cut.levels == 0 { folder.to_owned() } else { format!("{folder} below {}", plural(cut.levels, "level")) }
    };
    let shown: Vec<String> = listing.cut_off.iter().take(CUT_OFF_SHOWN).map(name).collect();
    let more = match listing.cut_off.len().saturating_sub(CUT_OFF_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "too many files to look at all of them: {}{more} is left out; runs in it are not listed",
        shown.join(", ")
    );
    let fix = format!("name the run by the path of its state: {}", Suggested::of(Verb::Plan, "PATH"));
    let found = Finding::new(FindingCode::WalkCutOff, message).fix(fix);
    Some(match &first.folder {
        Some(folder) => found.at(folder),
        None => found,
    })
}

/// Returns a finding if a change was finished without a file that another program changed.
pub(super) fn change(opened: &OpenedRun) -> Option<Finding> {
    let files = &opened.files;
    let folder = files.own.absolute();
    let cut = store::cut_off_change(&files.root, &folder)?;
    let first = cut.left.first()?;
    let step = cut.step.as_ref().map_or_else(String::new, |step| format!(" {step}"));
    let left: Vec<&str> = cut.left.iter().map(|file| file.path.as_str()).collect();
    let message = format!(
        "`{}{step}` was cut off, and another program changed {} before it could be finished: left as it is",
        cut.change,
        left.join(", "),
    );
    let path = &first.path;
    let fix = match &first.kept {
        Some(kept) => {
            let kept = opened.shown_path(&folder.join(kept));
            format!("bring over what is missing: diff -u {} {}", quoted(path.as_str()), quoted(&kept))
        }
        None => format!("the change removes {path}: look whether it is still needed"),
    };
    let found = Finding::new(FindingCode::ChangeCutOff, message).at(path).fix(fix);
    Some(match &cut.step {
        Some(step) => found.on(step),
        None => found,
    })
}
