use super::{nodes, order};
use crate::{
    model::{ShownStep, Status, StepId, StepMark},
    page::{
        layout::{HEIGHT, WIDTH, layout},
        view::{Key, keys},
    },
};

fn step(id: &str, group: Option<&str>, depends_on: &[&str]) -> ShownStep {
    ShownStep {
        id: StepId::new(id),
        title: id.to_owned(),
        group: group.map(str::to_owned),
        agent: None,
        mark: StepMark::Open,
        recorded: Status::Pending,
        reason: String::new(),
        rule: String::new(),
        is_next: false,
        is_again: false,
        is_container: false,
        is_tolerated: false,
        depends_on: depends_on.iter().map(StepId::new).collect(),
        witnesses: Vec::new(),
        attempts: Vec::new(),
        seconds: 0,
        tokens: 0,
    }
}

fn chain(count: usize, phases: usize) -> Vec<ShownStep> {
    let name = |at: usize| format!("s{at}");
    let step = |at: usize| {
        let group = (phases > 0).then(|| format!("phase {}", at * phases / count));
        let before = at.checked_sub(1).map(name);
        step(&name(at), group.as_deref(), before.as_deref().as_slice())
    };
    (0..count).map(step).collect()
}

#[test]
fn edges_that_others_imply_are_left_out() {
    let steps = [step("a", None, &[]), step("b", None, &["a"]), step("c", None, &["a", "b", "missing"])];
    assert_eq!(nodes(&steps, 10).edges, [(0, 1), (1, 2)]);
}

#[test]
fn a_cycle_is_drawn_and_does_not_hang() {
    let steps = [step("a", None, &["b"]), step("b", None, &["a"]), step("c", None, &["c"]), step("d", None, &[])];
    assert_eq!(order(&steps), [3, 0, 1, 2]);
    let graph = nodes(&steps, 10);
    assert_eq!(graph.nodes.len(), 4);
    assert_eq!(layout(&graph).nodes.len(), 4);
}

#[test]
fn too_many_steps_are_folded_by_phase_else_in_stretches() {
    let graph = nodes(&chain(400, 8), 150);
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names.len(), 8);
    assert_eq!((names[0], graph.nodes[0].title.as_str()), ("phase 0", "0 of 50 steps"));
    assert_eq!(graph.edges.len(), 7);
    let graph = nodes(&chain(1_000, 0), 150);
    assert_eq!((graph.nodes.len(), graph.nodes[0].name.as_str()), (40, "s0–s24"));
    assert_eq!(nodes(&chain(1_000, 500), 50).nodes.len(), 40);
    assert!(!nodes(&chain(150, 8), 150).is_folded);
}

#[test]
fn no_two_nodes_overlap_and_all_are_on_the_picture() {
    let mut wide: Vec<ShownStep> = (0..30).map(|at| step(&format!("w{at}"), None, &["s3"])).collect();
    let mut steps = chain(20, 0);
    steps.append(&mut wide);
    steps.push(step("end", None, &["w1", "w29", "s19", "s0"]));
    for steps in [steps, chain(47, 5), chain(3, 0)] {
        let layout = layout(&nodes(&steps, 150));
        for (at, (x, y)) in layout.nodes.iter().enumerate() {
            assert!(x + WIDTH <= layout.width && y + HEIGHT <= layout.height, "{at}");
            let overlaps = |other: &&(usize, usize)| other.0.abs_diff(*x) < WIDTH && other.1.abs_diff(*y) < HEIGHT;
            assert_eq!(layout.nodes.iter().filter(overlaps).count(), 1, "{at}");
        }
    }
}

#[test]
fn keys_are_read_also_when_several_arrive_at_once() {
    assert_eq!(keys(b"j\x1b[Bk\x1b[5~q"), [Key::Down, Key::Down, Key::Up, Key::PageUp, Key::Quit]);
    assert_eq!(keys(b"\x1b"), [Key::Back]);
    assert_eq!(keys(b"\x1b[200~x\x03"), [Key::Char('x'), Key::Interrupt]);
    assert_eq!(keys(b"\x1b["), []);
    assert_eq!(keys("ä\u{0}".as_bytes()), []);
}
