use alloc::collections::VecDeque;
use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use crate::clock::Millis;

/// An incremental parser of event streams, independent of how the input is split (HTML, Server-sent
/// events: Parsing an event stream).
///
/// After each [`Decoder::handle_bytes`], poll [`Decoder::poll_item`] until it returns `None`. An
/// event without the blank line that ends it is never returned, for example at the end of a stream.
#[derive(Debug)]
pub struct Decoder {
    bounds: Bounds,
    bytes: VecDeque<u8>,
    line: Vec<u8>,
    /// Whether the last byte was a carriage return: a line feed then does not end another line.
    is_after_return: bool,
    is_first_line: bool,
    event: Unfinished,
    last_event_id: Option<Box<str>>,
    state: State,
}

/// Limits on what is buffered for one stream; each is the largest accepted value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of one line, without its terminator.
    pub line_bytes: usize,
    /// Bytes of the data of one event, over all its lines.
    pub event_bytes: usize,
}

/// An item of an event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Item {
    /// A complete event.
    Event(Event),
    /// A comment, which carries nothing but shows that the peer is alive.
    Comment,
    /// How long to wait before the stream is reopened.
    Retry(Millis),
}

/// A complete event with data, which may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its type; `message` if the stream names none.
    pub kind: Vec<u8>,
    /// Its lines of data, joined by line feeds; not necessarily UTF-8.
    pub data: Vec<u8>,
}

/// Why a stream cannot be decoded any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// A line is longer than allowed.
    LineTooLong,
    /// An event has more data than allowed.
    EventTooLarge,
}

#[derive(Debug, Default)]
struct Unfinished {
    id: Option<Box<str>>,
    kind: Vec<u8>,
    data: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    Failed,
}

impl Decoder {
    /// Creates a decoder at the start of a stream.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            bytes: VecDeque::new(),
            line: Vec::new(),
            is_after_return: false,
            is_first_line: true,
            event: Unfinished::default(),
            last_event_id: None,
            state: State::Reading,
        }
    }

    /// Handles more bytes; ignores them after an error.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        if self.state == State::Reading {
            self.bytes.extend(bytes);
        }
    }

    /// Returns the next item, or `None` until more bytes arrive.
    ///
    /// # Errors
    /// A [`DecodeError`], once; no item follows it.
    pub fn poll_item(&mut self) -> Result<Option<Item>, DecodeError> {
        let item = self.read();
        if item.is_err() {
            self.state = State::Failed;
            self.bytes.clear();
            self.line.clear();
            self.event = Unfinished::default();
        }
        item
    }

    /// Returns the id of the last complete event that has one, for `Last-Event-ID`.
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    fn read(&mut self) -> Result<Option<Item>, DecodeError> {
        while let Some(byte) = self.bytes.pop_front() {
            let is_paired = core::mem::replace(&mut self.is_after_return, byte == b'\r');
            match byte {
                b'\n' if is_paired => {}
                b'\n' | b'\r' => {
                    if let Some(item) = self.finish_line()? {
                        return Ok(Some(item));
                    }
                }
                _ if self.line.len() >= self.bounds.line_bytes => {
                    return Err(DecodeError::LineTooLong);
                }
                _ => self.line.push(byte),
            }
        }
        Ok(None)
    }

    fn finish_line(&mut self) -> Result<Option<Item>, DecodeError> {
        let line = core::mem::take(&mut self.line);
        let mut text = line.as_slice();
        if core::mem::take(&mut self.is_first_line) {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        if text.is_empty() {
            if let Some(id) = self.event.id.take() {
                self.last_event_id = Some(id);
            }
            return Ok(self.event.finish().map(Item::Event));
        }
        let (name, value) = field_of(text);
        self.handle_field(name, value)
    }

    fn handle_field(&mut self, name: &[u8], value: &[u8]) -> Result<Option<Item>, DecodeError> {
        match name {
            b"" => return Ok(Some(Item::Comment)),
            b"data" => self.event.push(value, self.bounds.event_bytes)?,
            b"event" => self.event.kind = value.to_vec(),
            b"retry" => return Ok(retry_of(value).map(Item::Retry)),
            // An id that is not text could not be sent back.
            b"id" if !value.contains(&0) => {
                if let Ok(id) = core::str::from_utf8(value) {
                    self.event.id = Some(id.into());
                }
            }
            _ => {}
        }
        Ok(None)
    }
}

impl Unfinished {
    fn push(&mut self, line: &[u8], max_bytes: usize) -> Result<(), DecodeError> {
        let before = self.data.as_ref().map_or(0, |data| data.len() + 1);
        if before + line.len() > max_bytes {
            return Err(DecodeError::EventTooLarge);
        }
        match &mut self.data {
            None => self.data = Some(line.to_vec()),
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(line);
            }
        }
        Ok(())
    }

    /// Returns the event; `None` if it has no line of data.
    fn finish(&mut self) -> Option<Event> {
        let Self { kind, data, .. } = core::mem::take(self);
        let kind = if kind.is_empty() {
            b"message".to_vec()
        } else {
            kind
        };
        data.map(|data| Event { kind, data })
    }
}

/// Splits a line into name and value. A comment is a field without a name; one space after the
/// colon is not part of the value.
fn field_of(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return (line, b"");
    };
    let (name, rest) = line.split_at(colon);
    let value = rest.strip_prefix(b":").unwrap_or(rest);
    (name, value.strip_prefix(b" ").unwrap_or(value))
}

fn retry_of(value: &[u8]) -> Option<Millis> {
    let digits = core::str::from_utf8(value).ok()?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number).map(Millis)
}

impl DecodeError {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::LineTooLong => "line-too-long",
            Self::EventTooLarge => "event-too-large",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::LineTooLong => "a line of the event stream is longer than allowed",
            Self::EventTooLarge => "an event of the stream has more data than allowed",
        })
    }
}

impl core::error::Error for DecodeError {}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
