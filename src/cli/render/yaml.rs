//! The context as YAML (docs/formats/nine-step.md#context-for-the-agent). Strings are written as JSON strings, which every YAML
//! parser reads as text.

use serde_json::Value;

/// Renders data as one YAML document.
pub(super) fn document(data: &Value) -> String {
    let mut out = String::new();
    write(&mut out, data, 0);
    out
}

fn write(out: &mut String, value: &Value, depth: usize) {
    let pad = "  ".repeat(depth);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                out.push_str(&format!("{pad}{}:", name(key)));
                nested(out, value, depth);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                out.push_str(&format!("{pad}-"));
                nested(out, item, depth);
            }
        }
        scalar => out.push_str(&format!("{pad}{}\n", plain(scalar))),
    }
}

fn nested(out: &mut String, value: &Value, depth: usize) {
    let is_empty =
        value.as_object().map_or_else(|| value.as_array().is_none_or(Vec::is_empty), serde_json::Map::is_empty);
    if is_empty {
        out.push_str(&format!(" {}\n", plain(value)));
    } else {
        out.push('\n');
        write(out, value, depth + 1);
    }
}

fn plain(value: &Value) -> String {
    crate::cli::output::escaped(&value.to_string())
}

fn name(key: &str) -> String {
    let is_plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    if is_plain { key.to_owned() } else { Value::String(key.to_owned()).to_string() }
}
