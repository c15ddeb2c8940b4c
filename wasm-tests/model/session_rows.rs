use std::{
    cell::{Ref, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use mcp_listen::{
    clock::Millis,
    session::{Claim, Session, SessionStore, Totals},
    uri::Uri,
};

/// The sessions on the disk of a bus: each instance of the bus reads and writes them through a
/// clone of this.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionRows(Rc<RefCell<Rows>>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    sessions: BTreeMap<Box<str>, Session>,
    /// Ordered by their beginning.
    order: Vec<Box<str>>,
    uris: BTreeMap<Box<str>, BTreeSet<Uri>>,
    /// The releases that shards have not confirmed.
    releases: Vec<(u32, Claim)>,
    /// The number of writes that still succeed; `None`: all.
    writes_left: Option<u8>,
    /// The number of writes.
    pub(crate) version: usize,
}

/// The disk failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl SessionRows {
    pub(crate) fn rows(&self) -> Ref<'_, Rows> {
        self.0.borrow()
    }

    /// Runs an action while the disk fails after this many writes. A failure rolls back the writes,
    /// as in a transaction.
    pub(crate) fn failing<T>(
        &self,
        after: Option<u8>,
        action: impl FnOnce() -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        let Some(after) = after else {
            return action();
        };
        let before = self.0.borrow().clone();
        self.0.borrow_mut().writes_left = Some(after);
        let outcome = action();
        self.0.borrow_mut().writes_left = None;
        if outcome.is_err() {
            *self.0.borrow_mut() = before;
        }
        outcome
    }

    /// When the first unused session ends.
    pub(crate) fn next_end(&self) -> Option<Millis> {
        let rows = self.0.borrow();
        let ends = rows.sessions.values().map(Session::ends_at);
        ends.min().map(|end| end + Millis(1))
    }

    fn write(&mut self, change: impl FnOnce(&mut Rows)) -> Result<(), Broken> {
        let mut rows = self.0.borrow_mut();
        if let Some(left) = &mut rows.writes_left {
            *left = left.checked_sub(1).ok_or(Broken)?;
        }
        change(&mut rows);
        rows.version += 1;
        Ok(())
    }

    fn those(&self, is: impl Fn(&Session) -> bool) -> Vec<Box<str>> {
        let rows = self.0.borrow();
        let those = rows.all().filter(|(_, session)| is(session));
        those.map(|(id, _)| id.into()).collect()
    }
}

impl Rows {
    /// All sessions, ordered by their beginning.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Session)> {
        let ids = self.order.iter();
        ids.filter_map(|id| Some((&**id, self.sessions.get(id)?)))
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Session> {
        self.sessions.get(id)
    }

    /// Whether no call to a shard is unconfirmed.
    pub(crate) fn has_confirmed(&self) -> bool {
        self.releases.is_empty() && self.all().all(|(_, session)| !session.is_unconfirmed)
    }

    pub(crate) fn uris(&self, id: &str) -> impl Iterator<Item = &Uri> {
        self.uris.get(id).into_iter().flatten()
    }

    /// The totals of named or unnamed sessions.
    pub(crate) fn totals(&self, are_named: bool) -> Totals {
        let mut totals = Totals::default();
        for (id, _) in self.all().filter(|(_, it)| it.is_named() == are_named) {
            totals.sessions += 1;
            totals.bytes += self.uris(id).map(|uri| uri.len() + 64).sum::<usize>();
        }
        totals
    }
}

impl SessionStore for SessionRows {
    type Error = Broken;

    fn get(&self, id: &str) -> Result<Option<Session>, Broken> {
        Ok(self.0.borrow().sessions.get(id).cloned())
    }

    fn put(&mut self, id: &str, session: &Session) -> Result<(), Broken> {
        self.write(|rows| {
            if rows.sessions.insert(id.into(), session.clone()).is_none() {
                rows.order.push(id.into());
            }
        })
    }

    fn remove(&mut self, id: &str) -> Result<(), Broken> {
        self.write(|rows| {
            rows.sessions.remove(id);
            rows.order.retain(|each| **each != *id);
            rows.uris.remove(id);
        })
    }

    fn subscriptions(&self, id: &str) -> Result<Vec<Uri>, Broken> {
        Ok(self.0.borrow().uris(id).cloned().collect())
    }

    fn is_subscribed(&self, id: &str, uri: &str) -> Result<bool, Broken> {
        Ok(self.0.borrow().uris(id).any(|watched| **watched == *uri))
    }

    fn subscribe(&mut self, id: &str, uri: &str) -> Result<(), Broken> {
        let uri = Uri::new(uri, uri.len()).map_err(|_| Broken)?;
        self.write(|rows| {
            rows.uris.entry(id.into()).or_default().insert(uri);
        })
    }

    fn unsubscribe(&mut self, id: &str, uri: &str) -> Result<(), Broken> {
        self.write(|rows| {
            if let Some(uris) = rows.uris.get_mut(id) {
                uris.retain(|watched| **watched != *uri);
            }
        })
    }

    fn of_caller(&self, caller: &str) -> Result<Vec<Box<str>>, Broken> {
        Ok(self.those(|session| session.new.caller().as_deref() == Some(caller)))
    }

    fn ended(&self, now: Millis) -> Result<Vec<Box<str>>, Broken> {
        Ok(self.those(|session| session.ends_at() < now))
    }

    fn at_shard(&self, shard: u32) -> Result<Vec<Box<str>>, Broken> {
        Ok(self.those(|session| session.shard == Some(shard)))
    }

    fn keep_release(&mut self, shard: u32, claim: &Claim) -> Result<(), Broken> {
        self.write(|rows| {
            rows.releases.retain(|it| *it != (shard, claim.clone()));
            rows.releases.push((shard, claim.clone()));
        })
    }

    fn forget_release(&mut self, shard: u32, claim: &Claim) -> Result<(), Broken> {
        let is_kept = self.0.borrow().releases.contains(&(shard, claim.clone()));
        if is_kept {
            self.write(|rows| rows.releases.retain(|it| *it != (shard, claim.clone())))?;
        }
        Ok(())
    }

    fn releases(&self) -> Result<Vec<(u32, Claim)>, Broken> {
        Ok(self.0.borrow().releases.clone())
    }

    fn totals(&self) -> Result<[Totals; 2], Broken> {
        let rows = self.0.borrow();
        Ok([rows.totals(true), rows.totals(false)])
    }
}
