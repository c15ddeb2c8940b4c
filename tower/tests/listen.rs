//! The layer around a service that echoes the request.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail"
)]

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use mcp_listen_tower::{
    Body, Bus, Capabilities, Denied, Grant, Limits, ListenLayer, Name, Scope, ServerEvent,
    SubscriptionFilter, Uri, events_in,
};
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt, service_fn};

type Served = Response<Body<Full<Bytes>>>;

/// Sends a request through the layer; the inner service responds with 202 and the body that it
/// received.
async fn respond(layer: &ListenLayer, request: Request<Full<Bytes>>) -> Served {
    let inner = service_fn(async |request: Request<Full<Bytes>>| {
        let mut response = Response::new(request.into_body());
        *response.status_mut() = StatusCode::ACCEPTED;
        Ok::<_, Infallible>(response)
    });
    let Ok(response) = layer.layer(inner).oneshot(request).await;
    response
}

fn layer(bus: &Bus) -> ListenLayer {
    let capabilities = Capabilities {
        tasks: false,
        ..Capabilities::ALL
    };
    ListenLayer::new(bus.clone(), capabilities)
}

fn post(fields: &[(&str, &str)], body: &str) -> Request<Full<Bytes>> {
    let mut request = Request::post("/mcp").header("host", "notes.example");
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let body = Full::from(body.to_owned());
    request.body(body).unwrap()
}

/// A listen request for two lists and one resource.
fn listen() -> Request<Full<Bytes>> {
    post(&FIELDS, &body("1"))
}

fn body(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{
            "_meta":{{
                "io.modelcontextprotocol/protocolVersion":"2026-07-28",
                "io.modelcontextprotocol/clientCapabilities":{{}}
            }},
            "notifications":{{
                "toolsListChanged":true,
                "promptsListChanged":true,
                "resourceSubscriptions":["note://todo"]
            }}
        }}}}"#
    )
}

fn todo() -> ServerEvent {
    let uri = Uri::new("note://todo", 100).unwrap();
    ServerEvent::ResourceUpdated { uri }
}

#[tokio::test]
async fn a_subscriber_in_rust_receives_the_latest_of_each_topic_until_the_bus_is_closed() {
    let bus = Bus::new();
    let filter = SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![Uri::new("note://todo", 100).unwrap()],
        ..SubscriptionFilter::default()
    };
    let mut changes = bus.subscribe(filter.clone()).unwrap();
    bus.publish_all([
        todo(),
        ServerEvent::PromptsListChanged,
        ServerEvent::ToolsListChanged,
        todo(),
    ]);
    assert_eq!(changes.next().await, Some(todo()));
    assert_eq!(changes.next().await, Some(ServerEvent::ToolsListChanged));
    let waiting = timeout(Duration::from_millis(20), changes.next()).await;
    assert!(waiting.is_err());
    bus.publish_all([ServerEvent::ToolsListChanged, todo()]);
    changes.filter(SubscriptionFilter {
        tools_list_changed: false,
        ..filter.clone()
    });
    bus.close();
    assert_eq!(changes.next().await, Some(todo()));
    assert!(!changes.is_closed());
    assert_eq!(changes.next().await, None);
    assert!(changes.is_closed());
    assert!(bus.subscribe(filter).is_none());
    drop(changes);
    assert_eq!(bus.streams(), 0);
}

/// Returns the next text of a stream; `None` at its end. Fails if none arrives within ten
/// seconds.
async fn next(response: &mut Served) -> Option<String> {
    let frame = timeout(Duration::from_secs(10), response.body_mut().frame()).await;
    let frame = frame.unwrap()?;
    let data = frame.ok()?.into_data().ok()?;
    Some(String::from_utf8_lossy(&data).into_owned())
}

async fn text(response: Served) -> String {
    let bytes = response.into_body().collect().await;
    let bytes = bytes.unwrap().to_bytes();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn a_stream_begins_with_its_acknowledgment_and_receives_what_it_requested() {
    let bus = Bus::new();
    let mut stream = respond(&layer(&bus), listen()).await;
    assert_eq!(stream.status(), StatusCode::OK);
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let first = next(&mut stream).await.unwrap_or_default();
    assert!(
        first.contains("notifications/subscriptions/acknowledged"),
        "{first}"
    );
    assert!(
        !first.contains("resourcesListChanged"),
        "not requested: {first}"
    );
    bus.publish(ServerEvent::ResourcesListChanged);
    bus.publish(todo());
    let received = next(&mut stream).await.unwrap_or_default();
    assert!(
        received.contains("notifications/resources/updated"),
        "{received}"
    );
    assert!(
        received.contains(r#""io.modelcontextprotocol/subscriptionId":1"#),
        "{received}"
    );
    assert_eq!(bus.streams(), 1);
    drop(stream);
    assert_eq!(bus.streams(), 0);
}

#[tokio::test]
async fn unread_notifications_collapse() {
    let bus = Bus::new();
    let mut stream = respond(&layer(&bus), listen()).await;
    next(&mut stream).await;
    for _ in 0..1_000 {
        bus.publish(todo());
        bus.publish_all([ServerEvent::ToolsListChanged, todo()]);
    }
    let received = next(&mut stream).await.unwrap_or_default();
    assert_eq!(received.matches("event: message").count(), 2, "{received}");
}

#[tokio::test]
async fn a_pending_read_is_woken() {
    let bus = Bus::new();
    let mut stream = respond(&layer(&bus), listen()).await;
    next(&mut stream).await;
    let publishing = bus.clone();
    let waiting = tokio::spawn(async move { next(&mut stream).await });
    tokio::task::yield_now().await;
    publishing.publish_all([
        ServerEvent::ToolsListChanged,
        ServerEvent::PromptsListChanged,
    ]);
    let received = waiting.await.ok().flatten().unwrap_or_default();
    assert!(received.contains("tools/list_changed") && received.contains("prompts/list_changed"));
}

#[tokio::test]
async fn a_closed_bus_ends_its_streams_with_their_results_and_opens_no_more() {
    let bus = Bus::new();
    let layer = layer(&bus).server_info(r#"{"name":"notes","version":"1"}"#);
    let mut stream = respond(&layer, listen()).await;
    next(&mut stream).await;
    bus.publish(todo());
    bus.close();
    let rest = next(&mut stream).await.unwrap_or_default();
    assert!(
        rest.contains("resources/updated") && rest.contains(r#""resultType":"complete""#),
        "{rest}"
    );
    assert!(rest.contains(r#""name":"notes""#), "{rest}");
    assert_eq!(next(&mut stream).await, None);
    let refused = respond(&layer, listen()).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    assert!(text(refused).await.contains(r#""id":1"#));
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_gets_a_keep_alive_and_a_stalled_one_is_ended() {
    let bus = Bus::new();
    let layer = layer(&bus).keep_alive(Duration::from_secs(5));
    let mut stream = respond(&layer, listen()).await;
    next(&mut stream).await;
    let frame = timeout(Duration::from_secs(7), stream.body_mut().frame()).await;
    let data = frame
        .ok()
        .flatten()
        .and_then(Result::ok)
        .and_then(|frame| frame.into_data().ok());
    assert_eq!(data.as_deref(), Some(&b": keep-alive\n\n"[..]));
    bus.publish(todo());
    sleep(Duration::from_secs(61)).await;
    // A connection that takes no bytes polls no body.
    assert_eq!(bus.streams(), 0);
    assert_eq!(next(&mut stream).await, None);
    drop(stream);
    assert_eq!(bus.streams(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_timer_ends_when_the_bus_is_dropped() {
    let bus = Bus::new();
    let stream = respond(&layer(&bus), listen()).await;
    let alive = tokio::runtime::Handle::current();
    assert_eq!(alive.metrics().num_alive_tasks(), 1);
    drop((bus, stream));
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    assert_eq!(alive.metrics().num_alive_tasks(), 0);
}

#[tokio::test]
async fn other_requests_reach_the_inner_service_unchanged() {
    let layer = layer(&Bus::new());
    for request in [
        post(
            &[("content-type", "application/json")],
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        ),
        post(&[("content-type", "application/json")], &" ".repeat(70_000)),
        post(&[("content-type", "text/plain")], "hello"),
        post(&[("content-type", "application/json")], ""),
    ] {
        let sent = request.body().size_hint().exact();
        let passed = respond(&layer, request).await;
        assert_eq!(passed.status(), StatusCode::ACCEPTED);
        assert_eq!(passed.body().size_hint().exact(), sent);
    }
}

#[tokio::test]
async fn a_listen_request_without_its_method_header_is_rejected() {
    let fields = &FIELDS[..2];
    let refused = respond(&layer(&Bus::new()), post(fields, &body("7"))).await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    assert!(text(refused).await.contains(r#""id":7"#));
}

#[tokio::test]
async fn malformed_requests_other_origins_and_other_methods_are_rejected() {
    let layer = layer(&Bus::new());
    let refused = async |request| respond(&layer, request).await.status().as_u16();
    assert_eq!(refused(post(&FIELDS, "{")).await, 400);
    assert_eq!(refused(post(&FIELDS, &" ".repeat(70_000))).await, 413);
    let mut html = FIELDS;
    html[1] = ("accept", "text/html");
    assert_eq!(refused(post(&html, &body("1"))).await, 406);
    let foreign = ("origin", "https://elsewhere.example");
    assert_eq!(refused(post(&[foreign], "")).await, 403);
    let mut put = post(&[], "");
    *put.method_mut() = http::Method::PUT;
    assert_eq!(refused(put).await, 405);
}

#[tokio::test]
async fn pages_of_allowed_origins_may_read_the_response() {
    let allowed = layer(&Bus::new()).allow(&["https://app.example"], Some(&["notes.example"]));
    let layer = allowed.unwrap();
    let origin = ("origin", "https://app.example");
    let mut preflight = post(&[origin, ("access-control-request-method", "POST")], "");
    *preflight.method_mut() = http::Method::OPTIONS;
    let response = respond(&layer, preflight).await;
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    assert_eq!(response.headers()["access-control-allow-origin"], origin.1);
    let passed = respond(&layer, post(&[origin], "")).await;
    assert_eq!(passed.status(), StatusCode::ACCEPTED);
    assert_eq!(passed.headers()["access-control-allow-origin"], origin.1);
    assert!(
        ListenLayer::new(Bus::new(), Capabilities::ALL)
            .allow(&["app"], None)
            .is_err()
    );
}

#[tokio::test]
async fn a_caller_receives_what_it_is_allowed_and_nothing_after_a_disconnect() {
    let bus = Bus::new();
    let ann = Name::new("ann").unwrap();
    let scope = Scope {
        principals: vec![ann.clone()],
        ..Scope::default()
    };
    let layer = layer(&bus).authorize(move |parts, requested| {
        let scope = scope.clone();
        async move {
            match parts
                .headers
                .get("authorization")
                .map(http::HeaderValue::as_bytes)
            {
                None => Err(Denied::Unauthorized),
                Some(b"Bearer ann") => Ok(Grant::new(SubscriptionFilter {
                    prompts_list_changed: false,
                    ..requested
                })
                .with_scope(scope)),
                Some(b"Bearer slow") => Err(Denied::Failed),
                Some(_) => Err(Denied::Forbidden),
            }
        }
    });
    let as_caller = async |token: Option<&str>| {
        let mut request = listen();
        if let Some(Ok(token)) = token.map(str::parse) {
            request.headers_mut().insert("authorization", token);
        }
        respond(&layer, request).await
    };
    for (token, status) in [
        (None, 401),
        (Some("Bearer eve"), 403),
        (Some("Bearer slow"), 503),
    ] {
        assert_eq!(as_caller(token).await.status().as_u16(), status);
    }
    let mut stream = as_caller(Some("Bearer ann")).await;
    let first = next(&mut stream).await.unwrap_or_default();
    assert!(
        first.contains("toolsListChanged") && !first.contains("promptsListChanged"),
        "{first}"
    );
    bus.disconnect(ann);
    assert_eq!(next(&mut stream).await, None);
}

#[tokio::test]
async fn the_number_of_streams_is_limited() {
    let bus = Bus::new();
    let layer = layer(&bus).max_subscriptions(1).limits(Limits::default());
    let first = respond(&layer, listen()).await;
    assert_eq!(
        respond(&layer, listen()).await.status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
    drop(first);
    assert_eq!(respond(&layer, listen()).await.status(), StatusCode::OK);
}

#[test]
fn events_are_parsed_from_the_json_of_publishers() {
    let posted = events_in(br#"[{"kind":"resource_updated","uri":"note://todo"}]"#);
    assert_eq!(posted.map(|posted| posted.events), Ok(vec![todo()]));
}

const FIELDS: [(&str, &str); 4] = [
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
    ("mcp-method", "subscriptions/listen"),
    ("mcp-protocol-version", "2026-07-28"),
];
