use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use js_sys::{Function, Promise};
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};
use wasm_bindgen_futures::JsFuture;
use web_sys::Request;

use mcp_listen::clock::Millis;

/// Global functions of both pages and workers.
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

/// Returns the time of the monotonic clock.
pub(super) fn now() -> Millis {
    Millis::from_f64(performance_now())
}

/// Returns a random number, for values that must differ between pages.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is in [0, 2^53)"
)]
pub(super) fn random() -> u64 {
    (js_sys::Math::random() * 2f64.powi(53)) as u64
}

/// A timer that becomes ready at its time, or slightly earlier; cancelled on drop.
#[derive(Debug)]
struct Timer {
    /// When it becomes ready.
    at: Millis,
    timeout: JsValue,
    /// Resolves the promise of `fired`.
    resolve: Option<Function>,
    fired: JsFuture,
}

impl Timer {
    fn new(at: Millis, now: Millis) -> Self {
        let after = (at - now).min(MAX_DELAY);
        let (mut timeout, mut resolver) = (JsValue::UNDEFINED, None);
        let fired = Promise::new(&mut |resolve, _| {
            timeout = set_timeout(&resolve, after.as_f64());
            resolver = Some(resolve);
        });
        Self {
            at,
            timeout,
            resolve: resolver,
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
        // A `JsFuture` keeps its memory until its promise settles.
        if let Some(resolve) = &self.resolve {
            let _ = resolve.call0(&JsValue::UNDEFINED);
        }
    }
}

/// A timer with a deadline that may move.
#[derive(Debug, Default)]
pub(super) struct Alarm(Option<Timer>);

impl Alarm {
    /// Becomes ready at the deadline, with the current time; never without a deadline.
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
            // Anything that arrives moves the deadline. A timer that fires early is restarted.
            let earlier = self.0.take().filter(|timer| timer.at <= deadline);
            let timer = earlier.unwrap_or_else(|| Timer::new(deadline, now));
            ready!(self.0.insert(timer).poll(context));
            self.0 = None;
        }
    }
}

/// Browsers treat a longer delay as 0.
const MAX_DELAY: Millis = Millis(i32::MAX as u64);
