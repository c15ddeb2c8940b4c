//! Clients that take nothing, while nothing more is published.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod request;

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use mcp_listen_tower::{Body, Bus, Capabilities, ListenLayer, ServerEvent};
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt, service_fn};

type Served = Response<Body<Full<Bytes>>>;

/// Opens a stream with a keep-alive every 4 to 6 seconds, which ends after a minute without reads.
async fn listen(bus: &Bus) -> Served {
    let layer = ListenLayer::new(bus.clone(), Capabilities::ALL).keep_alive(Duration::from_secs(5));
    let inner = service_fn(async |_: Request<Full<Bytes>>| {
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    });
    let Ok(response) = layer.layer(inner).oneshot(request::listen()).await;
    response
}

/// Asks for the next bytes, as a connection with room does. Returns whether there are any; if not,
/// the connection is woken by the next ones, and may not take them.
async fn ask(stream: &mut Served) -> bool {
    let frame = timeout(Duration::ZERO, stream.body_mut().frame()).await;
    frame.is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_ended_a_minute_after_its_first_pending_keep_alive() {
    let bus = Bus::new();
    let mut silent = listen(&bus).await;
    assert!(ask(&mut silent).await, "the acknowledgment");
    let mut full = listen(&bus).await;
    assert!(ask(&mut full).await && !ask(&mut full).await);
    bus.publish(ServerEvent::ToolsListChanged);
    assert!(
        ask(&mut silent).await,
        "the event, which `full` never takes"
    );
    let mut unread = listen(&bus).await;
    sleep(Duration::from_secs(63)).await;
    assert_eq!(bus.streams(), 3);
    sleep(Duration::from_secs(4)).await;
    assert_eq!(bus.streams(), 0);
    for stream in [&mut unread, &mut silent, &mut full] {
        assert!(stream.body_mut().frame().await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_only_keep_alives_stays() {
    let bus = Bus::new();
    let mut stream = listen(&bus).await;
    let reading = tokio::spawn(async move { while stream.body_mut().frame().await.is_some() {} });
    sleep(Duration::from_mins(10)).await;
    assert_eq!(bus.streams(), 1);
    reading.abort();
}
