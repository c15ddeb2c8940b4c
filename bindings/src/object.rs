use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::JsValue;

/// A value that is made once, as a plain object; what is absent is undefined.
pub(crate) fn object(value: &impl Serialize) -> JsValue {
    // Texts, numbers, flags and lists of them cannot fail.
    value.serialize(&Serializer::new()).unwrap_or_default()
}

/// The same of what may be absent itself.
pub(crate) fn optional(value: Option<impl Serialize>) -> JsValue {
    value.map_or(JsValue::UNDEFINED, |value| object(&value))
}
