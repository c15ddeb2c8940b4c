use alloc::{boxed::Box, string::String};
use core::fmt;

use crate::{
    events::{
        error::Feature,
        matching::MatchRule,
        name::{EventName, EventNameError},
    },
    json::{self, Node},
};

use super::{
    Modes,
    schema::{self, Side},
};

/// An event type.
#[derive(Clone, Debug)]
pub struct Definition {
    /// How its events are delivered.
    pub modes: Modes,
    /// How the arguments of a subscription narrow what it receives.
    pub matching: MatchRule,
    /// The entry in lists, compact JSON.
    pub entry: Box<str>,
    input: Box<str>,
    payload: Box<str>,
}

/// Why definitions of event types are not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The definitions are not objects, or one names a member twice.
    Malformed,
    /// A name is not valid.
    Name(EventNameError),
    /// `description` is not a string.
    Description,
    /// `delivery` is not a list with one or more of `poll`, `push` and `webhook`.
    Delivery,
    /// A schema is not an object.
    Schema,
    /// `match` is neither `host` nor an object of JSON pointers.
    Match,
    /// `_meta` is not an object.
    Meta,
}

impl Definition {
    /// Reads a definition; its modes are those in `served` that it names.
    ///
    /// # Errors
    /// A [`CatalogueError`].
    pub(super) fn from_node(
        name: &EventName,
        node: &Node<'_>,
        served: Modes,
    ) -> Result<Self, CatalogueError> {
        node.as_object().ok_or(CatalogueError::Malformed)?;
        let modes = modes_of(node.get("delivery"), served)?;
        let matching = node.get("match").map(MatchRule::from_node);
        let matching = matching.map_or(Some(MatchRule::default()), |matching| matching);
        let input = schema_of(node.get("inputSchema"))?;
        let payload = schema_of(node.get("payloadSchema"))?;
        Ok(Self {
            modes,
            matching: matching.ok_or(CatalogueError::Match)?,
            entry: entry(name, node, modes, (&input, &payload))?.into_boxed_str(),
            input,
            payload,
        })
    }

    /// Returns the schema with which subscriptions that were made for this definition do not hold
    /// for `newer`.
    pub(super) fn broken_by(&self, newer: &Self) -> Option<Feature> {
        if !schema::is_extension(&self.input, &newer.input, Side::Input) {
            return Some(Feature::InputSchema);
        }
        let is_extension = schema::is_extension(&self.payload, &newer.payload, Side::Payload);
        (!is_extension).then_some(Feature::PayloadSchema)
    }
}

fn modes_of(node: Option<&Node<'_>>, served: Modes) -> Result<Modes, CatalogueError> {
    let Some(node) = node else {
        return Ok(served);
    };
    let modes = Modes::from_node(node).filter(|modes| !modes.is_empty());
    Ok(modes.ok_or(CatalogueError::Delivery)?.and(served))
}

fn schema_of(node: Option<&Node<'_>>) -> Result<Box<str>, CatalogueError> {
    let Some(node) = node else {
        return Ok(ANY_OBJECT.into());
    };
    node.as_object().ok_or(CatalogueError::Schema)?;
    Ok(json::to_compact(node).into_boxed_str())
}

fn entry(
    name: &EventName,
    node: &Node<'_>,
    modes: Modes,
    (input, payload): (&str, &str),
) -> Result<String, CatalogueError> {
    let description = match node.get("description") {
        Some(text) => text.as_str().ok_or(CatalogueError::Description)?,
        None => "",
    };
    let mut text = String::new();
    json::push_string(&mut text, description);
    let meta = match node.get("_meta") {
        Some(meta) => {
            meta.as_object().ok_or(CatalogueError::Meta)?;
            format!(",\"_meta\":{}", json::to_compact(meta))
        }
        None => String::new(),
    };
    let (name, modes) = (&**name, modes.to_json());
    Ok(format!(
        "{{\"name\":\"{name}\",\"description\":{text},\"delivery\":{modes},\
         \"inputSchema\":{input},\"payloadSchema\":{payload}{meta}}}"
    ))
}

impl CatalogueError {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed-events",
            Self::Name(_) => "invalid-event-name",
            Self::Description => "invalid-description",
            Self::Delivery => "invalid-delivery",
            Self::Schema => "invalid-schema",
            Self::Match => "invalid-match",
            Self::Meta => "invalid-meta",
        }
    }
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Malformed => "the definitions of events are not objects by name",
            Self::Name(error) => return error.fmt(formatter),
            Self::Description => "the description of an event is not a string",
            Self::Delivery => "delivery is not a list of poll, push and webhook",
            Self::Schema => "a schema of an event is not an object",
            Self::Match => "match is neither host nor an object of JSON pointers",
            Self::Meta => "the _meta of an event is not an object",
        })
    }
}

impl core::error::Error for CatalogueError {}

/// The schema of a definition that has none.
const ANY_OBJECT: &str = "{\"type\":\"object\"}";
