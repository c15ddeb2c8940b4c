//! The scope of a stream: the audiences of its caller, and the caller's name.

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

/// A name that the server gives to an audience or a caller. Names are compared by code point.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Arc<str>);

/// What a stream receives in addition to its filter. Clients cannot request it: the server derives
/// it from the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// The audiences whose events the stream receives. Events without an audience are for all
    /// streams.
    pub audiences: Vec<Label>,
    /// The names of callers whose revocations the stream receives.
    pub principals: Vec<Label>,
    /// Whether the stream receives the revocations of every caller, for receivers that pass them
    /// on.
    pub revocations: bool,
}

impl Label {
    /// Creates a label from `text`, unchanged.
    ///
    /// # Errors
    /// A [`NameError`] if `text` is empty, is longer than 2,048 bytes or contains control
    /// characters.
    pub fn new(text: &str) -> Result<Self, NameError> {
        name::checked(text, Limits::default().uri_bytes).map(Self)
    }

    /// Reads a string; `None` if it is not a string or not a valid name.
    pub fn from_node(node: &Node<'_>) -> Option<Self> {
        Self::new(node.as_str()?).ok()
    }
}

serde_text!(Label, Label::new);

impl Deref for Label {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Scope {
    /// Reads the members of an object; `None` if one of them is not a list of names.
    pub fn from_node(node: &Node<'_>) -> Option<Self> {
        Some(Self {
            audiences: labels(node.get(AUDIENCES))?,
            principals: labels(node.get(PRINCIPALS))?,
            revocations: node.get(REVOCATIONS).and_then(Node::as_bool) == Some(true),
        })
    }

    /// Reads an object, as [`Scope::from_node`] does.
    pub fn from_json(text: &str) -> Option<Self> {
        let document = json::read(text.as_bytes(), Limits::default().depth).ok()?;
        Self::from_node(&document.root)
    }

    /// Whether the scope is empty.
    pub fn is_empty(&self) -> bool {
        self.audiences.is_empty() && !self.hears_revocations()
    }

    /// Whether the stream receives any revocations.
    pub fn hears_revocations(&self) -> bool {
        self.revocations || !self.principals.is_empty()
    }
}

/// Returns each label once, in order.
fn labels(node: Option<&Node<'_>>) -> Option<Vec<Label>> {
    let Some(node) = node else {
        return Some(Vec::new());
    };
    let mut labels = Vec::new();
    for item in node.as_array()? {
        let label = Label::from_node(item)?;
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    Some(labels)
}

const AUDIENCES: &str = "audiences";
const PRINCIPALS: &str = "principals";
const REVOCATIONS: &str = "revocations";
