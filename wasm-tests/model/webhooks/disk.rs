use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use mcp_listen::{
    clock::Millis,
    events::{
        EventName,
        webhook::{SharedWatermark, WebhookStore, WebhookSubscription},
    },
};

use crate::seed::Seed;

use super::stored;

/// What survives a crash. Each write may be the last one before a crash.
#[derive(Clone, Debug)]
pub(super) struct Disk(Rc<RefCell<Rows>>);

#[derive(Debug)]
struct Rows {
    subscriptions: BTreeMap<Box<str>, String>,
    watermarks: BTreeMap<EventName, SharedWatermark>,
    alarm: Option<Millis>,
    choices: Seed,
    crashes: u64,
}

/// The host has crashed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crash;

impl Disk {
    pub(super) fn new(seed: u64, crashes: u64) -> Self {
        Self(Rc::new(RefCell::new(Rows {
            subscriptions: BTreeMap::new(),
            watermarks: BTreeMap::new(),
            alarm: None,
            choices: Seed::new(seed ^ 0xD15C),
            crashes,
        })))
    }

    /// Lets no more writes fail.
    pub(super) fn calm(&self) {
        self.0.borrow_mut().crashes = 0;
    }

    pub(super) fn alarm(&self) -> Option<Millis> {
        self.0.borrow().alarm
    }

    pub(super) fn set_alarm(&self, at: Option<Millis>) {
        self.0.borrow_mut().alarm = at;
    }

    /// Writes, or crashes before or after that.
    fn write(&self, change: impl FnOnce(&mut Rows)) -> Result<(), Crash> {
        let mut rows = self.0.borrow_mut();
        let choice = rows.choices.next() % 2_000;
        let crashes = choice < rows.crashes;
        if crashes && choice.is_multiple_of(2) {
            return Err(Crash);
        }
        change(&mut rows);
        if crashes { Err(Crash) } else { Ok(()) }
    }
}

impl WebhookStore for Disk {
    type Error = Crash;

    fn subscriptions(&self) -> Result<Vec<(Box<str>, WebhookSubscription)>, Crash> {
        Ok(stored::subscriptions(&self.0.borrow().subscriptions))
    }

    fn put(&mut self, id: &str, subscription: &WebhookSubscription) -> Result<(), Crash> {
        self.write(|rows| {
            rows.subscriptions.insert(id.into(), subscription.to_json());
        })
    }

    fn remove(&mut self, id: &str) -> Result<(), Crash> {
        self.write(|rows| {
            rows.subscriptions.remove(id);
        })
    }

    fn watermarks(&self) -> Result<Vec<SharedWatermark>, Crash> {
        Ok(self.0.borrow().watermarks.values().cloned().collect())
    }

    fn put_watermark(&mut self, watermark: &SharedWatermark) -> Result<(), Crash> {
        self.write(|rows| {
            rows.watermarks
                .insert(watermark.name.clone(), watermark.clone());
        })
    }

    fn remove_watermark(&mut self, name: &str) -> Result<(), Crash> {
        self.write(|rows| rows.watermarks.retain(|own, _| **own != *name))
    }
}
