use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::JsValue;

/// Converts a value to a plain object; absent members are undefined.
pub(crate) fn object(value: &impl Serialize) -> JsValue {
    // Texts, numbers, booleans and lists of them cannot fail.
    value.serialize(&Serializer::new()).unwrap_or_default()
}

/// As [`object`], for a value that may be absent.
#[cfg(any(
    feature = "bus",
    feature = "client",
    feature = "edge",
    feature = "events"
))]
pub(crate) fn optional(value: Option<impl Serialize>) -> JsValue {
    value.map_or(JsValue::UNDEFINED, |value| object(&value))
}
