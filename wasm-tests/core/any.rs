//! Strategies for property tests. They draw from few names, so that events often match filters.

use mcp_listen::{
    event::ServerEvent,
    filter::SubscriptionFilter,
    id::RequestId,
    json,
    scope::Scope,
    task::{Task, TaskId},
    uri::Uri,
    wire::Claim,
};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};

/// Runs `property` on values drawn with the seed of this run, see [`rng`].
pub(crate) fn check<S: Strategy>(strategy: S, property: impl Fn(S::Value)) {
    let config = ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new_with_rng(config, rng());
    let outcome = runner.run(&strategy, |value| {
        property(value);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}\n{}", advice()));
}

/// Returns a generator with a new seed for each run, or with the seed in `PROPERTY_SEED`. On wasm32
/// the seed is constant, because a page and a worker have no environment variables.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn rng() -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed().to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

#[cfg(target_arch = "wasm32")]
pub(crate) fn rng() -> TestRng {
    TestRng::deterministic_rng(RngAlgorithm::ChaCha)
}

/// Says how to draw the same values again.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn advice() -> String {
    format!("repeat it with PROPERTY_SEED={}", seed())
}

#[cfg(target_arch = "wasm32")]
pub(crate) fn advice() -> String {
    "wasm32 draws the same values in each run".to_owned()
}

/// One seed for all properties of a run, so that one value repeats all of them.
#[cfg(not(target_arch = "wasm32"))]
fn seed() -> u64 {
    static SEED: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *SEED.get_or_init(|| drawn(std::env::var("PROPERTY_SEED").ok().as_deref()))
}

/// Returns the given seed, or a random one.
#[cfg(not(target_arch = "wasm32"))]
fn drawn(named: Option<&str>) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    named.map_or_else(
        || RandomState::new().hash_one(()) >> 16,
        |text| text.parse().expect("PROPERTY_SEED is a whole number"),
    )
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn seeds_differ_unless_one_is_named() {
    assert_ne!(drawn(None), drawn(None));
    assert_eq!(drawn(Some("42")), 42);
}

pub(crate) fn id(raw: &str) -> RequestId {
    RequestId::from_raw(raw, 256).unwrap()
}

/// Reads a claim, written as `session stream principal`.
pub(crate) fn claim(text: &str) -> Claim {
    Claim::from_text(text).unwrap()
}

pub(crate) fn uri(text: &str) -> Uri {
    Uri::new(text, 2_048).unwrap()
}

pub(crate) fn updated(text: &str) -> ServerEvent {
    ServerEvent::ResourceUpdated { uri: uri(text) }
}

pub(crate) fn task_id(text: &str) -> TaskId {
    TaskId::new(text, 2_048).unwrap()
}

/// Reads the state of a task from JSON text.
pub(crate) fn task(text: &str) -> ServerEvent {
    ServerEvent::TaskStatus {
        task: Task::from_json(text).unwrap(),
    }
}

/// Whether one notification covers both events; of a task, the latest does.
pub(crate) fn is_of_same_key(one: &ServerEvent, other: &ServerEvent) -> bool {
    match (one, other) {
        (ServerEvent::TaskStatus { task: one }, ServerEvent::TaskStatus { task: other }) => {
            one.id() == other.id()
        }
        _ => one == other,
    }
}

pub(crate) fn any_id() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["0", "1", "\"1\"", "\"\"", "12345678901234567890"][..])
}

pub(crate) fn any_uri() -> impl Strategy<Value = Uri> {
    prop_oneof![4 => "[a-e]", 1 => "\\PC{1,20}"].prop_map(|text| uri(&text))
}

fn any_task_id() -> impl Strategy<Value = TaskId> {
    prop_oneof![4 => "[a-e]", 1 => "\\PC{1,20}"].prop_map(|text| task_id(&text))
}

fn any_task() -> impl Strategy<Value = ServerEvent> {
    let status = prop_oneof![Just("working"), Just("completed")];
    (any_task_id(), status, any::<i64>(), "\\PC{0,8}").prop_map(|(id, status, ttl, message)| {
        let (id, message) = (quoted(&id), quoted(&message));
        task(&format!(
            r#"{{"taskId":{id},"status":"{status}", "ttlMs" :{ttl},"statusMessage":{message}}}"#
        ))
    })
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    json::push_string(&mut out, text);
    out
}

pub(crate) fn any_event() -> impl Strategy<Value = ServerEvent> {
    prop_oneof![
        Just(ServerEvent::ToolsListChanged),
        Just(ServerEvent::PromptsListChanged),
        Just(ServerEvent::ResourcesListChanged),
        Just(ServerEvent::EventsListChanged),
        any_uri().prop_map(|uri| ServerEvent::ResourceUpdated { uri }),
        any_task(),
    ]
}

pub(crate) fn any_filter() -> impl Strategy<Value = SubscriptionFilter> {
    let flags = any::<[bool; 4]>();
    let names = (vec(any_uri(), 0..6), vec(any_task_id(), 0..6));
    (flags, names).prop_map(|([tools, prompts, resources, events], (uris, tasks))| {
        SubscriptionFilter {
            tools_list_changed: tools,
            prompts_list_changed: prompts,
            resources_list_changed: resources,
            events_list_changed: events,
            resource_subscriptions: distinct(uris),
            task_ids: distinct(tasks),
            scope: Scope::default(),
        }
    })
}

fn distinct<N: PartialEq>(names: Vec<N>) -> Vec<N> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// A page runs unoptimized tests on its only thread, and a browser that does not respond for half a
/// minute is closed.
const CASES: u32 = if cfg!(target_arch = "wasm32") {
    128
} else {
    512
};
