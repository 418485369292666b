use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::Root;
use crate::model::RelPath;

#[test]
fn a_folder_that_somebody_makes_or_removes_meanwhile_is_no_link() {
    let top = tempfile::tempdir().unwrap();
    let root = Root::open(top.path().canonicalize().unwrap().as_path().try_into().unwrap()).unwrap();
    let data_dir = RelPath::parse("own").unwrap();
    let folder = root.path().join("own");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                std::fs::create_dir(&folder).unwrap();
                std::fs::remove_dir(&folder).unwrap();
            }
        });
        let targets: Vec<_> = (0..20_000).map(|_| root.target(&data_dir)).collect();
        is_over.store(true, Ordering::Relaxed);
        for target in targets {
            assert_eq!(target.unwrap(), folder);
        }
    });
}
