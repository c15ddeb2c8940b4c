use alloc::borrow::Cow;
use core::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{
        self, DeserializeOwned, DeserializeSeed, EnumAccess, IntoDeserializer, VariantAccess,
        Visitor,
        value::{BorrowedStrDeserializer, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};

use super::{
    node::{Node, Value},
    read,
};

/// A JSON value is not of the expected type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// Reads a type that derives `Deserialize`. Reads only numbers that are integers from 0 to 2^53 -
/// 1.
pub(crate) fn from_node<'n, T: Deserialize<'n>>(node: &'n Node<'_>) -> Result<T, Unreadable> {
    T::deserialize(node)
}

/// Reads a text; `None` if it is not such a value or has a duplicate key.
pub fn from_text<T: DeserializeOwned>(text: &str) -> Option<T> {
    let document = read(text.as_bytes(), MAX_DEPTH).ok()?;
    let document = (!document.has_duplicate_key).then_some(document)?;
    from_node(&document.root).ok()
}

/// Each kind of value has a method that reads only this kind, so that code for other kinds is not
/// compiled in.
impl<'de> Deserializer<'de> for &'de Node<'_> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Number => self.deserialize_u64(visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_bool(self.as_bool().ok_or(Unreadable)?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_u64(self.as_u53().ok_or(Unreadable)?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_borrowed_str(self.as_str().ok_or(Unreadable)?)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let Value::Array(items) = &self.value else {
            return Err(Unreadable);
        };
        visitor.visit_seq(SeqDeserializer::new(items.iter()))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let members = self.as_object().ok_or(Unreadable)?.members.iter();
        let members = members.map(|(name, node)| (Name(name), node));
        visitor.visit_map(MapDeserializer::new(members))
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

    /// Reads the name of a variant, or an object that holds its value under that name.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        let variant = match &self.value {
            Value::String(name) => Variant { name, value: None },
            Value::Object(object) => match &object.members[..] {
                [(name, value)] => Variant {
                    name,
                    value: Some(value),
                },
                _ => return Err(Unreadable),
            },
            _ => return Err(Unreadable),
        };
        visitor.visit_enum(variant)
    }

    /// Reads a struct, which is always written as an object.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        self.deserialize_map(visitor)
    }

    /// Skips an unknown member, which may hold anything.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_unit()
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.deserialize_str(visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char bytes byte_buf unit
        unit_struct tuple tuple_struct identifier
    }
}

/// A variant of an enum.
struct Variant<'n, 'a> {
    name: &'n str,
    /// The value of the variant; `None` if it was written as a name alone.
    value: Option<&'n Node<'a>>,
}

impl<'n> EnumAccess<'n> for Variant<'n, '_> {
    type Error = Unreadable;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'n>>(self, seed: V) -> Result<(V::Value, Self), Unreadable> {
        let name = BorrowedStrDeserializer::<Unreadable>::new(self.name);
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'n> VariantAccess<'n> for Variant<'n, '_> {
    type Error = Unreadable;

    fn unit_variant(self) -> Result<(), Unreadable> {
        match self.value.map(|node| &node.value) {
            None | Some(Value::Null) => Ok(()),
            Some(_) => Err(Unreadable),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'n>>(self, seed: T) -> Result<T::Value, Unreadable> {
        seed.deserialize(self.value.ok_or(Unreadable)?)
    }

    fn tuple_variant<V: Visitor<'n>>(self, _: usize, visitor: V) -> Result<V::Value, Unreadable> {
        self.value.ok_or(Unreadable)?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'n>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        self.value.ok_or(Unreadable)?.deserialize_map(visitor)
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
        formatter.write_str("the JSON value has an unexpected type")
    }
}

impl core::error::Error for Unreadable {}

/// Maximum depth, which is greater than that of any options.
const MAX_DEPTH: usize = 16;
