//! `subscriptions/listen` on axum, in one process and without JavaScript: the core of mcp-listen decides, this crate does
//! its input and output.
//!
//! - `streams` holds the core's fan-out: every stream of this process, and the one timer that all of them share.
//! - `body` is the body of one stream's response. hyper asks it for bytes while the connection has room, and that is all
//!   the backpressure there is to do: what is not asked for waits in the core, where it collapses.
//! - `endpoint` leads a request through the core's checks, to a stream or to the server behind.
//! - `behind` stands for the MCP server that you have.

mod behind;
mod body;
mod endpoint;
mod publish;
mod streams;

use std::{env, error::Error, net::Ipv4Addr, sync::Arc};

use axum::{Router, routing::any, routing::post};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use endpoint::Endpoint;
use streams::Streams;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = env::var("PORT").map_or(Ok(8788), |port| port.parse())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let origin = format!("http://{}", listener.local_addr()?);
    let streams = Arc::new(Streams::default());
    tokio::spawn(Arc::clone(&streams).keep_time());
    let endpoint = Arc::new(Endpoint::new(Arc::clone(&streams), &origin)?);
    let app = Router::new()
        .route("/mcp", any(endpoint::answer).with_state(endpoint))
        .route(
            "/publish",
            post(publish::answer).with_state(Arc::clone(&streams)),
        );
    println!("{origin}/mcp");
    // axum waits until the last response has ended, and each stream ends with what waits and its result.
    let leaving = async move {
        asked_to_end().await;
        streams.close();
    };
    axum::serve(listener, app)
        .with_graceful_shutdown(leaving)
        .await?;
    Ok(())
}

/// Waits for Ctrl-C or SIGTERM; where signals cannot be had, for ever.
async fn asked_to_end() {
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}
