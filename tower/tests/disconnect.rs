//! Callers that are disconnected while `authorize` looks up their rights.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod request;

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use mcp_listen_tower::{Bus, Capabilities, Grant, ListenLayer, Name, Scope};
use tokio::{
    spawn,
    sync::{Barrier, Notify},
    task::JoinHandle,
};
use tower::{Layer, ServiceExt, service_fn};

use self::request::listen;

/// A layer whose `authorize` waits until the test lets it go on.
struct Server {
    bus: Bus,
    layer: ListenLayer,
    asked: Arc<Barrier>,
    decided: Arc<Notify>,
}

impl Server {
    /// Creates a layer that gives every caller these names.
    fn new(principals: &[&str]) -> Self {
        let bus = Bus::new();
        let (asked, decided) = (Arc::new(Barrier::new(2)), Arc::new(Notify::new()));
        let waits = (Arc::clone(&asked), Arc::clone(&decided));
        let scope = Scope {
            principals: principals.iter().map(|text| name(text)).collect(),
            ..Scope::default()
        };
        let layer = ListenLayer::new(bus.clone(), Capabilities::ALL);
        let layer = layer.authorize(move |_, requested| {
            let ((asked, decided), scope) = (waits.clone(), scope.clone());
            async move {
                asked.wait().await;
                decided.notified().await;
                Ok(Grant::new(requested).with_scope(scope))
            }
        });
        Self {
            bus,
            layer,
            asked,
            decided,
        }
    }

    /// Sends a request, and returns once `authorize` was called for it.
    async fn ask(&self) -> JoinHandle<u16> {
        let inner = service_fn(async |_: Request<Full<Bytes>>| {
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
        });
        let service = self.layer.layer(inner);
        let response = spawn(async move {
            let Ok(response) = service.oneshot(listen()).await;
            response.status().as_u16()
        });
        self.asked.wait().await;
        response
    }

    /// Lets `authorize` go on, and returns the status of the response.
    async fn status(&self, response: JoinHandle<u16>) -> u16 {
        self.decided.notify_one();
        response.await.unwrap()
    }
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

#[tokio::test]
async fn a_caller_that_is_disconnected_meanwhile_gets_no_stream() {
    let server = Server::new(&["app", "ann"]);
    server.bus.disconnect(name("ann"));
    let response = server.ask().await;
    assert_eq!(server.status(response).await, 200, "an earlier disconnect");
    let response = server.ask().await;
    server.bus.disconnect(name("ann"));
    assert_eq!(server.status(response).await, 503);
    let again = server.ask().await;
    assert_eq!(server.status(again).await, 200, "its rights are looked up");
}

#[tokio::test]
async fn the_disconnects_of_others_refuse_a_caller_only_if_they_were_too_many_to_remember() {
    for (count, status) in [(256, 200), (257, 503)] {
        let server = Server::new(&["ann"]);
        let response = server.ask().await;
        for other in 0..count {
            server.bus.disconnect(name(&format!("other-{other}")));
        }
        assert_eq!(server.status(response).await, status);
    }
}

#[tokio::test]
async fn a_caller_without_a_name_cannot_be_disconnected() {
    let server = Server::new(&[]);
    let response = server.ask().await;
    for _ in 0..1_000 {
        server.bus.disconnect(name("ann"));
    }
    assert_eq!(server.status(response).await, 200);
}
