use mcp_listen::capabilities::{Capabilities, Discovered};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true,"listChanged":false},"extensions":{"io.modelcontextprotocol/tasks":{}},"experimental":{"x":[{}]}},"_meta":{"io.modelcontextprotocol/serverInfo":{ "name":"n",
 "version":"1" }}}}"#;

#[test]
fn an_answer_tells_the_capabilities_and_the_name_on_one_line() {
    let told = Discovered {
        capabilities: Capabilities {
            tools_list_changed: true,
            resources_subscribe: true,
            tasks: true,
            ..Capabilities::default()
        },
        server_info: Some(r#"{"name":"n","version":"1"}"#.to_owned()),
    };
    assert_eq!(
        Discovered::from_answer(ANSWER.as_bytes()),
        Some(told.clone())
    );
    let stream = format!(
        ": x\n\nevent: message\ndata: {}\n\n",
        ANSWER.replace('\n', "")
    );
    assert_eq!(Discovered::from_answer(stream.as_bytes()), Some(told));
}

#[test]
fn an_extension_is_declared_by_an_object_under_its_name() {
    for (extensions, tasks) in [
        (r#"{"io.modelcontextprotocol/tasks":{"x":1}}"#, true),
        (r#"{"io.modelcontextprotocol/tasks":true}"#, false),
        (r#"{"io.modelcontextprotocol/tasks":null}"#, false),
        (r#"{"io.modelcontextprotocol/Tasks":{}}"#, false),
        ("[]", false),
    ] {
        let body = format!(r#"{{"result":{{"capabilities":{{"extensions":{extensions}}}}}}}"#);
        let told = Discovered::from_answer(body.as_bytes()).unwrap();
        assert_eq!(told.capabilities.tasks, tasks, "{extensions}");
    }
}

#[test]
fn an_answer_without_capabilities_tells_nothing() {
    for body in [
        "",
        "x",
        "{}",
        r#"{"error":{"code":-32601}}"#,
        r#"{"result":{}}"#,
        "data: {}\n\n",
    ] {
        assert_eq!(Discovered::from_answer(body.as_bytes()), None, "{body}");
    }
}
