//! Listening from a page in headless Chromium, to the fixture Worker on workerd and to scripted
//! servers. `serve.ts` starts both.

#![cfg(target_arch = "wasm32")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::future_not_send,
    missing_docs,
    unreachable_pub,
    reason = "tests fail by panicking"
)]

mod deadlines;
mod ends;
mod guide;
mod refusals;
mod sessions;
mod stage;
mod tokens;
mod watch;
mod worker;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
