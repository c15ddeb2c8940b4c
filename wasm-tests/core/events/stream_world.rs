//! Streams of events on a bus with a log, and their clients.

use mcp_listen::{
    clock::Millis,
    events::{
        Draft, EventLog, EventReading, EventStreams, Opening, Window, cursor,
        error::CodeSet,
        matching::{Expected, MatchResult},
        page::{LogQuery, Page},
    },
    fanout::{StreamId, WriteBatch},
    position::{Cursor, Position},
    scope::Name,
    sse,
};
use serde_json::Value;

use crate::any::id;

use super::{
    host::{NOW, name},
    rows::MemoryRows,
};

pub(crate) struct World {
    log: EventLog<MemoryRows>,
    head: Cursor,
    /// Queries get at most so many occurrences.
    pub(crate) most: usize,
    pub(crate) streams: EventStreams,
    /// The queries to the log.
    pub(crate) asked: Vec<LogQuery>,
    /// The time of the process.
    pub(crate) now: Millis,
}

/// A stream's client, which reads what is written.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: StreamId,
    pub(crate) has_room: bool,
    pub(crate) messages: Vec<Value>,
}

pub(crate) fn opening(raw_id: &str, event: &str) -> Opening {
    Opening {
        id: id(raw_id),
        name: name(event),
        expected: Expected::Everything,
        groups: Vec::new(),
        cursor: None,
        max_age: None,
        codes: CodeSet::Sep,
    }
}

pub(crate) fn label(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// The messages in the bytes of a body.
pub(crate) fn read(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    assert!(
        !text.contains("\n:") && !text.starts_with(':'),
        "no comments"
    );
    let messages = sse::data(bytes).into_iter();
    messages
        .map(|message| serde_json::from_slice(&message).unwrap())
        .collect()
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Window::default())
    }

    pub(crate) fn with(window: Window) -> Self {
        Self {
            log: EventLog::open(MemoryRows::default(), window).unwrap(),
            head: cursor("e", 0),
            most: usize::MAX,
            streams: EventStreams::default(),
            asked: Vec::new(),
            now: NOW,
        }
    }

    /// Begins again with an empty disk.
    pub(crate) fn lose_disk(&mut self, epoch: &str) {
        self.log = EventLog::open(MemoryRows::default(), Window::default()).unwrap();
        self.head = cursor(epoch, 0);
    }

    pub(crate) fn position(&self) -> u64 {
        self.head.position.0
    }

    /// The positions of what the log holds.
    pub(crate) fn kept(&self) -> Vec<u64> {
        self.log.rows().positions()
    }

    pub(crate) fn cursor(&self, position: u64) -> String {
        cursor::to_text(&cursor(&self.head.epoch, position))
    }

    /// Publishes without a cue.
    pub(crate) fn publish(&mut self, event: &str, data: &str, group: Option<&str>) -> u64 {
        let group = group.map_or_else(String::new, |group| format!(r#","group":"{group}""#));
        let text = format!(r#"{{"name":"{event}","data":{data}{group}}}"#);
        let draft = Draft::from_json(text.as_bytes()).unwrap();
        self.head.position = self.head.position.next();
        self.log.append(&draft, &self.head, NOW).unwrap();
        self.position()
    }

    /// Something else takes a position of the bus.
    pub(crate) fn pass(&mut self) {
        self.head.position = self.head.position.next();
    }

    pub(crate) fn page(&mut self, query: &LogQuery) -> Page {
        let mut query = LogQuery::from_json(&query.to_json()).unwrap();
        query.max_events = query.max_events.min(self.most);
        self.asked.push(query.clone());
        let page = self.log.page(&query, &self.head, NOW).unwrap();
        Page::from_json(&page.to_json()).unwrap()
    }

    /// Opens a stream, and begins it.
    pub(crate) fn open(&mut self, opening: Opening) -> Client {
        let stream = self.streams.open(opening);
        let mut client = Client {
            stream,
            has_room: true,
            messages: Vec::new(),
        };
        let query = self.streams.query_of(stream).unwrap();
        let page = self.page(&query);
        let bytes = self.streams.begin(stream, &page, &[]).unwrap();
        client.messages.extend(read(&bytes));
        self.catch_up(&mut client);
        client
    }

    /// Whether a stream does not get the next page that is read for all.
    pub(crate) fn is_behind(&self, client: &Client) -> bool {
        self.streams.query_of(client.stream).is_some()
    }

    /// Reads pages of the stream's own while it is behind.
    pub(crate) fn catch_up(&mut self, client: &mut Client) {
        for _ in 0..1_000 {
            let Some(query) = self.streams.query_of(client.stream) else {
                return;
            };
            let page = self.page(&query);
            let bytes = self.streams.handle_own_page(client.stream, &page, &[]);
            client
                .messages
                .extend(bytes.iter().flat_map(|bytes| read(bytes)));
        }
        panic!("the stream never catches up");
    }

    /// Handles a cue: reads the log for all streams, and lets the clients with room read.
    pub(crate) fn cue(&mut self, event: &str, clients: &mut [Client]) {
        self.streams.handle_cue(&name(event));
        self.deliver(event, clients, &[]);
    }

    pub(crate) fn deliver(
        &mut self,
        event: &str,
        clients: &mut [Client],
        results: &[(u32, Vec<MatchResult>)],
    ) {
        for _ in 0..1_000 {
            let Some(reading) = self.streams.query(&name(event), self.now) else {
                return;
            };
            let page = self.page(&reading.query);
            let of = (&name(event), reading.number);
            self.streams.handle_page(of, page, results);
            while let Some(batch) = self.streams.poll_batch() {
                let missed = write(&batch, clients);
                self.streams.handle_missed(missed);
            }
        }
        panic!("the log is read without end");
    }

    /// Handles a cue. Returns the reading that begins.
    pub(crate) fn cued(&mut self, event: &str) -> Option<EventReading> {
        self.streams.handle_cue(&name(event));
        self.streams.query(&name(event), self.now)
    }

    /// Handles the page of a reading.
    pub(crate) fn read(&mut self, event: &str, reading: &EventReading, page: Page) {
        self.streams
            .handle_page((&name(event), reading.number), page, &[]);
    }

    /// The classes for which the server decides, as the next reading has them.
    pub(crate) fn classes(&mut self, event: &str) -> Vec<(u32, String)> {
        let Some(reading) = self.cued(event) else {
            return Vec::new();
        };
        let classes = self.streams.classes(&name(event), reading.number).unwrap();
        let classes = classes.into_iter();
        let classes = classes
            .map(|(class, arguments)| (class, arguments.to_owned()))
            .collect();
        self.streams.handle_failure(&name(event), reading.number);
        classes
    }

    pub(crate) fn beat(&mut self, client: &mut Client) {
        let bytes = self.streams.heartbeat(client.stream);
        client
            .messages
            .extend(bytes.iter().flat_map(|bytes| read(bytes)));
    }
}

/// Gives each client with room its chunk. Returns the streams without room.
pub(crate) fn write(batch: &WriteBatch, clients: &mut [Client]) -> Vec<StreamId> {
    let mut missed = Vec::new();
    let mut chunks = 0..batch.ends.len();
    for (stream, chunk) in &batch.writes {
        assert!(*chunk < chunks.start || chunks.next() == Some(*chunk));
        let client = clients.iter_mut().find(|client| client.stream == *stream);
        match client.filter(|client| client.has_room) {
            Some(client) => client.messages.extend(read(batch.chunk(*chunk))),
            None => missed.push(*stream),
        }
    }
    missed
}

impl Client {
    /// What it has read, shortly: `active`, `truncated`, `error`, `heartbeat`, `terminated`,
    /// `result`, and the payload's `n` of each event.
    pub(crate) fn story(&self) -> Vec<String> {
        self.messages.iter().map(short).collect()
    }

    /// The position that the last message with a cursor names.
    pub(crate) fn position(&self) -> Option<u64> {
        self.messages.iter().rev().find_map(position_of)
    }
}

/// The position of the cursor in a message.
pub(crate) fn position_of(message: &Value) -> Option<u64> {
    let text = message["params"]["cursor"].as_str()?;
    Some(cursor::from_text(text).unwrap().position.0)
}

fn short(message: &Value) -> String {
    let Some(method) = message["method"].as_str() else {
        assert_eq!(message["result"]["resultType"], "complete");
        return "result".to_owned();
    };
    let kind = method.strip_prefix("notifications/events/").unwrap();
    match kind {
        "active" if message["params"]["truncated"] == true => "truncated".to_owned(),
        "event" => message["params"]["data"]["n"].to_string(),
        kind => kind.to_owned(),
    }
}

pub(crate) fn cursor(epoch: &str, position: u64) -> Cursor {
    Cursor {
        epoch: epoch.into(),
        position: Position(position),
    }
}

pub(crate) fn values(pointer: &str, value: &str) -> Expected {
    Expected::Values(vec![(pointer.into(), value.into())])
}

/// A payload.
pub(crate) fn n(number: u64) -> String {
    format!(r#"{{"n":{number}}}"#)
}

pub(crate) fn stories(clients: &[Client]) -> Vec<Vec<String>> {
    clients.iter().map(Client::story).collect()
}

/// A small log: of each name it keeps two to three occurrences.
pub(crate) fn small() -> World {
    World::with(Window {
        events: 2,
        ..Window::default()
    })
}
