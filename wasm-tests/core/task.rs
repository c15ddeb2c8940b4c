use mcp_listen::{
    event::{ServerEvent, ServerEventError},
    name::NameError,
    task::TaskError,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::request::{HEADERS, accept, assert_accepted, assert_rejected, body};

#[test]
fn task_ids_require_the_client_extension() {
    let filter = r#"{"toolsListChanged":true,"taskIds":["t"]}"#;
    let declaring = |capabilities: &str| {
        body("1", filter).replace(
            "clientCapabilities\":{}",
            &format!("clientCapabilities\":{capabilities}"),
        )
    };
    for capabilities in [
        r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
        r#"{"roots":{},"extensions":{"x/y":{},"io.modelcontextprotocol/tasks":{"a":1}}}"#,
    ] {
        assert_accepted(accept(HEADERS, declaring(capabilities)), "1", filter);
    }
    for capabilities in [
        "{}",
        r#"{"tasks":{}}"#,
        r#"{"extensions":{}}"#,
        r#"{"extensions":[]}"#,
        r#"{"extensions":{"io.modelcontextprotocol/tasks":true}}"#,
        r#"{"io.modelcontextprotocol/tasks":{}}"#,
    ] {
        let outcome = accept(HEADERS, declaring(capabilities));
        assert_rejected(outcome, 400, -32_021, Some("1"));
    }
}

#[test]
fn a_task_is_kept_without_the_members_of_a_response() {
    let text = r#"{"kind":"task_status","x":1,"task":{
        "_meta":{"a":1}, "status":"completed", "resultType":"complete", "taskId":"\u0074",
        "ttlMs":1.50e3, "result":{"_meta":{"b":2},"content":[ ]}, "of-tomorrow":[true]
    }}"#;
    assert_eq!(
        ServerEvent::from_json(text).unwrap().to_json(),
        r#"{"kind":"task_status","task":{"status":"completed","taskId":"t","ttlMs":1.50e3,"result":{"_meta":{"b":2},"content":[]},"of-tomorrow":[true]}}"#
    );
}

#[test]
fn the_size_of_a_task_is_bounded() {
    let sized = |length: usize| {
        let rest = r#"{"taskId":"t","status":"working","x":""}"#.len();
        let padding = "x".repeat(length - rest);
        ServerEvent::from_json(&format!(
            r#"{{"kind":"task_status","task":{{"taskId":"t","status":"working","x":  "{padding}"}}}}"#
        ))
    };
    assert!(sized(16_383).is_ok());
    assert!(sized(16_384).is_ok());
    assert_eq!(
        sized(16_385),
        Err(ServerEventError::Task(TaskError::TooLarge))
    );
}

#[test]
fn an_invalid_task_has_an_error() {
    let long = format!(r#"{{"taskId":"{}","status":"working"}}"#, "x".repeat(2_049));
    for (text, error) in [
        ("null", TaskError::NotAnObject),
        (r#""t""#, TaskError::NotAnObject),
        (r#"{"status":"working"}"#, TaskError::MissingId),
        (r#"{"taskId":1,"status":"working"}"#, TaskError::MissingId),
        (
            r#"{"taskId":"","status":"working"}"#,
            TaskError::Id(NameError::Empty),
        ),
        (
            r#"{"taskId":"a\n","status":"working"}"#,
            TaskError::Id(NameError::Control),
        ),
        (&long, TaskError::Id(NameError::TooLong)),
        (r#"{"taskId":"t"}"#, TaskError::MissingStatus),
        (r#"{"taskId":"t","status":null}"#, TaskError::MissingStatus),
    ] {
        let event = format!(r#"{{"kind":"task_status","task":{text}}}"#);
        let error = ServerEventError::Task(error);
        assert_eq!(ServerEvent::from_json(&event), Err(error), "{text}");
        assert_eq!(error.code(), "invalid-task");
    }
    assert_eq!(
        ServerEvent::from_json(r#"{"kind":"task_status"}"#),
        Err(ServerEventError::Task(TaskError::NotAnObject))
    );
}
