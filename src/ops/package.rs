//! Where the files of a run in a package of a project are: its system names them relative to the package, or to the project.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use camino::Utf8Path;

use crate::dialect::Loaded;
use crate::model::DeclaredFile;
use crate::model::DeclaredState;
use crate::model::RelPath;
use crate::store;

/// Puts the files that the steps of a run name to where they are: in its package, else in the project, else where the package would have them.
pub(super) fn place_files(loaded: &mut Loaded, root: &Utf8Path) {
    let (Some(run), Some(request)) = (&mut loaded.run, &mut loaded.wanted.guest) else { return };
    let Some(package) = request.package.clone() else { return };
    let named: BTreeSet<&RelPath> =
        run.steps.iter().filter_map(|step| step.guest.as_deref()).flat_map(|proof| proof.paths()).collect();
    let named = named.into_iter().filter(|path| !path.starts_with(&package));
    let mut places: BTreeMap<RelPath, RelPath> =
        named.filter_map(|path| Some((path.clone(), package.join(path.as_str()).ok()?))).collect();
    let looked_at = places.iter().flat_map(|(path, place)| [path, place]);
    let looked_at = looked_at.map(|path| DeclaredFile::plain(path.clone())).collect();
    let states = store::declared_files(root, &looked_at);
    let is_missing = |path: &RelPath| {
        states.get(&DeclaredFile::plain(path.clone())).is_none_or(|state| *state == DeclaredState::Missing)
    };
    places.retain(|path, place| !is_missing(place) || is_missing(path));
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
