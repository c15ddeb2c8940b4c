use alloc::{boxed::Box, string::String, vec::Vec};
use core::fmt;

use crate::{
    clock::Millis,
    events::{error::EventError, name::EventName, page::LogQuery},
    vocabulary::scope::Name,
};

/// A step of the host, to be carried out in order.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DelivererOutput {
    /// Set the alarm to this time, or remove it, and be sure that it is set before anything that
    /// follows.
    SetAlarm(Option<Millis>),
    /// Have the bus call [`Deliverer::handle_wake`](super::Deliverer::handle_wake) for this name.
    Follow(EventName),
    /// It need no longer do so.
    Unfollow(EventName),
    /// Read the log, then call [`Deliverer::handle_page`](super::Deliverer::handle_page).
    Read {
        /// The number of the read.
        read: u32,
        /// What to read.
        query: LogQuery,
    },
    /// Have the functions of the server match each occurrence of a page, then call
    /// [`Deliverer::handle_match_results`](super::Deliverer::handle_match_results).
    Match {
        /// The number of the read.
        read: u32,
        /// The type of the events.
        name: EventName,
        /// The arguments of the subscription as JSON.
        arguments: Box<str>,
        /// The [page](crate::events::page::Page) as JSON.
        page: String,
    },
    /// Send a message, then call [`Deliverer::handle_sent`](super::Deliverer::handle_sent).
    Post(Post),
    /// Find out whether the subscriber may still receive these events, then call
    /// [`Deliverer::handle_authorized`](super::Deliverer::handle_authorized).
    Authorize {
        /// The id of the subscription.
        subscription: Box<str>,
        /// The name of the subscriber.
        principal: Box<str>,
        /// The groups of the subscriber, as they were last known.
        groups: Vec<Name>,
        /// The type of the events.
        name: EventName,
        /// The arguments as JSON.
        arguments: Box<str>,
    },
    /// Respond to a call of [`Deliverer::handle_subscribe`](super::Deliverer::handle_subscribe).
    Respond {
        /// The number of the call.
        call: u32,
        /// The members of the result as a JSON object, or the error.
        response: Result<String, EventError>,
    },
}

/// Whether a subscriber may still receive the events of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Authorization {
    /// Yes, those of these groups; `None`: of the same groups as before.
    Allowed(Option<Vec<Name>>),
    /// No: the subscription ends.
    Denied,
    /// A [`DelivererOutput::Authorize`] follows later, and nothing is sent meanwhile.
    Unknown,
}

/// A message to send by POST within 10 seconds, without following redirects.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Post {
    /// The number of the message.
    pub post: u32,
    /// What it is about.
    pub kind: MessageKind,
    /// The id of the subscription, sent as `X-MCP-Subscription-Id`.
    pub subscription: Box<str>,
    /// The id of the message, sent as `webhook-id`: the same for each attempt.
    pub message: Box<str>,
    /// Where it is sent to.
    pub url: Box<str>,
    /// The body, which is JSON.
    pub body: String,
    /// The secrets to sign it with, as the host keeps them, the newest first.
    pub secrets: Vec<Box<str>>,
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageKind {
    /// An occurrence.
    Event,
    /// Whether the endpoint consents: report the body of the response.
    Verification,
    /// Occurrences that are not delivered.
    Gap,
    /// The end of the subscription.
    Terminated,
}

impl MessageKind {
    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Verification => "verification",
            Self::Gap => "gap",
            Self::Terminated => "terminated",
        }
    }
}

/// Shows neither payloads nor arguments, nor who subscribed.
impl fmt::Debug for DelivererOutput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetAlarm(at) => formatter.debug_tuple("SetAlarm").field(at).finish(),
            Self::Follow(name) => formatter.debug_tuple("Follow").field(name).finish(),
            Self::Unfollow(name) => formatter.debug_tuple("Unfollow").field(name).finish(),
            Self::Read { read, .. } => formatter.debug_tuple("Read").field(read).finish(),
            Self::Match { read, .. } => formatter.debug_tuple("Match").field(read).finish(),
            Self::Post(post) => post.fmt(formatter),
            Self::Authorize { name, .. } => formatter.debug_tuple("Authorize").field(name).finish(),
            Self::Respond { call, .. } => formatter.debug_tuple("Respond").field(call).finish(),
        }
    }
}

/// Shows neither url nor body nor secrets.
impl fmt::Debug for Post {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut post = formatter.debug_struct("Post");
        post.field("post", &self.post).field("kind", &self.kind);
        post.finish_non_exhaustive()
    }
}
