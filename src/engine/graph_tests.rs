use super::Graph;
use crate::engine::plan::fixtures::run_of;

fn order(steps: &[(&str, &[&str])]) -> Vec<String> {
    let run = run_of(steps);
    Graph::of(&run).order().iter().map(|at| run.steps[*at].id.to_string()).collect()
}

#[test]
fn dependencies_come_first_and_ties_are_natural() {
    assert_eq!(order(&[("IMPL-10", &[]), ("IMPL-2", &[]), ("IMPL-1", &["IMPL-2"])]), ["IMPL-2", "IMPL-1", "IMPL-10"]);
}

#[test]
fn a_cycle_is_named_step_by_step() {
    let run = run_of(&[("A", &["C"]), ("B", &["A"]), ("C", &["B"]), ("D", &["A"]), ("E", &[])]);
    let graph = Graph::of(&run);
    let cycle: Vec<&str> = graph.cycle_among(|_| true).unwrap().iter().map(|id| id.as_str()).collect();
    assert_eq!(cycle, ["A", "C", "B", "A"]);
    assert_eq!(graph.order().len(), 5);
}

#[test]
fn reach_goes_both_ways() {
    let run = run_of(&[("A", &[]), ("B", &["A"]), ("C", &["B"]), ("D", &[])]);
    let graph = Graph::of(&run);
    assert_eq!(graph.waiting_for(0), [1, 2]);
    assert_eq!(graph.needed_by(2), [0, 1]);
    assert_eq!(graph.waiting_for(3), [0_usize; 0]);
}
