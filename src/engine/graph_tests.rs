use super::Graph;
use crate::engine::testing::run_of;

fn order(steps: &[(&str, &[&str])]) -> Vec<String> {
    let run = run_of(steps);
    Graph::of(&run).order().iter().map(|at| run.steps[*at].id.to_string()).collect()
}

fn cycle(steps: &[(&str, &[&str])], counts: impl Fn(usize) -> bool) -> Option<Vec<String>> {
    let run = run_of(steps);
    Graph::of(&run).cycle(counts).map(|cycle| cycle.into_iter().map(|at| run.steps[at].id.to_string()).collect())
}

#[test]
fn dependencies_come_first_and_ties_are_natural() {
    assert_eq!(order(&[("IMPL-10", &[]), ("IMPL-2", &[]), ("IMPL-1", &["IMPL-2"])]), ["IMPL-2", "IMPL-1", "IMPL-10"]);
}

#[test]
fn a_place_that_a_plan_gives_goes_before_the_id() {
    let mut run = run_of(&[("1.2", &[]), ("1.10", &[]), ("1.1", &[])]);
    for (step, place) in run.steps.iter_mut().zip([1, 0, 2]) {
        step.plan_order = Some(place);
    }
    let order: Vec<&str> = Graph::of(&run).order().iter().map(|at| run.steps[*at].id.as_str()).collect();
    assert_eq!(order, ["1.10", "1.2", "1.1"]);
}

#[test]
fn what_is_on_or_behind_a_circle_comes_last() {
    let order = order(&[("D", &["A"]), ("A", &["B"]), ("B", &["A"]), ("Z", &[]), ("E", &["Z"])]);
    assert_eq!(order, ["Z", "E", "A", "B", "D"]);
}

#[test]
fn a_cycle_is_named_step_by_step() {
    let steps: &[(&str, &[&str])] = &[("A", &["C"]), ("B", &["A"]), ("C", &["B"]), ("D", &["A"]), ("E", &[])];
    assert_eq!(cycle(steps, |_| true).unwrap(), ["A", "C", "B", "A"]);
    assert_eq!(cycle(&[("A", &["A"])], |_| true).unwrap(), ["A", "A"]);
}

#[test]
fn steps_that_do_not_count_open_a_cycle() {
    let steps: &[(&str, &[&str])] = &[("A", &["C"]), ("B", &["A"]), ("C", &["B"]), ("D", &["E"]), ("E", &["D"])];
    assert_eq!(cycle(steps, |at| at != 1).unwrap(), ["D", "E", "D"]);
    assert_eq!(cycle(steps, |at| at != 1 && at != 4), None);
    assert_eq!(cycle(&[("A", &[]), ("B", &["A"])], |_| true), None);
}

#[test]
fn reach_goes_both_ways() {
    let run = run_of(&[("A", &[]), ("B", &["A"]), ("C", &["B"]), ("D", &[])]);
    let graph = Graph::of(&run);
    assert_eq!(graph.all_dependents(0), [1, 2]);
    assert_eq!(graph.all_dependencies(2), [0, 1]);
    assert_eq!(graph.all_dependents(3), [0_usize; 0]);
}

#[test]
fn reach_is_in_dependency_order_and_leaves_out_its_start() {
    let run = run_of(&[("C", &["B"]), ("B", &["A"]), ("A", &["C"]), ("X", &["A", "B"])]);
    assert_eq!(Graph::of(&run).all_dependents(2), [1, 0, 3]);
}

#[test]
fn naming_a_step_twice_counts_once() {
    let mut run = run_of(&[("A", &[]), ("B", &["A", "A"])]);
    run.steps[1].children = run.steps[1].depends_on.clone();
    let graph = Graph::of(&run);
    assert_eq!((graph.depends_on(1), graph.dependents(0)), ([0].as_slice(), [1].as_slice()));
}

#[test]
fn of_two_steps_with_one_id_the_first_is_meant() {
    let run = run_of(&[("A", &[]), ("A", &["B"]), ("B", &[]), ("C", &["A"])]);
    let graph = Graph::of(&run);
    assert_eq!((graph.depends_on(3), graph.order().len()), ([0].as_slice(), 4));
}
