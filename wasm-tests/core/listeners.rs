use mcp_listen::{
    clock::Millis,
    fanout::{Fanout, StreamId},
    filter::SubscriptionFilter,
    listen::ServerStream,
    scope::{Name, Scope},
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{id, uri};

fn open(fanout: &mut Fanout, names: &[&str], principal: Option<&str>) -> StreamId {
    let filter = SubscriptionFilter {
        resource_subscriptions: names.iter().map(|name| uri(name)).collect(),
        scope: Scope {
            principals: principal
                .and_then(|name| Name::new(name).ok())
                .into_iter()
                .collect(),
            ..Scope::default()
        },
        ..SubscriptionFilter::default()
    };
    let stream = ServerStream::new(id("1"), filter, Millis(15_000), Millis(0));
    let opened = fanout.open(stream, Millis(0));
    fanout.handle_attached(opened, Millis(0));
    opened
}

fn listed(fanout: &Fanout, max: usize, has_callers: bool) -> Vec<(String, u32)> {
    let listeners = fanout.listeners(max, has_callers).into_iter();
    listeners
        .map(|(topic, streams)| (topic.to_text(), streams))
        .collect()
}

#[test]
fn topics_are_listed_by_their_streams_and_callers_only_on_request() {
    let mut fanout = Fanout::default();
    open(&mut fanout, &["a", "b"], Some("ann"));
    open(&mut fanout, &["b"], Some("ann"));
    let last = open(&mut fanout, &["b", "c"], None);
    let named = |topics: &[(&str, u32)]| -> Vec<_> {
        let owned = topics.iter().map(|(name, count)| ((*name).into(), *count));
        owned.collect()
    };
    let a = ("resource:a", 1);
    let b = ("resource:b", 3);
    // `a` and `c` have as many streams: the first one is listed.
    assert_eq!(listed(&fanout, 2, false), named(&[b, a]));
    assert_eq!(listed(&fanout, 1, false), named(&[b]));
    assert_eq!(listed(&fanout, 0, false), []);
    let callers = listed(&fanout, 9, true);
    assert!(callers.contains(&("principal:ann".into(), 2)));
    assert_eq!(callers.len(), 4);
    fanout.remove(last);
    assert_eq!(listed(&fanout, 9, false), named(&[("resource:b", 2), a]));
    open(&mut fanout, &["0", "c"], None);
    open(&mut fanout, &["c"], None);
    open(&mut fanout, &["c"], None);
    assert_eq!(
        listed(&fanout, 2, false),
        named(&[("resource:c", 3), ("resource:b", 2)])
    );
    assert_eq!(listed(&fanout, 3, false).len(), 3);
}
