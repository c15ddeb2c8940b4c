//! The notification filter: what a client asks to hear, and what of it is honored.

use std::{collections::BTreeSet, fmt};

use crate::{
    capabilities::Capabilities,
    event::ServerEvent,
    json::{self, Node, Object},
    limits::Limits,
    uri::{Uri, UriError},
};

/// What one subscription asks for, or the subset that is honored
/// (2026-07-28, Subscriptions: Notification Filter).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionFilter {
    /// Changes of the list of tools.
    pub tools_list_changed: bool,
    /// Changes of the list of prompts.
    pub prompts_list_changed: bool,
    /// Changes of the list of resources.
    pub resources_list_changed: bool,
    /// Updates of these resources: exact URIs, each once, in the order in which they were first named.
    pub resource_subscriptions: Vec<Uri>,
}

/// Why a JSON value is no notification filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterError {
    /// Not an object.
    NotAnObject,
    /// The named member is not `true` or `false`.
    NotAFlag(&'static str),
    /// `resourceSubscriptions` is not an array of strings.
    NotUris,
    /// One of the URIs cannot be listened to.
    Uri(UriError),
    /// More different URIs than allowed.
    TooManyUris,
}

impl SubscriptionFilter {
    /// Reads a filter; members that are not known are left out, so that they stay out of the acknowledgment.
    ///
    /// # Errors
    /// A [`FilterError`] that says what is wrong.
    pub fn from_node(node: &Node<'_>, limits: &Limits) -> Result<Self, FilterError> {
        let object = node.as_object().ok_or(FilterError::NotAnObject)?;
        Ok(Self {
            tools_list_changed: flag(object, TOOLS)?,
            prompts_list_changed: flag(object, PROMPTS)?,
            resources_list_changed: flag(object, RESOURCES)?,
            resource_subscriptions: match object.get(URIS) {
                Some(node) => uris(node, limits)?,
                None => Vec::new(),
            },
        })
    }

    /// Reads a filter from its JSON text; see [`SubscriptionFilter::from_node`].
    ///
    /// # Errors
    /// A [`FilterError`]; text that is not JSON counts as not an object.
    pub fn from_json(text: &str, limits: &Limits) -> Result<Self, FilterError> {
        let document =
            json::read(text.as_bytes(), limits.depth).map_err(|_| FilterError::NotAnObject)?;
        Self::from_node(&document.root, limits)
    }

    /// The subset of this request that is honored: what the server's capabilities cover and,
    /// where the caller's rights are known, what `authorized` names too. Never a superset
    /// (2026-07-28, Subscriptions: Acknowledgment).
    #[must_use]
    pub fn honored(&self, capabilities: Capabilities, authorized: Option<&Self>) -> Self {
        let may = |asked: bool, is_advertised: bool, right: fn(&Self) -> bool| {
            asked && is_advertised && authorized.is_none_or(right)
        };
        let may_watch = |uri: &&Uri| {
            capabilities.resources_subscribe
                && authorized.is_none_or(|by| by.resource_subscriptions.contains(*uri))
        };
        Self {
            tools_list_changed: may(
                self.tools_list_changed,
                capabilities.tools_list_changed,
                |by| by.tools_list_changed,
            ),
            prompts_list_changed: may(
                self.prompts_list_changed,
                capabilities.prompts_list_changed,
                |by| by.prompts_list_changed,
            ),
            resources_list_changed: may(
                self.resources_list_changed,
                capabilities.resources_list_changed,
                |by| by.resources_list_changed,
            ),
            resource_subscriptions: self
                .resource_subscriptions
                .iter()
                .filter(may_watch)
                .cloned()
                .collect(),
        }
    }

    /// Whether a subscription with this filter hears `event`; URIs match as exact strings.
    pub fn accepts(&self, event: &ServerEvent) -> bool {
        match event {
            ServerEvent::ToolsListChanged => self.tools_list_changed,
            ServerEvent::PromptsListChanged => self.prompts_list_changed,
            ServerEvent::ResourcesListChanged => self.resources_list_changed,
            ServerEvent::ResourceUpdated { uri } => self.resource_subscriptions.contains(uri),
        }
    }

    /// Whether nothing at all is asked for.
    pub fn is_empty(&self) -> bool {
        !self.tools_list_changed
            && !self.prompts_list_changed
            && !self.resources_list_changed
            && self.resource_subscriptions.is_empty()
    }

    /// Whether every event that this filter accepts is accepted by `other` too.
    pub fn is_subset_of(&self, other: &Self) -> bool {
        self.tools_list_changed <= other.tools_list_changed
            && self.prompts_list_changed <= other.prompts_list_changed
            && self.resources_list_changed <= other.resources_list_changed
            && self
                .resource_subscriptions
                .iter()
                .all(|uri| other.resource_subscriptions.contains(uri))
    }

    /// The filter as compact JSON; what is not asked for is left out.
    pub fn to_json(&self) -> String {
        let mut members = Vec::new();
        for (name, is_asked) in [
            (TOOLS, self.tools_list_changed),
            (PROMPTS, self.prompts_list_changed),
            (RESOURCES, self.resources_list_changed),
        ] {
            if is_asked {
                members.push(format!("\"{name}\":true"));
            }
        }
        if !self.resource_subscriptions.is_empty() {
            members.push(format!("\"{URIS}\":{}", self.uris_json()));
        }
        format!("{{{}}}", members.join(","))
    }

    fn uris_json(&self) -> String {
        let mut out = String::from("[");
        for (place, uri) in self.resource_subscriptions.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            json::push_string(&mut out, uri);
        }
        out.push(']');
        out
    }
}

fn flag(object: &Object<'_>, name: &'static str) -> Result<bool, FilterError> {
    let node = object.get(name);
    node.map_or(Ok(false), |node| {
        node.as_bool().ok_or(FilterError::NotAFlag(name))
    })
}

fn uris(node: &Node<'_>, limits: &Limits) -> Result<Vec<Uri>, FilterError> {
    let mut known = BTreeSet::new();
    let mut uris = Vec::new();
    for item in node.as_array().ok_or(FilterError::NotUris)? {
        let text = item.as_str().ok_or(FilterError::NotUris)?;
        let uri = Uri::new(text, limits.uri_bytes).map_err(FilterError::Uri)?;
        if known.insert(uri.clone()) {
            uris.push(uri);
        }
        if uris.len() > limits.uris {
            return Err(FilterError::TooManyUris);
        }
    }
    Ok(uris)
}

impl fmt::Display for FilterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => formatter.write_str("notifications is not an object"),
            Self::NotAFlag(name) => write!(formatter, "{name} is not true or false"),
            Self::NotUris => formatter.write_str("resourceSubscriptions is not an array of uris"),
            Self::Uri(error) => error.fmt(formatter),
            Self::TooManyUris => formatter.write_str("too many resource uris"),
        }
    }
}

impl std::error::Error for FilterError {}

const TOOLS: &str = "toolsListChanged";
const PROMPTS: &str = "promptsListChanged";
const RESOURCES: &str = "resourcesListChanged";
const URIS: &str = "resourceSubscriptions";
