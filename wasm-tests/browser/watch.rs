use mcp_listen::{
    client::{Loss, WatchState},
    event::ServerEvent,
};
use mcp_listen_browser::{ListenError, ListenOptions, WatchEvent, watch};
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::stage::{Stage, next, note_updated, tools, tools_and_note};

#[test]
async fn a_watch_reopens_after_a_drop_and_reports_everything_once() {
    let stage = Stage::new().await;
    let server = stage.worker_with(r#"{"maxConnectionAgeMs":3000}"#);
    let mut watch = watch(&server, tools_and_note(), ListenOptions::default());
    assert_eq!(watch.state(), WatchState::Connecting);
    assert_eq!(next(&mut watch).await, Some(Ok(live(false))));
    let Some(Ok(WatchEvent::Waiting { error, .. })) = next(&mut watch).await else {
        panic!("the watch did not wait");
    };
    assert_eq!(error, Some(ListenError::Lost(Loss::Disconnected)));
    assert_eq!(watch.state(), WatchState::Waiting);
    assert_eq!(next(&mut watch).await, Some(Ok(live(true))));
    let events = [next(&mut watch).await, next(&mut watch).await];
    let all = [ServerEvent::ToolsListChanged, note_updated()];
    assert_eq!(
        events,
        all.map(|event| Some(Ok(WatchEvent::Changed(event))))
    );
    watch.close();
    assert_eq!(next(&mut watch).await, None);
}

#[test]
async fn a_watch_stops_if_the_server_denies_its_caller() {
    let stage = Stage::new().await;
    let server = stage.worker_with(r#"{"principal":{"denied":401}}"#);
    let mut watch = watch(&server, tools(), ListenOptions::default());
    let stopped = next(&mut watch).await.unwrap().unwrap_err();
    assert!(matches!(stopped, ListenError::Refused { refusal, .. } if refusal.status == 401));
    assert_eq!(watch.state(), WatchState::Stopped);
    assert_eq!(next(&mut watch).await, None);
}

fn live(is_again: bool) -> WatchEvent {
    WatchEvent::Live {
        honored: tools_and_note(),
        is_again,
    }
}
