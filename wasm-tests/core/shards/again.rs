//! A shard that hibernated, and edges that repeat their follows.

use mcp_listen::{
    bus::{EdgeId, Persist, Shard, ShardReceived},
    filter::SubscriptionFilter,
    topic::{Topic, Topics},
    wire::{Follow, decode_topics},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::follow;

use super::{
    reply::{attached, replied, went_on},
    root::tools,
    shard::{NOW, TOOLS, attach, batch, event, followed, sent, shard, take},
};

#[test]
fn a_woken_shard_continues_from_its_cursor() {
    let mut before = shard();
    let cursor = before.cursor().unwrap().clone();
    let last = before.registry().last(EdgeId(0));
    let mut shard = Shard::new(1).woken(cursor);
    shard.restore(&Topics::from_iter([Topic::Tools]), last, 1, None);
    for shard in [&mut before, &mut shard] {
        batch(
            shard,
            r#""previous":7,"through":8,"events":[{"position":8,"event":{"kind":"tools_list_changed"}}]"#,
        );
        assert_eq!(sent(shard), [(0, event(8, 7))]);
        attach(shard, TOOLS, None);
        assert_eq!(sent(shard), [(1, attached(8))]);
        assert_eq!(shard.poll_call(NOW), None);
    }
    // It does not know since when topics are followed, so it asks once for edges with a past.
    attach(&mut shard, TOOLS, Some(8));
    assert_eq!(sent(&mut shard), []);
    let call = shard.poll_call(NOW).unwrap();
    assert!(call.text.contains(r#""since":8"#));
    followed(&mut shard, &call, r#""position":8,"after":8,"events":[]"#);
    attach(&mut shard, TOOLS, Some(8));
    assert_eq!(sent(&mut shard), [(2, went_on(8, 8)), (3, went_on(8, 8))]);
    assert_eq!(shard.poll_call(NOW), None);
}

#[test]
fn a_second_fresh_follow_replaces_the_first() {
    let mut shard = shard();
    take(
        &mut shard,
        EdgeId(0),
        &Follow::fresh(2, vec![Topic::Prompts]),
    );
    let call = shard.poll_call(NOW).unwrap();
    followed(&mut shard, &call, r#""position":8"#);
    assert_eq!(sent(&mut shard), [(0, replied(2, 8, 8))]);
    batch(
        &mut shard,
        r#""through":9,"events":[{"position":9,"event":{"kind":"tools_list_changed"}}]"#,
    );
    assert_eq!(sent(&mut shard), []);
    // Its previous topics are dropped.
    let call = shard.poll_call(NOW).unwrap();
    assert!(call.text.contains(r#""drop":["tools"]"#), "{}", call.text);
}

#[test]
fn a_follow_that_is_replaced_before_its_reply_gets_none() {
    let mut shard = shard();
    for seq in [2, 3] {
        take(
            &mut shard,
            EdgeId(0),
            &Follow::fresh(seq, vec![Topic::Prompts]),
        );
    }
    let call = shard.poll_call(NOW).unwrap();
    followed(&mut shard, &call, r#""position":8"#);
    assert_eq!(sent(&mut shard), [(0, replied(3, 8, 8))]);
}

#[test]
fn an_overtaken_follow_changes_nothing() {
    let mut before = shard();
    take(
        &mut before,
        EdgeId(0),
        &Follow::fresh(3, vec![Topic::Tools]),
    );
    sent(&mut before);
    let (cursor, last) = (
        before.cursor().unwrap().clone(),
        before.registry().last(EdgeId(0)),
    );
    let mut woken = Shard::new(1).woken(cursor);
    let stored = before.registry().stored_topics(EdgeId(0));
    let texts = stored.iter().map(String::as_str);
    let seq = before.registry().seq(EdgeId(0)).unwrap();
    woken.restore(&decode_topics(texts).unwrap(), last, seq, None);
    let stale = r#"{"v":1,"type":"stale","seq":3}"#;
    for shard in [&mut before, &mut woken] {
        for follow in [
            Follow::fresh(2, vec![Topic::Prompts]),
            Follow::fresh(3, Vec::new()),
            follow::change(2, &SubscriptionFilter::default(), &tools()),
        ] {
            let received = shard.handle_message(EdgeId(0), &follow.to_json(), NOW);
            let persist = Persist::Nothing;
            let session = None;
            assert_eq!(received, Ok(ShardReceived::Followed { persist, session }));
            assert_eq!(sent(shard), [(0, stale.to_owned())]);
        }
        assert_eq!(
            (
                shard.registry().stored_topics(EdgeId(0)),
                shard.registry().seq(EdgeId(0))
            ),
            (stored.clone(), Some(3))
        );
        assert_eq!(shard.poll_call(NOW), None);
    }
}
