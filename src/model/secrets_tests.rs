use super::mask_secrets;

#[test]
fn what_is_shaped_like_a_secret_is_masked_and_the_rest_stays() {
    for (text, masked) in [
        ("401 for key=AKIAIOSFODNN7EXAMPLE (ghp_0123456789abcdef) ok", "401 for key=[masked] ([masked]) ok"),
        ("github_pat_11ABCDEFG0123456789_abcdef", "[masked]"),
        ("url/ghs_0123456789abcdef0123?x", "url/[masked]?x"),
        ("sk-ant-api03-AbCdEf0123456789", "[masked]"),
        ("xoxb-123456789012-abcdefghij", "[masked]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl!", "[masked]!"),
        ("npm_abcdefghij0123456789", "[masked]"),
        ("postgres://app:hunter2@db:5432/x failed", "postgres://app:[masked]@db:5432/x failed"),
        ("https://x-access-token:abc@github.com/a", "https://x-access-token:[masked]@github.com/a"),
        ("Authorization: Bearer abcdefgh1234", "Authorization: Bearer [masked]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [masked]"),
        ("curl -H 'Authorization: abcdefgh1234'", "curl -H 'Authorization: [masked]'"),
        ("sent bearer abcdefgh1234, got 401", "sent bearer [masked], got 401"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=[masked]"),
        ("export DB_PASSWORD='correct horse'", "export DB_PASSWORD='[masked] horse'"),
        ("{\"client_secret\": \"abc123def\"}", "{\"client_secret\": \"[masked]\"}"),
        ("api-key: 0a1b2c3d4e", "api-key: [masked]"),
        ("?token=abcdef&x=1", "?token=[masked]&x=1"),
        ("login --password hunter22 --user me", "login --password [masked] --user me"),
        ("://token=/abcdef;x:y@z", "://token=[masked];x:y@z"),
        ("x--password :hunter22", "x--password :[masked]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nnext",
            "-----BEGIN RSA PRIVATE KEY-----[masked]-----END RSA PRIVATE KEY-----\nnext",
        ),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "-----BEGIN OPENSSH PRIVATE KEY-----[masked]"),
    ] {
        assert_eq!(mask_secrets(text), masked);
        assert_eq!(mask_secrets(masked), masked, "twice");
    }
}

#[test]
fn what_only_talks_of_secrets_stays() {
    for text in [
        "plain sk-1 text",
        "task-0123456789abcdef",
        "Unexpected token: identifier",
        "max_tokens=4096000",
        "token == expected",
        "password=$DB_PASSWORD",
        "TOKEN=${TOKEN}",
        "the password is too short",
        "use --password-file x",
        "https://example.org/a:b@c",
        "git@github.com:owner/name.git",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "sk-learn-is-a-library",
        "expired.sk-",
        "bearer of news",
        "password:",
        "é=ü token",
    ] {
        assert_eq!(mask_secrets(text), text);
    }
}

/// A text made to be slow: many places where a shape could begin, and none where it ends.
#[test]
fn long_texts_cost_what_they_are_long() {
    for piece in ["sk-", "a-", "-----BEGIN ", "://a:", "token ", "bearer ", "eyJ.", "--token ", "authorization"] {
        let text = piece.repeat(200_000 / piece.len());
        assert!(mask_secrets(&text).len() <= text.len(), "{piece}");
    }
}

#[test]
fn a_token_in_the_name_of_a_secret_is_masked_too() {
    for (text, expected) in [
        ("x-ghp_0123456789abcdef_token=hunter22 failed", "x-[masked] failed"),
        ("x.ghp_0123456789abcdef.token: hunter22 failed", "x.[masked] failed"),
    ] {
        assert_eq!(mask_secrets(text), expected);
        assert_eq!(mask_secrets(expected), expected);
    }
}
