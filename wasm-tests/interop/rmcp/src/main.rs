//! The official Rust SDK's client, which prints one line of JSON for each thing that happens.
//!
//! Usage: `rmcp-client URL`. Connects, listens once for changes of the list of tools, and prints
//! `{"honored":FILTER}` or `{"refused":ERROR}`, `{"tools":[NAME, ...]}` after each notification,
//! and `{"end":HOW}` when the stream ends. Runs until its input ends.

use std::error::Error;

use rmcp::model::{ClientConfig, ProtocolVersion, SubscriptionFilter};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

type Client = RunningService<RoleClient, ClientConfig>;
type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    if let Err(error) = run().await {
        eprintln!("{error:?}");
        // A runtime that is dropped waits for its read of the standard input, which may never end.
        std::process::exit(1);
    }
}

async fn run() -> Outcome<()> {
    let url = std::env::args().nth(1).ok_or("usage: rmcp-client URL")?;
    let client = connected(&url).await?;
    tokio::select! {
        outcome = listen(&client) => outcome?,
        () = input_end() => {}
    }
    client.cancel().await?;
    Ok(())
}

async fn connected(url: &str) -> Outcome<Client> {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions };
    let transport = StreamableHttpClientTransport::from_uri(url);
    Ok(ClientConfig::default()
        .serve_with_lifecycle(transport, lifecycle)
        .await?)
}

/// Prints what the subscription receives, and how it ends; then waits for the end of the input.
async fn listen(client: &Client) -> Outcome<()> {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = match client.listen(filter).await {
        Ok(subscription) => subscription,
        Err(error) => {
            say(&json!({ "refused": error.to_string() }));
            return std::future::pending().await;
        }
    };
    say(&json!({ "honored": subscription.acknowledged() }));
    while subscription.next().await?.is_some() {
        say(&json!({ "tools": tools(client).await? }));
    }
    say(&json!({ "end": format!("{:?}", subscription.end()) }));
    std::future::pending().await
}

async fn tools(client: &Client) -> Outcome<Vec<String>> {
    let tools = client.list_all_tools().await?;
    Ok(tools
        .into_iter()
        .map(|tool| tool.name.into_owned())
        .collect())
}

fn say(line: &Value) {
    println!("{line}");
}

async fn input_end() {
    let mut input = tokio::io::stdin();
    let mut ignored = [0; 64];
    while matches!(input.read(&mut ignored).await, Ok(length) if length > 0) {}
}
