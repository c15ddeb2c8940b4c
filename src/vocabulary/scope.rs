//! Who hears of what is not for everybody: the audiences of a caller, and its name.

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

/// A name that the server gives: to an audience, or to a caller. Compared code point by code point.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Arc<str>);

/// What a stream hears beside what its filter says. No client asks for it: the server knows it of the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// Events for these audiences are heard, too; without one, only those that are for everybody.
    pub audiences: Vec<Label>,
    /// It is told when one of these callers may hear nothing any more.
    pub principals: Vec<Label>,
    /// It is told that of every caller: for those who pass it on.
    pub revocations: bool,
}

impl Label {
    /// Takes `text` as it stands.
    ///
    /// # Errors
    /// A [`NameError`] for what is empty, longer than 2,048 bytes, or holds control characters.
    pub fn new(text: &str) -> Result<Self, NameError> {
        name::checked(text, Limits::default().uri_bytes).map(Self)
    }

    /// Reads a text; `None` where it is none, or no name.
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
    /// Reads the members of an object; `None` where one of them is no list of names.
    pub fn from_node(node: &Node<'_>) -> Option<Self> {
        Some(Self {
            audiences: labels(node.get(AUDIENCES))?,
            principals: labels(node.get(PRINCIPALS))?,
            revocations: node.get(REVOCATIONS).and_then(Node::as_bool) == Some(true),
        })
    }

    /// Reads an object; as [`Scope::from_node`].
    pub fn from_json(text: &str) -> Option<Self> {
        let document = json::read(text.as_bytes(), Limits::default().depth).ok()?;
        Self::from_node(&document.root)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.audiences.is_empty() && !self.hears_revocations()
    }

    /// Whether it is told of any caller who may hear nothing any more.
    pub fn hears_revocations(&self) -> bool {
        self.revocations || !self.principals.is_empty()
    }
}

/// Each once, in their order.
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
