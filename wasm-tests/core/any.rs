//! What the properties draw from: few keys, so that events meet filters often.

use mcp_listen::{event::ServerEvent, filter::SubscriptionFilter, uri::Uri};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};

/// Runs `property` on values drawn with a fixed seed: hosts without randomness draw the same.
pub(crate) fn check<S: Strategy>(strategy: S, property: impl Fn(S::Value)) {
    let config = ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let outcome = runner.run(&strategy, |value| {
        property(value);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

pub(crate) fn uri(text: &str) -> Uri {
    Uri::new(text, 2_048).unwrap()
}

pub(crate) fn updated(text: &str) -> ServerEvent {
    ServerEvent::ResourceUpdated { uri: uri(text) }
}

pub(crate) fn any_uri() -> impl Strategy<Value = Uri> {
    prop_oneof![4 => "[a-e]", 1 => "\\PC{1,20}"].prop_map(|text| uri(&text))
}

pub(crate) fn any_event() -> impl Strategy<Value = ServerEvent> {
    prop_oneof![
        Just(ServerEvent::ToolsListChanged),
        Just(ServerEvent::PromptsListChanged),
        Just(ServerEvent::ResourcesListChanged),
        any_uri().prop_map(|uri| ServerEvent::ResourceUpdated { uri }),
    ]
}

pub(crate) fn any_filter() -> impl Strategy<Value = SubscriptionFilter> {
    (any::<[bool; 3]>(), vec(any_uri(), 0..6)).prop_map(|([tools, prompts, resources], uris)| {
        let mut filter = SubscriptionFilter {
            tools_list_changed: tools,
            prompts_list_changed: prompts,
            resources_list_changed: resources,
            resource_subscriptions: Vec::new(),
        };
        for uri in uris {
            if !filter.resource_subscriptions.contains(&uri) {
                filter.resource_subscriptions.push(uri);
            }
        }
        filter
    })
}
