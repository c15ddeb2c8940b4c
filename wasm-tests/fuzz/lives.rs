//! State machines driven one step per byte, checked against their promises.

use std::collections::BTreeMap;

use mcp_listen::{
    bus::{Bus, EdgeId},
    clock::Millis,
    event::ServerEvent,
    filter::SubscriptionFilter,
    listen::{EndReason, ServerStream, StreamOutput},
    message,
    position::{Cursor, Position},
    wire::{BusMessage, EdgeMessage, Follow},
};

use crate::any::{id, is_of_same_key, task, task_id, updated, uri};

/// The acknowledgment comes first, then cues in the order in which they became pending, then the
/// result; nothing follows the end.
pub fn stream(steps: &[u8]) {
    let mut life = StreamLife::new();
    for (now, step) in (0u64..).zip(steps) {
        life.step(*step, now);
        assert_eq!(
            life.stream.pending_cues(),
            life.expected.len(),
            "what waits"
        );
    }
}

/// How far the output has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Acknowledgment,
    End,
}

struct StreamLife {
    stream: ServerStream,
    /// The pending cues.
    expected: Vec<ServerEvent>,
    takes_events: bool,
    is_attached: bool,
    said: Said,
}

impl StreamLife {
    fn new() -> Self {
        Self {
            stream: ServerStream::new(id("\"7\""), honored(), Millis(10), Millis(0)),
            expected: Vec::new(),
            takes_events: true,
            is_attached: false,
            said: Said::Nothing,
        }
    }

    fn step(&mut self, step: u8, now: u64) {
        match step % 16 {
            0..=6 => self.publish(&events()[usize::from(step / 16) % 7]),
            7..=10 => self.write(now),
            11 => {
                self.is_attached |= self.takes_events;
                self.stream.handle_attached(Millis(now));
            }
            12 => self.stream.handle_timeout(Millis(now + 10)),
            13 => {
                self.stop(self.is_attached);
                self.stream.close();
            }
            14 => {
                self.stop(self.is_attached);
                self.stream.retire(EndReason::Rotated);
            }
            _ => {
                self.stop(false);
                self.stream.abort();
            }
        }
    }

    fn publish(&mut self, event: &ServerEvent) {
        self.stream.handle_event(event);
        if !self.takes_events || !honored().accepts(event) {
            return;
        }
        match self
            .expected
            .iter_mut()
            .find(|one| is_of_same_key(one, event))
        {
            Some(waiting) => *waiting = event.clone(),
            None => self.expected.push(event.clone()),
        }
    }

    fn stop(&mut self, is_reported: bool) {
        if !is_reported {
            self.expected.clear();
        }
        self.takes_events = false;
    }

    fn write(&mut self, now: u64) {
        let Some(output) = self.stream.poll_output(Millis(now)) else {
            return;
        };
        assert_ne!(self.said, Said::End, "something after the end");
        match output {
            StreamOutput::End => self.said = Said::End,
            StreamOutput::Opened | StreamOutput::KeepAlive => {
                assert_eq!(self.said, Said::Acknowledgment, "before the acknowledgment");
            }
            StreamOutput::Message(text) if self.said == Said::Nothing => {
                assert_eq!(
                    text,
                    message::acknowledged(&id("\"7\""), &honored()),
                    "the ack is first"
                );
                self.said = Said::Acknowledgment;
            }
            StreamOutput::Message(text) if text == message::listen_result(&id("\"7\""), None) => {
                assert_eq!(self.expected, [], "cues were pending at the result");
            }
            StreamOutput::Message(text) => {
                let first = self.expected.remove(0);
                assert_eq!(
                    text,
                    message::notification(&id("\"7\""), &first),
                    "first in, first out"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A bus sends each edge its topics in the order of the log, and nothing to edges that left.
pub fn bus(steps: &[u8]) {
    let mut life = BusLife {
        bus: Bus::new(Cursor {
            epoch: "e".into(),
            position: Position(0),
        }),
        wants: BTreeMap::new(),
        edges: Vec::new(),
    };
    for step in steps {
        life.step(*step);
        assert_eq!(
            life.bus.registry().attached(),
            life.wants.len(),
            "how many are attached"
        );
    }
}

struct BusLife {
    bus: Bus,
    /// The topics of the attached edges, by their index in `edges`.
    wants: BTreeMap<usize, SubscriptionFilter>,
    edges: Vec<EdgeId>,
}

impl BusLife {
    fn step(&mut self, step: u8) {
        let rest = usize::from(step / 8);
        match step % 8 {
            0 => self.edges.push(self.bus.connect()),
            1 | 2 => self.follow(rest),
            3 => self.say(rest, &EdgeMessage::Detach.to_json()),
            4 => self.say(rest, "{\"v\":1}"),
            _ => self.publish(&events()[rest % 7]),
        }
    }

    fn follow(&mut self, rest: usize) {
        let wanted = SubscriptionFilter {
            tools_list_changed: rest.is_multiple_of(2),
            resource_subscriptions: vec![uri(["a", "b", "c"][rest % 3])],
            ..SubscriptionFilter::default()
        };
        let Some(edge) = self.place(rest) else {
            return;
        };
        let seq = self
            .bus
            .registry()
            .seq(self.edges[edge])
            .unwrap_or_default()
            + 1;
        let text = Follow::fresh(seq, wanted.topics()).to_json();
        let received = self.bus.handle_message(self.edges[edge], &text);
        assert!(received.is_ok(), "a follow is refused");
        self.wants.insert(edge, wanted);
    }

    /// An edge that detaches is gone, with its number.
    fn say(&mut self, rest: usize, frame: &str) {
        let Some(edge) = self.place(rest) else {
            return;
        };
        if self.bus.handle_message(self.edges[edge], frame).is_ok() {
            self.edges.remove(edge);
            self.wants = std::mem::take(&mut self.wants)
                .into_iter()
                .filter(|(place, _)| *place != edge)
                .map(|(place, wanted)| (place - usize::from(place > edge), wanted))
                .collect();
        }
    }

    fn publish(&mut self, event: &ServerEvent) {
        let publication = self.bus.publish_at(event, None);
        let mut reported: Vec<EdgeId> = Vec::new();
        for delivery in &publication.deliveries {
            let Ok(BusMessage::Batch(batch)) = BusMessage::from_json(&delivery.message) else {
                panic!("no batch");
            };
            let expected = [(publication.position, event.clone())];
            assert_eq!(batch.events, expected, "another event");
            reported.extend(&delivery.edges);
        }
        reported.sort_unstable();
        let wanting = self
            .wants
            .iter()
            .filter(|(_, wanted)| wanted.accepts(event));
        let mut wanting: Vec<EdgeId> = wanting.map(|(edge, _)| self.edges[*edge]).collect();
        wanting.sort_unstable();
        assert_eq!(reported, wanting, "the receivers");
    }

    fn place(&self, rest: usize) -> Option<usize> {
        rest.checked_rem(self.edges.len())
    }
}

fn honored() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![uri("a"), uri("b")],
        task_ids: vec![task_id("t")],
        ..SubscriptionFilter::default()
    }
}

fn events() -> [ServerEvent; 7] {
    [
        ServerEvent::ToolsListChanged,
        ServerEvent::PromptsListChanged,
        updated("a"),
        updated("b"),
        updated("c"),
        task(r#"{"taskId":"t","status":"working"}"#),
        task(r#"{"taskId":"t","status":"completed"}"#),
    ]
}
