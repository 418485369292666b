//! Finds check lists, by path and content (docs/formats/checklist.md#finding-runs).

use std::collections::BTreeMap;

use super::{
    grammar,
    kind::{self, ListKind, ListPath},
    ledger,
    outline::Outline,
};
use crate::{
    dialect::{PROJECT_SETTINGS, Probed, guest},
    document::{self, Node, Syntax},
    model::{
        Candidate, DialectId, Finding, FindingCode, Listing, ListingEntry, Rank, ReadSpec, RelPath, clean_line,
        first_names, natural, plural,
    },
};

/// Where Spec Kit names the feature that is worked on.
const ACTIVE_FEATURE: &str = ".specify/feature.json";
/// Number of names in a finding.
const NAMED: usize = 5;

/// Tells whether the content of a file is needed to find runs.
pub(super) fn marks(path: &str) -> bool {
    kind::list_path(path).is_some()
        || path == ACTIVE_FEATURE
        || PROJECT_SETTINGS.contains(&path)
        || archived_change(path).is_some()
        || ledger::is_ledger(path)
        || is_workflow_run(path)
}

/// Tells whether a path is that of a run of Spec Kit's own workflows.
fn is_workflow_run(path: &str) -> bool {
    let run = path.strip_prefix(".specify/workflows/runs/").and_then(|rest| rest.strip_suffix("/state.json"));
    run.is_some_and(|run| !run.is_empty() && !run.contains('/'))
}

/// Names a run of Spec Kit's own workflows that did not end. Whether its process is alive is not known: it records none.
fn workflow_run(entry: &ListingEntry) -> Option<Finding> {
    let run = document::parse(entry.content.as_ref()?, Syntax::Json).ok()?;
    let text = |key: &str| run.get(key).and_then(Node::scalar).map(|text| clean_line(text, 60));
    let status = text("status").filter(|status| ["running", "paused", "failed"].contains(&status.as_str()))?;
    let step = text("current_step_id").or_else(|| text("current_step")).or_else(|| text("current_step_index"));
    let step = step.map_or_else(String::new, |step| format!(", at step {step}"));
    let folder = entry.path.parent()?;
    let message =
        format!("a workflow of Spec Kit is {status}{step}: {}; it is not planned here", clean_line(folder.name(), 80));
    Some(Finding::new(FindingCode::JobNotResumed, message).at(&entry.path))
}

/// Returns the plans of plan mode, and the file that the caller named.
pub(super) fn extra_probe_paths(listing: &Listing) -> Vec<RelPath> {
    let folder = plans_folder(listing);
    let is_plan = |entry: &&ListingEntry| {
        let in_folder = folder.as_ref().is_some_and(|folder| entry.path.parent().as_ref() == Some(folder));
        !entry.is_dir
            && entry.path.name().ends_with(".md")
            && (in_folder || listing.named.as_ref() == Some(&entry.path))
    };
    listing.entries.iter().filter(is_plan).map(|entry| entry.path.clone()).collect()
}

/// Returns the folder in which the client keeps its plans, if its settings name one in the project.
fn plans_folder(listing: &Listing) -> Option<RelPath> {
    let of_settings = |path: &str| {
        let entry = listing.entries.iter().find(|entry| entry.path.as_str() == path)?;
        let settings = document::parse(entry.content.as_ref()?, Syntax::Json).ok()?;
        RelPath::parse(settings.get("plansDirectory")?.as_str()?).ok()
    };
    PROJECT_SETTINGS.into_iter().rev().find_map(of_settings)
}

/// Returns the name of an archived change of OpenSpec, without its day.
fn archived_change(path: &str) -> Option<&str> {
    let mut parts = path.rsplit('/');
    let (name, change, archive, changes) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    (name == "tasks.md" && archive == "archive" && changes == "changes").then(|| without_day(change))
}

fn without_day(name: &str) -> &str {
    let is_day = name.get(..10).is_some_and(|day| day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'));
    name.get(11..).filter(|rest| is_day && !rest.is_empty()).unwrap_or(name)
}

/// Finds the runs of a listing.
pub(super) fn probe(listing: &Listing) -> Probed {
    let archived = listing.entries.iter().filter_map(|entry| Some((archived_change(entry.path.as_str())?, entry)));
    let mut prober = Prober {
        listing,
        plans_folder: plans_folder(listing),
        archived: archived.collect(),
        ledgers: listing.entries.iter().filter(|entry| ledger::is_ledger(entry.path.as_str())).collect(),
        found: Vec::new(),
        probed: Probed::default(),
    };
    for entry in listing.entries.iter().filter(|entry| !entry.is_dir) {
        prober.visit(entry);
    }
    prober.archived_changes();
    let workflows = listing.entries.iter().filter(|entry| is_workflow_run(entry.path.as_str()));
    prober.probed.findings.extend(workflows.filter_map(workflow_run));
    prober.end()
}

struct Prober<'a> {
    listing: &'a Listing,
    plans_folder: Option<RelPath>,
    /// The lists of archived changes, by the name of the change.
    archived: BTreeMap<&'a str, &'a ListingEntry>,
    ledgers: Vec<&'a ListingEntry>,
    found: Vec<(ListPath, &'a ListingEntry)>,
    probed: Probed,
}

impl<'a> Prober<'a> {
    fn visit(&mut self, entry: &'a ListingEntry) {
        let path = entry.path.as_str();
        let known = kind::list_path(path);
        let list = match known {
            Some(list) if self.is_run(&list, entry) => list,
            Some(_) | None => match self.plan_file(entry) {
                Some(list) => list,
                None => return,
            },
        };
        // A change without a check list is known by its proposal.
        if list.kind == ListKind::OpenSpec && entry.path.name() == "proposal.md" {
            let tasks = entry.path.parent().and_then(|folder| folder.join("tasks.md").ok());
            if tasks.is_some_and(|tasks| self.entry(tasks.as_str()).is_some()) {
                return;
            }
        }
        self.found.push((list, entry));
    }

    /// Tells whether a file at the path of a check list is one.
    fn is_run(&self, list: &ListPath, entry: &ListingEntry) -> bool {
        let Some(bytes) = &entry.content else { return false };
        let text = String::from_utf8_lossy(bytes);
        match list.kind {
            ListKind::OpenSpec => {
                let has_proposal =
                    || entry.path.parent().is_some_and(|folder| self.entry(&format!("{folder}/proposal.md")).is_some());
                entry.path.name() == "proposal.md" || has_proposal() || text.contains('[')
            }
            ListKind::SpecKit => {
                let outline = Outline::of(&text);
                let has_task = (0..outline.lines.len()).any(|at| grammar::is_speckit_task(&outline, at));
                has_task || (outline.unclosed.is_some() && outline.lines.iter().any(grammar::is_speckit_box))
            }
            ListKind::Superpowers => grammar::is_superpowers_plan(&Outline::of(&text)),
            ListKind::PlanMode => false,
        }
    }

    /// Returns a plan that the caller named, or that is in the folder of the client's plans.
    fn plan_file(&self, entry: &ListingEntry) -> Option<ListPath> {
        let is_named = self.listing.named.as_ref() == Some(&entry.path);
        let in_folder = || self.plans_folder.is_some() && entry.path.parent() == self.plans_folder;
        if !entry.path.name().ends_with(".md") || !(is_named || in_folder()) || self.is_of_gsd(&entry.path) {
            return None;
        }
        let text = String::from_utf8_lossy(entry.content.as_ref()?);
        let outline = Outline::of(&text);
        let kind = if grammar::is_superpowers_plan(&outline) { ListKind::Superpowers } else { ListKind::PlanMode };
        let is_plan = kind == ListKind::Superpowers || grammar::plan_mode(&outline).is_some();
        let subject = entry.path.name().trim_end_matches(".md").to_owned();
        is_plan.then_some(ListPath { kind, subject, package: String::new() })
    }

    /// Tells whether a file lies in a planning folder of GSD, whose run it is a part of.
    fn is_of_gsd(&self, path: &RelPath) -> bool {
        let home = path.as_str().split_once(".planning/").map(|(above, _)| format!("{above}.planning"));
        home.is_some_and(|home| {
            ["ROADMAP.md", "phases"].iter().any(|name| self.entry(&format!("{home}/{name}")).is_some())
        })
    }

    fn entry(&self, path: &str) -> Option<&'a ListingEntry> {
        let entries = &self.listing.entries;
        entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok().map(|at| &entries[at])
    }

    fn end(mut self) -> Probed {
        let mut ids: BTreeMap<String, usize> = BTreeMap::new();
        let found = std::mem::take(&mut self.found);
        let active = self.active(&found);
        for (list, entry) in found {
            let id = format!("{}{}", list.kind.prefix(), list.subject);
            let count = ids.entry(id.to_lowercase()).and_modify(|count| *count += 1).or_insert(1);
            let name = match (*count, list.package.as_str()) {
                (1, _) => id,
                (count, "") => format!("{id}-{count}"),
                (_, package) => format!("{id}@{package}"),
            };
            let candidate = self.candidate(clean_line(&name, 200), &list, entry, active.contains(&entry.path.as_str()));
            self.probed.add(candidate, guest::is_listed(self.listing, &entry.path, kind::is_copy(&entry.path)));
        }
        self.probed
    }

    fn candidate(&self, name: String, list: &ListPath, entry: &ListingEntry, is_active: bool) -> Candidate {
        let folder = entry.path.parent();
        let mut reads = vec![ReadSpec::File(entry.path.clone())];
        let names = folder.clone().map(|dir| ReadSpec::Names { dir });
        match list.kind {
            ListKind::SpecKit => {
                let checklists = folder.as_ref().and_then(|folder| folder.join("checklists").ok());
                reads.extend(checklists.map(|dir| ReadSpec::Contents { dir, suffix: ".md" }));
                reads.extend(names);
            }
            ListKind::OpenSpec => {
                let proposal = folder.as_ref().and_then(|folder| folder.join("proposal.md").ok());
                let specs = folder.as_ref().and_then(|folder| folder.join("specs").ok());
                // Only their names: no name of a file ends with a slash.
                reads.extend(specs.map(|dir| ReadSpec::Tree { dir, suffix: "/" }));
                reads.extend(proposal.map(ReadSpec::File));
                reads.extend(names);
            }
            ListKind::Superpowers => {
                reads.extend(ledger::of_plan(&self.ledgers, &entry.path).map(ReadSpec::File));
                let settings = [".gitignore", ".gitmodules"].into_iter().filter_map(|name| RelPath::parse(name).ok());
                reads.extend(settings.map(ReadSpec::File));
            }
            ListKind::PlanMode => {}
        }
        reads.extend(super::commands::command_file(list.kind, self.listing).map(ReadSpec::File));
        let home = folder.as_ref().and_then(|folder| match list.kind {
            ListKind::SpecKit => folder.parent(),
            ListKind::Superpowers => Some(folder.clone()),
            ListKind::OpenSpec | ListKind::PlanMode => None,
        });
        Candidate {
            rank: home.map(|home| Rank { home, order: u8::from(!is_active) }),
            // Its ledger and the commands of the project lie elsewhere. A file that only the caller names is found around it alone.
            may_be_replaced: self.listing.named.is_some()
                && kind::list_path(entry.path.as_str()).as_ref() == Some(list),
            findings: self.twin(list),
            ..guest::candidate(DialectId::Checklist, name, entry.path.clone(), reads)
        }
    }

    /// Returns the runs that their systems work on: the feature of the pointer file, else of the branch, else the newest; the plan with a
    /// ledger, else the newest.
    fn active(&self, found: &[(ListPath, &'a ListingEntry)]) -> Vec<&'a str> {
        let of_kind = |kind: ListKind| found.iter().filter(move |(list, _)| list.kind == kind);
        let newest = |kind: ListKind| {
            let last = of_kind(kind).max_by(|(a, _), (b, _)| natural(&a.subject, &b.subject));
            last.map(|(_, entry)| entry.path.as_str())
        };
        let named = self.named_feature();
        let is_of = |list: &ListPath, name: &str| list.subject.eq_ignore_ascii_case(name);
        let by_name = |name: Option<&str>| {
            let found = of_kind(ListKind::SpecKit).find(|(list, _)| name.is_some_and(|name| is_of(list, name)));
            found.map(|(_, entry)| entry.path.as_str())
        };
        let branch = self.listing.branch.as_deref().map(|branch| branch.rsplit('/').next().unwrap_or(branch));
        let feature = by_name(named.as_deref()).or_else(|| by_name(branch)).or_else(|| newest(ListKind::SpecKit));
        let with_ledger = of_kind(ListKind::Superpowers)
            .find(|(_, entry)| ledger::of_plan(&self.ledgers, &entry.path).next().is_some());
        let plan = with_ledger.map(|(_, entry)| entry.path.as_str()).or_else(|| newest(ListKind::Superpowers));
        feature.into_iter().chain(plan).collect()
    }

    /// Returns the folder of the feature that Spec Kit works on, by its pointer file.
    fn named_feature(&self) -> Option<String> {
        let content = self.entry(ACTIVE_FEATURE)?.content.as_ref()?;
        let pointer = document::parse(content, Syntax::Json).ok()?;
        let values = ["feature_directory", "feature_dir", "featureDirectory", "feature", "name", "current"];
        let value = values.iter().find_map(|key| pointer.get(key)?.as_str())?;
        value.trim_end_matches('/').rsplit(['/', '\\']).next().map(str::to_owned)
    }

    /// Returns the finding about an archived change with the name of an active one.
    fn twin(&self, list: &ListPath) -> Vec<Finding> {
        if list.kind != ListKind::OpenSpec {
            return Vec::new();
        }
        let finding = |entry: &&ListingEntry| {
            let message = format!("an archived change has the same name ({}); the active one counts", entry.path);
            Finding::new(FindingCode::StateSuperseded, message).at(&entry.path)
        };
        self.archived.get(list.subject.as_str()).map(finding).into_iter().collect()
    }

    /// Names the archived changes with open boxes.
    fn archived_changes(&mut self) {
        let is_open = |entry: &&&ListingEntry| {
            entry.content.as_ref().is_some_and(|bytes| {
                let text = String::from_utf8_lossy(bytes);
                let outline = Outline::of(&text);
                (0..outline.lines.len()).any(|at| outline.checkbox(at).is_some_and(|one| one.mark.text.is_empty()))
            })
        };
        let open = self.archived.values().filter(is_open);
        let open: Vec<String> =
            open.filter_map(|entry| entry.path.parent().map(|folder| clean_line(folder.name(), 80))).collect();
        if !open.is_empty() {
            let named = first_names(&open, NAMED);
            let message = format!("{} of OpenSpec with open boxes: {named}", plural(open.len(), "archived change"));
            self.probed.findings.push(Finding::new(FindingCode::NotArchived, message));
        }
    }
}
