use js_sys::{Error, Reflect};
use wasm_bindgen::JsValue;

/// Creates a JavaScript `Error` with a stable `code`.
pub(crate) fn coded(code: &str, message: &str) -> JsValue {
    let error = Error::new(message);
    // Setting a member of a fresh object cannot fail.
    drop(Reflect::set(&error, &"code".into(), &code.into()));
    error.into()
}
