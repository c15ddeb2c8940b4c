use js_sys::{Error, Reflect};
use wasm_bindgen::JsValue;

/// Creates a JavaScript `Error` with a stable `code`.
pub(crate) fn coded(code: &str, message: &str) -> JsValue {
    let error = Error::new(message);
    // Setting a member of a fresh object cannot fail.
    drop(Reflect::set(&error, &"code".into(), &code.into()));
    error.into()
}

/// Creates the error for a text that cannot be read: it was written by another version of this
/// package, or by the host.
#[cfg(any(feature = "edge", feature = "bus", feature = "events"))]
pub(crate) fn malformed(what: &str) -> JsValue {
    coded("malformed-message", &format!("{what} cannot be read"))
}

/// Creates the error for a call that does not belong here: a bug of the host.
#[cfg(any(feature = "edge", feature = "bus", feature = "events"))]
pub(crate) fn out_of_place(problem: &str) -> JsValue {
    coded("internal-error", problem)
}
