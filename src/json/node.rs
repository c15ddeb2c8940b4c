use alloc::borrow::Cow;
use alloc::vec::Vec;

/// A whole JSON text.
#[derive(Debug)]
#[non_exhaustive]
pub struct Document<'a> {
    /// The outermost value.
    pub root: Node<'a>,
    /// Whether any object, at any depth, names a key twice (compared after unescaping).
    pub has_duplicate_key: bool,
}

/// One value, with its source text.
#[derive(Debug)]
#[non_exhaustive]
pub struct Node<'a> {
    /// The text of the value, without surrounding white space.
    pub raw: &'a str,
    /// The meaning of the text.
    pub value: Value<'a>,
}

/// The meaning of a JSON text; numbers stay text, see [`Node::raw`].
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "JSON has no other values")]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number; its digits are in [`Node::raw`].
    Number,
    /// A string, unescaped.
    String(Cow<'a, str>),
    /// An array, in order.
    Array(Vec<Node<'a>>),
    /// An object, in order of appearance.
    Object(Object<'a>),
}

/// The members of an object in order of appearance.
#[derive(Debug)]
pub struct Object<'a> {
    pub(super) members: Vec<(Cow<'a, str>, Node<'a>)>,
}

impl<'a> Object<'a> {
    /// Returns the first member named exactly `key`.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.members
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
    }

    /// Returns the members, with unescaped names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node<'a>)> {
        self.members
            .iter()
            .map(|(name, node)| (name.as_ref(), node))
    }

    /// Returns the number of members named exactly `key`.
    pub fn count(&self, key: &str) -> usize {
        self.members.iter().filter(|(name, _)| name == key).count()
    }
}

impl<'a> Node<'a> {
    /// Returns the text of a string, or `None` for any other value.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the flag, or `None` for any other value.
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(flag) => Some(flag),
            _ => None,
        }
    }

    /// Returns the number as an integer from 0 to 2^53 - 1, or `None` for any other value.
    pub fn as_u53(&self) -> Option<u64> {
        match self.value {
            Value::Number => self.raw.parse().ok().filter(|number| *number < 1 << 53),
            _ => None,
        }
    }

    /// Returns the items of an array, or `None` for any other value.
    pub fn as_array(&self) -> Option<&[Node<'a>]> {
        match &self.value {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the object, or `None` for any other value.
    pub fn as_object(&self) -> Option<&Object<'a>> {
        match &self.value {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the member `key` of an object, or `None` if there is no object or no such member.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.as_object().and_then(|object| object.get(key))
    }
}
