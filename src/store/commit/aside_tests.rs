use std::fs;

use super::keep;
use crate::{
    model::sha256_hex,
    store::{
        fs::calls::{Fault, with_fault},
        testing::{Scratch, clock, rel},
    },
};

#[test]
fn a_broken_file_is_set_aside_once() {
    let scratch = Scratch::new();
    let lock = scratch.lock();
    let first = keep(&lock, &rel("run/state.json"), clock().now, b"{").unwrap();
    let second = keep(&lock, &rel("run/state.json"), clock().now, b"{").unwrap();
    assert_eq!(first, second);
    let digest = &sha256_hex(b"{")[..16];
    assert_eq!(scratch.files(".piton/runs/ccw.run/set-aside"), [format!("20260131T120000Z-{digest}-state.json")]);
}

#[test]
fn a_broken_file_is_kept_or_the_call_fails() {
    let mut refused = 0;
    for at in 1.. {
        let scratch = Scratch::new();
        let lock = scratch.lock();
        let kept = with_fault(at, Fault::Once, || keep(&lock, &rel("run/state.json"), clock().now, b"{"));
        let Some(kept) = kept else { break };
        match kept {
            Ok(file) => assert_eq!(fs::read(file).unwrap(), b"{", "call {at}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 2, "only {refused}");
}
