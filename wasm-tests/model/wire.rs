use mcp_listen::{
    event::ServerEvent, filter::SubscriptionFilter, id::RequestId, limits::Limits,
    listen::Incoming, sse,
};

use crate::{
    driven::Frame,
    invariant::{Violation, ensure},
    key::Key,
};

/// The content of a piece of a response, for the client that reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Acknowledged(SubscriptionFilter),
    /// The stream of a session is open.
    Opened,
    Changed(ServerEvent),
    KeepAlive,
    Result,
    End,
}

impl Said {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Acknowledged(_) => "the acknowledgment".to_owned(),
            Self::Opened => "the first id".to_owned(),
            Self::Changed(event) => format!("a cue for {}", Key::of(event).name()),
            Self::KeepAlive => "a keep-alive".to_owned(),
            Self::Result => "the result".to_owned(),
            Self::End => "the end".to_owned(),
        }
    }
}

/// Reads frames as a client does: those of a subscription by its id, those of a session by their
/// event ids.
#[derive(Debug)]
pub(crate) enum Reader {
    Subscription(RequestId),
    /// The same, for a client that reads the bytes too.
    Watch(RequestId),
    Session,
}

/// What was read, and the id of its event.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) said: Said,
    pub(crate) id: Option<String>,
    /// The bytes themselves, for a client that reads them.
    pub(crate) bytes: Vec<u8>,
}

impl Reader {
    pub(crate) fn read(&self, frame: Frame) -> Result<Read, Violation> {
        let Frame::Bytes(bytes) = frame else {
            return Ok(Read::of(Said::End));
        };
        let copy = match self {
            Self::Watch(_) => bytes.clone(),
            _ => Vec::new(),
        };
        if bytes == sse::KEEP_ALIVE {
            return Ok(Read {
                bytes: copy,
                ..Read::of(Said::KeepAlive)
            });
        }
        let text = String::from_utf8(bytes).map_err(|_| garbled("bytes that are not text"))?;
        let data = sse::data(text.as_bytes());
        let [message] = data.as_slice() else {
            return Err(garbled(&text));
        };
        let message = std::str::from_utf8(message).map_err(|_| garbled(&text))?;
        match self {
            Self::Subscription(id) => with_id(id, message),
            Self::Watch(id) => with_id(id, message).map(|read| Read {
                bytes: copy,
                ..read
            }),
            Self::Session => plain(&text, message),
        }
    }
}

impl Read {
    fn of(said: Said) -> Self {
        Self {
            said,
            id: None,
            bytes: Vec::new(),
        }
    }
}

fn with_id(id: &RequestId, message: &str) -> Result<Read, Violation> {
    let limits = Limits::default();
    let (named, incoming) =
        Incoming::read(message.as_bytes(), &limits).ok_or_else(|| garbled(message))?;
    let meta = format!("\"io.modelcontextprotocol/subscriptionId\":{}}}", id.raw());
    let is_verbatim = named == *id && message.contains(&meta);
    ensure("each message carries the verbatim id", is_verbatim, || {
        format!("{} in {message}", id.raw())
    })?;
    Ok(Read::of(match incoming {
        Incoming::Acknowledged(filter) => Said::Acknowledged(filter),
        Incoming::Changed(event) => Said::Changed(event),
        Incoming::Result => Said::Result,
        _ => return Err(garbled(message)),
    }))
}

/// A session has no subscription id on the wire, so the message is read with one added.
fn plain(text: &str, message: &str) -> Result<Read, Violation> {
    let id = text
        .strip_prefix("id: ")
        .and_then(|rest| rest.lines().next())
        .map(str::to_owned);
    if message.is_empty() {
        return Ok(Read {
            id,
            ..Read::of(Said::Opened)
        });
    }
    let meta = r#""params":{"_meta":{"io.modelcontextprotocol/subscriptionId":0}"#;
    let with_id = match message.split_once("\"params\":{") {
        Some((before, after)) => format!("{before}{meta},{after}"),
        None => format!("{},{meta}}}}}", message.trim_end_matches('}')),
    };
    match Incoming::read(with_id.as_bytes(), &Limits::default()) {
        Some((_, Incoming::Changed(event))) if !message.contains("subscriptionId") => Ok(Read {
            id,
            ..Read::of(Said::Changed(event))
        }),
        _ => Err(garbled(message)),
    }
}

fn garbled(text: &str) -> Violation {
    Violation::new("a client can read its messages", text.to_owned())
}
