use crate::support::Sandbox;

#[test]
fn the_version_is_known_without_project_git_or_path() {
    let sandbox = Sandbox::new();
    sandbox.piton(["--version"]).without_git().real_clock().run().expect_code(0);
}
