use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use mcp_listen::events::{
    EventName,
    webhook::{SharedWatermark, WebhookStore, WebhookSubscription},
};

use super::{rig::named, stored};

/// The rows of a deliverer, which outlive it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk(Rc<RefCell<Rows>>);

#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) subscriptions: BTreeMap<Box<str>, String>,
    pub(crate) watermarks: BTreeMap<EventName, SharedWatermark>,
    pub(crate) writes: usize,
    pub(crate) is_broken: bool,
}

impl WebhookStore for Disk {
    type Error = ();

    fn subscriptions(&self) -> Result<Vec<(Box<str>, WebhookSubscription)>, ()> {
        Ok(stored::subscriptions(&self.0.borrow().subscriptions))
    }

    fn put(&mut self, id: &str, subscription: &WebhookSubscription) -> Result<(), ()> {
        self.write(|rows| {
            rows.subscriptions.insert(id.into(), subscription.to_json());
        })
    }

    fn remove(&mut self, id: &str) -> Result<(), ()> {
        self.write(|rows| {
            rows.subscriptions.remove(id);
        })
    }

    fn watermarks(&self) -> Result<Vec<SharedWatermark>, ()> {
        Ok(self.0.borrow().watermarks.values().cloned().collect())
    }

    fn put_watermark(&mut self, watermark: &SharedWatermark) -> Result<(), ()> {
        self.write(|rows| {
            rows.watermarks
                .insert(watermark.name.clone(), watermark.clone());
        })
    }

    fn remove_watermark(&mut self, name: &str) -> Result<(), ()> {
        self.write(|rows| {
            rows.watermarks.remove(&named(name));
        })
    }
}

impl Disk {
    pub(crate) fn writes(&self) -> usize {
        self.0.borrow().writes
    }

    /// Returns the number of subscriptions.
    pub(crate) fn len(&self) -> usize {
        self.0.borrow().subscriptions.len()
    }

    /// Fails all further writes.
    pub(crate) fn break_down(&self) {
        self.0.borrow_mut().is_broken = true;
    }

    /// Stores copies of a subscription with these ids.
    pub(crate) fn copy(&self, id: &str, copies: impl Iterator<Item = Box<str>>) {
        let mut rows = self.0.borrow_mut();
        let text = rows.subscriptions[id].clone();
        rows.subscriptions
            .extend(copies.map(|copy| (copy, text.clone())));
    }

    /// Returns the row of a subscription.
    pub(crate) fn text(&self, id: &str) -> String {
        self.0.borrow().subscriptions[id].clone()
    }

    /// Changes the row of a subscription.
    pub(crate) fn edit(&self, id: &str, change: impl FnOnce(&str) -> String) {
        let text = change(&self.text(id));
        self.0.borrow_mut().subscriptions.insert(id.into(), text);
    }

    fn write(&self, change: impl FnOnce(&mut Rows)) -> Result<(), ()> {
        let mut rows = self.0.borrow_mut();
        if rows.is_broken {
            return Err(());
        }
        rows.writes += 1;
        change(&mut rows);
        Ok(())
    }
}
