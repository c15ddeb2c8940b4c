//! The channel of a server and that of a client, connected back to back.

use std::collections::BTreeMap;

use mcp_listen::{
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::RequestId,
    limits::Limits,
    listen::{ClientEndReason, ClientStream, Incoming, Notice},
    stdio::{Channel, Input, Line, Lines},
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{any_event, any_filter, check, id, is_of_same_key},
    client::tools,
    wire::{channel, discovered, publish, written},
};

#[derive(Clone, Debug)]
enum Step {
    Listen(SubscriptionFilter),
    /// Cancels a subscription that was opened at some time, by its index.
    Cancel(usize),
    Publish(ServerEvent),
    /// The bus of a subscription is lost, by the distance from the latest handle.
    Lose(usize),
    /// The server writes one line.
    Write,
    Close,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any_filter().prop_map(Step::Listen),
        3 => (0usize..80).prop_map(Step::Cancel),
        12 => any_event().prop_map(Step::Publish),
        1 => (0usize..8).prop_map(Step::Lose),
        20 => Just(Step::Write),
        1 => Just(Step::Close),
    ]
}

/// Passes each line to the subscription that it names.
struct Client {
    lines: Lines,
    streams: BTreeMap<RequestId, ClientStream>,
}

impl Client {
    fn new() -> Self {
        Self {
            lines: Lines::new(100_000),
            streams: BTreeMap::new(),
        }
    }

    fn listen(&mut self, id: RequestId, requested: SubscriptionFilter) -> String {
        let stream = ClientStream::new(id.clone(), requested);
        let line = stream.request(None) + "\n";
        self.streams.insert(id, stream);
        line
    }

    fn cancel(&mut self, id: &RequestId) -> Option<String> {
        Some(self.streams.remove(id)?.cancel()? + "\n")
    }

    fn poll_notice(&mut self) -> Option<(RequestId, Notice)> {
        while let Some(line) = self.lines.poll_line() {
            let Line::Whole(line) = line else {
                panic!("a line is too long");
            };
            let Some((id, incoming)) = Incoming::read(&line, &Limits::default()) else {
                continue;
            };
            let notice = self
                .streams
                .get_mut(&id)
                .and_then(|stream| stream.handle_message(incoming));
            self.streams.retain(|_, stream| !stream.is_ended());
            if let Some(notice) = notice {
                return Some((id, notice));
            }
        }
        None
    }
}

/// Both sides and a bus between them, with what each subscription has yet to receive.
struct Wired {
    server: Channel,
    client: Client,
    /// The filter that each was opened with.
    honored: BTreeMap<RequestId, SubscriptionFilter>,
    open: BTreeMap<RequestId, Vec<ServerEvent>>,
    /// Used ids. No request reuses one, because a reply may still be in flight.
    used: usize,
    chunk_bytes: usize,
}

impl Wired {
    fn new(chunk_bytes: usize) -> Self {
        Self {
            server: channel(),
            client: Client::new(),
            honored: BTreeMap::new(),
            open: BTreeMap::new(),
            used: 0,
            chunk_bytes,
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Listen(filter) => {
                let id = nth(self.used);
                self.used += 1;
                let line = self.client.listen(id, filter);
                self.reach_server(&line);
            }
            Step::Cancel(place) if self.used > 0 => {
                let id = nth(place % self.used);
                if let Some(line) = self.client.cancel(&id) {
                    self.open.remove(&id);
                    self.reach_server(&line);
                }
            }
            Step::Cancel(_) => {}
            Step::Publish(event) => self.publish(&event),
            Step::Lose(place) => {
                if place > 0 {
                    return;
                }
                // Pending cues are lost with the bus, and the client is notified of that.
                for pending in self.open.values_mut() {
                    pending.clear();
                }
                self.server.handle_bus_closed();
            }
            Step::Write => self.write_line(),
            Step::Close => self.server.close(),
        }
    }

    /// Every request is served at once. Other messages would be cancellations that arrived too
    /// late.
    fn reach_server(&mut self, line: &str) {
        for chunk in line.as_bytes().chunks(self.chunk_bytes) {
            self.server.handle_bytes(chunk);
            while let Some(input) = self.server.poll_input() {
                if let Input::Listen {
                    handle: number,
                    requested,
                } = input
                {
                    let id = id_in(line);
                    self.open.insert(id.clone(), Vec::new());
                    self.server.open(number, &discovered(), None);
                    self.honored.insert(id, requested);
                }
            }
        }
    }

    fn publish(&mut self, event: &ServerEvent) {
        for (id, pending) in &mut self.open {
            let filter = &self.honored[id];
            let waiting = pending
                .iter_mut()
                .find(|waiting| is_of_same_key(waiting, event));
            match waiting {
                Some(waiting) => *waiting = event.clone(),
                None if filter.accepts(event) => pending.push(event.clone()),
                None => {}
            }
        }
        self.server.handle_events(vec![event.clone()]);
    }

    fn write_line(&mut self) {
        let Some(line) = self.server.poll_line() else {
            return;
        };
        assert_eq!(
            line.find('\n'),
            Some(line.len() - 1),
            "one message is one line"
        );
        for chunk in line.as_bytes().chunks(self.chunk_bytes) {
            self.client.lines.handle_bytes(chunk);
        }
        while let Some((id, notice)) = self.client.poll_notice() {
            self.receive(&id, notice);
        }
    }

    fn receive(&mut self, id: &RequestId, notice: Notice) {
        match notice {
            Notice::Acknowledged(_) => {}
            Notice::Changed(event) => {
                let pending = self.open.get_mut(id).expect("it is open");
                assert_eq!(pending.remove(0), event, "first pending, first out");
            }
            Notice::Ended(ClientEndReason::Graceful) => {
                assert_eq!(
                    self.open.remove(id),
                    Some(Vec::new()),
                    "nothing was pending"
                );
            }
            Notice::Ended(ClientEndReason::Lost) => drop(self.open.remove(id)),
            Notice::Ended(ClientEndReason::Refused { code, .. }) => {
                assert_eq!(code, -32_603, "nothing is wrong with the request");
                self.open.remove(id);
            }
            other => panic!("the server wrote {other:?}"),
        }
    }
}

/// Returns numbers and similar strings in turn.
fn nth(place: usize) -> RequestId {
    let number = place / 2;
    id(&if place.is_multiple_of(2) {
        format!("{number}")
    } else {
        format!("\"{number}\"")
    })
}

fn id_in(line: &str) -> RequestId {
    let (_, rest) = line.split_once("\"id\":").unwrap();
    let (raw, _) = rest.split_once(",\"method\"").unwrap();
    id(raw)
}

#[test]
fn server_and_client_back_to_back_keep_every_promise() {
    check(
        (vec(any_step(), 0..80), 1usize..40),
        |(steps, chunk_bytes)| {
            let mut wired = Wired::new(chunk_bytes);
            let mut is_closed = false;
            for step in steps {
                let is_silent = is_closed && matches!(step, Step::Publish(_));
                is_closed |= matches!(step, Step::Close);
                if !is_silent {
                    wired.take(step);
                }
            }
            wired.server.close();
            for _ in 0..1_000 {
                wired.take(Step::Write);
            }
            assert!(wired.client.streams.is_empty(), "each received its end");
            assert_eq!(wired.server.subscriptions(), 0);
            assert_eq!(written(&mut wired.server), [""; 0]);
        },
    );
}

#[test]
fn a_killed_server_ends_every_subscription_as_lost() {
    let mut wired = Wired::new(7);
    wired.take(Step::Listen(tools()));
    wired.take(Step::Listen(tools()));
    wired.take(Step::Write);
    publish(&mut wired.server, &ServerEvent::ToolsListChanged);
    wired.server.handle_end();
    wired.take(Step::Write);
    assert_eq!(wired.client.streams.len(), 2, "no server reported an end");
    let mut streams = wired.client.streams.values();
    assert!(streams.all(|stream| !stream.is_ended()));
}
