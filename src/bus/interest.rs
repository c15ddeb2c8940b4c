use crate::{
    event::ServerEvent,
    filter::SubscriptionFilter,
    json::Node,
    scope::Scope,
    topic::{Topic, Topics},
    uri::Uri,
};

use super::protocol::{EDGE_LIMITS, ProtocolError, parse};

/// Which events an edge wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interest {
    /// All of them: for a receiver that filters by itself.
    Everything,
    /// Those that the filter accepts.
    Filter(SubscriptionFilter),
}

impl Interest {
    /// Reads the JSON text of an interest: `"everything"`, or a filter.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`].
    pub fn from_json(text: &str) -> Result<Self, ProtocolError> {
        Self::from_value(&parse(text)?.root)
    }

    /// The topics that it is entered under.
    pub fn topics(&self) -> Topics {
        match self {
            Self::Everything => Topics::from_iter([Topic::Everything]),
            Self::Filter(filter) => filter.topics().into_iter().collect(),
        }
    }

    /// The interest as compact JSON.
    pub fn to_json(&self) -> String {
        match self {
            Self::Everything => format!("\"{EVERYTHING}\""),
            Self::Filter(filter) => {
                let mut text = String::new();
                push_interest(&mut text, filter);
                text
            }
        }
    }

    /// The same interest with `uris` for those that it names; everything stays everything.
    #[must_use]
    pub fn with_uris(&self, uris: Vec<Uri>) -> Self {
        match self {
            Self::Everything => Self::Everything,
            Self::Filter(filter) => Self::Filter(SubscriptionFilter {
                resource_subscriptions: uris,
                ..filter.clone()
            }),
        }
    }

    /// Whether it takes `event` in.
    pub fn accepts(&self, event: &ServerEvent) -> bool {
        match self {
            Self::Everything => true,
            Self::Filter(filter) => filter.accepts(event),
        }
    }

    /// An interest in these topics, each of which comes once.
    pub(crate) fn of(topics: Vec<Topic>) -> Self {
        if topics.contains(&Topic::Everything) {
            Self::Everything
        } else {
            Self::Filter(topics.into())
        }
    }

    pub(super) fn from_node(root: &Node<'_>) -> Result<Self, ProtocolError> {
        Self::from_value(root.get("interest").ok_or(ProtocolError::Malformed)?)
    }

    pub(super) fn from_value(node: &Node<'_>) -> Result<Self, ProtocolError> {
        if node.as_str() == Some(EVERYTHING) {
            return Ok(Self::Everything);
        }
        let filter = SubscriptionFilter::from_node(node, &EDGE_LIMITS);
        let filter = filter.map_err(|_| ProtocolError::Malformed)?;
        let scope = Scope::from_node(node).ok_or(ProtocolError::Malformed)?;
        Ok(Self::Filter(SubscriptionFilter { scope, ..filter }))
    }
}

/// Appends what a filter says, with what the client is not told of it.
pub(super) fn push_interest(text: &mut String, filter: &SubscriptionFilter) {
    text.push_str(&filter.to_json());
    text.pop();
    filter.scope.push_members(text);
    text.push('}');
}

const EVERYTHING: &str = "everything";
