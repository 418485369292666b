use super::{CheckboxMark, ChecklistStatus, TICK, Todo, marked};
use crate::dialect::ccw::ids::Index;

fn checklist(ids: &[&str], text: &str) -> Vec<Option<ChecklistStatus>> {
    let index = Index::of(ids.iter().copied(), std::iter::empty());
    let todo = Todo::parse(text.as_bytes());
    todo.checklist(&todo.subjects(&index), &index, ids.len())
}

/// Returns mark and line of one id.
fn mention(id: &str, text: &str) -> Option<(CheckboxMark, u32)> {
    checklist(&[id], text)[0].as_ref().map(|mention| (mention.mark, mention.number))
}

#[test]
fn every_real_shape_of_a_line_is_read() {
    for (id, line, mark) in [
        ("IMPL-001", "- [ ] **IMPL-001**: Title → [📋](./.task/IMPL-001.json)", CheckboxMark::Open),
        (
            "IMPL-001",
            "- [x] **IMPL-001**: Title → [📋](./.task/IMPL-001.json) | [✅](./.summaries/IMPL-001-summary.md)",
            CheckboxMark::Done,
        ),
        ("IMPL-1", "- [x] **IMPL-1**: 标题 -> [file](.task/IMPL-1.json)", CheckboxMark::Done),
        ("IMPL-001", "- [x] **IMPL-001** title without a colon", CheckboxMark::Done),
        ("IMPL-1", "- [X] IMPL-1: not bold", CheckboxMark::Done),
        ("IMPL-1.1", "- [x] **任务**: 标题 → [📋](./.task/IMPL-1.1.json)", CheckboxMark::Done),
        ("IMPL-001.3-validation", "- [ ] **IMPL-001.3-validation**: title", CheckboxMark::Open),
        ("IMPL-1.1.1", "  - [x] **IMPL-1.1.1**: third level", CheckboxMark::Done),
        ("IMPL-1", "* [~] **IMPL-1: in bold to the end**", CheckboxMark::InProgress),
        ("IMPL-1", "+ [!] `IMPL-1`: code", CheckboxMark::Blocked),
        ("IMPL-1", "1. [-] [IMPL-1](./.task/IMPL-1.json) linked", CheckboxMark::Cancelled),
        ("IMPL-1", "- [x] ✅ **IMPL-1**: with emoji", CheckboxMark::Done),
        ("IMPL-1", "- [x] ~~**IMPL-1**: struck~~", CheckboxMark::Done),
        ("IMPL-1", "- [x] Task IMPL-1: with a word before", CheckboxMark::Done),
        ("IMPL-001", "- [x] **impl-1**: other case and zeros", CheckboxMark::Done),
        ("T1", "- [x] **T1**: short id", CheckboxMark::Done),
        ("IMPL-1", "\u{feff}- [x] **IMPL-1**: after a byte order mark", CheckboxMark::Done),
        ("IMPL-1", "- [x] **IMPL-1**: carriage return\r", CheckboxMark::Done),
    ] {
        assert_eq!(mention(id, line), Some((mark, 1)), "{line}");
    }
}

#[test]
fn what_is_no_entry_is_not_read_as_one() {
    for line in [
        "▸ **IMPL-1**: Group → [📋](./.task/IMPL-1.json)",
        "- `- [x]` = Completed task",
        "- [x] Documentation is complete",
        "- [x] **IMPL-10**: another",
        "- [x] **IMPL-1.1**: a child",
        "- [?] **IMPL-1**: an undefined mark",
        "- [x](IMPL-1)",
        "-[x] IMPL-1: no space",
        "```\n- [x] **IMPL-1**: in a fence\n```",
        "IMPL-1 [x]",
    ] {
        assert_eq!(mention("IMPL-1", line), None, "{line}");
    }
}

#[test]
fn a_heading_speaks_through_the_link_below_it() {
    let text = "### IMPL-1.1: 标题\n- [x] **任务**: → [📋](./.task/IMPL-1.1.json)\n- [ ] a step\n";
    assert_eq!(mention("IMPL-1.1", text), Some((CheckboxMark::Done, 2)));
}

#[test]
fn a_heading_without_an_entry_speaks_through_its_boxes() {
    assert_eq!(mention("IMPL-1", "### IMPL-1: a\n- [x] one\n- [x] two\n"), Some((CheckboxMark::Done, 1)));
    assert_eq!(mention("IMPL-1", "### IMPL-1: a\n- [x] one\n- [ ] two\n"), Some((CheckboxMark::Open, 1)));
    assert_eq!(mention("IMPL-1", "### IMPL-1: a\ntext\n## Other\n- [x] one\n"), None);
    let mention = checklist(&["IMPL-1"], "### IMPL-1: a\n- [x] one\n").remove(0).unwrap();
    assert_eq!(mention.at, None);
}

#[test]
fn of_several_lines_the_last_entry_counts() {
    for (text, expected, contradicts) in [
        ("- [ ] **IMPL-4**: a\n- [x] **IMPL-4**: a\n", (CheckboxMark::Done, 2), true),
        ("- [x] **IMPL-4**: a\n- [ ] **IMPL-4**: a\n", (CheckboxMark::Open, 2), true),
        ("- [x] **IMPL-4**: a\n- [x] **IMPL-4**: a\n", (CheckboxMark::Done, 2), false),
        ("- [x] **IMPL-4**: a\n- [ ] IMPL-4 tests pass\n", (CheckboxMark::Done, 1), false),
    ] {
        let mention = checklist(&["IMPL-4"], text).remove(0).unwrap();
        assert_eq!((mention.mark, mention.number), expected, "{text}");
        assert_eq!(mention.contradicts, contradicts, "{text}");
    }
}

#[test]
fn a_tick_changes_one_byte() {
    let text = "# Tasks\r\n- [ ] **IMPL-1**: 标题\r\n\t- [~] **IMPL-2**: b";
    let checklist = checklist(&["IMPL-1", "IMPL-2"], text);
    let tick = |at: usize| {
        let at = checklist[at].as_ref().unwrap().at.unwrap();
        String::from_utf8(marked(text.as_bytes().to_vec(), at, TICK)).unwrap()
    };
    assert_eq!(tick(0), text.replace("[ ]", "[x]"));
    assert_eq!(tick(1), text.replace("[~]", "[x]"));
}

#[test]
fn lines_without_a_task_file_give_id_and_title() {
    let text = "- [ ] **IMPL-7**: Left over → [📋](./.task/IMPL-7.json)\n- [ ] **Phase 3**: later\n- [x] T2: short\n- [ ] P0 is a remark\n";
    let todo = Todo::parse(text.as_bytes());
    let found: Vec<(String, String)> =
        todo.unknown_lines(&[None; 4]).into_iter().map(|(id, title, _)| (id, title)).collect();
    let expected = [("IMPL-7", "Left over"), ("T2", "short")];
    assert_eq!(found, expected.map(|(id, title)| (id.to_owned(), title.to_owned())));
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let text = b"\xff\xfe\n- [x] **IMPL-1**: \xff\xff\n- [\n- [x\n-\n[\n";
    let todo = Todo::parse(text);
    assert_eq!(todo.lines.len(), 1);
    assert_eq!(text[todo.lines[0].at], b'x');
}
