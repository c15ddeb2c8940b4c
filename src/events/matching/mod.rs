//! Which occurrences a subscription receives, by its arguments.

mod match_result;
mod match_rules;
mod selected;

pub use match_result::{MatchResult, is_match_result, match_results, match_results_by_class};
pub use match_rules::MatchRules;

pub(crate) use selected::{Payloads, Selected, select};

use alloc::{boxed::Box, string::String, vec::Vec};

use crate::json::{self, MAX_PEER_DEPTH, Node, Value};

use super::jcs::canonical;

/// How the occurrences of a subscription are matched against its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatchRule {
    /// Not at all: every occurrence matches.
    #[default]
    Everything,
    /// Each argument that a subscription gives must equal a member of the payload.
    Fields(Vec<MatchField>),
    /// A function of the server decides.
    Host,
}

/// An argument, and the member of the payload that it has to equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchField {
    /// The name of the argument.
    pub argument: Box<str>,
    /// The place in the payload, as a JSON pointer (RFC 6901).
    pub pointer: Box<str>,
}

/// What one subscription requires of a payload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Expected {
    /// Nothing.
    Everything,
    /// These values at these places: JSON pointers with comparable texts.
    Values(Vec<(Box<str>, Box<str>)>),
    /// What a function of the server decides for these arguments, a JSON object.
    Host(Box<str>),
}

impl MatchRule {
    /// Reads `"host"`, or an object of JSON pointers by arguments. `None` if it is neither.
    pub fn from_json(text: &str) -> Option<Self> {
        let document = json::read(text.as_bytes(), MAX_PEER_DEPTH).ok()?;
        Self::from_node(&document.root)
    }

    /// As [`MatchRule::from_json`], for a part of a larger document.
    pub(crate) fn from_node(node: &Node<'_>) -> Option<Self> {
        if node.as_str() == Some("host") {
            return Some(Self::Host);
        }
        let fields = node.as_object()?.iter().map(|(argument, pointer)| {
            let pointer = pointer.as_str()?;
            is_pointer(pointer).then(|| MatchField {
                argument: argument.into(),
                pointer: pointer.into(),
            })
        });
        let fields: Vec<MatchField> = fields.collect::<Option<_>>()?;
        Some(if fields.is_empty() {
            Self::Everything
        } else {
            Self::Fields(fields)
        })
    }

    /// Returns what a subscription with these arguments, a JSON object, requires; `None` if they
    /// are none. An argument that it leaves out requires nothing.
    pub fn expected(&self, arguments: &str) -> Option<Expected> {
        let document = json::read(arguments.as_bytes(), super::MAX_DEPTH).ok()?;
        let fields = match self {
            Self::Everything => return Some(Expected::Everything),
            Self::Host => return Some(Expected::Host(arguments.into())),
            Self::Fields(fields) => fields,
        };
        let given = fields.iter().filter_map(|field| {
            let value = document.root.get(&field.argument)?;
            let value = comparable(value).into_boxed_str();
            Some((field.pointer.clone(), value))
        });
        let values: Vec<_> = given.collect();
        Some(if values.is_empty() {
            Expected::Everything
        } else {
            Expected::Values(values)
        })
    }
}

impl Expected {
    /// Returns the arguments for the function of the server, if it decides.
    pub fn for_host(&self) -> Option<&str> {
        match self {
            Self::Host(arguments) => Some(arguments),
            Self::Everything | Self::Values(_) => None,
        }
    }

    /// Whether a payload, JSON text, has the expected values; `false` if a function of the server
    /// decides.
    pub fn is_met(&self, data: &str) -> bool {
        let document = json::read(data.as_bytes(), MAX_PEER_DEPTH);
        document.is_ok_and(|document| self.is_met_by(&document.root))
    }

    /// As [`Expected::is_met`], for a part of a larger document.
    pub(crate) fn is_met_by(&self, data: &Node<'_>) -> bool {
        match self {
            Self::Everything => true,
            Self::Values(values) => values.iter().all(|(pointer, value)| {
                at(data, pointer).is_some_and(|node| comparable(node) == **value)
            }),
            Self::Host(_) => false,
        }
    }
}

/// Returns the value at a JSON pointer (RFC 6901, Section 4).
fn at<'n, 'a>(node: &'n Node<'a>, pointer: &str) -> Option<&'n Node<'a>> {
    pointer
        .split('/')
        .skip(1)
        .try_fold(node, |node, token| match &node.value {
            Value::Object(object) => object.get(&unescaped(token)),
            Value::Array(items) => items.get(index(token)?),
            _ => None,
        })
}

/// Returns the key that a token stands for.
fn unescaped(token: &str) -> String {
    let mut parts = token.split('~');
    let mut key = String::from(parts.next().unwrap_or_default());
    for part in parts {
        key.push(if part.starts_with('1') { '/' } else { '~' });
        key.push_str(part.get(1..).unwrap_or_default());
    }
    key
}

/// Reads the index of an array: digits without a leading zero.
fn index(token: &str) -> Option<usize> {
    let is_index = token == "0" || !token.starts_with(['0', '+']);
    is_index.then(|| token.parse().ok()).flatten()
}

/// Whether a text is a JSON pointer: empty, or tokens after slashes, with `~` only in `~0` and
/// `~1`.
fn is_pointer(text: &str) -> bool {
    let mut after_tildes = text.split('~').skip(1);
    (text.is_empty() || text.starts_with('/'))
        && after_tildes.all(|rest| rest.starts_with(['0', '1']))
}

/// Returns a text that is the same for equal JSON values.
pub(crate) fn comparable(node: &Node<'_>) -> String {
    canonical(node).unwrap_or_else(|| json::to_compact(node))
}
