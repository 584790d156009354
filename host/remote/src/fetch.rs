//! One part of an object, with retries.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use object_store::{GetOptions, GetRange, ObjectMeta};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::fault::{Fault, is_about_range, is_timeout};
use crate::reader::Object;
use crate::settings::StoreSettings;

/// The most attempts for one part, however many bytes come between them.
const MOST_ATTEMPTS: usize = 100;
/// The time before the second attempt. It doubles with each one.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// A message from the task of a part to its reader.
pub enum Message {
    /// The object, as the first response describes it, and the end of the part that this task fetches.
    Begins(ObjectMeta, u64),
    /// The next bytes.
    Bytes(Bytes),
    /// The part cannot be fetched.
    Fails(Fault),
}

/// The task of one part.
pub struct Fetch {
    pub object: Object,
    pub settings: StoreSettings,
    /// The object as the first part saw it. `None` in the task of the first part.
    pub known: Option<ObjectMeta>,
    /// The next byte that is wanted.
    pub at: u64,
    /// The end of the part.
    pub end: u64,
    /// True if no more than this part is wanted, also of a server that sends whole objects only.
    pub is_alone: bool,
    /// True if the server sends whole objects only.
    pub is_whole: bool,
    pub sender: Sender<Message>,
    /// The bytes for which the reader has room. A part has room for all its bytes. A whole object has not.
    pub room: Arc<Semaphore>,
}

impl Fetch {
    /// Fetches the part. An error is sent to the reader.
    pub async fn run(mut self) {
        if let Err(fault) = self.fetch().await {
            // Nobody receives it if the reader is gone.
            let _ = self.sender.send(Message::Fails(fault));
        }
    }

    async fn fetch(&mut self) -> Result<(), Fault> {
        let (mut attempts, mut failures, mut stalls) = (0, 0, 0);
        loop {
            let before = self.at;
            let fault = match self.attempt().await {
                Ok(()) => return Ok(()),
                Err(Fault::Refused(error))
                    if self.known.is_none() && !self.is_whole && is_about_range(&error) =>
                {
                    self.is_whole = true;
                    continue;
                }
                Err(fault) => fault,
            };
            if self.known.is_some() && self.at == self.end {
                // The connection broke after the last byte.
                return Ok(());
            }
            attempts += 1;
            if self.at > before {
                failures = 0;
            }
            match fault {
                Fault::Cut(_) if failures < self.settings.retries && attempts < MOST_ATTEMPTS => {
                    sleep(FIRST_WAIT * (1 << failures.min(8))).await;
                    failures += 1;
                }
                // Bytes between two stalls do not count: a user would wait for hours.
                Fault::Stalled(_) if stalls == 0 => stalls += 1,
                fault => return Err(fault),
            }
        }
    }

    /// Makes one request, from the next byte that is wanted to the end.
    async fn attempt(&mut self) -> Result<(), Fault> {
        let limit = self.settings.timeout;
        let options = GetOptions {
            range: (!self.is_whole).then_some(GetRange::Bounded(self.at..self.end)),
            if_match: self.known.as_ref().and_then(|known| known.e_tag.clone()).filter(|tag| is_strong(tag)),
            ..GetOptions::default()
        };
        // The store bounds the time until the response begins.
        let got = self.object.store.get_opts(&self.object.location, options).await;
        let got = got.map_err(|error| match error {
            object_store::Error::Precondition { .. } => Fault::Changed,
            error if is_timeout(&error) => Fault::Stalled(limit),
            error => Fault::Refused(error),
        })?;
        match &self.known {
            Some(known) if !is_same(known, &got.meta) => return Err(Fault::Changed),
            Some(_) => {}
            None => {
                let takes_all = self.is_whole && !self.is_alone;
                self.end = if takes_all { got.meta.size } else { self.end.min(got.meta.size) };
                if self.at > self.end {
                    return Err(Fault::Short(self.end));
                }
                self.known = Some(got.meta.clone());
                // Nobody receives it if the reader is gone, and the next send ends the task.
                let _ = self.sender.send(Message::Begins(got.meta.clone(), self.end));
            }
        }
        // A server of whole objects begins once more at the first byte.
        let mut skip = if self.is_whole { self.at } else { 0 };
        let mut body = got.into_stream();
        loop {
            let next = timeout(limit, body.next()).await.map_err(|_| Fault::Stalled(limit))?;
            let mut bytes = match next {
                Some(Ok(bytes)) => bytes,
                Some(Err(error)) => return Err(Fault::Cut(error)),
                None if self.at == self.end => return Ok(()),
                None => return Err(Fault::Short(self.at)),
            };
            let skipped = skip.min(bytes.len() as u64);
            skip -= skipped;
            bytes = bytes.split_off(skipped as usize);
            // A body longer than its header says is cut off.
            bytes.truncate(usize::try_from(self.end - self.at).unwrap_or(usize::MAX));
            if bytes.is_empty() {
                continue;
            }
            self.at += bytes.len() as u64;
            let room = room_of(&bytes, &self.settings);
            // The semaphore is never closed.
            if let Ok(permits) = self.room.acquire_many(room).await {
                permits.forget();
            }
            let is_done = self.is_alone && self.at == self.end;
            if self.sender.send(Message::Bytes(bytes)).is_err() || is_done {
                return Ok(());
            }
        }
    }
}

/// The permits that some bytes take while they wait for the reader.
pub fn room_of(bytes: &Bytes, settings: &StoreSettings) -> u32 {
    u32::try_from(bytes.len() as u64).unwrap_or(u32::MAX).min(room(settings))
}

/// The permits of a part.
pub fn room(settings: &StoreSettings) -> u32 {
    u32::try_from(settings.part_bytes).unwrap_or(u32::MAX).min(1 << 28)
}

/// True for an entity tag that `If-Match` compares (RFC 9110, 8.8.3.2).
fn is_strong(tag: &str) -> bool {
    !tag.starts_with("W/")
}

/// True if two responses are of the same version of an object.
fn is_same(one: &ObjectMeta, other: &ObjectMeta) -> bool {
    one.size == other.size
        && match (&one.e_tag, &other.e_tag) {
            (Some(one), Some(other)) => one == other,
            _ => one.last_modified == other.last_modified,
        }
}
