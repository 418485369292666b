//! The drivers of `docs/drivers.md`, as they stand there: killed twenty times, they do every step once and in order.

use std::path::Path;

use crate::support::{self, Sandbox};

/// Ten steps of agents around a command.
const FLOW: &str = "\
name: ten
steps:
- {id: s0, agent: coder}
- {id: s1, agent: coder}
- {id: s2, agent: coder}
- {id: s3, agent: coder}
- {id: s4, agent: coder, outputs: [s4.txt]}
- {id: build, shell: echo built >> log}
- {id: s5, agent: coder}
- {id: s6, agent: coder}
- {id: s7, agent: coder}
- {id: s8, agent: coder}
- {id: s9, agent: coder}
";

/// Kills its driver at the first call for each step, and after the work at the second.
const AGENT: &str = r#"#!/bin/sh
cat > /dev/null
echo "$1" >> calls
calls=$(grep -cx "$1" calls)
[ "$calls" = 1 ] && kill -9 "$(cat pid)" && exit
echo made > "$1.txt"
[ "$calls" = 2 ] && kill -9 "$(cat pid)" && exit
echo "$1" >> log
echo "did $1"
"#;

/// Drivers are started until one ends by itself, at most so often.
const STARTS: usize = 40;

fn driver(language: &str, file: &str, runs: &str) {
    let page = support::read(&support::repository().join("docs/drivers.md"));
    let block =
        page.split_once(&format!("```{language}\n")).and_then(|(_, rest)| rest.split_once("```")).expect("a block");
    assert!(block.0.lines().count() <= 30, "a reader sees all of it");
    let sandbox = Sandbox::new();
    sandbox.file("w.yml", FLOW).file(file, block.0).file("agent", AGENT);
    sandbox.mode("agent", 0o755);
    sandbox.piton(["start", "w.yml", "--feature", "ten"]).real_clock().run().expect_code(0);
    let path = format!(
        "{}:/usr/bin:/bin",
        Path::new(env!("CARGO_BIN_EXE_piton")).parent().expect("it is in a folder").display()
    );
    let script = format!("echo $$ > pid; exec {runs} ten ./agent");
    let mut killed = 0;
    let end = (0..STARTS).find_map(|_| {
        let output = sandbox.tool("/bin/sh", ["-c", &script]).env("PATH", &path).run();
        killed += usize::from(output.code != 0);
        (output.code == 0).then_some(output)
    });
    assert!(end.is_some(), "it ends");
    assert_eq!(killed, 20, "it was killed as often as the agents say");
    let done: Vec<String> = sandbox.read("log").lines().map(str::to_owned).collect();
    // The output of s4 was there when its driver was killed: its work is taken over, not repeated.
    assert_eq!(done, ["s0", "s1", "s2", "s3", "built", "s5", "s6", "s7", "s8", "s9"]);
    assert_eq!(sandbox.read("calls").lines().count(), 29, "no step was done again after its end");
    let plan = sandbox.piton(["plan", "ten"]).real_clock().run();
    assert_eq!((plan.at("/data/verdict"), plan.at("/data/progress/done")), ("complete".into(), 11.into()), "{plan}");
}

#[test]
fn the_driver_in_python_does_every_step_once() {
    if !Path::new("/usr/bin/python3").exists() {
        eprintln!("left out: there is no python3");
        return;
    }
    driver("python", "driver.py", "python3 driver.py");
}

#[test]
fn the_driver_in_a_shell_does_every_step_once() {
    if !Path::new("/usr/bin/jq").exists() {
        eprintln!("left out: there is no jq");
        return;
    }
    driver("sh", "driver.sh", "sh driver.sh");
}
