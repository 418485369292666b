//! States that public projects committed, where they lie beside the repository; elsewhere there is nothing to test.

use crate::support::Sandbox;
use crate::support::Tree;
use crate::support::repository;

#[test]
fn killed_cycles_that_went_round_are_for_a_person() {
    // A worktree of the repository lies one folder deeper.
    let places = ["../shared/real/aios", "../../shared/real/aios"].map(|place| repository().join(place));
    let Some(place) = places.into_iter().find(|place| place.is_dir()) else { return };
    let sandbox = Sandbox::new();
    Tree::of(&place.join("dev-cycle")).write_to(&sandbox.root());
    let before = sandbox.tree();
    for (story, saved) in [("bob-bugfix-1", "3_self_healing"), ("test-bob-1", "1_validation")] {
        let plan = sandbox.piton(["plan", &format!("dev-{story}")]).run().expect_code(9);
        assert_eq!(plan.at("/data/verdict"), "blocked", "{story}");
        assert_eq!(plan.at("/data/next"), serde_json::json!([]), "{story}");
        let message = plan.at("/findings/0/message").as_str().unwrap().to_owned();
        assert!(message.starts_with(saved) && message.contains("passed checkpoint GO"), "{message}");
    }
    assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
}
