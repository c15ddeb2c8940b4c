//! Each stream of a fan-out is compared with a separate stream that gets the same input.

use std::sync::Arc;

use mcp_listen::{
    clock::Millis,
    event::ServerEvent,
    fanout::{Fanout, StreamId},
    filter::SubscriptionFilter,
    listen::{EndReason, ServerStream, StreamOutput},
    metrics::Metrics,
    position::Position,
    sse,
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_event, any_filter, any_id, check, id};

#[derive(Clone, Debug)]
enum Step {
    Open(&'static str, SubscriptionFilter),
    Publish(Vec<ServerEvent>),
    Gap,
    Room(prop::sample::Index, bool),
    Close(prop::sample::Index),
    Remove(prop::sample::Index),
    Wait(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let one = any::<prop::sample::Index>;
    prop_oneof![
        4 => (any_id(), any_filter()).prop_map(|(id, filter)| Step::Open(id, filter)),
        12 => vec(any_event(), 1..2).prop_map(Step::Publish),
        4 => vec(any_event(), 0..6).prop_map(Step::Publish),
        1 => Just(Step::Gap),
        6 => (one(), any::<bool>()).prop_map(|(index, room)| Step::Room(index, room)),
        1 => one().prop_map(Step::Close),
        1 => one().prop_map(Step::Remove),
        3 => (0u64..20).prop_map(Step::Wait),
    ]
}

fn stream(raw_id: &str, filter: &SubscriptionFilter, now: Millis) -> ServerStream {
    let mut stream = ServerStream::new(id(raw_id), filter.clone(), Millis(30), now);
    stream.stall_after(Millis(50));
    stream
}

/// One stream twice: in a fan-out, and separate.
struct Twin {
    id: StreamId,
    alone: ServerStream,
    has_room: bool,
    of_fanout: Vec<u8>,
    of_alone: Vec<u8>,
}

impl Twin {
    fn open(
        fanout: &mut Fanout,
        mut alone: ServerStream,
        stream: ServerStream,
        now: Millis,
    ) -> Self {
        alone.handle_attached(now);
        if alone.honored().is_empty() {
            alone.close();
        }
        let opened = fanout.open(stream, now);
        fanout.handle_attached(opened, now);
        Self {
            id: opened,
            alone,
            has_room: true,
            of_fanout: Vec::new(),
            of_alone: Vec::new(),
        }
    }

    /// Writes pending output while there is room.
    fn write(&mut self, fanout: &mut Fanout, now: Millis) {
        if !self.has_room {
            self.alone.handle_blocked(now);
            fanout.with_stream(self.id, |stream| stream.handle_blocked(now));
            return;
        }
        while let Some(bytes) = fanout.poll(self.id, now) {
            self.of_fanout.extend(bytes);
        }
        while let Some(output) = self.alone.poll_output(now) {
            match output {
                StreamOutput::Message(message) => self.of_alone.extend(sse::event(&message)),
                StreamOutput::KeepAlive => self.of_alone.extend(sse::KEEP_ALIVE),
                _ => {}
            }
        }
    }
}

/// A fan-out, and separate streams that get the same input.
#[derive(Default)]
struct Twins {
    of_fanout: Arc<Metrics>,
    of_alone: Arc<Metrics>,
    fanout: Fanout,
    all: Vec<Twin>,
    now: Millis,
}

impl Twins {
    fn take(&mut self, step: Step) {
        match step {
            Step::Open(raw_id, filter) => {
                let [mut alone, mut stream] = [(); 2].map(|()| stream(raw_id, &filter, self.now));
                alone.count_in(self.of_alone.clone());
                stream.count_in(self.of_fanout.clone());
                self.all
                    .push(Twin::open(&mut self.fanout, alone, stream, self.now));
            }
            Step::Publish(events) => self.publish(events),
            Step::Gap => {
                self.fanout.handle_gap();
                for twin in &mut self.all {
                    twin.alone.handle_loss();
                }
            }
            Step::Wait(span) => {
                self.now = self.now + Millis(span);
                self.fanout.handle_timeout(self.now);
                for twin in &mut self.all {
                    twin.alone.handle_timeout(self.now);
                }
            }
            Step::Room(..) | Step::Close(_) | Step::Remove(_) if self.all.is_empty() => {}
            Step::Room(index, has_room) => index.get_mut(&mut self.all).has_room = has_room,
            Step::Close(index) => {
                let twin = index.get_mut(&mut self.all);
                twin.alone.close();
                self.fanout.with_stream(twin.id, |stream| {
                    stream.close();
                });
            }
            Step::Remove(index) => {
                let twin = self.all.swap_remove(index.index(self.all.len()));
                assert_eq!(self.fanout.remove(twin.id), twin.alone.end_reason());
            }
        }
    }

    fn publish(&mut self, events: Vec<ServerEvent>) {
        for event in &events {
            for twin in &mut self.all {
                let published = Some(self.now);
                twin.alone
                    .handle_event_at(event, Position::default(), published);
            }
        }
        let batch = match events.as_slice() {
            [event] => self.fanout.publish(event.clone(), self.now, self.now),
            _ => self.fanout.publish_all(events, self.now, self.now),
        };
        let mut missed = Vec::new();
        for (id, chunk) in &batch.writes {
            let twin = self.all.iter_mut().find(|twin| twin.id == *id).unwrap();
            if twin.has_room {
                twin.of_fanout.extend(batch.chunk(*chunk));
            } else {
                missed.push(*id);
            }
        }
        self.fanout.handle_missed(missed, self.now);
    }

    fn compare(&mut self) {
        for twin in &mut self.all {
            twin.write(&mut self.fanout, self.now);
            assert_eq!(
                String::from_utf8_lossy(&twin.of_fanout),
                String::from_utf8_lossy(&twin.of_alone)
            );
        }
        let with_room = self.all.iter().filter(|twin| twin.has_room);
        let due = with_room.filter_map(|twin| twin.alone.poll_timeout()).min();
        let planned = self.fanout.poll_timeout();
        assert!(due.is_none_or(|due| planned.is_some_and(|planned| planned <= due)));
        assert_eq!(self.fanout.len(), self.all.len());
        assert_eq!(self.of_fanout.read(), self.of_alone.read());
    }
}

#[test]
fn each_stream_of_a_fanout_behaves_as_if_alone() {
    check(vec(any_step(), 0..60), |steps| {
        let mut twins = Twins::default();
        for step in steps {
            twins.take(step);
            twins.compare();
        }
    });
}

/// The stall timer starts with the keep-alive that had no room, not with the next event.
#[test]
fn an_unread_keep_alive_stalls_as_if_alone() {
    let mut twins = Twins::default();
    let tools = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    twins.take(Step::Open("1", tools));
    twins.compare();
    twins.all[0].has_room = false;
    for step in [
        Step::Wait(30),
        Step::Wait(10),
        Step::Publish(vec![ServerEvent::ToolsListChanged]),
        Step::Wait(39),
    ] {
        twins.take(step);
        twins.compare();
        assert_eq!(twins.all[0].alone.end_reason(), None);
    }
    twins.take(Step::Wait(1));
    twins.compare();
    let fanned = twins.fanout.stream(twins.all[0].id).unwrap();
    assert_eq!(fanned.end_reason(), Some(EndReason::Stalled));
}
