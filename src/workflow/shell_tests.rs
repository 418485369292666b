use super::{
    Quoting::{self, Arithmetic, Bare, Double, Single},
    quoting,
};
use crate::workflow::template::{Reader, Template};

fn of(text: &str) -> Result<Vec<Quoting>, String> {
    quoting(&Template::parse(text, Reader::Shell).unwrap())
}

#[test]
fn the_place_of_each_variable_is_known() {
    for (text, expected) in [
        ("echo ${v}", vec![Bare]),
        ("echo \"a ${v}\" ${v}", vec![Double, Bare]),
        ("echo 'a ${v}' ${v}", vec![Single, Bare]),
        ("echo \"it's ${v}\" 'say \"${v}'", vec![Double, Single]),
        ("echo \\\" ${v} \\' ${v}", vec![Bare, Bare]),
        ("echo \"\\\" ${v}\"", vec![Double]),
        ("echo \"$(echo ${v} '${v}' \"${v}\")${v}\"", vec![Bare, Single, Double, Double]),
        ("echo $(( ${v} + (1 + ${v}) )) ${v}", vec![Arithmetic, Arithmetic, Bare]),
        ("echo $((1)) ${v}", vec![Bare]),
        ("echo ${x%\"} ${v}", vec![Bare]),
        ("# don't\necho ${v}", vec![Bare]),
        ("echo a#'${v}'", vec![Single]),
        ("echo $(case a in a) echo '${v}';; (b) echo;; esac) \"${v}\"", vec![Single, Double]),
        ("(cd x && echo ${v}) && echo '${v}'", vec![Bare, Single]),
        ("cat <<EOF\nit's ${v} \"${v}\"\nEOF\necho '${v}'", vec![Double, Double, Single]),
        ("cat <<-EOF | grep '${v}'\n\t$(echo ${v})\n\tEOF\necho ${v}", vec![Single, Bare, Bare]),
        ("cat <<A <<'B'\n${v}\nA\nit's\nB\necho ${v}", vec![Double, Bare]),
        ("cat <<'EOF'\ndon't\nEOF\necho ${v}", vec![Bare]),
        ("cat <<EOF\n${v}EOF\nEOF\necho '${v}'", vec![Double, Single]),
        ("cat <<< '${v}'", vec![Single]),
        ("echo `date` ${v} \"`id -u` ${v}\"", vec![Bare, Double]),
    ] {
        assert_eq!(of(text), Ok(expected), "{text}");
    }
}

#[test]
fn places_where_nothing_can_stand_are_refused() {
    for (text, expected) in [
        ("cat <<'EOF'\n${v}\nEOF", "in a here-document whose end is quoted"),
        ("cat <<\\EOF\n${v}\nEOF", "in a here-document whose end is quoted"),
        ("echo `cat ${v}`", "between backquotes"),
        ("echo \"`cat ${v}`\"", "between backquotes"),
    ] {
        let error = of(text).unwrap_err();
        assert!(error.starts_with("`${v}` stands ") && error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn the_names_that_a_program_sets_are_found() {
    for (program, expected) in [
        ("n=$(a); echo $n", "n"),
        ("for f in a b; do x=1; done; read -r line", "f line x"),
        ("export A=b; local c", "A c"),
        ("if [ a = b ]; then echo c=d --e=f; fi", "c"),
        ("echo \"$(v=1)\" 1a=b", "v"),
    ] {
        let found: Vec<&str> = super::assigned(program).into_iter().collect();
        assert_eq!(found.join(" "), expected, "{program}");
    }
}
