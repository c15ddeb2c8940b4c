//! The notifications that a server offers.

use alloc::sync::Arc;
use alloc::{string::String, vec::Vec};

use crate::{
    clock::Millis,
    json::{self, Node},
    sse,
    vocabulary::{task, topic::Topic},
};

/// The server's capabilities that concern subscriptions (2026-07-28, Tools, Prompts, Resources:
/// Capabilities; SEP-2663, Capability Negotiation).
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is independent of the others"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// `tools.listChanged`
    pub tools_list_changed: bool,
    /// `prompts.listChanged`
    pub prompts_list_changed: bool,
    /// `resources.listChanged`
    pub resources_list_changed: bool,
    /// `resources.subscribe`
    pub resources_subscribe: bool,
    /// `extensions["io.modelcontextprotocol/events"].listChanged`
    pub events_list_changed: bool,
    /// `extensions["io.modelcontextprotocol/tasks"]`
    pub tasks: bool,
}

/// The relevant parts of a `server/discover` response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    /// The server's capabilities.
    pub capabilities: Capabilities,
    /// `_meta["io.modelcontextprotocol/serverInfo"]` as compact JSON, if the server sends it.
    pub server_info: Option<Arc<str>>,
    /// When the response expires; `None`: never.
    pub fresh_until: Option<Millis>,
    /// Whether it may be reused for other callers.
    pub is_public: bool,
}

impl From<Capabilities> for Discovered {
    /// Creates what a server without a name offers to all callers, without an end.
    fn from(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            server_info: None,
            fresh_until: None,
            is_public: true,
        }
    }
}

impl Discovered {
    /// Reads the response to `server/discover`, a JSON body or an event stream, requested at `now`;
    /// `None` if it holds no result with capabilities.
    ///
    /// The response is fresh for its `ttlMs`, but at most an hour, and belongs to one caller unless
    /// its `cacheScope` is public (2026-07-28, Caching).
    pub fn from_response(body: &[u8], now: Millis) -> Option<Self> {
        let messages = sse::messages(body);
        let mut messages = messages.iter();
        messages.find_map(|message| Self::from_message(message, now))
    }

    /// Whether the response is still fresh.
    pub fn is_fresh(&self, now: Millis) -> bool {
        self.fresh_until.is_none_or(|until| now < until)
    }

    fn from_message(message: &[u8], now: Millis) -> Option<Self> {
        let document = json::read(message, json::MAX_PEER_DEPTH).ok()?;
        let result = document.root.get("result")?;
        let ttl = result.get("ttlMs").and_then(Node::as_u53).unwrap_or(0);
        let server_info = result.get("_meta").and_then(|meta| meta.get(SERVER_INFO));
        Some(Self {
            capabilities: Capabilities::from_node(result.get("capabilities")?),
            server_info: server_info.map(|node| json::to_compact(node).into()),
            fresh_until: Some(now + Millis(ttl.min(MAX_TTL_MS))),
            is_public: result.get("cacheScope").and_then(Node::as_str) == Some("public"),
        })
    }
}

impl Capabilities {
    /// Whether the server offers notifications for a topic.
    pub fn cover(self, topic: &Topic) -> bool {
        match topic {
            Topic::Tools => self.tools_list_changed,
            Topic::Prompts => self.prompts_list_changed,
            Topic::Resources => self.resources_list_changed,
            Topic::Resource(uri) if uri.is_of_event_types() => self.events_list_changed,
            Topic::Resource(_) => self.resources_subscribe,
            Topic::Task(_) => self.tasks,
            Topic::Everything | Topic::Group(_) | Topic::Disconnects | Topic::Principal(_) => false,
        }
    }

    /// All capabilities.
    pub const ALL: Self = Self {
        tools_list_changed: true,
        prompts_list_changed: true,
        resources_list_changed: true,
        resources_subscribe: true,
        events_list_changed: true,
        tasks: true,
    };

    /// Reads an object of MCP's `ServerCapabilities`; members of another type count as missing.
    pub(crate) fn from_node(node: &Node<'_>) -> Self {
        let flag = |feature: &str, name: &str| {
            let flag = node.get(feature).and_then(|feature| feature.get(name));
            flag.and_then(Node::as_bool) == Some(true)
        };
        Self {
            tools_list_changed: flag("tools", "listChanged"),
            prompts_list_changed: flag("prompts", "listChanged"),
            resources_list_changed: flag("resources", "listChanged"),
            resources_subscribe: flag("resources", "subscribe"),
            ..Self::of_extensions(node)
        }
    }

    /// Returns the notifications that a server with these capabilities could send: one for every
    /// feature that it has. `None` if this is not an object.
    pub(crate) fn assume_all(node: &Node<'_>) -> Option<Self> {
        let has = |feature: &str| node.get(feature).and_then(Node::as_object).is_some();
        node.as_object()?;
        Some(Self {
            tools_list_changed: has("tools"),
            prompts_list_changed: has("prompts"),
            resources_list_changed: has("resources"),
            resources_subscribe: has("resources"),
            ..Self::of_extensions(node)
        })
    }

    /// Reads what the extensions of an object of MCP's `ServerCapabilities` offer.
    fn of_extensions(node: &Node<'_>) -> Self {
        let events = extension(node, EVENTS);
        let list_changed = events.and_then(|settings| settings.get("listChanged"));
        Self {
            events_list_changed: list_changed.and_then(Node::as_bool) == Some(true),
            tasks: declare_tasks(node),
            ..Self::default()
        }
    }

    /// The members of MCP's `ServerCapabilities` that hold the flags, with the flags of each.
    pub fn features(self) -> [(&'static str, Vec<(&'static str, bool)>); 3] {
        [
            ("tools", vec![("listChanged", self.tools_list_changed)]),
            ("prompts", vec![("listChanged", self.prompts_list_changed)]),
            (
                "resources",
                vec![
                    ("listChanged", self.resources_list_changed),
                    ("subscribe", self.resources_subscribe),
                ],
            ),
        ]
    }

    /// Reads the declaration of a server's author; `None` if it is not a valid `ServerCapabilities`
    /// of MCP.
    pub fn declared(text: &str) -> Option<Self> {
        let document = json::read(text.as_bytes(), json::MAX_PEER_DEPTH).ok()?;
        is_well_formed(&document.root).then(|| Self::from_node(&document.root))
    }

    /// Reads the text of [`Capabilities::to_json`]; text that is not JSON offers nothing.
    pub fn from_json(text: &str) -> Self {
        json::read(text.as_bytes(), json::MAX_PEER_DEPTH).map_or_else(
            |_| Self::default(),
            |document| Self::from_node(&document.root),
        )
    }

    /// Returns the flags as compact JSON, in the form of MCP's `ServerCapabilities`.
    pub fn to_json(self) -> String {
        let features = self.features().map(|(name, flags)| {
            let flags: Vec<String> = flags
                .iter()
                .map(|(flag, is_set)| format!("\"{flag}\":{is_set}"))
                .collect();
            format!("\"{name}\":{{{}}}", flags.join(","))
        });
        format!("{{{}}}", features.join(","))
    }
}

/// Whether the capabilities of a client or server declare the Tasks extension (SEP-2663, Capability
/// Negotiation).
pub(crate) fn declare_tasks(capabilities: &Node<'_>) -> bool {
    extension(capabilities, task::EXTENSION)
        .and_then(Node::as_object)
        .is_some()
}

/// Returns the settings of an extension.
fn extension<'n, 'a>(capabilities: &'n Node<'a>, name: &str) -> Option<&'n Node<'a>> {
    capabilities.get("extensions")?.get(name)
}

/// Whether every relevant member has its type in `ServerCapabilities`.
fn is_well_formed(capabilities: &Node<'_>) -> bool {
    let is_object = |node: &Node<'_>| node.as_object().is_some();
    let features = FEATURES.iter().all(|(feature, flags)| {
        capabilities.get(feature).is_none_or(|feature| {
            let is_flag = |flag| {
                feature
                    .get(flag)
                    .is_none_or(|flag| flag.as_bool().is_some())
            };
            is_object(feature) && flags.iter().copied().all(is_flag)
        })
    });
    let extensions = capabilities.get("extensions");
    let settings = extensions.and_then(|extensions| extensions.get(task::EXTENSION));
    features
        && [Some(capabilities), extensions, settings]
            .into_iter()
            .flatten()
            .all(is_object)
}

const FEATURES: [(&str, &[&str]); 3] = [
    ("tools", &["listChanged"]),
    ("prompts", &["listChanged"]),
    ("resources", &["listChanged", "subscribe"]),
];
/// The Events extension (SEP-3415).
pub(crate) const EVENTS: &str = "io.modelcontextprotocol/events";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Maximum time for which a response is reused: a change of the capabilities may go unnoticed for
/// an hour.
const MAX_TTL_MS: u64 = 3_600_000;
