use std::fmt;

use wasm_bindgen::prelude::*;

use mcp_listen::{
    events::webhook::{SharedWatermark, WebhookStore, WebhookSubscription},
    json,
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r"
/**
 * The rows of an `EventDeliverer`. An exception of the store is thrown by the call that used it;
 * then make another deliverer.
 */
export interface SubscriptionRows {
  /** Returns the stored subscriptions. */
  subscriptions(): SubscriptionRow[];
  /** Stores a subscription, replacing its previous text. */
  put(id: string, text: string): void;
  remove(id: string): void;
  /** Returns the stored watermarks. */
  watermarks(): string[];
  /** Stores the shared watermark of an event type, replacing its previous text. */
  putWatermark(name: string, text: string): void;
  removeWatermark(name: string): void;
}

/** A stored subscription. Its text has the secrets as the host has given them. */
export interface SubscriptionRow {
  id: string;
  text: string;
}
";

#[wasm_bindgen]
extern "C" {
    /// Subscriptions that are stored by JavaScript.
    #[wasm_bindgen(typescript_type = "SubscriptionRows")]
    pub type Rows;
    #[wasm_bindgen(method, structural, catch)]
    fn subscriptions(this: &Rows) -> Result<Vec<JsRow>, JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn put(this: &Rows, id: &str, text: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn remove(this: &Rows, id: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, structural, catch)]
    fn watermarks(this: &Rows) -> Result<Vec<String>, JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = putWatermark)]
    fn put_watermark(this: &Rows, name: &str, text: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, structural, catch, js_name = removeWatermark)]
    fn remove_watermark(this: &Rows, name: &str) -> Result<(), JsValue>;

    type JsRow;
    #[wasm_bindgen(method, structural, getter)]
    fn id(this: &JsRow) -> String;
    #[wasm_bindgen(method, structural, getter)]
    fn text(this: &JsRow) -> String;
}

impl WebhookStore for Rows {
    type Error = JsValue;

    /// Leaves out what cannot be read: the client renews its subscription.
    fn subscriptions(&self) -> Result<Vec<(Box<str>, WebhookSubscription)>, JsValue> {
        let rows = Rows::subscriptions(self)?;
        let rows = rows.iter().filter_map(|row| {
            let subscription = WebhookSubscription::from_json(&row.text())?;
            Some((row.id().into_boxed_str(), subscription))
        });
        Ok(rows.collect())
    }

    fn put(&mut self, id: &str, subscription: &WebhookSubscription) -> Result<(), JsValue> {
        Rows::put(self, id, &subscription.to_json())
    }

    fn remove(&mut self, id: &str) -> Result<(), JsValue> {
        Rows::remove(self, id)
    }

    fn watermarks(&self) -> Result<Vec<SharedWatermark>, JsValue> {
        let watermarks = Rows::watermarks(self)?;
        Ok(watermarks
            .iter()
            .filter_map(|text| json::from_text(text))
            .collect())
    }

    fn put_watermark(&mut self, watermark: &SharedWatermark) -> Result<(), JsValue> {
        Rows::put_watermark(self, &watermark.name, &watermark.to_json())
    }

    fn remove_watermark(&mut self, name: &str) -> Result<(), JsValue> {
        Rows::remove_watermark(self, name)
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rows")
    }
}
