use mcp_listen::{
    client::{Loss, Refusal},
    clock::Millis,
    filter::SubscriptionFilter,
    uri::Uri,
};
use mcp_listen_browser::{ListenError, ListenOptions, listen};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::stage::{ACKNOWLEDGED, RESULT, Stage, next, tools};

#[test]
async fn a_refusal_has_status_and_code() {
    let stage = Stage::new().await;
    let uris = (0..300).map(|number| Uri::new(&format!("note://{number}"), 100).unwrap());
    let too_many = SubscriptionFilter {
        resource_subscriptions: uris.collect(),
        ..Default::default()
    };
    let opened = listen(&stage.worker(), too_many, ListenOptions::default()).await;
    let error = opened.unwrap_err();
    assert_eq!(error.code(), "refused");
    let (refusal, retry_after) = refused(error);
    assert_eq!((refusal.status, refusal.code), (400, Some(-32_602)));
    assert_eq!(retry_after, None);
}

#[test]
async fn a_full_server_refuses_with_retry_after() {
    let stage = Stage::new().await;
    let server = stage.worker_with(r#"{"limits":{"maxSubscriptions":0}}"#);
    let opened = listen(&server, tools(), ListenOptions::default()).await;
    let (refusal, retry_after) = refused(opened.unwrap_err());
    assert_eq!((refusal.status, refusal.code), (503, Some(-32_603)));
    assert!(retry_after.is_some_and(|wait| wait >= Millis(1_000)));
}

#[test]
async fn a_token_and_other_header_fields_are_sent() {
    let stage = Stage::new().await;
    let part = format!(r#"{{"authorization":"Bearer t0ken","steps":[{ACKNOWLEDGED},{RESULT}]}}"#);
    let server = stage.player("token", &part);
    let opened = listen(&server, tools(), ListenOptions::default()).await;
    assert_eq!(refused(opened.unwrap_err()).0.status, 401);
    let with_token = ListenOptions {
        token: Some("t0ken".into()),
        ..Default::default()
    };
    let mut opened = listen(&server, tools(), with_token).await.unwrap();
    assert_eq!(next(&mut opened).await, None);
    let with_field = ListenOptions {
        headers: vec![("authorization".into(), "Bearer t0ken".into())],
        ..Default::default()
    };
    assert!(listen(&server, tools(), with_field).await.is_ok());
}

#[test]
async fn a_request_with_credentials_follows_no_redirect() {
    let stage = Stage::new().await;
    let elsewhere = stage.elder("elsewhere");
    let part = format!(r#"{{"status":307,"headers":{{"location":"{elsewhere}"}}}}"#);
    let server = stage.player("redirecting", &part);
    let with_token = ListenOptions {
        token: Some("t0ken".into()),
        ..Default::default()
    };
    let with_field = ListenOptions {
        headers: vec![("x-api-key".into(), "s3cret".into())],
        ..Default::default()
    };
    for options in [with_token, with_field] {
        let error = listen(&server, tools(), options).await.unwrap_err();
        assert_eq!(error, ListenError::Lost(Loss::Redirected));
    }
    assert_eq!(stage.requests("elsewhere").await, "");
    drop(listen(&server, tools(), ListenOptions::default()).await);
    assert_ne!(stage.requests("elsewhere").await, "");
}

#[test]
async fn options_that_no_page_can_send_are_invalid() {
    let stage = Stage::new().await;
    let with_field = ListenOptions {
        headers: vec![("no field".into(), "x".into())],
        ..Default::default()
    };
    let opened = listen(&stage.worker(), tools(), with_field).await;
    assert_eq!(opened.unwrap_err(), ListenError::InvalidOptions);
    let opened = listen("http://", tools(), ListenOptions::default()).await;
    assert_eq!(opened.unwrap_err().code(), "invalid-options");
}

fn refused(error: ListenError) -> (Refusal, Option<Millis>) {
    match error {
        ListenError::Refused {
            refusal,
            retry_after,
        } => (refusal, retry_after),
        other => panic!("{other}"),
    }
}
