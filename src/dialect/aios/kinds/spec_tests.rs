use super::{Pipeline, load};
use crate::{
    dialect::{
        Loaded,
        aios::testing::{self, path},
    },
    model::{FileSet, FindingCode, ReviewVerdict, RunStatus, Status},
};

use Status::{Completed, Failed, Pending, Skipped};

fn set(folder: &str, artifacts: &[(&str, &str)]) -> FileSet {
    let named: Vec<(String, &str)> = artifacts.iter().map(|(name, text)| (format!("{folder}/{name}"), *text)).collect();
    let named: Vec<(&str, &str)> = named.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let mut set = testing::files(&named);
    set.state = path(folder);
    set
}

fn aios(artifacts: &[(&str, &str)]) -> Loaded {
    load(&set("docs/stories/3.2/spec", artifacts))
}

fn statuses(loaded: &Loaded) -> Vec<Status> {
    loaded.run.as_ref().unwrap().steps.iter().map(|step| step.status).collect()
}

const GATHERED: (&str, &str) = ("requirements.json", "{\"functional\": []}");
const STANDARD: (&str, &str) = ("complexity.json", "{\"result\": \"STANDARD\", \"totalScore\": 12}");
const SIMPLE: (&str, &str) = ("complexity.json", "{\"result\": \"SIMPLE\", \"totalScore\": 7}");
const RESEARCHED: (&str, &str) = ("research.json", "{}");
const WRITTEN: (&str, &str) = ("spec.md", "# Spec\n");
const APPROVED: (&str, &str) = ("critique.json", "{\"verdict\": \"APPROVED\", \"scores\": {\"average\": 4.2}}");

#[test]
fn the_first_artifact_that_is_missing_comes_next() {
    for (artifacts, expected, position) in [
        (vec![GATHERED], vec![Completed, Pending, Pending, Pending, Pending, Pending], "2_assess"),
        (vec![GATHERED, STANDARD], vec![Completed, Completed, Pending, Pending, Pending, Pending], "3_research"),
        (vec![GATHERED, SIMPLE], vec![Completed, Completed, Skipped, Pending, Pending, Pending], "4_write"),
        (
            vec![GATHERED, ("complexity.json", "{\"totalScore\": 8}")],
            vec![Completed, Completed, Skipped, Pending, Pending, Pending],
            "4_write",
        ),
        (
            vec![GATHERED, ("complexity.json", "{\"totalScore\": 9}")],
            vec![Completed, Completed, Pending, Pending, Pending, Pending],
            "3_research",
        ),
        (vec![GATHERED, WRITTEN], vec![Completed, Skipped, Skipped, Completed, Pending, Pending], "5_critique"),
        (
            vec![GATHERED, STANDARD, WRITTEN],
            vec![Completed, Completed, Pending, Completed, Pending, Pending],
            "3_research",
        ),
        (
            vec![GATHERED, STANDARD, RESEARCHED, WRITTEN, APPROVED],
            vec![Completed, Completed, Completed, Completed, Completed, Pending],
            "6_plan",
        ),
    ] {
        let loaded = aios(&artifacts);
        assert_eq!(statuses(&loaded), expected, "{artifacts:?}");
        let run = loaded.run.unwrap();
        assert_eq!(run.position.as_ref().map(|id| id.as_str()), Some(position), "{artifacts:?}");
        assert_eq!((run.id.as_str(), run.title.as_str()), ("spec-3.2", "Spec Pipeline for 3.2"));
        assert_eq!(run.status, RunStatus::Active);
    }
}

#[test]
fn a_critique_sends_back_or_stops_and_is_never_approval_by_being_there() {
    for (critique, status, verdict) in [
        ("{\"verdict\": \"APPROVED\"}", Completed, Some(ReviewVerdict::Approved)),
        ("{\"verdict\": \"NEEDS_REVISION\"}", Failed, Some(ReviewVerdict::NeedsRevision)),
        ("{\"critique\": {\"verdict\": \"NEEDS_REVISION\"}}", Failed, Some(ReviewVerdict::NeedsRevision)),
        ("{\"verdict\": \"BLOCKED\"}", Failed, Some(ReviewVerdict::Rejected)),
        ("{\"verdict\": \"LGTM\"}", Pending, None),
        ("{}", Pending, None),
    ] {
        let loaded = aios(&[GATHERED, STANDARD, RESEARCHED, WRITTEN, ("critique.json", critique)]);
        let is_unknown = loaded.findings.iter().any(|finding| finding.code == FindingCode::VerdictUnknown);
        assert_eq!(is_unknown, verdict.is_none(), "{critique}");
        let run = loaded.run.unwrap();
        let step = &run.steps[4];
        assert_eq!((step.status, step.review.as_ref().map(|review| review.verdict)), (status, verdict), "{critique}");
        assert_eq!(step.returns_to.as_ref().map(|id| id.as_str()), Some("4_write"));
    }
}

#[test]
fn an_artifact_that_cannot_be_read_is_made_again() {
    for broken in ["{\"result\": ", "", "\u{0}"] {
        let loaded = aios(&[GATHERED, ("complexity.json", broken), RESEARCHED]);
        assert_eq!(statuses(&loaded)[..3], [Completed, Pending, Completed], "{broken:?}");
        let found: Vec<FindingCode> = loaded.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(found, [FindingCode::PartUnreadable], "{broken:?}");
        assert!(loaded.run.unwrap().degraded);
    }
    let loaded = aios(&[GATHERED, SIMPLE, ("spec.md", " \n")]);
    assert_eq!(statuses(&loaded)[3], Pending);
}

#[test]
fn the_pipeline_of_nexos_ends_with_its_critique() {
    let yml = [
        ("requirements.yml", "functional: []\n"),
        ("complexity.yml", "class: STANDARD\ntotal_score: 12\n"),
        ("research.yml", "notes: none\n"),
        ("spec.md", "# Spec\n"),
        ("critique.yml", "verdict: APPROVED\naverage_score: 4.5\n"),
    ];
    let loaded = aios(&yml);
    assert_eq!(statuses(&loaded), [Completed; 5]);
    assert_eq!(loaded.run.unwrap().status, RunStatus::Completed);
    let loaded = aios(&yml[..1]);
    let run = loaded.run.unwrap();
    assert_eq!(run.steps[1].proof.outputs, [path("docs/stories/3.2/spec/complexity.yml")]);

    let folder = "docs/specs/login";
    let loaded = load(&set(folder, &[("requirements.json", "{}")]));
    assert_eq!(statuses(&loaded), [Completed, Pending, Pending, Pending, Pending]);
    let run = loaded.run.unwrap();
    assert_eq!(run.id.as_str(), "spec-login");
    assert_eq!(run.steps[1].proof.outputs, [path("docs/specs/login/complexity.json")]);
    assert_eq!(run.steps[3].proof.outputs, [path("docs/specs/spec-login.md")]);
}

#[test]
fn only_artifacts_at_their_places_make_a_pipeline() {
    for (at, id) in [
        ("docs/stories/3.2/spec/requirements.json", Some("3.2")),
        ("docs/stories/3.2/spec/spec.md", Some("3.2")),
        ("app/docs/stories/3.2/spec/plan.json", Some("3.2")),
        ("docs/specs/login/critique.yml", Some("login")),
        ("docs/stories/3.2/spec/.pipeline-state.json", None),
        ("docs/stories/spec/requirements.json", None),
        ("docs/stories/3.2/requirements.json", None),
        ("docs/specs/spec-login.md", None),
        ("plan/requirements.json", None),
    ] {
        let pipeline = Pipeline::of_artifact(&path(at));
        assert_eq!(pipeline.as_ref().map(|pipeline| pipeline.id.as_str()), id, "{at}");
    }
}
