use alloc::{
    borrow::Cow,
    string::{String, ToString},
};
use core::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
    ser::Error as _,
};

use super::{
    node::{Node, Value},
    push_string,
    reader::{MAX_PEER_DEPTH, read},
};

/// Any value as compact JSON text, for readers of text.
pub(crate) struct Text(pub(crate) String);

impl Text {
    /// Writes a value that is JSON text already. Formats with binary numbers round numbers that are
    /// not integers or exceed the machine's range.
    pub(crate) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        let document = read(text.as_bytes(), MAX_PEER_DEPTH);
        let document = document.map_err(|_| S::Error::custom("no JSON text"))?;
        document.root.serialize(serializer)
    }
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Number => number(self.raw, serializer),
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(items) => serializer.collect_seq(items),
            Value::Object(object) => serializer.collect_map(object.iter()),
        }
    }
}

fn number<S: Serializer>(raw: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if let Ok(number) = raw.parse() {
        return serializer.serialize_u64(number);
    }
    if let Ok(number) = raw.parse() {
        return serializer.serialize_i64(number);
    }
    serializer.serialize_f64(raw.parse().map_err(S::Error::custom)?)
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Writing)
    }
}

struct Writing;

impl<'de> Visitor<'de> for Writing {
    type Value = Text;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text("null".into()))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Text, E> {
        Ok(Text(flag.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        let mut out = String::new();
        push_string(&mut out, text);
        Ok(Text(out))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Text, A::Error> {
        let mut out = String::from("[");
        while let Some(Text(item)) = items.next_element()? {
            separate(&mut out, '[');
            out.push_str(&item);
        }
        out.push(']');
        Ok(Text(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Text, A::Error> {
        let mut out = String::from("{");
        while let Some((name, Text(value))) = members.next_entry::<Cow<'_, str>, Text>()? {
            separate(&mut out, '{');
            push_string(&mut out, &name);
            out.push(':');
            out.push_str(&value);
        }
        out.push('}');
        Ok(Text(out))
    }
}

fn separate(out: &mut String, open: char) {
    if !(out.len() == 1 && out.starts_with(open)) {
        out.push(',');
    }
}
