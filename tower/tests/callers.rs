//! Callers: how they are denied, and how many streams one of them may have.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::{convert::Infallible, future::ready};

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use mcp_listen_tower::{
    Body, Bus, Capabilities, Denied, Grant, ListenLayer, Name, Scope, SubscriptionFilter,
};
use tower::{Layer, ServiceExt, service_fn};

/// A layer that names each caller after the words of its token.
fn layer() -> ListenLayer {
    layer_on(&Bus::new())
}

fn layer_on(bus: &Bus) -> ListenLayer {
    ListenLayer::new(bus.clone(), Capabilities::ALL).authorize(|parts, requested| async move {
        let token = parts.headers.get("authorization");
        let names = token.map_or("", |token| token.to_str().unwrap());
        let principals = names
            .split_whitespace()
            .map(|name| Name::new(name).unwrap());
        let scope = Scope {
            principals: principals.collect(),
            ..Scope::default()
        };
        Ok(Grant::new(requested).with_scope(scope))
    })
}

async fn respond(layer: &ListenLayer, token: Option<&str>) -> Response<Body<Full<Bytes>>> {
    let inner = service_fn(async |_: Request<Full<Bytes>>| {
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    });
    let Ok(response) = layer.layer(inner).oneshot(listen(token)).await;
    response
}

fn listen(token: Option<&str>) -> Request<Full<Bytes>> {
    let field = "io.modelcontextprotocol/";
    let meta =
        format!(r#"{{"{field}protocolVersion":"2026-07-28","{field}clientCapabilities":{{}}}}"#);
    let params = format!(r#"{{"_meta":{meta},"notifications":{{"toolsListChanged":true}}}}"#);
    let method = "subscriptions/listen";
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let mut request = Request::post("/mcp");
    let token = token.map(|token| ("authorization", token));
    for (name, value) in FIELDS.into_iter().chain(token) {
        request = request.header(name, value);
    }
    request.body(Full::from(body)).unwrap()
}

const FIELDS: [(&str, &str); 5] = [
    ("host", "notes.example"),
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
    ("mcp-method", "subscriptions/listen"),
    ("mcp-protocol-version", "2026-07-28"),
];

#[tokio::test]
async fn a_caller_has_a_part_of_the_streams_and_leaves_the_others_room() {
    let layer = layer().max_subscriptions_per_principal(2);
    let first = respond(&layer, Some("ann")).await;
    let second = respond(&layer, Some("ann")).await;
    assert_eq!(
        (first.status().as_u16(), second.status().as_u16()),
        (200, 200)
    );
    let third = respond(&layer, Some("ann")).await;
    assert_eq!(third.status().as_u16(), 429);
    assert!(third.headers().contains_key("retry-after"));
    assert_eq!(respond(&layer, Some("bob")).await.status().as_u16(), 200);
    drop(first);
    assert_eq!(respond(&layer, Some("ann")).await.status().as_u16(), 200);
    drop(second);
}

#[tokio::test]
async fn a_caller_is_the_same_in_whatever_order_its_names_are() {
    let layer = layer().max_subscriptions_per_principal(1);
    let first = respond(&layer, Some("ann org")).await;
    assert_eq!(first.status().as_u16(), 200);
    for names in ["ann org", "org ann", "ann org ann"] {
        assert_eq!(respond(&layer, Some(names)).await.status().as_u16(), 429);
    }
    for names in ["ann", "org bob", "ann org bob"] {
        assert_eq!(respond(&layer, Some(names)).await.status().as_u16(), 200);
    }
}

#[tokio::test]
async fn callers_without_a_name_are_limited_together_only() {
    let layer = layer()
        .max_subscriptions_per_principal(0)
        .max_subscriptions(2);
    assert_eq!(respond(&layer, Some("ann")).await.status().as_u16(), 429);
    let streams = [respond(&layer, None).await, respond(&layer, None).await];
    assert!(streams.iter().all(|stream| stream.status().as_u16() == 200));
    assert_eq!(respond(&layer, None).await.status().as_u16(), 503);
}

#[tokio::test]
async fn a_disconnected_caller_has_its_places_again_although_its_connections_poll_nothing() {
    let bus = Bus::new();
    let layer = layer_on(&bus).max_subscriptions_per_principal(2);
    let streams = [
        respond(&layer, Some("ann")).await,
        respond(&layer, Some("ann")).await,
    ];
    assert_eq!(respond(&layer, Some("ann")).await.status().as_u16(), 429);
    bus.disconnect(Name::new("ann").unwrap());
    assert_eq!(bus.streams(), 0);
    let again = [
        respond(&layer, Some("ann")).await,
        respond(&layer, Some("ann")).await,
    ];
    assert!(again.iter().all(|stream| stream.status().as_u16() == 200));
    drop(streams);
    assert_eq!(
        bus.streams(),
        2,
        "the former streams give nothing back twice"
    );
    assert_eq!(respond(&layer, Some("ann")).await.status().as_u16(), 429);
}

#[tokio::test]
async fn a_subscriber_in_rust_has_a_place_of_the_caller_that_its_filter_names() {
    let bus = Bus::new();
    let layer = layer_on(&bus).max_subscriptions_per_principal(1);
    let of = |name| SubscriptionFilter {
        tools_list_changed: true,
        scope: Scope {
            principals: vec![Name::new(name).unwrap()],
            ..Scope::default()
        },
        ..SubscriptionFilter::default()
    };
    let changes = bus.subscribe(of("ann")).unwrap();
    assert_eq!(respond(&layer, Some("ann")).await.status().as_u16(), 429);
    changes.filter(of("bob"));
    assert_eq!(respond(&layer, Some("ann")).await.status().as_u16(), 200);
    assert_eq!(respond(&layer, Some("bob")).await.status().as_u16(), 429);
    drop(changes);
    assert_eq!(respond(&layer, Some("bob")).await.status().as_u16(), 200);
}

#[tokio::test]
async fn the_response_to_a_denied_caller_says_how_to_authenticate() {
    let metadata = HeaderValue::from_static(r#"Bearer resource_metadata="https://mcp.example/""#);
    let scope = HeaderValue::from_static(r#"Bearer error="insufficient_scope", scope="listen""#);
    for (denied, status, challenge) in [
        (Denied::Challenge(metadata.clone()), 401, Some(&metadata)),
        (Denied::InsufficientScope(scope.clone()), 403, Some(&scope)),
        (Denied::Unauthorized, 401, None),
        (Denied::Forbidden, 403, None),
        (Denied::Failed, 503, None),
    ] {
        let layer = ListenLayer::new(Bus::new(), Capabilities::ALL);
        let layer = layer.authorize(move |_, _| ready(Err(denied.clone())));
        let response = respond(&layer, None).await;
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(response.headers().get("www-authenticate"), challenge);
        let json = response.headers().get("content-type");
        assert_eq!(json, Some(&HeaderValue::from_static("application/json")));
    }
}
