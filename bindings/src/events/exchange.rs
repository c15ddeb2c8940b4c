use wasm_bindgen::prelude::*;

use mcp_listen::events::{
    EventName, Opening,
    error::EventError,
    exchange::{self, Caller},
    matching::match_results,
    page::Page,
};

use crate::{
    error::{coded, malformed, out_of_place},
    number::millis,
    object::{object, optional},
    response::HttpResponse,
};

use super::step::Step;

/// The processing of one request about events: the steps to take, in order, and the response. A
/// call that does not belong to the current step changes nothing.
#[wasm_bindgen]
pub struct EventExchange(exchange::EventExchange);

#[wasm_bindgen]
impl EventExchange {
    /// Returns the next step: the same one until it is done.
    #[wasm_bindgen(unchecked_return_type = "EventStep")]
    pub fn poll(&mut self) -> JsValue {
        optional(Step::of(self.0.poll()))
    }

    /// Handles the body; one over the limit may be truncated anywhere beyond it.
    #[wasm_bindgen(js_name = handleBody)]
    pub fn handle_body(&mut self, body: Vec<u8>) {
        self.0.handle_body(body);
    }

    /// Handles the caller, JSON text of an object with any of `principal`, its name, and `groups`.
    /// Throws if that is not valid, or a group begins with `mcp-events:`.
    #[wasm_bindgen(js_name = handleCaller)]
    pub fn handle_caller(&mut self, caller: &str) -> Result<(), JsValue> {
        let caller = Caller::from_json(caller).ok_or_else(|| {
            coded(
                "authorizer-failed",
                "the groups of the caller are not valid",
            )
        })?;
        self.0.handle_caller(caller);
        Ok(())
    }

    /// Handles the names of the event types that the caller may know of.
    #[wasm_bindgen(js_name = handleShown)]
    pub fn handle_shown(&mut self, names: Vec<String>) {
        let names = names.iter().filter_map(|name| EventName::new(name).ok());
        self.0.handle_shown(&names.collect::<Vec<_>>());
    }

    /// Confirms that the caller may receive what it asks for.
    #[wasm_bindgen(js_name = handleAllowed)]
    pub fn handle_allowed(&mut self) {
        self.0.handle_allowed();
    }

    /// Denies the caller what it asks for. The reason is sent if it may know of the event type.
    #[wasm_bindgen(js_name = handleDenied)]
    pub fn handle_denied(&mut self, reason: Option<String>) {
        self.0.handle_denied(reason.as_deref());
    }

    /// Handles whether the arguments are valid.
    #[wasm_bindgen(js_name = handleValidity)]
    pub fn handle_validity(&mut self, #[wasm_bindgen(js_name = isValid)] is_valid: bool) {
        self.0.handle_validity(is_valid);
    }

    /// Handles the page that the log of the bus returns; `now` is in milliseconds since 1970.
    /// Throws if it is none.
    #[wasm_bindgen(js_name = handlePage)]
    pub fn handle_page(&mut self, page: &str, now: f64) -> Result<(), JsValue> {
        self.0.handle_page(page_of(page)?, millis(now));
        Ok(())
    }

    /// Handles the match results of the occurrences of the page, in order, as a JSON array of
    /// `true`, `false`, `{"data":OBJECT}` for another payload, and `null` for a failure. If the
    /// text is no such array, all have failed.
    #[wasm_bindgen(js_name = handleMatchResults)]
    pub fn handle_match_results(&mut self, results: &str) {
        self.0
            .handle_match_results(&match_results(results).unwrap_or_default());
    }

    /// Handles the response of what keeps the subscriptions: JSON text of an object with `result`,
    /// an object, or `error`, as in `refuse`.
    #[wasm_bindgen(js_name = handleResponse)]
    pub fn handle_response(&mut self, response: &str) {
        self.0.handle_response(response);
    }

    /// Returns the refusal of this request; `error` is JSON text such as
    /// `{"resourceExhausted":{"limit":"streams","max":16}}` or `{"internal":"bus"}`.
    #[wasm_bindgen(unchecked_return_type = "HttpResponse")]
    pub fn refuse(&self, error: &str) -> Result<JsValue, JsValue> {
        Ok(object(&HttpResponse::from(self.0.refuse(error_of(error)?))))
    }
}

impl EventExchange {
    pub(super) fn opening(&self) -> Result<Opening, JsValue> {
        let opening = self.0.opening();
        opening.ok_or_else(|| out_of_place("the request opens no stream"))
    }
}

impl From<exchange::EventExchange> for EventExchange {
    fn from(core: exchange::EventExchange) -> Self {
        Self(core)
    }
}

pub(super) fn page_of(page: &str) -> Result<Page, JsValue> {
    Page::from_json(page).ok_or_else(|| malformed("the page"))
}

pub(super) fn error_of(error: &str) -> Result<EventError, JsValue> {
    let error = EventError::from_json(error);
    error.ok_or_else(|| malformed("the error"))
}
