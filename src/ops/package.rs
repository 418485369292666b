//! Where the files of a run in a package of a project are: its system names them relative to the package, or to the project.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use crate::{
    dialect::Loaded,
    model::{DeclaredFile, DeclaredState, RelPath},
    store,
};

/// Puts the files that the steps of a run name to where they are: in its package, else in the project. One that is nowhere is put to where the
/// first folder of its path is.
pub(super) fn place_files(loaded: &mut Loaded, root: &Utf8Path) {
    let (Some(run), Some(request)) = (&mut loaded.run, &mut loaded.wanted.guest) else { return };
    let Some(package) = request.package.clone() else { return };
    let named: BTreeSet<&RelPath> =
        run.steps.iter().filter_map(|step| step.guest.as_deref()).flat_map(|proof| proof.paths()).collect();
    let named = named.into_iter().filter(|path| !path.starts_with(&package));
    let mut places: BTreeMap<RelPath, RelPath> =
        named.filter_map(|path| Some((path.clone(), package.join(path.as_str()).ok()?))).collect();
    let looked_at = places.iter().flat_map(|(path, place)| [path.clone(), place.clone()]);
    let first = |path: &RelPath| RelPath::parse(path.as_str().split('/').next().unwrap_or_default()).ok();
    let folders: BTreeSet<RelPath> = places.keys().filter_map(first).collect();
    let in_package = folders.iter().filter_map(|folder| package.join(folder.as_str()).ok());
    let looked_at = looked_at.chain(folders.iter().cloned()).chain(in_package).map(DeclaredFile::plain).collect();
    let states = store::declared_files(root, &looked_at);
    let is_missing = |path: &RelPath| {
        states.get(&DeclaredFile::plain(path.clone())).is_none_or(|state| *state == DeclaredState::Missing)
    };
    let is_of_project = |path: &RelPath| {
        let folder = first(path).filter(|folder| folder != path);
        folder.is_some_and(|folder| {
            !is_missing(&folder) && package.join(folder.as_str()).is_ok_and(|folder| is_missing(&folder))
        })
    };
    places.retain(|path, place| !is_missing(place) || (is_missing(path) && !is_of_project(path)));
    for step in &mut run.steps {
        if let Some(proof) = &mut step.guest {
            proof.place(&places);
        }
        for target in &mut step.detail.targets {
            let place = RelPath::parse(target).ok().and_then(|path| places.get(&path));
            if let Some(place) = place {
                *target = place.as_str().to_owned();
            }
        }
    }
    *request = std::mem::take(request).placed(&run.steps);
}
