use alloc::borrow::Cow;
use core::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{
        self, DeserializeOwned, IntoDeserializer, Visitor,
        value::{BorrowedStrDeserializer, MapAccessDeserializer, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};

use super::{
    node::{Node, Value},
    read,
};

/// A JSON value is not what was to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// Reads what derives `Deserialize`. Of numbers whole ones from 0 to 2^53 - 1 are read.
pub(crate) fn from_node<'n, T: Deserialize<'n>>(node: &'n Node<'_>) -> Result<T, Unreadable> {
    T::deserialize(node)
}

/// The same from a text; `None` where that is no such value, or names a key twice.
pub fn from_text<T: DeserializeOwned>(text: &str) -> Option<T> {
    let document = read(text.as_bytes(), MAX_DEPTH).ok()?;
    let document = (!document.has_duplicate_key).then_some(document)?;
    from_node(&document.root).ok()
}

impl<'de> Deserializer<'de> for &'de Node<'_> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Number => visitor.visit_u64(self.as_u53().ok_or(Unreadable)?),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Value::Object(object) => {
                let members = object.members.iter();
                let members = members.map(|(name, node)| (Name(name), node));
                visitor.visit_map(MapDeserializer::new(members))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_newtype_struct(self)
    }

    /// A name, or an object that holds the value of the one that it names.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        if let Some(text) = self.as_str() {
            return visitor.visit_enum(BorrowedStrDeserializer::new(text));
        }
        let members = &self.as_object().ok_or(Unreadable)?.members;
        let [(name, value)] = &members[..] else {
            return Err(Unreadable);
        };
        let member = MapDeserializer::new(core::iter::once((Name(name), value)));
        visitor.visit_enum(MapAccessDeserializer::new(member))
    }

    /// What has members is written as an object, and as nothing else.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        self.as_object().ok_or(Unreadable)?;
        self.deserialize_any(visitor)
    }

    /// A member that is not known may hold anything.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier
    }
}

impl<'n> IntoDeserializer<'n, Unreadable> for &'n Node<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The name of a member.
struct Name<'n>(&'n Cow<'n, str>);

impl<'n> IntoDeserializer<'n, Unreadable> for Name<'n> {
    type Deserializer = BorrowedStrDeserializer<'n, Unreadable>;

    fn into_deserializer(self) -> Self::Deserializer {
        BorrowedStrDeserializer::new(self.0)
    }
}

impl de::Error for Unreadable {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the JSON value is another one than was to be read")
    }
}

impl core::error::Error for Unreadable {}

/// As deep as options nest, and more.
const MAX_DEPTH: usize = 16;
