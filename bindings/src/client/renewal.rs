use wasm_bindgen::prelude::*;

use mcp_listen::client::{End, Loss, Refusal, Renewal};

use crate::{number::millis, number::time};

use super::seed;

/// When a subscription that has ended is opened again, whatever carries it.
#[wasm_bindgen]
pub struct ClientRenewal(Renewal);

#[wasm_bindgen]
impl ClientRenewal {
    /// `random` is drawn from [0, 1).
    #[wasm_bindgen(constructor)]
    pub fn new(random: f64) -> Self {
        Self(Renewal::new(seed(random)))
    }

    /// The subscription is open; whether one was before.
    pub fn live(&mut self, #[wasm_bindgen(js_name = isEmpty)] is_empty: bool, now: f64) -> bool {
        self.0.handle_live(is_empty, millis(now))
    }

    /// It was lost, and the server asked to wait for `retryAfter`. The answer is when to open the next.
    pub fn lost(
        &mut self,
        #[wasm_bindgen(js_name = retryAfter)] retry_after: Option<f64>,
        now: f64,
    ) -> Option<f64> {
        self.end(&End::Lost(Loss::Disconnected), retry_after, now)
    }

    /// The server closed it; undefined: for good.
    pub fn closed(&mut self, now: f64) -> Option<f64> {
        self.end(&End::Graceful, None, now)
    }

    /// The server refused it with a status and a JSON-RPC error code; undefined: for good.
    pub fn refused(
        &mut self,
        status: u16,
        code: Option<i32>,
        #[wasm_bindgen(js_name = retryAfter)] retry_after: Option<f64>,
        now: f64,
    ) -> Option<f64> {
        let refusal = Refusal {
            status,
            code,
            text: String::new(),
        };
        self.end(&End::Refused(refusal), retry_after, now)
    }

    fn end(&mut self, end: &End, retry_after: Option<f64>, now: f64) -> Option<f64> {
        let asked = retry_after.map(millis);
        self.0.handle_end(end, asked, millis(now)).map(time)
    }
}
