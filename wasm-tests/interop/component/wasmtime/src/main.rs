//! Plays requests on the component, with wasmtime: a line of JSON in for each, one out for its
//! response (`host.ts`). The argument is the file of the component.

use std::io::{BufRead, Write};

use serde_json::{Value, json};
use wasmtime::{
    Engine, Result, Store,
    component::{Component, Linker, ResourceAny},
    error::Context,
};

use exports::mcp_listen::core::{
    exchange::{LegacyMode, Refusal, Response, ServiceOptions, Step, StreamOptions},
    fanout::HoldOptions,
};

wasmtime::component::bindgen!({ path: "../../../../wit", world: "listen" });

fn main() -> Result<()> {
    let path = std::env::args().nth(1).context("name the component")?;
    let engine = Engine::default();
    let component = Component::from_file(&engine, path)?;
    let mut store = Store::new(&engine, ());
    let core = Listen::instantiate(&mut store, &component, &Linker::new(&engine))?;
    for line in std::io::stdin().lock().lines() {
        let play = serde_json::from_str(&line?)?;
        let played = Host {
            core: &core,
            store: &mut store,
        }
        .play(&play)?;
        println!("{played}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

struct Host<'h> {
    core: &'h Listen,
    store: &'h mut Store<()>,
}

impl Host<'_> {
    fn play(&mut self, play: &Value) -> Result<Value> {
        let exchange = self.begin(play)?;
        let machine = self.core.mcp_listen_core_exchange().exchange();
        let body = base64(text(&play["body"]));
        loop {
            match machine.call_poll(&mut *self.store, exchange)? {
                Step::Respond(response) => return self.responded(exchange, &response),
                Step::Pass(_) => return self.written(exchange, None, "", false),
                Step::Body(most) => {
                    let read = body.get(..=most as usize).unwrap_or(&body);
                    machine.call_handle_body(&mut *self.store, exchange, read)?;
                }
                Step::Caller => match refusal(&play["caller"]["refused"]) {
                    Some(why) => {
                        let response = machine.call_refuse(&mut *self.store, exchange, why)?;
                        return self.responded(exchange, &response);
                    }
                    None => {
                        let caller = play["caller"].as_str();
                        machine.call_handle_caller(&mut *self.store, exchange, caller)?;
                    }
                },
                Step::Listen(_) => {
                    let opened = self.opened(exchange, text(&play["capabilities"]))?;
                    return self.written(exchange, Some(200), &opened, false);
                }
            }
        }
    }

    fn begin(&mut self, play: &Value) -> Result<ResourceAny> {
        let service = self.core.mcp_listen_core_exchange().service();
        let options = ServiceOptions {
            origins: texts(&play["origins"]),
            hosts: play["hosts"].is_array().then(|| texts(&play["hosts"])),
            limits: play["limits"].as_str().map(str::to_owned),
            holds_streams: true,
            legacy: match play["legacy"].as_str() {
                Some("reject") => LegacyMode::Reject,
                _ => LegacyMode::Stateless,
            },
        };
        let made = service.call_create(&mut *self.store, &options)?;
        let made = made.map_err(|error| wasmtime::Error::msg(error.message))?;
        let fields: Vec<(String, String)> = serde_json::from_value(play["headers"].clone())?;
        let (method, url) = (text(&play["method"]), text(&play["url"]));
        service.call_begin(&mut *self.store, made, method, url, &fields, true)
    }

    fn responded(&mut self, exchange: ResourceAny, response: &Response) -> Result<Value> {
        let body = response.body.as_deref();
        self.written(
            exchange,
            Some(response.status),
            body.unwrap_or(""),
            body.is_some(),
        )
    }

    fn written(
        &mut self,
        exchange: ResourceAny,
        status: Option<u16>,
        text: &str,
        is_json: bool,
    ) -> Result<Value> {
        let machine = self.core.mcp_listen_core_exchange().exchange();
        let mut headers = machine.call_fields(&mut *self.store, exchange)?;
        if is_json {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        exchange.resource_drop(&mut *self.store)?;
        Ok(json!({ "status": status, "headers": headers, "text": text }))
    }

    fn opened(&mut self, exchange: ResourceAny, capabilities: &str) -> Result<String> {
        let (machine, streams) = (
            self.core.mcp_listen_core_exchange(),
            self.core.mcp_listen_core_fanout(),
        );
        let known = machine
            .discovered()
            .call_declared(&mut *self.store, capabilities, None)?;
        let known = known.map_err(|error| wasmtime::Error::msg(error.message))?;
        let options = StreamOptions {
            allowed: None,
            scope: None,
            keep_alive: 15_000,
        };
        let stream =
            machine
                .exchange()
                .call_open(&mut *self.store, exchange, known, &options, 0)?;
        let stream = stream.map_err(|error| wasmtime::Error::msg(error.message))?;
        let fanout = streams.fanout().call_constructor(&mut *self.store)?;
        let hold = HoldOptions {
            stall_after: 0,
            authorization_ttl: 0,
            retires_at: None,
            expires_at: None,
        };
        let id = streams
            .fanout()
            .call_open(&mut *self.store, fanout, stream, hold, 0)?;
        let text = streams
            .fanout()
            .call_poll(&mut *self.store, fanout, id, 0)?;
        fanout.resource_drop(&mut *self.store)?;
        Ok(text.unwrap_or_default())
    }
}

fn refusal(name: &Value) -> Option<Refusal> {
    Some(match name.as_str()? {
        "unauthorized" => Refusal::Unauthorized,
        "forbidden" => Refusal::Forbidden,
        _ => Refusal::AuthorizerFailed,
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.map(|item| text(item).to_owned()).collect()
}

fn base64(text: &str) -> Vec<u8> {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    BASE64_STANDARD.decode(text).unwrap_or_default()
}
