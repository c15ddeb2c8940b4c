//! The event types of a server: what `events/list` names, and what a subscription to one of them
//! needs.

mod capability;
mod definition;
mod mode;
mod schema;

pub use capability::{advertised, capability};
pub use definition::{CatalogueError, Definition};
pub use mode::{Mode, Modes};

use alloc::{string::String, vec::Vec};

use crate::{
    json::{self, Node},
    sorted::Map,
};

use super::{
    error::{EventError, Missing},
    name::EventName,
};

/// The event types of a server, by name.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    definitions: Map<EventName, Definition>,
}

impl Catalogue {
    /// As [`Catalogue::from_json`], for a part of a larger document.
    pub(crate) fn from_node(node: &Node<'_>, served: Modes) -> Result<Self, CatalogueError> {
        let members = node.as_object().ok_or(CatalogueError::Malformed)?;
        let mut definitions = Map::default();
        for (name, node) in members.iter() {
            let name = EventName::defined(name).map_err(CatalogueError::Name)?;
            let definition = Definition::from_node(&name, node, served)?;
            if !definition.modes.is_empty() {
                definitions.insert(name, definition);
            }
        }
        Ok(Self { definitions })
    }

    /// Reads an object of definitions by name, each an object with `description`, `inputSchema`,
    /// `payloadSchema`, and if need be `delivery`, `match` and `_meta`. A type has the delivery
    /// modes in `served` that its `delivery` names; one that has none is left out.
    ///
    /// # Errors
    /// A [`CatalogueError`] for the first definition that is not valid.
    pub fn from_json(text: &str, served: Modes) -> Result<Self, CatalogueError> {
        let document = json::read(text.as_bytes(), MAX_DEPTH);
        let document = document.map_err(|_| CatalogueError::Malformed)?;
        if document.has_duplicate_key {
            return Err(CatalogueError::Malformed);
        }
        Self::from_node(&document.root, served)
    }

    /// Returns the definition of an event type.
    pub fn get(&self, name: &str) -> Option<(&EventName, &Definition)> {
        let name = EventName::new(name).ok()?;
        let key = self.definitions.key(&name)?;
        Some((key, self.definitions.get(&name)?))
    }

    /// Returns the names of the event types, in order.
    pub fn names(&self) -> impl Iterator<Item = &EventName> {
        self.definitions.keys()
    }

    /// Returns the delivery modes that any of the event types has.
    pub fn modes(&self) -> Modes {
        let definitions = self.definitions.values();
        definitions.fold(Modes::NONE, |modes, definition| modes.or(definition.modes))
    }

    /// Returns a page of the result of `events/list`: the types that `is_shown`, after the one that
    /// the cursor names (SEP-3415, Listing Available Events).
    pub fn list(&self, is_shown: impl Fn(&EventName) -> bool, after: Option<&EventName>) -> String {
        let definitions = self.definitions.iter();
        let mut rest = definitions
            .filter(|(name, _)| after.is_none_or(|after| *name > after) && is_shown(name))
            .peekable();
        let mut entries = Vec::new();
        let mut last = None;
        while entries.len() < PAGE
            && let Some((name, definition)) = rest.next()
        {
            entries.push(definition.entry.as_ref());
            last = Some(name);
        }
        let next = last.filter(|_| rest.peek().is_some());
        let next = next.map_or_else(String::new, |name| {
            format!(",\"nextCursor\":\"{}\"", &**name)
        });
        let entries = entries.join(",");
        format!("{{\"resultType\":\"complete\",\"events\":[{entries}]{next}}}")
    }

    /// Returns the event types whose subscriptions end when `newer` takes the place of this
    /// catalogue, with the error of each: types that are gone, and those with a schema that is not
    /// an extension of the previous one (SEP-3415, Event type removal and breaking changes).
    pub fn ended_by(&self, newer: &Self) -> Vec<(EventName, EventError)> {
        let ended = self.definitions.iter().filter_map(|(name, definition)| {
            let error = match newer.definitions.get(name) {
                None => EventError::NotFound(Missing::Event),
                Some(newer) => EventError::changed(definition.broken_by(newer)?),
            };
            Some((name.clone(), error))
        });
        ended.collect()
    }
}

/// The number of event types in one page of a list.
const PAGE: usize = 100;
/// Maximum depth of definitions, whose schemas may nest deeper than a request.
pub(super) const MAX_DEPTH: usize = 128;
