use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use js_sys::Promise;
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};
use wasm_bindgen_futures::JsFuture;
use web_sys::Request;

use mcp_listen::clock::Millis;

/// What pages and workers alike have in their global scope.
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = fetch)]
    pub(super) fn fetch(request: &Request) -> Promise;
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(then: &JsValue, after_ms: f64) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timeout: &JsValue);
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
}

/// The time on a clock that nobody sets.
pub(super) fn now() -> Millis {
    Millis::from_f64(performance_now())
}

/// Any number, for what has to differ from page to page.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is in [0, 2^53)"
)]
pub(super) fn random() -> u64 {
    (js_sys::Math::random() * 2f64.powi(53)) as u64
}

/// Ready at its time, or a little earlier; dropped, it is taken back.
#[derive(Debug)]
struct Timer {
    /// When it is ready.
    at: Millis,
    timeout: JsValue,
    fired: JsFuture,
}

impl Timer {
    fn new(at: Millis, now: Millis) -> Self {
        let after = (at - now).min(LONGEST);
        let mut timeout = JsValue::UNDEFINED;
        let fired = Promise::new(&mut |resolve, _| {
            timeout = set_timeout(&resolve, after.as_f64());
        });
        Self {
            at,
            timeout,
            fired: fired.into(),
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.fired).poll(context).map(drop)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(&self.timeout);
    }
}

/// What waits for a moment that may move.
#[derive(Debug, Default)]
pub(super) struct Alarm(Option<Timer>);

impl Alarm {
    /// Ready, with the time, once it is `deadline`; `None`: never.
    pub(super) fn poll(
        &mut self,
        deadline: Option<Millis>,
        context: &mut Context<'_>,
    ) -> Poll<Millis> {
        let Some(deadline) = deadline else {
            self.0 = None;
            return Poll::Pending;
        };
        loop {
            let now = now();
            if deadline <= now {
                self.0 = None;
                return Poll::Ready(now);
            }
            // Deadlines move with every sign of life; a timer that fires too early is set anew then.
            let earlier = self.0.take().filter(|timer| timer.at <= deadline);
            let timer = earlier.unwrap_or_else(|| Timer::new(deadline, now));
            ready!(self.0.insert(timer).poll(context));
            self.0 = None;
        }
    }
}

/// Browsers take a longer one for none at all.
const LONGEST: Millis = Millis(i32::MAX as u64);
