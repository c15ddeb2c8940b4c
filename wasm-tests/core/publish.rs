use mcp_listen::{
    event::{ServerEvent, ServerEventError},
    publish::{PublishError, events},
    task::TaskError,
    uri::UriError,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn read(body: &str) -> Result<Vec<String>, PublishError> {
    let posted = events(body.as_bytes())?;
    assert_eq!(posted.is_array, body.trim_start().starts_with('['));
    Ok(posted.events.iter().map(ServerEvent::to_json).collect())
}

#[test]
fn one_or_several_events_are_read_in_order() {
    let one = r#"{"kind":"resource_updated","uri":"note://a"}"#;
    assert_eq!(read(one), Ok(vec![one.to_owned()]));
    let tools = r#"{"kind":"tools_list_changed"}"#;
    assert_eq!(
        read(&format!(" [{one}, {tools}] ")),
        Ok(vec![one.to_owned(), tools.to_owned()])
    );
}

#[test]
fn an_event_may_be_a_notification_or_a_python_class_name() {
    let task = r#"{"taskId":"t","status":"working","ttlMs":null}"#;
    for (written, event) in [
        (
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            r#"{"kind":"tools_list_changed"}"#,
        ),
        (
            r#"{"method":"notifications/prompts/list_changed","params":{}}"#,
            r#"{"kind":"prompts_list_changed"}"#,
        ),
        (
            r#"{"method":"notifications/resources/list_changed"}"#,
            r#"{"kind":"resources_list_changed"}"#,
        ),
        (
            r#"{"method":"notifications/events/list_changed"}"#,
            r#"{"kind":"resource_updated","uri":"mcp-event:"}"#,
        ),
        (
            r#"{"method":"notifications/resources/updated","params":{"uri":"a"}}"#,
            r#"{"kind":"resource_updated","uri":"a"}"#,
        ),
        (
            r#"{"kind":"ToolsListChanged"}"#,
            r#"{"kind":"tools_list_changed"}"#,
        ),
        (
            r#"{"kind":"ResourceUpdated","uri":"a"}"#,
            r#"{"kind":"resource_updated","uri":"a"}"#,
        ),
        (
            &format!(r#"{{"method":"notifications/tasks","params":{task}}}"#),
            &format!(r#"{{"kind":"task_status","task":{task}}}"#),
        ),
    ] {
        assert_eq!(read(written), Ok(vec![event.to_owned()]), "{written}");
    }
}

#[test]
fn an_event_in_any_form_may_have_a_group() {
    let tools = r#"{"kind":"for_group","group":"acme","event":{"kind":"tools_list_changed"}}"#;
    for written in [
        tools,
        r#"{"kind":"tools_list_changed","group":"acme"}"#,
        r#"{"kind":"ToolsListChanged","group":"acme"}"#,
        r#"{"method":"notifications/tools/list_changed","group":"acme"}"#,
    ] {
        assert_eq!(read(written), Ok(vec![tools.to_owned()]), "{written}");
    }
}

#[test]
fn a_publisher_cannot_disconnect_callers() {
    for written in [
        r#"{"kind":"disconnect","principal":"ann"}"#,
        r#"{"kind":"disconnect","principal":"ann","group":"acme"}"#,
    ] {
        let refused = PublishError::Event(0, ServerEventError::Disconnect);
        assert_eq!(read(written), Err(refused), "{written}");
        assert_eq!(refused.code(), "disconnect-not-allowed");
        let batch = format!(r#"[{{"kind":"tools_list_changed"}},{written}]"#);
        let refused = PublishError::Event(1, ServerEventError::Disconnect);
        assert_eq!(read(&batch), Err(refused), "{batch}");
    }
}

#[test]
fn an_invalid_group_is_refused() {
    for written in [
        r#"{"kind":"tools_list_changed","group":""}"#,
        r#"{"kind":"tools_list_changed","group":null}"#,
        r#"{"method":"notifications/tools/list_changed","group":["acme"]}"#,
    ] {
        let refused = PublishError::Event(0, ServerEventError::Group);
        assert_eq!(read(written), Err(refused), "{written}");
    }
}

#[test]
fn the_first_invalid_event_is_named() {
    let good = r#"{"kind":"tools_list_changed"}"#;
    for (bad, error) in [
        ("7", ServerEventError::Malformed),
        ("[]", ServerEventError::Malformed),
        ("{}", ServerEventError::UnknownKind),
        (
            r#"{"kind":"roots_list_changed"}"#,
            ServerEventError::UnknownKind,
        ),
        (
            r#"{"method":"notifications/roots/list_changed"}"#,
            ServerEventError::UnknownKind,
        ),
        (
            r#"{"kind":"resource_updated"}"#,
            ServerEventError::MissingUri,
        ),
        (
            r#"{"kind":"resource_updated","uri":7}"#,
            ServerEventError::MissingUri,
        ),
        (
            r#"{"method":"notifications/resources/updated","params":[]}"#,
            ServerEventError::MissingUri,
        ),
        (
            r#"{"kind":"resource_updated","uri":""}"#,
            ServerEventError::Uri(UriError::Empty),
        ),
        (
            r#"{"kind":"task_status"}"#,
            ServerEventError::Task(TaskError::NotAnObject),
        ),
    ] {
        assert_eq!(
            read(&format!("[{good},{bad},7]")),
            Err(PublishError::Event(1, error)),
            "{bad}"
        );
    }
}

#[test]
fn a_body_without_events_is_refused() {
    for (body, error, code) in [
        ("", PublishError::Malformed, "malformed-body"),
        ("{", PublishError::Malformed, "malformed-body"),
        (
            r#"{"kind":"tools_list_changed","kind":"x"}"#,
            PublishError::Malformed,
            "malformed-body",
        ),
        ("[]", PublishError::Empty, "no-events"),
    ] {
        assert_eq!(read(body), Err(error), "{body}");
        assert_eq!((error.code(), error.index()), (code, None));
    }
    assert_eq!(events(&[0xff]), Err(PublishError::Malformed));
}
