//! JSON that stays text: of the thousands of values in a large state few are ever looked into.

use std::fmt;
use std::sync::OnceLock;

use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use serde::de::DeserializeSeed;
use serde::de::MapAccess;
use serde::de::SeqAccess;
use serde::de::Visitor;
use serde_json::Value;

/// Is a value in the form in which it is written: in one line, without spaces.
#[derive(Clone)]
pub(crate) struct JsonText {
    text: Box<str>,
    /// Read when somebody asks for it.
    value: OnceLock<Box<Value>>,
}

impl JsonText {
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn value(&self) -> &Value {
        // No text that was read is nested deeper than what can be read.
        self.value.get_or_init(|| serde_json::from_str(&self.text).unwrap_or_default())
    }
}

impl From<&Value> for JsonText {
    fn from(value: &Value) -> Self {
        Self { text: value.to_string().into(), value: OnceLock::from(Box::new(value.clone())) }
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for JsonText {}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Vec::with_capacity(64);
        Copy(&mut text).deserialize(deserializer)?;
        let text = String::from_utf8(text).expect("JSON is text").into();
        Ok(Self { text, value: OnceLock::new() })
    }
}

/// Writes down what it is handed.
struct Copy<'a>(&'a mut Vec<u8>);

impl Copy<'_> {
    fn put(self, value: impl Serialize) {
        serde_json::to_writer(self.0, &value).expect("it goes into memory");
    }
}

impl<'de> DeserializeSeed<'de> for Copy<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Copy<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.put(());
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.put(value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.put(value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.put(value);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.put(value);
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.put(value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self(text) = self;
        text.push(b'[');
        while items.next_element_seed(Copy(text))?.is_some() {
            text.push(b',');
        }
        close(text, b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let Self(text) = self;
        text.push(b'{');
        while fields.next_key_seed(Copy(text))?.is_some() {
            text.push(b':');
            fields.next_value_seed(Copy(text))?;
            text.push(b',');
        }
        close(text, b'}');
        Ok(())
    }
}

/// Ends a list of things each of which has a comma behind it.
fn close(text: &mut Vec<u8>, bracket: u8) {
    if text.last() == Some(&b',') {
        text.pop();
    }
    text.push(bracket);
}

#[cfg(test)]
#[path = "json_text_tests.rs"]
mod tests;
