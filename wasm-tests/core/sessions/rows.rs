use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use mcp_listen::{
    clock::Millis,
    session::{Claim, Session, Store, Totals},
    uri::Uri,
};

use crate::any::{claim, uri};

/// A store in memory, which outlives the sessions that have a clone of it; it keeps sessions as the
/// text that others write to disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows(Rc<RefCell<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    sessions: BTreeMap<Box<str>, String>,
    order: Vec<Box<str>>,
    uris: BTreeMap<Box<str>, BTreeSet<Uri>>,
    releases: BTreeSet<(u32, String)>,
    writes: usize,
}

impl Rows {
    /// How many times a session was written.
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

impl Store for Rows {
    type Error = core::convert::Infallible;

    fn get(&self, id: &str) -> Result<Option<Session>, Self::Error> {
        let kept = self.0.borrow();
        let text = kept.sessions.get(id);
        Ok(text.map(|text| serde_json::from_str(text).unwrap()))
    }

    fn put(&mut self, id: &str, session: &Session) -> Result<(), Self::Error> {
        let text = serde_json::to_string(session).unwrap();
        let mut kept = self.0.borrow_mut();
        if kept.sessions.insert(id.into(), text).is_none() {
            kept.order.push(id.into());
        }
        kept.writes += 1;
        Ok(())
    }

    fn remove(&mut self, id: &str) -> Result<(), Self::Error> {
        let mut kept = self.0.borrow_mut();
        kept.sessions.remove(id);
        kept.order.retain(|each| **each != *id);
        kept.uris.remove(id);
        Ok(())
    }

    fn watched(&self, id: &str) -> Result<Vec<Uri>, Self::Error> {
        let kept = self.0.borrow();
        let uris = kept.uris.get(id);
        Ok(uris.into_iter().flatten().cloned().collect())
    }

    fn watches(&self, id: &str, uri: &str) -> Result<bool, Self::Error> {
        let kept = self.0.borrow();
        Ok(kept.uris.get(id).is_some_and(|uris| uris.contains(uri)))
    }

    fn watch(&mut self, id: &str, name: &str) -> Result<(), Self::Error> {
        let mut kept = self.0.borrow_mut();
        assert!(kept.uris.entry(id.into()).or_default().insert(uri(name)));
        Ok(())
    }

    fn unwatch(&mut self, id: &str, uri: &str) -> Result<(), Self::Error> {
        let mut kept = self.0.borrow_mut();
        assert!(kept.uris.get_mut(id).unwrap().remove(uri));
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
        let kept = self.0.borrow();
        let releases = kept.releases.iter();
        let read = |(shard, text): &(u32, String)| (*shard, claim(text));
        Ok(releases.map(read).collect())
    }

    fn totals(&self) -> Result<[Totals; 2], Self::Error> {
        let mut totals = [Totals::default(); 2];
        for (id, session) in self.all() {
            let of = &mut totals[usize::from(!session.is_named())];
            of.sessions += 1;
            let watched = self.watched(&id)?;
            of.bytes += watched.iter().map(|uri| uri.len() + 64).sum::<usize>();
        }
        Ok(totals)
    }
}
