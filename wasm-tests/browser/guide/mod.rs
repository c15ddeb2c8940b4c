//! The programs of docs/rust.md for clients.

mod page;
mod page_once;

use std::{cell::Cell, pin::pin, rc::Rc};

use futures_util::future::{Either, join, select};
use mcp_listen::{client::Loss, event::ServerEvent};
use mcp_listen_browser::{ListenError, Token};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::stage::{Stage, until};

const GUIDE: &str = include_str!("../../../docs/rust.md");
const TOOLS_CHANGED: &str = r#"{"kind":"tools_list_changed"}"#;

#[test]
fn the_guide_has_these_programs_and_no_other() {
    let shown: Vec<&str> = GUIDE
        .split("```rust\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .filter(|code| code.starts_with("// "))
        .collect();
    assert_eq!(
        shown,
        [include_str!("page.rs"), include_str!("page_once.rs")]
    );
}

#[test]
async fn the_first_program_lists_the_tools_after_each_change() {
    let stage = Stage::new().await;
    let listed = Rc::new(Cell::new(0));
    let count = Rc::clone(&listed);
    let (url, token) = (stage.worker(), Token::provider(async || None));
    let watching = page::watch_tools(&url, token, move || count.set(count.get() + 1));
    let changing = async {
        until("1", async || listed.get().to_string()).await;
        stage.publish(TOOLS_CHANGED).await;
        until("2", async || listed.get().to_string()).await;
    };
    let (watching, changing) = (pin!(watching), pin!(changing));
    assert!(matches!(select(watching, changing).await, Either::Right(_)));
}

#[test]
async fn the_second_program_waits_for_the_first_change() {
    let stage = Stage::new().await;
    let options = r#"{"limits":{"maxSubscriptions":7}}"#;
    let url = stage.worker_with(options);
    let changing = async {
        until("1", async || stage.streams_with(options).await).await;
        stage.publish(TOOLS_CHANGED).await;
    };
    let (changed, ()) = join(page_once::first_change(&url), changing).await;
    assert_eq!(changed, Ok(Some(ServerEvent::ToolsListChanged)));
    let lost = page_once::first_change("http://127.0.0.1:9/mcp").await;
    assert_eq!(lost, Err(ListenError::Lost(Loss::Disconnected)));
}
