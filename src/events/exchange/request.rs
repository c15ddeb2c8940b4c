//! The requests of the five methods, each read strictly (SEP-3415).

use alloc::boxed::Box;
use core::fmt;

use crate::{
    clock::{MAX_SAFE_MILLIS, Millis},
    events::{
        ArgumentsError, EXTENSION, canonical_arguments, cursor, error::EventError,
        webhook::RequestedTtl,
    },
    json::{self, Node},
    message::META_CLIENT_CAPABILITIES,
};

/// A method of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// `events/list`
    List,
    /// `events/poll`
    Poll,
    /// `events/stream`
    Stream,
    /// `events/subscribe`
    Subscribe,
    /// `events/unsubscribe`
    Unsubscribe,
}

/// The parameters of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EventCall {
    /// `events/list`, after the page that ended with this cursor.
    List(Option<Box<str>>),
    /// `events/poll`
    Poll {
        /// What is polled.
        subject: EventSubject,
        /// Where it begins.
        start: Start,
        /// Maximum number of occurrences to return.
        max_events: usize,
    },
    /// `events/stream`
    Stream {
        /// What is streamed.
        subject: EventSubject,
        /// Where it begins.
        start: Start,
    },
    /// `events/subscribe`
    Subscribe {
        /// What is subscribed to.
        subject: EventSubject,
        /// Where it begins.
        start: Start,
        /// Where it is delivered.
        delivery: RequestedDelivery,
    },
    /// `events/unsubscribe`
    Unsubscribe {
        /// What was subscribed to.
        subject: EventSubject,
        /// The callback URL, as it was written.
        url: Box<str>,
    },
}

/// What a subscription is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventSubject {
    /// The name of the event type, which may be no valid name.
    pub name: Box<str>,
    /// The arguments, a canonical JSON object.
    pub arguments: Box<str>,
}

/// Where a subscription begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Start {
    /// After this cursor; `None`: now.
    pub cursor: Option<Box<str>>,
    /// Leaves out what was published longer ago than this.
    pub max_age: Option<Millis>,
}

/// The delivery to a webhook, as the client requested it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestedDelivery {
    /// The callback URL.
    pub url: Box<str>,
    /// The secret to sign with.
    pub secret: Box<str>,
    /// The suggested lifetime.
    pub ttl: RequestedTtl,
}

impl fmt::Debug for RequestedDelivery {
    /// Leaves out URL and secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut delivery = formatter.debug_struct("RequestedDelivery");
        delivery.field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

impl Method {
    /// Returns the method of this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "events/list" => Self::List,
            "events/poll" => Self::Poll,
            STREAM => Self::Stream,
            "events/subscribe" => Self::Subscribe,
            "events/unsubscribe" => Self::Unsubscribe,
            _ => return None,
        })
    }
}

impl EventCall {
    /// Reads the parameters of a method.
    ///
    /// # Errors
    /// [`EventError::InvalidParams`], or [`EventError::Unsupported`] for a delivery other than
    /// webhook.
    pub(super) fn read(method: Method, params: Option<&Node<'_>>) -> Result<Self, EventError> {
        Ok(match method {
            Method::List => Self::List(cursor_of(params)?),
            Method::Poll => Self::Poll {
                subject: EventSubject::read(params)?,
                start: Start::read(params)?,
                max_events: max_events_of(params)?,
            },
            Method::Stream => Self::Stream {
                subject: EventSubject::read(params)?,
                start: Start::read(params)?,
            },
            Method::Subscribe => Self::Subscribe {
                subject: EventSubject::read(params)?,
                start: Start::read(params)?,
                delivery: RequestedDelivery::read(params)?,
            },
            Method::Unsubscribe => Self::Unsubscribe {
                subject: EventSubject::read(params)?,
                url: url_of(member(params, "delivery"))?,
            },
        })
    }

    /// Returns what the request is about, unless it is a list.
    pub(super) fn subject(&self) -> Option<&EventSubject> {
        match self {
            Self::List(_) => None,
            Self::Poll { subject, .. }
            | Self::Stream { subject, .. }
            | Self::Subscribe { subject, .. }
            | Self::Unsubscribe { subject, .. } => Some(subject),
        }
    }
}

impl EventSubject {
    fn read(params: Option<&Node<'_>>) -> Result<Self, EventError> {
        let name = member(params, "name").and_then(Node::as_str);
        let name = name.ok_or(invalid("params.name must be a string"))?;
        let arguments = member(params, "arguments");
        let text = arguments.map_or("{}", |arguments| arguments.raw);
        let arguments = canonical_arguments(text).map_err(|error| {
            invalid(match error {
                ArgumentsError::Malformed => {
                    "params.arguments must be an object that nests at most 32 deep"
                }
                ArgumentsError::TooLarge => "params.arguments has more than 4,096 bytes",
            })
        })?;
        Ok(Self {
            name: name.into(),
            arguments,
        })
    }
}

impl Start {
    fn read(params: Option<&Node<'_>>) -> Result<Self, EventError> {
        let max_age = match present(params, "maxAgeMs") {
            Some(node) => Some(age(node)?),
            None => None,
        };
        let cursor = cursor_of(params)?;
        // A text that is no cursor stands for a position that is gone.
        let is_readable = cursor
            .as_ref()
            .is_none_or(|cursor| cursor.len() <= cursor::MAX_CHARACTERS);
        Ok(Self {
            cursor: if is_readable {
                cursor
            } else {
                Some(Box::default())
            },
            max_age,
        })
    }
}

impl RequestedDelivery {
    fn read(params: Option<&Node<'_>>) -> Result<Self, EventError> {
        let delivery = member(params, "delivery");
        match present(delivery, "mode").map(Node::as_str) {
            None | Some(Some("webhook")) => {}
            Some(Some(_)) => return Err(EventError::no_such_mode(None)),
            Some(None) => return Err(invalid("params.delivery.mode must be a string")),
        }
        let url = url_of(delivery)?;
        let secret = member(delivery, "secret").and_then(Node::as_str);
        let secret = secret.ok_or(invalid("params.delivery.secret must be a string"))?;
        let ttl = RequestedTtl::from_node(member(params, "ttlMs"));
        Ok(Self {
            url,
            secret: secret.into(),
            ttl: ttl.ok_or(invalid("params.ttlMs must be a number or null"))?,
        })
    }
}

/// Whether the client declares the extension (SEP-3415, Capability Negotiation).
pub(super) fn declares(root: &Node<'_>) -> bool {
    let capabilities = root
        .get("params")
        .and_then(|params| params.get("_meta")?.get(META_CLIENT_CAPABILITIES));
    let settings = capabilities.and_then(|given| given.get("extensions")?.get(EXTENSION));
    settings.and_then(Node::as_object).is_some()
}

pub(super) fn invalid(text: &'static str) -> EventError {
    EventError::InvalidParams(text.into())
}

fn cursor_of(params: Option<&Node<'_>>) -> Result<Option<Box<str>>, EventError> {
    match present(params, "cursor") {
        None => Ok(None),
        Some(node) => match node.as_str() {
            Some(cursor) => Ok(Some(cursor.into())),
            None => Err(invalid("params.cursor must be a string or null")),
        },
    }
}

fn url_of(delivery: Option<&Node<'_>>) -> Result<Box<str>, EventError> {
    let url = member(delivery, "url").and_then(Node::as_str);
    let url = url.ok_or(invalid("params.delivery.url must be a string"))?;
    Ok(url.into())
}

fn max_events_of(params: Option<&Node<'_>>) -> Result<usize, EventError> {
    let Some(node) = present(params, "maxEvents") else {
        return Ok(DEFAULT_EVENTS);
    };
    let count = number(node).filter(|count| *count >= 1.0);
    let count = count.ok_or(invalid("params.maxEvents must be a positive number"))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is between 1 and the maximum"
    )]
    Ok(count.min(MAX_EVENTS) as usize)
}

fn age(node: &Node<'_>) -> Result<Millis, EventError> {
    let age = number(node).filter(|age| *age >= 0.0);
    let age = age.ok_or(invalid("params.maxAgeMs must be a number of milliseconds"))?;
    Ok(Millis::from_f64(age.min(MAX_SAFE_MILLIS)))
}

/// Returns a member that is there and not null.
fn present<'n, 'a>(node: Option<&'n Node<'a>>, name: &str) -> Option<&'n Node<'a>> {
    member(node, name).filter(|node| !is_null(node))
}

fn member<'n, 'a>(node: Option<&'n Node<'a>>, name: &str) -> Option<&'n Node<'a>> {
    node?.get(name)
}

fn is_null(node: &Node<'_>) -> bool {
    node.raw == "null"
}

/// Returns a number; those beyond the range of a double become infinite.
fn number(node: &Node<'_>) -> Option<f64> {
    let is_number = matches!(node.value, json::Value::Number);
    is_number.then(|| node.raw.parse().ok()).flatten()
}

/// The prefix of the names of methods.
pub(super) const PREFIX: &str = "events/";
/// The method whose response is an event stream.
pub(super) const STREAM: &str = "events/stream";
/// The number of occurrences in a result if the request names none.
const DEFAULT_EVENTS: usize = 50;
/// Maximum number of occurrences in a result.
const MAX_EVENTS: f64 = 200.0;
