//! Names that look alike: in other case, or in letters of another script.

/// Small letters of other scripts, each with the Latin one that it looks like.
const LETTERS: [(&str, char); 20] = [
    ("аα", 'a'),
    ("сϲ", 'c'),
    ("ԁ", 'd'),
    ("еєε", 'e'),
    ("ց", 'g'),
    ("һհ", 'h'),
    ("іιı", 'i'),
    ("ј", 'j'),
    ("кκ", 'k'),
    ("ӏ", 'l'),
    ("м", 'm'),
    ("п", 'n'),
    ("оοօ", 'o'),
    ("рρ", 'p'),
    ("ԛ", 'q'),
    ("ѕ", 's'),
    ("тτ", 't'),
    ("υս", 'u'),
    ("хχ", 'x'),
    ("уγ", 'y'),
];

/// Returns what two names have in common that a person takes for one.
pub(super) fn skeleton(name: &str) -> String {
    let latin =
        |letter: char| LETTERS.iter().find(|(like, _)| like.contains(letter)).map_or(letter, |(_, latin)| *latin);
    name.chars().flat_map(char::to_lowercase).map(latin).collect()
}

#[cfg(test)]
mod tests {
    use super::skeleton;

    #[test]
    fn names_that_look_alike_have_one_skeleton() {
        for (one, other) in [("auth", "AUTH"), ("admin", "аdmin"), ("scope", "ѕсоре"), ("Été-1", "éTÉ-1")] {
            assert_eq!(skeleton(one), skeleton(other), "{one} {other}");
        }
        for (one, other) in [("auth", "auth2"), ("a-b", "a_b"), ("1", "l")] {
            assert_ne!(skeleton(one), skeleton(other), "{one} {other}");
        }
    }
}
