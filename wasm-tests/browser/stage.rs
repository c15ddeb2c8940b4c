use std::{future::poll_fn, pin::Pin, time::Duration};

use futures_core::Stream;
use js_sys::{Promise, encode_uri_component};
use mcp_listen::{client, event::ServerEvent, filter::SubscriptionFilter, uri::Uri};
use mcp_listen_browser::ListenOptions;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Request, RequestInit, Response, Window};

/// The addresses of the servers.
pub struct Stage {
    workers: [String; 2],
    player: String,
}

impl Stage {
    pub async fn new() -> Self {
        let addresses = text("GET", "/.build/addresses.txt", "").await;
        let [one, other, player] = addresses.lines().collect::<Vec<_>>().try_into().unwrap();
        Self {
            workers: [one, other].map(str::to_owned),
            player: player.to_owned(),
        }
    }

    /// The MCP endpoint of the fixture Worker.
    pub fn worker(&self) -> String {
        format!("{}/mcp", self.workers[0])
    }

    /// A server of the fixture Worker with these options of `createListenHandler`.
    pub fn worker_with(&self, options: &str) -> String {
        format!(
            "{}/with?options={}",
            self.workers[0],
            encode_uri_component(options)
        )
    }

    /// The number of streams of that server.
    pub async fn streams_with(&self, options: &str) -> String {
        let query = encode_uri_component(options);
        let stats = self
            .ask(&format!("worker/0/with?options={query}&ask=stats"), "")
            .await;
        let open = stats.split_once("\"open\":").unwrap().1;
        open.chars().take_while(char::is_ascii_digit).collect()
    }

    /// Publishes from the other isolate.
    pub async fn publish(&self, event: &str) {
        self.ask("worker/1/publish", event).await;
    }

    /// A server that responds to a listen as `part` says; see `player.ts`.
    pub fn player(&self, name: &str, part: &str) -> String {
        format!("{}/{name}?part={}", self.player, encode_uri_component(part))
    }

    /// The number of open responses of that server.
    pub async fn held(&self, name: &str) -> String {
        self.ask(&format!("held?name={name}"), "").await
    }

    /// A server of 2025-11-25; see `elder.ts`.
    pub fn elder(&self, name: &str) -> String {
        format!("{}/elder/{name}", self.player)
    }

    /// The requests to that server, one a line.
    pub async fn requests(&self, name: &str) -> String {
        self.ask(&format!("requests?name={name}"), "").await
    }

    /// Cuts the stream of that server.
    pub async fn cut(&self, name: &str) {
        self.ask(&format!("cut?name={name}"), "").await;
    }

    async fn ask(&self, path: &str, body: &str) -> String {
        text("POST", &format!("{}/{path}", self.player), body).await
    }
}

/// The next item of a stream.
pub async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
}

/// Asks until the response is `wanted`.
pub async fn until(wanted: &str, ask: impl AsyncFn() -> String) {
    let mut last = String::new();
    for _ in 0..100 {
        last = ask().await;
        if last == wanted {
            return;
        }
        sleep(100).await;
    }
    panic!("{last} did not become {wanted}");
}

pub async fn sleep(ms: i32) {
    let slept = Promise::new(&mut |resolve, _| {
        let set = window().set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, ms);
        set.unwrap();
    });
    JsFuture::from(slept).await.unwrap();
}

/// A filter of tools and one note.
pub fn tools_and_note() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        resource_subscriptions: vec![note()],
        ..Default::default()
    }
}

pub fn tools() -> SubscriptionFilter {
    SubscriptionFilter {
        tools_list_changed: true,
        ..Default::default()
    }
}

pub fn note() -> Uri {
    Uri::new("note://browser", 100).unwrap()
}

/// The event of a changed note.
pub const NOTE_UPDATED: &str = r#"{"kind":"resource_updated","uri":"note://browser"}"#;

pub fn note_updated() -> ServerEvent {
    ServerEvent::ResourceUpdated { uri: note() }
}

/// Options with time limits in milliseconds; 0: none.
pub fn patience(acknowledgment: u64, silence: u64) -> ListenOptions {
    ListenOptions {
        client: client::SubscriptionOptions {
            acknowledgment: Duration::from_millis(acknowledgment),
            silence: Duration::from_millis(silence),
            ..Default::default()
        },
        ..Default::default()
    }
}

/// The acknowledgment of [`tools`] for the first listen of a page, as a step of a part.
pub const ACKNOWLEDGED: &str = r#""data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"notifications\":{\"toolsListChanged\":true},\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"mcp-listen:2\"}}}\n\n""#;
/// A change of the tools.
pub const CHANGED: &str = r#""data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"mcp-listen:2\"}}}\n\n""#;
/// The result that ends a subscription.
pub const RESULT: &str = r#""data: {\"jsonrpc\":\"2.0\",\"id\":\"mcp-listen:2\",\"result\":{\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"mcp-listen:2\"}}}\n\n""#;

async fn text(method: &str, url: &str, body: &str) -> String {
    let init = RequestInit::new();
    init.set_method(method);
    if method == "POST" {
        init.set_body(&body.into());
    }
    let request = Request::new_with_str_and_init(url, &init).unwrap();
    let response = JsFuture::from(window().fetch_with_request(&request))
        .await
        .unwrap();
    let response: Response = response.unchecked_into();
    assert!(response.ok(), "{url}: {}", response.status());
    let text = JsFuture::from(response.text().unwrap()).await.unwrap();
    text.as_string().unwrap()
}

fn window() -> Window {
    js_sys::global().unchecked_into()
}
