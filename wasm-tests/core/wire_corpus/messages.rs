use mcp_listen::{
    position::{Cursor, Position},
    wire::{
        Batch, BatchAck, BusMessage, Claim, EdgeMessage, Follow, FollowResponse, ProtocolError,
        SessionCall,
    },
};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{Both, describe, fixture, written};

#[test]
fn edges_and_shards_follow_and_edges_detach() {
    written(fixture!("edge/follow.3"), |text| of_edge(text).ok());
    written(fixture!("edge/detach.3"), |text| of_edge(text).ok());
    written(fixture!("shard/follow.3"), |text| {
        let follow = Follow::from_json(text).ok()?;
        both(describe::follow(&follow), follow.to_json())
    });
}

#[test]
fn a_bus_replies_to_edges_and_shards() {
    for file in [
        fixture!("edge/followed.3"),
        fixture!("edge/full.3"),
        fixture!("edge/stale.3"),
    ] {
        written(file, |text| of_bus(text).ok());
    }
    for file in [fixture!("shard/followed.3"), fixture!("shard/unknown.3")] {
        written(file, |text| {
            let response = FollowResponse::from_json(text).ok()?;
            both(describe::response(&response), response.to_json())
        });
    }
}

#[test]
fn a_bus_sends_batches_and_what_a_session_watches() {
    written(fixture!("edge/batch.3"), |text| of_bus(text).ok());
    written(fixture!("edge/interest.3"), |text| of_bus(text).ok());
    written(fixture!("shard/batch.3"), |text| {
        let batch = Batch::from_json(text).ok()?;
        both(describe::batch(&batch), batch_for_shard(&batch)?)
    });
}

#[test]
fn a_shard_takes_batches_and_calls_about_sessions() {
    written(fixture!("shard/ack.3"), |text| {
        let ack = BatchAck::from_json(text).ok()?;
        let BatchAck { edges, is_retired } = ack;
        let reads = json!({"edges": edges, "isRetired": is_retired});
        both(reads, ack.to_json())
    });
    written(fixture!("shard/changed.3"), session_call);
    written(fixture!("shard/release.3"), session_call);
}

fn of_edge(text: &str) -> Result<Both, ProtocolError> {
    let message = EdgeMessage::from_json(text)?;
    let reads = match &message {
        EdgeMessage::Follow(follow) => describe::follow(follow),
        EdgeMessage::Detach => json!("detach"),
        other => panic!("not known: {other:?}"),
    };
    let writes = message.to_json();
    Ok(Both { reads, writes })
}

fn of_bus(text: &str) -> Result<Both, ProtocolError> {
    let (reads, writes) = match BusMessage::from_json(text)? {
        BusMessage::Response(response) => (describe::response(&response), response.to_json()),
        BusMessage::Batch(batch) => (describe::batch(&batch), batch_for_edge(&batch)),
        BusMessage::SessionInterest { uris, is_paused } => (
            json!({"subscriptions": describe::uris(&uris), "isPaused": is_paused}),
            BusMessage::session_interest(&uris, is_paused),
        ),
        other => panic!("not known: {other:?}"),
    };
    Ok(Both { reads, writes })
}

fn batch_for_edge(batch: &Batch) -> String {
    let &Batch {
        previous,
        through,
        at,
        ..
    } = batch;
    Batch::for_edge(previous, through, at, events_of(batch))
}

fn batch_for_shard(batch: &Batch) -> Option<String> {
    let &Batch {
        previous,
        through: position,
        at,
        is_last,
        ..
    } = batch;
    let epoch = batch.epoch.clone()?;
    let cursor = Cursor { epoch, position };
    Some(Batch::for_shard(
        &cursor,
        previous,
        at,
        events_of(batch),
        is_last,
    ))
}

fn events_of(batch: &Batch) -> impl Iterator<Item = (Position, String)> + '_ {
    let events = batch.events.iter();
    events.map(|(at, event)| (*at, event.to_json()))
}

fn session_call(text: &str) -> Option<Both> {
    let call = SessionCall::from_json(text).ok()?;
    let (kind, of): (_, &Claim) = match &call {
        SessionCall::Changed(of) => ("changed", of),
        SessionCall::Release(of) => ("release", of),
        other => panic!("not known: {other:?}"),
    };
    both(json!({kind: describe::claim(of)}), call.to_json())
}

#[expect(clippy::unnecessary_wraps, reason = "every reader returns an option")]
fn both(reads: Value, writes: String) -> Option<Both> {
    Some(Both { reads, writes })
}
