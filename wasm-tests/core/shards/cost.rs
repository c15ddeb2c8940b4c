use mcp_listen::{event::ServerEvent, filter::SubscriptionFilter};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::world::{Mail, World};
use crate::any::{updated, uri};

/// Creates this many listeners, each to the list of tools, to a resource that it shares with nine
/// others, and to a separate resource.
fn grown(listeners: usize) -> World {
    let mut world = World::new();
    for listener in 0..listeners {
        let shared = uri(&format!("shared://{}", listener / 10));
        let own = uri(&format!("own://{listener}"));
        let filter = SubscriptionFilter {
            tools_list_changed: true,
            resource_subscriptions: vec![shared, own],
            ..SubscriptionFilter::default()
        };
        world.listen(filter, "EU");
    }
    world.come_to_rest();
    world.ring();
    world
}

/// Returns the number of calls of a publish, the bytes of the largest, and the number of listeners
/// that it reaches.
fn publish(world: &mut World, event: &ServerEvent) -> (usize, usize, usize) {
    let received = |world: &World| -> usize {
        let listeners = world.listeners.iter();
        listeners.map(|listener| listener.received.len()).sum()
    };
    let (calls, before) = (world.calls, received(world));
    world.publish(event);
    let sizes = world.mail.iter().map(|mail| match mail {
        Mail::Batch { text, .. } => text.len(),
        _ => 0,
    });
    let largest = sizes.max().unwrap_or_default();
    world.come_to_rest();
    (world.calls - calls, largest, received(world) - before)
}

#[test]
fn the_cost_of_a_publish_depends_on_its_receivers() {
    let (mut small, mut large) = (grown(30), grown(300));
    assert!(large.shards.len() >= 10 * small.shards.len());
    for world in [&mut small, &mut large] {
        let (calls, bytes, received) = publish(world, &updated("own://7"));
        assert_eq!((calls, received), (1, 1));
        assert!(bytes < 200, "{bytes}");
        let (calls, _, received) = publish(world, &updated("shared://1"));
        assert!(
            calls <= 10 && received == 10,
            "{calls} calls, {received} received"
        );
        assert_eq!(publish(world, &updated("unfollowed://1")), (0, 0, 0));
        let (shards, listeners) = (world.shards.len(), world.listeners.len());
        let (calls, bytes, received) = publish(world, &ServerEvent::ToolsListChanged);
        assert_eq!((calls, received), (shards, listeners));
        assert!(bytes < 200, "{bytes}");
    }
}

#[test]
fn an_attach_requests_only_new_topics_from_the_root() {
    let mut world = grown(30);
    let known = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let last = world.listeners.len() - 1;
    let home = world.listeners[last].home.unwrap();
    world.cut(last, true);
    let before = world.calls;
    world.listen_at(known.clone(), home);
    assert_eq!(world.calls, before);
    world.cut(last + 1, true);
    let new = SubscriptionFilter {
        resource_subscriptions: vec![uri("own://new")],
        ..known
    };
    world.listen_at(new, home);
    assert_eq!(world.calls, before + 1);
    world.come_to_rest();
    world.check_promises();
}
