use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use mcp_listen::{
    clock::Millis,
    session::{Claim, Session, SessionStore, Totals},
    uri::Uri,
};

use crate::{
    any::{claim, uri},
    log::Unreadable,
};

/// A store in memory, which keeps sessions as the text that others write to disk. Its clones share
/// the rows, which outlive the sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows(Rc<RefCell<Stored>>);

#[derive(Debug, Default)]
struct Stored {
    sessions: BTreeMap<Box<str>, String>,
    order: Vec<Box<str>>,
    uris: BTreeMap<Box<str>, BTreeSet<Uri>>,
    releases: BTreeSet<(u32, String)>,
    writes: usize,
}

impl Rows {
    /// Returns how many times a session was written.
    pub(super) fn writes(&self) -> usize {
        self.0.borrow().writes
    }

    pub(super) fn all(&self) -> Vec<(Box<str>, Session)> {
        let ids = self.0.borrow().order.clone().into_iter();
        ids.filter_map(|id| self.get(&id).unwrap().map(|session| (id, session)))
            .collect()
    }

    fn those(&self, is: impl Fn(&Session) -> bool) -> Vec<Box<str>> {
        let all = self.all().into_iter().filter(|(_, session)| is(session));
        all.map(|(id, _)| id).collect()
    }
}

impl SessionStore for Rows {
    type Error = Unreadable;

    fn get(&self, id: &str) -> Result<Option<Session>, Self::Error> {
        let stored = self.0.borrow();
        let text = stored.sessions.get(id);
        Ok(text.map(|text| serde_json::from_str(text).unwrap()))
    }

    fn put(&mut self, id: &str, session: &Session) -> Result<(), Self::Error> {
        let text = serde_json::to_string(session).unwrap();
        let mut stored = self.0.borrow_mut();
        if stored.sessions.insert(id.into(), text).is_none() {
            stored.order.push(id.into());
        }
        stored.writes += 1;
        Ok(())
    }

    fn remove(&mut self, id: &str) -> Result<(), Self::Error> {
        let mut stored = self.0.borrow_mut();
        stored.sessions.remove(id);
        stored.order.retain(|each| **each != *id);
        stored.uris.remove(id);
        Ok(())
    }

    fn subscriptions(&self, id: &str) -> Result<Vec<Uri>, Self::Error> {
        let stored = self.0.borrow();
        let uris = stored.uris.get(id);
        Ok(uris.into_iter().flatten().cloned().collect())
    }

    fn is_subscribed(&self, id: &str, uri: &str) -> Result<bool, Self::Error> {
        let stored = self.0.borrow();
        Ok(stored.uris.get(id).is_some_and(|uris| uris.contains(uri)))
    }

    fn subscribe(&mut self, id: &str, name: &str) -> Result<(), Self::Error> {
        let mut stored = self.0.borrow_mut();
        assert!(stored.uris.entry(id.into()).or_default().insert(uri(name)));
        Ok(())
    }

    fn unsubscribe(&mut self, id: &str, uri: &str) -> Result<(), Self::Error> {
        let mut stored = self.0.borrow_mut();
        assert!(stored.uris.get_mut(id).unwrap().remove(uri));
        Ok(())
    }

    fn of_caller(&self, caller: &str) -> Result<Vec<Box<str>>, Self::Error> {
        Ok(self.those(|session| session.new.caller().as_deref() == Some(caller)))
    }

    fn ended(&self, now: Millis) -> Result<Vec<Box<str>>, Self::Error> {
        Ok(self.those(|session| session.ends_at() < now))
    }

    fn at_shard(&self, shard: u32) -> Result<Vec<Box<str>>, Self::Error> {
        Ok(self.those(|session| session.shard == Some(shard)))
    }

    fn keep_release(&mut self, shard: u32, claim: &Claim) -> Result<(), Self::Error> {
        self.0
            .borrow_mut()
            .releases
            .insert((shard, claim.to_text()));
        Ok(())
    }

    fn forget_release(&mut self, shard: u32, claim: &Claim) -> Result<(), Self::Error> {
        self.0
            .borrow_mut()
            .releases
            .remove(&(shard, claim.to_text()));
        Ok(())
    }

    fn releases(&self) -> Result<Vec<(u32, Claim)>, Self::Error> {
        let stored = self.0.borrow();
        let releases = stored.releases.iter();
        let read = |(shard, text): &(u32, String)| (*shard, claim(text));
        Ok(releases.map(read).collect())
    }

    fn totals(&self) -> Result<[Totals; 2], Self::Error> {
        let mut totals = [Totals::default(); 2];
        for (id, session) in self.all() {
            let of = &mut totals[usize::from(!session.is_named())];
            of.sessions += 1;
            let subscriptions = self.subscriptions(&id)?;
            of.bytes += subscriptions
                .iter()
                .map(|uri| uri.len() + 64)
                .sum::<usize>();
        }
        Ok(totals)
    }
}
