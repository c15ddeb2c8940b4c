use alloc::vec::Vec;
use core::cmp::Ordering;

/// Numbers in an order defined by the owner, in runs of bounded length, so that an insertion moves
/// few of them however many there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// None of them is empty.
    runs: Vec<Vec<u32>>,
}

/// The place of a number in an order, or the place where it would be.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderSlot {
    run: usize,
    at: usize,
}

impl Order {
    /// Finds the number that `compare` calls equal, or the place where it would be. `compare`
    /// orders a number relative to the one sought.
    pub(super) fn find(&self, compare: &dyn Fn(u32) -> Ordering) -> Result<OrderSlot, OrderSlot> {
        let is_before = |run: &Vec<u32>| run.first().is_some_and(|first| compare(*first).is_le());
        let run = self.runs.partition_point(is_before).saturating_sub(1);
        let numbers = self.runs.get(run).map_or(&[][..], Vec::as_slice);
        match numbers.binary_search_by(|number| compare(*number)) {
            Ok(at) => Ok(OrderSlot { run, at }),
            Err(at) => Err(OrderSlot { run, at }),
        }
    }

    pub(super) fn get(&self, place: OrderSlot) -> Option<u32> {
        self.runs.get(place.run)?.get(place.at).copied()
    }

    /// Inserts a number at a place that [`Order::find`] returned as an error.
    pub(super) fn insert(&mut self, place: OrderSlot, number: u32) {
        let Some(run) = self.runs.get_mut(place.run) else {
            return self.runs.push(vec![number]);
        };
        run.insert(place.at.min(run.len()), number);
        if run.len() > MAX_RUN {
            let rest = run.split_off(MAX_RUN / 2);
            self.runs.insert(place.run + 1, rest);
        }
    }

    pub(super) fn remove(&mut self, place: OrderSlot) -> Option<u32> {
        let run = self.runs.get_mut(place.run)?;
        let number = (place.at < run.len()).then(|| run.remove(place.at));
        if run.is_empty() {
            self.runs.remove(place.run);
        }
        number
    }

    pub(super) fn retain(&mut self, keep: &mut dyn FnMut(u32) -> bool) {
        for run in &mut self.runs {
            run.retain(|number| keep(*number));
        }
        self.runs.retain(|run| !run.is_empty());
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.runs.iter().flatten().copied()
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = u32> {
        self.runs.into_iter().flatten()
    }
}

/// Maximum length of a run; a longer one is split.
const MAX_RUN: usize = 256;
