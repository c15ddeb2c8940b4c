//! The messages with which an isolate changes its topics.

use mcp_listen::{
    filter::SubscriptionFilter,
    topic::{Delta, Topic, Topics},
    wire::{Follow, ProtocolError},
};
use proptest::prelude::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::{any_filter, check},
    follow,
};

fn any_delta() -> impl Strategy<Value = Delta> {
    (any_filter(), any_filter()).prop_map(|(add, drop)| follow::change(1, &add, &drop).delta())
}

fn sorted(mut topics: Vec<Topic>) -> Vec<Topic> {
    topics.sort();
    topics
}

#[test]
fn added_topics_are_wanted_and_dropped_ones_are_not() {
    check((any_filter(), any_delta()), |(filter, delta)| {
        let before = follow::topics(&filter);
        let mut after = before.clone();
        after.apply(delta.clone());
        let (add, drop) = (sorted(delta.add.clone()), &delta.drop);
        let stays = |topic: &Topic| !drop.contains(topic) && !add.contains(topic);
        let mut wanted: Vec<Topic> = before.iter().filter(|it| stays(it)).cloned().collect();
        wanted.extend(add.clone());
        // Each topic is named once.
        assert!(after.iter().eq(&sorted(wanted)));
        // The effective delta has the same result, and omits what changes nothing.
        let least = delta.against(&before);
        let mut again = before.clone();
        again.apply(least.clone());
        assert!(again.iter().eq(after.iter()));
        assert!(least.add.iter().all(|topic| !before.contains(topic)));
        assert!(least.drop.iter().all(|topic| before.contains(topic)));
        assert!(least.against(&after).is_empty());
        let mut everything = Topics::from_iter([Topic::Everything]);
        assert!(delta.against(&everything).is_empty());
        everything.apply(delta);
        assert!(everything.iter().eq([&Topic::Everything]));
    });
}

#[test]
fn stored_changes_are_read_back() {
    check(any_delta(), |delta| {
        assert_eq!(Delta::from_json(&delta.to_json()), Ok(delta));
    });
    let former = r#"{"toolsListChanged":true}"#;
    for text in [
        "",
        "[]",
        "{}",
        former,
        r#"{"add":["tool"]}"#,
        r#"{"add":[],"drop":[1]}"#,
    ] {
        Delta::from_json(text).unwrap_err();
    }
    let nothing = follow::change(
        1,
        &SubscriptionFilter::default(),
        &SubscriptionFilter::default(),
    );
    assert_eq!(nothing.delta().to_json(), r#"{"add":[]}"#);
}

#[test]
fn invalid_follows_are_refused() {
    for text in [
        r#"{"v":1,"type":"follow","add":["tools"]}"#,
        r#"{"v":1,"type":"follow","seq":-1,"add":["tools"]}"#,
        r#"{"v":1,"type":"follow","seq":1,"add":["tool"]}"#,
        r#"{"v":1,"type":"follow","seq":1,"drop":[1]}"#,
        r#"{"v":1,"type":"follow","seq":1,"add":{}}"#,
        r#"{"v":1,"type":"follow","seq":1,"add":"tools"}"#,
        r#"{"v":1,"type":"follow","seq":1,"since":"x"}"#,
        r#"{"v":1,"type":"follow","seq":1,"since":1,"epoch":1}"#,
        r#"{"v":1,"type":"follow","seq":1,"joined":[1]}"#,
    ] {
        let read = Follow::from_json(text);
        assert_eq!(read, Err(ProtocolError::Malformed), "{text}");
    }
}
