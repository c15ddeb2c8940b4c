//! What a host does for a request about events.

use std::sync::Arc;

use mcp_listen::events::{
    EventName,
    exchange::{Caller, EventExchange, EventService, EventStep},
    page::{Page, PageEvent},
};
use mcp_listen::{clock::Millis, http::Response, position::Position};
use serde_json::{Value, json};

pub(crate) const NOW: Millis = Millis(1_764_057_600_000);

/// A service with `order.paid`, matched by its customer, and `news`, on a bus that can do all.
pub(crate) fn service(options: &Value) -> Arc<EventService> {
    let mut all = json!({
        "events": {
            "order.paid": { "description": "Paid", "match": { "customer": "/customer/id" } },
            "news": {},
        },
        "modes": ["poll", "push", "webhook"],
        "namesCallers": true,
    });
    for (name, value) in options.as_object().unwrap() {
        all[name] = value.clone();
    }
    Arc::new(EventService::from_json(&all.to_string()).unwrap())
}

pub(crate) fn headers(method: &str) -> String {
    format!(
        "content-type: application/json\naccept: application/json, text/event-stream\n\
         mcp-protocol-version: 2026-07-28\nmcp-method: {method}"
    )
}

/// The body of a request; `capabilities` are those of the client.
pub(crate) fn body(id: &str, method: &str, params: &Value, capabilities: &Value) -> Vec<u8> {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).into_bytes()
}

pub(crate) fn declared() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/events": {} } })
}

pub(crate) fn caller(principal: Option<&str>) -> Caller {
    Caller {
        principal: principal.map(Into::into),
        groups: Vec::new(),
    }
}

/// A request of the caller `ann`, whose body is read, by a client that does not declare events.
pub(crate) fn ask(service: &Arc<EventService>, method: &str, params: &Value) -> EventExchange {
    ask_with(service, method, params, &json!({}))
}

/// As [`ask`], by a client with these capabilities.
pub(crate) fn ask_with(
    service: &Arc<EventService>,
    method: &str,
    params: &Value,
    capabilities: &Value,
) -> EventExchange {
    let mut exchange = EventExchange::new(service.clone(), &headers(method));
    exchange.handle_caller(caller(Some("ann")));
    exchange.handle_body(body("7", method, params, capabilities));
    exchange
}

pub(crate) fn response(exchange: &mut EventExchange) -> Response {
    match exchange.poll() {
        EventStep::Respond(response) => response,
        step => panic!("{step:?}"),
    }
}

/// The result of a request.
pub(crate) fn result(exchange: &mut EventExchange) -> Value {
    let response = response(exchange);
    let message: Value = serde_json::from_str(response.body.as_deref().unwrap()).unwrap();
    assert_eq!(response.status, 200, "{message}");
    assert_eq!(message["id"], 7);
    assert_eq!(message["result"]["resultType"], "complete");
    message["result"].clone()
}

/// Status, code and data of a refusal.
pub(crate) fn refusal(exchange: &mut EventExchange) -> (u16, i64, Value) {
    refusal_in(&response(exchange))
}

pub(crate) fn refusal_in(response: &Response) -> (u16, i64, Value) {
    let message: Value = serde_json::from_str(response.body.as_deref().unwrap()).unwrap();
    let error = &message["error"];
    assert!(error["message"].is_string(), "{message}");
    (
        response.status,
        error["code"].as_i64().unwrap(),
        error["data"].clone(),
    )
}

pub(crate) fn name(text: &str) -> EventName {
    EventName::new(text).unwrap()
}

/// A page of the epoch `e` with these occurrences, positions with payloads.
pub(crate) fn page(from: u64, through: u64, events: &[(u64, &str)]) -> Page {
    let events = events.iter().map(|(position, data)| event(*position, data));
    Page {
        epoch: "e".into(),
        head: Position(through),
        from: Position(from),
        through: Position(through),
        more: false,
        trimmed: false,
        skipped: false,
        events: events.collect(),
    }
}

fn event(position: u64, data: &str) -> PageEvent {
    PageEvent {
        position: Position(position),
        at: NOW,
        group: None,
        event_id: format!("evt_e_{position}").into(),
        timestamp: "2025-11-25T08:00:00.000Z".into(),
        data: data.into(),
    }
}

/// Valid parameters for each method.
pub(crate) fn params(event: &str) -> Value {
    json!({ "name": event, "delivery": { "url": "https://a.example", "secret": "s" } })
}
