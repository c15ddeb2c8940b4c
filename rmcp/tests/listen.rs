//! A server of the official Rust SDK with subscriptions fed by a bus, and the SDK's own client.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::{sync::Arc, time::Duration};

use http::Request;
use http_body_util::{BodyExt, Full};
use mcp_listen_rmcp::{Bus, Name, Scope, ServerEvent, Subscriptions, Uri};
use rmcp::{
    ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, ClientConfig, ProtocolVersion, ReadResourceRequestParams,
        ResourceContents, ServerCapabilities, ServerConfig, ServerNotification, SubscriptionFilter,
    },
    service::{RunningService, Subscription, SubscriptionContext, SubscriptionEnd},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tokio::time::{sleep, timeout};

#[allow(dead_code, reason = "the program itself is not run")]
#[path = "../examples/lamp.rs"]
mod lamp;

/// A server that waits before it listens, and identifies its callers.
#[derive(Clone)]
struct Notes {
    subscriptions: Subscriptions,
    pause: Duration,
    scope: Scope,
    /// Whether it listens without accepting filters through the bus.
    is_late: bool,
}

impl Notes {
    fn new(bus: &Bus) -> Self {
        Self {
            subscriptions: Subscriptions::new(bus.clone()),
            pause: Duration::ZERO,
            scope: Scope::default(),
            is_late: false,
        }
    }
}

impl ServerHandler for Notes {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .build();
        info
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(if self.is_late {
            requested.clone()
        } else {
            self.subscriptions.accept(requested)
        })
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        sleep(self.pause).await;
        self.subscriptions
            .listen_as(context, self.scope.clone())
            .await
    }
}

type Client = RunningService<RoleClient, ClientConfig>;

async fn connected(server: impl rmcp::Service<rmcp::RoleServer>) -> Client {
    let (near, far) = tokio::io::duplex(4096);
    tokio::spawn(async move { server.serve(far).await.unwrap().waiting().await });
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions };
    let client = ClientConfig::default().serve_with_lifecycle(near, lifecycle);
    client.await.unwrap()
}

fn everything() -> SubscriptionFilter {
    SubscriptionFilter::builder()
        .tools_list_changed()
        .prompts_list_changed()
        .resource_subscriptions(["note://a", "note://b"])
        .build()
}

fn updated(uri: &str) -> ServerEvent {
    let uri = Uri::new(uri, 100).unwrap();
    ServerEvent::ResourceUpdated { uri }
}

/// Returns the name of the next notification; `None` at the end. Fails if none arrives within ten
/// seconds.
async fn next(subscription: &mut Subscription) -> Option<String> {
    let next = timeout(Duration::from_secs(10), subscription.next()).await;
    Some(match next.unwrap().unwrap()? {
        ServerNotification::ToolListChangedNotification(_) => "tools".to_owned(),
        ServerNotification::ResourceUpdatedNotification(update) => update.params.uri,
        other => panic!("{other:?}"),
    })
}

#[tokio::test]
async fn a_subscription_receives_what_it_requested_and_the_server_offers() {
    let bus = Bus::new();
    let client = connected(Notes::new(&bus)).await;
    let mut subscription = client.listen(everything()).await.unwrap();
    assert_eq!(subscription.acknowledged().prompts_list_changed, None);
    bus.publish_all([
        ServerEvent::PromptsListChanged,
        updated("note://c"),
        updated("note://b"),
        ServerEvent::ToolsListChanged,
    ]);
    assert_eq!(next(&mut subscription).await.unwrap(), "note://b");
    assert_eq!(next(&mut subscription).await.unwrap(), "tools");
}

#[tokio::test]
async fn a_subscription_honors_256_resources_and_no_longer_uri_than_2_048_bytes() {
    let bus = Bus::new();
    let client = connected(Notes::new(&bus)).await;
    let long = format!("note://{}", "a".repeat(2_048));
    let uris = std::iter::once(long).chain((0..300).map(|number| format!("note://{number}")));
    let filter = SubscriptionFilter::builder().resource_subscriptions(uris);
    let mut subscription = client.listen(filter.build()).await.unwrap();
    let honored = subscription.acknowledged().resource_subscriptions.clone();
    assert_eq!(honored.unwrap_or_default().len(), 256);
    bus.publish_all([updated("note://256"), updated("note://255")]);
    assert_eq!(next(&mut subscription).await.unwrap(), "note://255");
}

#[tokio::test]
async fn the_example_notifies_one_client_of_what_another_one_changes() {
    let server = lamp::Lamp::new();
    let (client, other) = (connected(server.clone()).await, connected(server).await);
    let desk = SubscriptionFilter::builder().resource_subscriptions(["lamp://desk"]);
    let mut subscription = client.listen(desk.build()).await.unwrap();
    let switch = CallToolRequestParams::new("switch");
    other.call_tool(switch).await.unwrap();
    assert_eq!(next(&mut subscription).await.unwrap(), "lamp://desk");
    let read = ReadResourceRequestParams::new("lamp://desk");
    let lamp = client.read_resource(read).await.unwrap();
    assert_eq!(lamp.contents, [ResourceContents::text("on", "lamp://desk")]);
}

#[tokio::test]
async fn an_event_published_before_the_handler_listens_is_received() {
    let bus = Bus::new();
    let pause = Duration::from_millis(50);
    let client = connected(Notes {
        pause,
        ..Notes::new(&bus)
    })
    .await;
    let mut subscription = client.listen(everything()).await.unwrap();
    bus.publish(ServerEvent::ToolsListChanged);
    assert_eq!(next(&mut subscription).await.unwrap(), "tools");
    let nothing = timeout(Duration::from_millis(50), subscription.next()).await;
    assert!(nothing.is_err(), "{nothing:?}");
}

#[tokio::test]
async fn each_subscription_receives_what_it_requested_and_one_publish_reaches_all() {
    let bus = Bus::new();
    let server = Notes::new(&bus);
    let client = connected(server.clone()).await;
    let other = connected(server).await;
    let tools = SubscriptionFilter::builder().tools_list_changed().build();
    let mut both = client.listen(everything()).await.unwrap();
    let mut one = client.listen(tools.clone()).await.unwrap();
    let mut far = other.listen(tools).await.unwrap();
    assert_eq!(bus.streams(), 3);
    bus.publish_all([updated("note://a"), ServerEvent::ToolsListChanged]);
    assert_eq!(next(&mut both).await.unwrap(), "note://a");
    for subscription in [&mut both, &mut one, &mut far] {
        assert_eq!(next(subscription).await.unwrap(), "tools");
    }
}

#[tokio::test]
async fn a_closed_bus_ends_subscriptions_with_their_pending_events_and_result() {
    let bus = Bus::new();
    let client = connected(Notes::new(&bus)).await;
    let mut subscription = client.listen(everything()).await.unwrap();
    bus.publish(ServerEvent::ToolsListChanged);
    bus.close();
    assert_eq!(next(&mut subscription).await.unwrap(), "tools");
    assert_eq!(next(&mut subscription).await, None);
    assert!(matches!(
        subscription.end(),
        Some(SubscriptionEnd::Graceful(_))
    ));
    let mut late = client.listen(everything()).await.unwrap();
    assert_eq!(next(&mut late).await, None);
    assert!(matches!(late.end(), Some(SubscriptionEnd::Graceful(_))));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_or_disconnected_subscription_is_removed() {
    let bus = Bus::new();
    let client = connected(Notes::new(&bus)).await;
    let subscription = client.listen(everything()).await.unwrap();
    let _other = client.listen(everything()).await.unwrap();
    assert_eq!(bus.streams(), 2);
    drop(subscription);
    has_streams(&bus, 1).await;
    client.cancel().await.unwrap();
    has_streams(&bus, 0).await;
}

#[tokio::test]
async fn the_number_of_subscriptions_is_limited() {
    let bus = Bus::new();
    let subscriptions = Subscriptions::new(bus.clone()).max_subscriptions(1);
    let client = connected(Notes {
        subscriptions,
        ..Notes::new(&bus)
    })
    .await;
    let first = client.listen(everything()).await.unwrap();
    let mut refused = client.listen(everything()).await.unwrap();
    ends_with(&mut refused, "Too many").await;
    drop(first);
    has_streams(&bus, 0).await;
    client.listen(everything()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_could_not_be_acknowledged_gives_its_place_back() {
    let bus = Bus::new();
    let subscriptions = Subscriptions::new(bus.clone()).max_subscriptions(1);
    let lost = subscriptions.clone();
    let client = connected(Notes {
        subscriptions,
        ..Notes::new(&bus)
    })
    .await;
    // The SDK does not call `listen` if the client disconnects before its acknowledgment.
    let accepting = tokio::spawn(async move { lost.accept(&everything()) });
    accepting.await.unwrap();
    assert_eq!(bus.streams(), 1);
    sleep(Duration::from_secs(61)).await;
    let mut subscription = client.listen(everything()).await.unwrap();
    bus.publish(ServerEvent::ToolsListChanged);
    assert_eq!(next(&mut subscription).await.unwrap(), "tools");
}

#[tokio::test]
async fn a_caller_receives_its_events_and_nothing_after_a_disconnect() {
    let bus = Bus::new();
    let ann = Name::new("ann").unwrap();
    let mut scope = Scope::default();
    scope.principals.push(ann.clone());
    let client = connected(Notes {
        scope,
        ..Notes::new(&bus)
    })
    .await;
    let mut subscription = client.listen(everything()).await.unwrap();
    bus.publish(ServerEvent::ToolsListChanged);
    assert_eq!(next(&mut subscription).await.unwrap(), "tools");
    bus.disconnect(Name::new("bob").unwrap());
    bus.publish(ServerEvent::ToolsListChanged);
    assert_eq!(next(&mut subscription).await.unwrap(), "tools");
    bus.disconnect(ann);
    ends_with(&mut subscription, "Not allowed").await;
    assert_eq!(bus.streams(), 0);
}

#[tokio::test]
async fn a_server_that_accepts_by_itself_delivers_everything_once() {
    let bus = Bus::new();
    let client = connected(Notes {
        is_late: true,
        ..Notes::new(&bus)
    })
    .await;
    let mut subscription = client.listen(everything()).await.unwrap();
    for expected in ["tools", "note://a", "note://b"] {
        assert_eq!(next(&mut subscription).await.unwrap(), expected);
    }
    bus.publish(updated("note://a"));
    assert_eq!(next(&mut subscription).await.unwrap(), "note://a");
}

#[tokio::test]
async fn a_subscription_to_nothing_that_is_offered_ends_at_once() {
    let bus = Bus::new();
    let client = connected(Notes::new(&bus)).await;
    let prompts = SubscriptionFilter::builder().prompts_list_changed().build();
    let mut subscription = client.listen(prompts).await.unwrap();
    assert_eq!(next(&mut subscription).await, None);
    assert!(matches!(
        subscription.end(),
        Some(SubscriptionEnd::Graceful(_))
    ));
}

#[tokio::test]
async fn a_slow_reader_receives_the_latest_once() {
    let bus = Bus::new();
    let client = connected(Notes::new(&bus)).await;
    let mut subscription = client.listen(everything()).await.unwrap();
    // The runtime has one thread: nothing is sent between two publishes.
    for _ in 0..10_000 {
        bus.publish_all([ServerEvent::ToolsListChanged, updated("note://a")]);
    }
    assert_eq!(next(&mut subscription).await.unwrap(), "tools");
    assert_eq!(next(&mut subscription).await.unwrap(), "note://a");
    let nothing = timeout(Duration::from_millis(50), subscription.next()).await;
    assert!(nothing.is_err(), "{nothing:?}");
}

#[tokio::test(start_paused = true)]
async fn over_http_a_stream_receives_and_is_removed_with_its_response() {
    const BODY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}"#;
    let bus = Bus::new();
    let server = Notes::new(&bus);
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "subscriptions/listen");
    let response = service
        .handle(request.body(Full::new(BODY.as_bytes())).unwrap())
        .await;
    assert_eq!(response.status(), 200);
    let mut body = response.into_body();
    let mut read = async || {
        let frame = body.frame().await.unwrap().unwrap();
        String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
    };
    while !read()
        .await
        .contains("notifications/subscriptions/acknowledged")
    {}
    bus.publish(ServerEvent::ToolsListChanged);
    while !read().await.contains("notifications/tools/list_changed") {}
    drop(body);
    has_streams(&bus, 0).await;
}

/// Fails unless the subscription ends with an error that contains the text.
async fn ends_with(subscription: &mut Subscription, text: &str) {
    let end = timeout(Duration::from_secs(10), subscription.next()).await;
    let end = format!("{:?}", end.unwrap());
    assert!(end.contains(text), "{end}");
}

/// Waits until the bus holds this many streams.
async fn has_streams(bus: &Bus, streams: usize) {
    let change = async {
        while bus.streams() != streams {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_mins(1), change).await.unwrap();
}
