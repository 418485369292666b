use super::mask_secrets;

/// SECURITY: row 18
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

/// S-6: the shapes of common services, and near misses.
#[test]
fn shapes_of_services_are_masked() {
    let hex = "0123456789abcdef0123456789abcdef";
    let long = "AAEhBP0av28yhbKZrPMCxVtGQ3mLLqNkP_4";
    for (text, masked) in [
        (
            "post to https://hooks.slack.com/services/T0AB/B0CD/abcdefgh01234567 now",
            "post to https://hooks.slack.com/services/[masked] now",
        ),
        (
            "https://discord.com/api/webhooks/123456789012345678/aBcD_efGh-0123",
            "https://discord.com/api/webhooks/[masked]",
        ),
        ("vault hvs.CAESIJlWqAbCdEfGh0123", "vault [masked]"),
        ("lin_api_AbCdEfGh01234567 figd_AbCdEfGh-01234567", "[masked] [masked]"),
        ("ATATT3xFfGF0AbCdEf-gh=AB12 HRKU-AAb0c1d2e3f4a5b6", "[masked] [masked]"),
        (
            "DefaultEndpointsProtocol=https;AccountKey=aGVsbG8gd29ybGQhIQ==;x",
            "DefaultEndpointsProtocol=https;AccountKey=[masked];x",
        ),
        ("blob?sv=2022&sig=aGVsbG8gd29ybGQ%3D&se=2026", "blob?sv=2022&sig=[masked]&se=2026"),
        ("curl -H 'Cookie: sid=abcdef0123; x=1' https://a", "curl -H 'Cookie: [masked]' https://a"),
        ("Set-Cookie: session=abcdef0123; HttpOnly\nnext", "Set-Cookie: [masked]\nnext"),
        ("curl -s -u ann:hunter2 https://a", "curl -s -u ann:[masked] https://a"),
        ("curl --user \"ann:hunter2\" https://a", "curl --user \"ann:[masked]\" https://a"),
        ("mysqldump -u root -phunter2 db", "mysqldump -u root -p[masked] db"),
        ("machine example.org login ann password hunter22", "machine example.org login ann password [masked]"),
        ("machine h\n  login ann\n  password hunter22\n", "machine h\n  login ann\n  password [masked]\n"),
        (&format!("twilio SK{hex}!"), "twilio [masked]!"),
        (&format!("dapi{hex}"), "[masked]"),
        (&format!("https://api.telegram.org/bot 123456789:{long}"), "https://api.telegram.org/bot [masked]"),
    ] {
        assert_eq!(mask_secrets(text), masked);
        assert_eq!(mask_secrets(masked), masked, "twice");
    }
    for text in [
        "https://hooks.slack.com/services/",
        "https://discord.com/channels/123456789012345678/123456789012345678",
        "hvs. is a prefix",
        "SKIPPED0123456789",
        "dapi0123 is short",
        "at 12:34:56 and 12345678:A",
        "?sig=short",
        "the Cookie: header is missing",
        "Cookie: none",
        "docker run -u 1000:1000 image",
        "git push -u origin main:main",
        "curl -u ann https://a",
        "curl -u ann:$PASSWORD https://a",
        "mysql -p db",
        "mkdir -phunter2",
        "enter your login name and password please",
    ] {
        assert_eq!(mask_secrets(text), text);
    }
}

/// S-7: names are split into words.
#[test]
fn names_of_secrets_are_compared_word_by_word() {
    let value = "abcdefghij0123456789";
    for name in [
        "accessKey",
        "privateKey",
        "AccountKey",
        "SECRET_KEY",
        "SECRET_KEY_BASE",
        "ENCRYPTION_KEY",
        "signing_key",
        "apiKeyV2",
        "PGPASSWORD",
        "AWSSecretAccessKey",
        "tokenValue",
        "client-secret-key",
        "db.password.main",
        "accesskey",
        "NPM_AUTH",
        "credentialsJson",
    ] {
        assert_eq!(mask_secrets(&format!("{name}={value} x")), format!("{name}=[masked] x"));
    }
    for name in [
        "key",
        "primary_key",
        "max_tokens",
        "tokenizer",
        "foreignKey",
        "keyboard",
        "author",
        "token_count",
        "secretary",
    ] {
        let text = format!("{name}={value} x");
        assert_eq!(mask_secrets(&text), text);
    }
}

/// S-8: code is not a secret.
#[test]
fn calls_indexes_and_paths_are_no_secrets() {
    for text in [
        "const auth = require('./auth-module')",
        "auth = require(\"auth\")",
        "pwd=/home/ann/projects/demo",
        "PWD=/workspace0",
        "secret = os.environ[\"MY_SECRET\"]",
        "secret = os.environ.get('MY_SECRET')",
        "secret := os.Getenv(\"MY_SECRET_1\")",
        "token = process.env.TOKEN_1",
        "token = get_token(user_1)",
        "password = Password::from_hash(x1)",
        "token_path=/run/secrets/token",
        "credentials: ~/.config/gcloud/app1.json",
        "private_key = ./keys/server1.pem",
    ] {
        assert_eq!(mask_secrets(text), text);
    }
    for (text, masked) in [
        ("password=\"abcd(ef)12\"", "password=\"[masked])12\""),
        ("secret=/x9Kq3vT7bPxRfiCYEXAMPLEKEY0123", "secret=[masked]"),
    ] {
        assert_eq!(mask_secrets(text), masked);
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
    for piece in [
        "sk-",
        "a-",
        "-----BEGIN ",
        "://a:",
        "token ",
        "bearer ",
        "eyJ.",
        "--token ",
        "authorization",
        "curl -u ",
        "mysql -p ",
        "cookie:a=",
        "login a password ",
        "sig=",
        "1:A",
        "aB",
        "hooks.slack.com/services/",
    ] {
        let text = piece.repeat(50_000 / piece.len());
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
