use mcp_listen::{
    legacy::event_id,
    session::{Ask, Excess, Question, Reply},
};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{Both, describe, fixture, written};

#[test]
fn an_edge_asks_about_a_session() {
    written(fixture!("session/question.3"), |text| {
        let question = Question::from_json(text)?;
        let Question {
            session,
            principal,
            ask: of,
        } = &question;
        Some(Both {
            reads: json!({"session": session, "principal": principal, "ask": ask(of)}),
            writes: question.to_json(),
        })
    });
}

#[test]
fn a_bus_replies_about_a_session() {
    written(fixture!("session/reply.3"), |text| {
        let reply = Reply::from_json(text)?;
        Some(Both {
            reads: described(&reply),
            writes: reply.to_json(),
        })
    });
}

#[test]
fn ids_of_events_name_a_position() {
    written(fixture!("session/event-id.3"), |text| {
        let cursor = event_id::read(text)?;
        Some(Both {
            reads: json!({"position": cursor.position.0, "epoch": cursor.epoch}),
            writes: event_id::write(Some(&cursor)),
        })
    });
}

fn ask(ask: &Ask) -> Value {
    match ask {
        Ask::Use => json!("use"),
        Ask::UpstreamId => json!("upstreamId"),
        Ask::MaySubscribe => json!("maySubscribe"),
        Ask::Initialized { is_forwarded } => json!({"initialized": is_forwarded}),
        Ask::Subscribe { uri, limits } => {
            json!({"subscribe": **uri, "limits": describe::limits(limits)})
        }
        Ask::Unsubscribe(uri) => json!({"unsubscribe": **uri}),
        Ask::Open { resumes } => json!({"open": resumes}),
        Ask::End { is_forwarded } => json!({"end": is_forwarded}),
        other => panic!("not known: {other:?}"),
    }
}

fn described(reply: &Reply) -> Value {
    match reply {
        Reply::Unknown => json!("unknown"),
        Reply::Done => json!("done"),
        Reply::NotOffered => json!("notOffered"),
        Reply::Taken => json!("taken"),
        Reply::UpstreamId(id) => json!({"upstreamId": id}),
        Reply::ForwardFirst(id) => json!({"forwardFirst": id}),
        Reply::Full(Excess::Uris(most)) => json!({"uris": most}),
        Reply::Full(Excess::Bytes(most)) => json!({"bytes": most}),
        Reply::Open {
            capabilities,
            stream,
            since,
            subscriptions,
        } => json!({
            "open": stream, "capabilities": capabilities, "since": since,
            "subscriptions": describe::uris(subscriptions),
        }),
        reply => panic!("no case of the corpus has {reply:?}"),
    }
}
