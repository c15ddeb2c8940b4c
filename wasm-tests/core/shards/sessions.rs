use mcp_listen::{
    bus::{Bus, EdgeId, FollowCall, Shard, ShardId, ShardOutput},
    clock::Millis,
    position::{Cursor, Position},
    topic::Topic,
    uri::Uri,
    wire::{Claim, Follow, SessionCall, SessionInterest},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::world::bus_with_shards;
use crate::any::{claim, updated, uri};
use crate::follow::Publish as _;

const NOW: Millis = Millis(0);
const SHARD: ShardId = ShardId(1);

struct Pair {
    bus: Bus,
    shard: Shard,
    done: Vec<u32>,
}

impl Pair {
    fn new() -> Self {
        let cursor = Cursor {
            epoch: "e".into(),
            position: Position(0),
        };
        let mut root = bus_with_shards(cursor, Position(0), 0, 1);
        root.route("EU", 1, None);
        Self {
            bus: root,
            shard: Shard::new(0),
            done: Vec::new(),
        }
    }

    fn attach(&mut self, session: &str) -> EdgeId {
        let edge = self.shard.connect();
        let follow = Follow {
            joined: vec![claim(session)],
            ..Follow::fresh(1, vec![Topic::Tools])
        };
        self.shard
            .handle_message(edge, &follow.to_json(), NOW)
            .unwrap();
        edge
    }

    fn say(&mut self, ticket: u32, call: &SessionCall) {
        self.shard
            .handle_session_call(ticket, &call.to_json())
            .unwrap();
    }

    /// The root replies to the call of the shard with these subscriptions of the sessions.
    fn reply(&mut self, watches: &[(&str, Vec<Uri>)]) -> Follow {
        let FollowCall { seq, text, .. } = self.shard.poll_call(NOW).unwrap();
        let mut reply = self.bus.handle_follow(SHARD, &text).unwrap();
        for session in reply.joined().to_vec() {
            if let Some((_, uris)) = watches
                .iter()
                .find(|(watcher, _)| claim(watcher) == session)
            {
                reply.push_interest(&mut self.bus, watched(&session.to_text(), uris.clone()));
            }
        }
        let frame = reply.finish(&mut self.bus).remove(0);
        self.shard.handle_response(seq, &frame, NOW, 0.5);
        Follow::from_json(&text).unwrap()
    }

    /// Returns the frames for the edges, each with its edge.
    fn said(&mut self) -> Vec<(u32, String)> {
        let mut said = Vec::new();
        while let Some(output) = self.shard.poll_output() {
            match output {
                ShardOutput::Send(delivery) => {
                    let kind = delivery.message.split('"').nth(5).unwrap().to_owned();
                    said.extend(delivery.edges.iter().map(|edge| (edge.0, kind.clone())));
                }
                ShardOutput::Close(edge, reason) => said.push((edge.0, format!("{reason:?}"))),
                ShardOutput::PersistAll(edge) => {
                    said.push((edge.0, self.shard.registry().stored_topics(edge).join("")));
                }
                ShardOutput::PersistChange(edge, delta) => said.push((edge.0, delta.to_json())),
                ShardOutput::Done(ticket) => self.done.push(ticket),
                other => panic!("not known: {other:?}"),
            }
        }
        said
    }
}

fn watched(session: &str, uris: Vec<Uri>) -> SessionInterest {
    SessionInterest {
        session: claim(session),
        uris,
        is_paused: false,
    }
}

fn stored(names: &[&str]) -> String {
    let uris: Vec<String> = names
        .iter()
        .map(|name| format!("\"resource:{name}\""))
        .collect();
    let uris = uris.join(",");
    format!(r#"{{"add":["tools",{uris}]}}"#)
}

#[test]
fn the_stream_of_a_session_gets_its_subscriptions() {
    let mut pair = Pair::new();
    pair.attach("s 1");
    assert_eq!(
        pair.reply(&[("s 1", vec![uri("a")])]).joined,
        [claim("s 1")]
    );
    let expected = [stored(&["a"]), "followed".into()];
    assert_eq!(pair.said(), expected.map(|said| (0, said)));
    assert!(pair.bus.wants(&Topic::Resource(uri("a"))));
}

#[test]
fn each_stream_of_a_call_gets_the_subscriptions_of_its_session() {
    for is_reversed in [false, true] {
        let mut pair = Pair::new();
        for session in ["a 1", "ended 1", "b 1", "c 1"] {
            pair.attach(session);
        }
        let call = pair.shard.poll_call(NOW).unwrap();
        let mut reply = pair.bus.handle_follow(SHARD, &call.text).unwrap();
        let mut known = [(0, "a"), (2, "b"), (3, "c")];
        if is_reversed {
            known.reverse();
        }
        for (_, name) in known {
            let interest = watched(&format!("{name} 1"), vec![uri(name)]);
            reply.push_interest(&mut pair.bus, interest);
        }
        let frame = reply.finish(&mut pair.bus).remove(0);
        pair.shard.handle_response(call.seq, &frame, NOW, 0.5);
        let said = pair.said();
        for (edge, name) in known {
            assert!(said.contains(&(edge, stored(&[name]))), "{said:?}");
        }
        assert!(said.contains(&(1, "Over".to_owned())), "{said:?}");
    }
}

#[test]
fn an_ended_session_has_no_stream() {
    let mut pair = Pair::new();
    pair.attach("s 1");
    pair.reply(&[]);
    assert_eq!(pair.said(), [(0, "Over".to_owned())]);
}

#[test]
fn a_change_of_subscriptions_is_done_once_followed() {
    let mut pair = Pair::new();
    pair.attach("s 1");
    pair.reply(&[("s 1", vec![uri("a")])]);
    pair.said();
    pair.say(7, &SessionCall::Changed(claim("s 1")));
    pair.say(8, &SessionCall::Changed(claim("elsewhere 1")));
    pair.said();
    assert_eq!(pair.done, [8]);
    let follow = pair.reply(&[("s 1", vec![uri("b")])]);
    assert_eq!(follow.joined, [claim("s 1")]);
    assert_eq!(follow.left, [claim("elsewhere 1")], "the root learns so");
    let expected = [stored(&["b"]), "interest".into()];
    assert_eq!(pair.said(), expected.map(|said| (0, said)));
    assert_eq!(pair.done, [8, 7]);
    assert!(pair.bus.wants(&Topic::Resource(uri("b"))));
    // Its previous subscriptions are dropped with the next call.
    pair.attach("t 1");
    let follow = pair.reply(&[("t 1", vec![])]);
    assert_eq!(follow.drop, [Topic::Resource(uri("a"))]);
}

#[test]
fn a_resource_with_missed_events_stays_followed() {
    let mut pair = Pair::new();
    pair.attach("t 1");
    pair.reply(&[("t 1", vec![])]);
    pair.bus.publish(&updated("a"));
    let edge = pair.shard.connect();
    let cursor = Cursor {
        epoch: "e".into(),
        position: Position(0),
    };
    let follow = Follow {
        joined: vec![claim("s 1")],
        ..Follow::fresh(1, vec![Topic::Tools]).since(&cursor)
    };
    let received = pair.shard.handle_message(edge, &follow.to_json(), NOW);
    received.unwrap();
    let FollowCall { seq, text, .. } = pair.shard.poll_call(NOW).unwrap();
    let mut reply = pair.bus.handle_follow(SHARD, &text).unwrap();
    reply.push_interest(&mut pair.bus, watched("s 1", vec![uri("a")]));
    reply.push_event(&pair.bus, Position(1), &updated("a"));
    let frame = reply.finish(&mut pair.bus).remove(0);
    pair.shard.handle_response(seq, &frame, NOW, 0.5);
    let mut reported = pair.said().into_iter().map(|(_, said)| said);
    assert!(reported.next_back().is_some_and(|said| said == "batch"));
    let next = pair.shard.poll_call(NOW).map(|call| call.text);
    assert_eq!(next, None, "nothing is to be dropped");
}

#[test]
fn a_change_during_the_first_call_is_requested_again() {
    let mut pair = Pair::new();
    pair.attach("s 1");
    let call = pair.shard.poll_call(NOW).unwrap();
    pair.say(1, &SessionCall::Changed(claim("s 1")));
    let mut reply = pair.bus.handle_follow(SHARD, &call.text).unwrap();
    reply.push_interest(&mut pair.bus, watched("s 1", vec![uri("a")]));
    let frame = reply.finish(&mut pair.bus).remove(0);
    pair.shard.handle_response(call.seq, &frame, NOW, 0.5);
    pair.said();
    assert!(pair.done.is_empty());
    pair.reply(&[("s 1", vec![uri("a"), uri("b")])]);
    assert_eq!(pair.said()[0], (0, stored(&["a", "b"])));
    assert_eq!(pair.done, [1]);
}

#[test]
fn a_newer_stream_of_a_session_takes_over() {
    let mut pair = Pair::new();
    pair.attach("s 1");
    pair.reply(&[("s 1", vec![])]);
    pair.said();
    pair.attach("s 2");
    let follow = pair.reply(&[("s 2", vec![])]);
    assert_eq!(pair.said()[0], (0, "Over".to_owned()));
    assert!(follow.left.is_empty());
    pair.say(1, &SessionCall::Release(claim("s 3")));
    assert_eq!(pair.said(), [(1, "Over".to_owned())]);
    assert_eq!(pair.done, [1]);
}

#[test]
fn an_older_stream_takes_nothing_over() {
    let mut pair = Pair::new();
    pair.attach("s 2");
    pair.reply(&[("s 2", vec![])]);
    pair.said();
    pair.attach("s 1");
    assert_eq!(pair.said(), [(1, "Over".to_owned())]);
    assert_eq!(pair.shard.poll_call(NOW), None, "the root is not asked");
    pair.say(1, &SessionCall::Release(claim("s 1")));
    assert_eq!(
        pair.said(),
        [],
        "nor does the root let the newer one go for it"
    );
    assert_eq!(pair.done, [1]);
}

#[test]
fn a_stream_attached_twice_survives() {
    let mut pair = Pair::new();
    pair.attach("s 1");
    pair.reply(&[("s 1", vec![])]);
    pair.said();
    pair.attach("s 1");
    assert_eq!(pair.said(), [(0, "Lost".to_owned())], "it may come back");
    pair.reply(&[("s 1", vec![])]);
    pair.said();
    // It is attached elsewhere too.
    pair.say(1, &SessionCall::Release(claim("s 1")));
    assert_eq!(pair.said(), [(1, "Lost".to_owned())]);
}

#[test]
fn streams_that_left_are_reported_after_a_failed_call() {
    let mut pair = Pair::new();
    let edge = pair.attach("s 1");
    pair.reply(&[("s 1", vec![])]);
    pair.shard.disconnect(edge, NOW);
    let call = pair.shard.poll_call(NOW).unwrap();
    assert!(call.text.contains(r#""left":["s 1"]"#), "{}", call.text);
    pair.shard.handle_timeout(Millis(4_000), 0.0);
    let call = pair.shard.poll_call(Millis(4_100)).unwrap();
    assert!(call.text.contains(r#""left":["s 1"]"#), "{}", call.text);
    let reply = pair.bus.handle_follow(SHARD, &call.text).unwrap();
    assert_eq!(reply.left(), [claim("s 1")]);
}

#[test]
fn a_fresh_shard_reports_no_streams() {
    let mut pair = Pair::new();
    pair.attach("s 1");
    let call = pair.shard.poll_call(NOW).unwrap();
    let reply = pair.bus.handle_follow(SHARD, &call.text).unwrap();
    assert!(reply.is_fresh());
    let again = pair.bus.handle_follow(SHARD, &call.text).unwrap();
    assert!(!again.is_fresh() && again.joined().is_empty());
}

#[test]
fn a_stream_learns_that_its_client_is_not_ready() {
    let mut pair = Pair::new();
    pair.attach("s 1");
    let call = pair.shard.poll_call(NOW).unwrap();
    let mut reply = pair.bus.handle_follow(SHARD, &call.text).unwrap();
    let session = SessionInterest {
        is_paused: true,
        ..watched("s 1", vec![])
    };
    reply.push_interest(&mut pair.bus, session);
    let frame = reply.finish(&mut pair.bus).remove(0);
    pair.shard.handle_response(call.seq, &frame, NOW, 0.5);
    let outputs = std::iter::from_fn(|| pair.shard.poll_output());
    let frames = outputs.filter_map(|output| match output {
        ShardOutput::Send(delivery) => Some(delivery.message),
        _ => None,
    });
    let held = r#""interests":[{"session":"s 1","paused":true}]"#;
    assert!(frames.collect::<Vec<_>>()[0].contains(held));
}

/// A shard after hibernation, with an edge for each of these streams.
fn woken(streams: &[&str]) -> (Shard, Vec<EdgeId>) {
    let cursor = Cursor {
        epoch: "e".into(),
        position: Position(0),
    };
    let mut shard = Shard::new(0).woken(cursor);
    let edges = streams.iter().map(|stream| {
        let topics = [Topic::Tools].into_iter().collect();
        shard.restore(&topics, None, 1, Some(claim(stream)))
    });
    let edges = edges.collect();
    (shard, edges)
}

fn left(shard: &mut Shard) -> Vec<Claim> {
    let call = shard.poll_call(NOW);
    call.map_or_else(Vec::new, |call| Follow::from_json(&call.text).unwrap().left)
}

/// The socket of one edge was closed before, but its other end has not confirmed it.
#[test]
fn a_stream_restored_at_two_edges_leaves_with_the_last_one() {
    for first in [0, 1] {
        let (mut shard, edges) = woken(&["s 1", "s 1"]);
        shard.disconnect(edges[first], NOW);
        assert_eq!(left(&mut shard), []);
        shard.disconnect(edges[1 - first], NOW);
        assert_eq!(left(&mut shard), [claim("s 1")]);
    }
}

#[test]
fn the_last_of_two_restored_edges_holds_their_stream() {
    let (mut shard, edges) = woken(&["s 1", "s 1"]);
    let release = SessionCall::Release(claim("s 1")).to_json();
    shard.handle_session_call(1, &release).unwrap();
    let outputs = std::iter::from_fn(|| shard.poll_output());
    let closed = outputs.filter_map(|output| match output {
        ShardOutput::Close(edge, _) => Some(edge),
        _ => None,
    });
    assert_eq!(closed.collect::<Vec<_>>(), [edges[1]]);
}

#[test]
fn the_newest_stream_of_a_session_counts_after_hibernation() {
    for streams in [["s 1", "s 2"], ["s 2", "s 1"]] {
        let (mut shard, edges) = woken(&streams);
        let newest = usize::from(streams[1] == "s 2");
        let changed = SessionCall::Changed(claim("s 2")).to_json();
        shard.handle_session_call(1, &changed).unwrap();
        let call = shard.poll_call(NOW).unwrap();
        let follow = Follow::from_json(&call.text).unwrap();
        assert_eq!((follow.joined, follow.left), (vec![claim("s 2")], vec![]));

        let (mut shard, _) = woken(&streams);
        shard.disconnect(edges[newest], NOW);
        assert_eq!(left(&mut shard), [claim("s 2")], "the other one is older");
    }
}
