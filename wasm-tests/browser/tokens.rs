use std::{cell::Cell, rc::Rc};

use mcp_listen_browser::{ListenError, ListenOptions, Token, listen};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::stage::{NOTE_UPDATED, Stage, next, note_updated, sleep, tools, tools_and_note, until};

#[test]
async fn after_a_401_the_provider_is_called_once_more() {
    let stage = Stage::new().await;
    let calls = Rc::new(Cell::new(0));
    let server = stage.elder("renewed") + "?authorization=Bearer%20t2";
    let opened = listen(&server, tools_and_note(), with(numbered(&calls))).await;
    let mut subscription = opened.unwrap();
    // The first token was refused, and the second one is accepted from then on.
    let requests = [
        "server/discover",
        "server/discover",
        "initialize",
        "notifications/initialized",
        "GET",
        "resources/subscribe",
    ];
    assert_eq!(stage.requests("renewed").await, requests.join("\n"));
    assert_eq!(calls.get(), requests.len());
    stage.publish(NOTE_UPDATED).await;
    assert_eq!(next(&mut subscription).await, Some(Ok(note_updated())));
    drop(subscription);
    let ended = [&requests[..], &["DELETE"]].concat().join("\n");
    until(&ended, async || stage.requests("renewed").await).await;
    assert_eq!(calls.get(), requests.len());
}

#[test]
async fn a_second_401_is_a_refusal() {
    let stage = Stage::new().await;
    let calls = Rc::new(Cell::new(0));
    let server = stage.elder("refused") + "?authorization=Bearer%20other";
    let error = listen(&server, tools(), with(numbered(&calls))).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ListenError::Refused { refusal, .. } if refusal.status == 401));
    assert_eq!(calls.get(), 2);
}

#[test]
async fn without_a_token_from_the_provider_the_request_has_none() {
    let stage = Stage::new().await;
    let without = with(Token::provider(async || None));
    assert!(listen(&stage.worker(), tools(), without).await.is_ok());
}

/// Provides `t1` at first and `t2` from then on, each after a moment.
fn numbered(calls: &Rc<Cell<usize>>) -> Token {
    let calls = Rc::clone(calls);
    Token::provider(move || {
        let count = calls.get() + 1;
        calls.set(count);
        async move {
            sleep(10).await;
            Some(format!("t{}", count.min(2)))
        }
    })
}

fn with(token: Token) -> ListenOptions {
    ListenOptions {
        token: Some(token),
        ..Default::default()
    }
}
