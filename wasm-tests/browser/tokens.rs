use std::{cell::Cell, rc::Rc};

use mcp_listen_browser::{ListenError, ListenOptions, Token, listen};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::stage::{NOTE_UPDATED, Stage, next, note_updated, sleep, tools, tools_and_note, until};

#[test]
async fn a_token_is_asked_for_anew_once_after_a_401() {
    let stage = Stage::new().await;
    let asked = Rc::new(Cell::new(0));
    let server = stage.elder("renewed") + "?authorization=Bearer%20t2";
    let opened = listen(&server, tools_and_note(), with(numbered(&asked))).await;
    let mut subscription = opened.unwrap();
    // The first token was refused, the second is kept from then on.
    let requests = [
        "server/discover",
        "server/discover",
        "initialize",
        "notifications/initialized",
        "GET",
        "resources/subscribe",
    ];
    assert_eq!(stage.asked("renewed").await, requests.join("\n"));
    assert_eq!(asked.get(), requests.len());
    stage.publish(NOTE_UPDATED).await;
    assert_eq!(next(&mut subscription).await, Some(Ok(note_updated())));
    drop(subscription);
    let ended = [&requests[..], &["DELETE"]].concat().join("\n");
    until(&ended, async || stage.asked("renewed").await).await;
    assert_eq!(asked.get(), requests.len());
}

#[test]
async fn a_second_401_is_a_refusal() {
    let stage = Stage::new().await;
    let asked = Rc::new(Cell::new(0));
    let server = stage.elder("refused") + "?authorization=Bearer%20other";
    let error = listen(&server, tools(), with(numbered(&asked))).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ListenError::Refused { refusal, .. } if refusal.status == 401));
    assert_eq!(asked.get(), 2);
}

#[test]
async fn a_provider_that_has_no_token_lets_the_request_go_without() {
    let stage = Stage::new().await;
    let without = with(Token::provider(async || None));
    assert!(listen(&stage.worker(), tools(), without).await.is_ok());
}

/// Gives `t1` at first and `t2` ever after, each after a while.
fn numbered(asked: &Rc<Cell<usize>>) -> Token {
    let asked = Rc::clone(asked);
    Token::provider(move || {
        let count = asked.get() + 1;
        asked.set(count);
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
