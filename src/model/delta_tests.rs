use super::*;

#[test]
fn a_delta_makes_the_second_content_of_the_first() {
    let contents: [&[u8]; 9] = [
        b"",
        b"{}",
        b"{\n  \"a\": 1,\n  \"b\": [1, 2, 3]\n}\n",
        b"{\n  \"a\": 2,\n  \"b\": [1, 3],\n  \"c\": \"\xc3\xa9\"\n}\n",
        b"{\"a\":1,\"b\":2,\"c\":3}",
        b"{\"a\":1,\"b\":4,\"c\":3}",
        b"\xff\xfe\0,\n",
        b"{\n  \"a\": \"\xc3",
        b",,,\n\n\n,",
    ];
    for before in contents {
        assert_eq!(Delta::whole(before).apply(b"").as_deref(), Some(before));
        for after in contents {
            let delta = Delta::between(before, after);
            assert_eq!(delta.apply(before).as_deref(), Some(after), "{delta:?}");
            let text = serde_json::to_string(&delta).unwrap();
            assert_eq!(serde_json::from_str::<Delta>(&text).unwrap(), delta);
        }
    }
}

#[test]
fn a_small_change_of_one_long_line_is_a_small_delta() {
    let members: Vec<String> = (0..2_000).map(|n| format!("\"step{n}\":\"pending\"")).collect();
    let before = format!("{{{}}}", members.join(","));
    let after = before.replace("\"step1000\":\"pending\"", "\"step1000\":\"completed\"");
    let delta = serde_json::to_string(&Delta::between(before.as_bytes(), after.as_bytes())).unwrap();
    assert!(delta.len() < 100, "{delta}");
}

#[test]
fn a_delta_of_another_content_is_refused() {
    let delta = Delta::between(b"one,two,three", b"one,three");
    assert_eq!(delta.apply(b"one"), None);
}
