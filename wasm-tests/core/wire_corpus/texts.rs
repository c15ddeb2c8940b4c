//! Events, and what the rows of a bus hold as text.

use mcp_listen::{
    event::ServerEvent,
    session::Session,
    topic::{Delta, Topic},
};
use serde_json::json;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{Both, describe, fixture, written};

#[test]
fn events() {
    written(fixture!("publish/event.3"), |text| {
        let event = ServerEvent::from_json(text).ok()?;
        Some(Both {
            reads: describe::event(&event),
            writes: event.to_json(),
        })
    });
}

#[test]
fn stored_topics() {
    written(fixture!("columns/topic.3"), |text| {
        let topic = Topic::from_text(text)?;
        Some(Both {
            reads: describe::topic(&topic),
            writes: topic.to_text(),
        })
    });
}

#[test]
fn stored_interests() {
    written(fixture!("columns/interest.3"), |text| {
        let delta = Delta::from_json(text).ok()?;
        let Delta { add, drop } = &delta;
        Some(Both {
            reads: json!({"add": describe::topics(add), "drop": describe::topics(drop)}),
            writes: delta.to_json(),
        })
    });
}

#[test]
fn stored_sessions() {
    written(fixture!("columns/session.3"), |text| {
        let session = Session::from_json(text)?;
        Some(Both {
            reads: describe::session(&session),
            writes: session.to_json(),
        })
    });
}
