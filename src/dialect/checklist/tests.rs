use super::grammar;
use super::outline::Outline;

#[test]
#[ignore = "prints what a file is read as"]
fn dump() {
    let file = std::env::var("LIST").unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let outline = Outline::of(&text);
    let own = crate::model::RelPath::parse("specs/own").unwrap();
    let list = match std::env::var("GRAMMAR").unwrap_or_default().as_str() {
        "openspec" => grammar::openspec(&outline, Some(&own)),
        "superpowers" => grammar::superpowers(&outline),
        "plan" => grammar::plan_mode(&outline).unwrap(),
        _ => grammar::speckit(&outline, Some(&own)),
    };
    for task in &list.tasks {
        println!(
            "{} {:?} P{} g{:?} w{:?} parts{} {:?} {:?} | {}",
            task.id,
            task.claim,
            task.is_parallel,
            task.group,
            task.waits_for,
            task.parts.len(),
            task.files,
            task.words,
            task.title
        );
    }
    println!(
        "{:#?} {:?} {:?} {:?} {:?} {:?}",
        list.groups, list.odd_marks, list.repeated, list.nameless, list.story_waits, list.unclosed
    );
}
