//! An MCP server on axum that notifies its clients of changes, with the tower layer of mcp-listen.

mod publish;
mod server;

use std::{env, error::Error, net::Ipv4Addr};

use axum::{
    Router,
    routing::{any, post},
};
use mcp_listen_tower::{Bus, Capabilities, ListenLayer};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = env::var("PORT").map_or(Ok(8788), |port| port.parse())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let bus = Bus::new();
    let layer = ListenLayer::new(bus.clone(), CAPABILITIES)
        .server_info(r#"{"name":"axum","version":"0.1.0"}"#)
        // Accepts requests of programs and pages of this machine only, to its loopback names.
        .allow(&[], Some(&["localhost", "127.0.0.1"]))?;
    let app = Router::new()
        .route("/mcp", any(server::respond).layer(layer))
        .route("/publish", post(publish::respond).with_state(bus.clone()));
    // axum waits until the last response has ended; each stream ends with its pending notifications
    // and its result.
    let shutdown = async move {
        shutdown_signal().await;
        bus.close();
    };
    axum::serve(listener, app)
        .with_graceful_shutdown(shutdown)
        .await?;
    Ok(())
}

/// Waits for Ctrl-C or SIGTERM; forever if signals are not available.
async fn shutdown_signal() {
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}

/// The capabilities that the server declares.
const CAPABILITIES: Capabilities = Capabilities {
    events_list_changed: false,
    tasks: false,
    ..Capabilities::ALL
};
