//! Sessions that public projects committed, if they are present beside the repository.

use super::session::next;
use crate::support::{Sandbox, Tree, repository};

/// Project, session, exit code, verdict, what is next.
type Row = (&'static str, &'static str, i32, &'static str, &'static [&'static str]);

const ROWS: &[Row] = &[
    (
        "nano-banana",
        "WFS-refactor-frontend-shadcn-hci",
        9,
        "confirm",
        &["verify IMPL-007", "verify IMPL-008", "verify IMPL-009", "verify IMPL-011"],
    ),
    (
        "save-restricted-bot",
        "WFS-config-refactor",
        9,
        "confirm",
        &["verify IMPL-1", "verify IMPL-2", "verify IMPL-3", "verify IMPL-4", "verify IMPL-5", "verify IMPL-6"],
    ),
    ("save-restricted-bot", "WFS-mobile-adaptation-complete", 0, "complete", &[]),
    ("niko-studio", "WFS-niko-complete-all-20260209", 9, "confirm", &["run IMPL-001"]),
    ("niko-studio", "WFS-phase-2-services-layer-migration-20260329", 0, "complete", &[]),
    ("triattention", "WFS-speckv-similarity-dedup", 0, "complete", &["archive IMPL-007"]),
];

#[test]
fn real_sessions_are_planned_as_a_person_would() {
    // A worktree of the repository lies one folder deeper.
    let places = ["../shared/real/ccw", "../../shared/real/ccw"].map(|place| repository().join(place));
    let Some(place) = places.into_iter().find(|place| place.is_dir()) else { return };
    for (project, session, code, verdict, expected) in ROWS {
        let sandbox = Sandbox::new();
        Tree::of(&place.join(project)).write_to(&sandbox.root());
        let before = sandbox.tree();
        let plan = sandbox.piton(["plan", session]).run().expect_code(*code);
        assert_eq!(plan.at("/data/verdict"), *verdict, "{session}");
        assert_eq!(next(&plan), *expected, "{session}");
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{session}");
        sandbox.piton(["--format", "text", "plan", session]).run().expect_code(*code);
    }
}
