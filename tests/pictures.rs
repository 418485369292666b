//! The pictures of the README and the pages are what the program prints for the examples. `UPDATE_PICTURES=1` writes them anew.

use anstyle_svg::Term;

use crate::support::{self, Sandbox, Tree};

/// Pixels of a terminal of 80 columns.
const WIDTH: usize = 720;
const NOW: &str = "2026-01-31T12:00:00Z";

/// A copy of an example.
fn example(name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    Tree::of(&support::repository().join("examples").join(name)).write_to(&sandbox.root());
    sandbox
}

/// Returns what a command prints on a terminal with colours.
fn printed(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let program = sandbox.piton(arguments.iter().copied()).now(NOW);
    let program = program.env("CLICOLOR_FORCE", "1").env("PITON_FORMAT", "text");
    format!("\u{1b}[1m$ piton {}\u{1b}[0m\n{}", arguments.join(" "), program.run().stdout)
}

/// Renders the output of a terminal.
fn terminal(text: &str) -> String {
    let svg = Term::new().min_width_px(WIDTH).render_svg(text);
    // The last line of a text file ends like the others.
    format!("{}\n", svg.trim_end())
}

/// Returns the first questions and answers of the nine-step demo, which have no paths of its scratch project yet.
fn first_scene() -> String {
    let demo = printed(&Sandbox::new(), &["demo", "nine-step"]);
    let (scene, _) = demo.split_once("# Resume:").expect("the demo resumes its run");
    scene.trim_end().trim_end_matches("\u{1b}[1m").to_owned()
}

/// Returns the graph of an example as its page draws it, as a picture that needs nothing else.
fn graph(name: &str) -> String {
    let page = example(name).piton(["show", "--html", "-"]).now(NOW).run().stdout;
    let between = |open: &str, close: &str| {
        let from = page.find(open).unwrap_or_else(|| panic!("no {open} in the page"));
        let until = page[from..].find(close).unwrap_or_else(|| panic!("no {close} in the page"));
        &page[from..from + until + close.len()]
    };
    let style =
        between("<style>", "</style>").replace("<style>", "<style><![CDATA[").replace("</style>", "]]></style>");
    let symbols = between("<symbol", "</svg>").trim_end_matches("</svg>");
    let picture = between("<svg class=\"graph\"", "</svg>");
    let end = picture.find('>').expect("the tag ends");
    let (tag, rest) = picture.split_at(end);
    format!("{tag} xmlns=\"http://www.w3.org/2000/svg\">{style}<defs>{symbols}</defs>{}\n", &rest[1..])
}

#[test]
fn the_pictures_are_what_the_program_shows() {
    let folder = support::repository().join("docs/pictures");
    let is_update = std::env::var_os("UPDATE_PICTURES").is_some();
    for (name, now) in [
        ("demo.svg", terminal(&first_scene())),
        ("show.svg", terminal(&printed(&example("nine-step"), &["show"]))),
        ("graph.svg", graph("nine-step")),
    ] {
        let file = folder.join(name);
        if is_update {
            std::fs::create_dir_all(&folder).expect("the folder of the pictures");
            std::fs::write(&file, &now).expect("a picture");
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == now, "{file} is not what the program shows; run the tests with UPDATE_PICTURES=1");
    }
}
