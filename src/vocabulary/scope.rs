//! The scope of a stream: the groups of its caller, and the caller's name.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;

use crate::{
    json::{self, Node},
    vocabulary::{
        limits::Limits,
        name::{self, NameError, serde_text},
    },
};

/// A name that the server gives to a group or a caller. Names are compared by code point.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// What a stream receives in addition to its filter. Clients cannot request it: the server derives
/// it from the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// The groups whose events the stream receives. Events without a group are for all
    /// streams.
    pub groups: Vec<Name>,
    /// The names of callers whose disconnects the stream receives.
    pub principals: Vec<Name>,
    /// Whether the stream receives the disconnects of every caller, for receivers that pass them
    /// on.
    pub disconnects: bool,
}

impl Name {
    /// Creates a name from `text`, unchanged.
    ///
    /// # Errors
    /// A [`NameError`] if `text` is empty, is longer than 2,048 bytes or contains control
    /// characters.
    pub fn new(text: &str) -> Result<Self, NameError> {
        name::checked(text, Limits::default().uri_bytes).map(Self)
    }

    /// Reads a string; `None` if it is not a string or not a valid name.
    pub(crate) fn from_node(node: &Node<'_>) -> Option<Self> {
        Self::new(node.as_str()?).ok()
    }
}

serde_text!(Name, Name::new);

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Scope {
    /// As [`Scope::from_json`], for a part of a larger document.
    pub(crate) fn from_node(node: &Node<'_>) -> Option<Self> {
        Some(Self {
            groups: names(node.get(GROUPS))?,
            principals: names(node.get(PRINCIPALS))?,
            disconnects: node.get(DISCONNECTS).and_then(Node::as_bool) == Some(true),
        })
    }

    /// Reads the members of an object; `None` if one of them is not a list of names.
    pub fn from_json(text: &str) -> Option<Self> {
        let document = json::read(text.as_bytes(), Limits::default().depth).ok()?;
        Self::from_node(&document.root)
    }

    /// Whether the scope is empty.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && !self.wants_disconnects()
    }

    /// Whether the stream receives any disconnects.
    pub fn wants_disconnects(&self) -> bool {
        self.disconnects || !self.principals.is_empty()
    }
}

/// Returns each name once, in order.
fn names(node: Option<&Node<'_>>) -> Option<Vec<Name>> {
    let Some(node) = node else {
        return Some(Vec::new());
    };
    let mut names = Vec::new();
    for item in node.as_array()? {
        let name = Name::from_node(item)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Some(names)
}

const GROUPS: &str = "groups";
const PRINCIPALS: &str = "principals";
const DISCONNECTS: &str = "disconnects";
