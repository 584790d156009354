//! The objects that a folder or a pattern means.

use std::io;
use std::sync::Arc;

use glob::{MatchOptions, Pattern};
use object_store::aws::AmazonS3;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use warpath_core::braces;
use warpath_core::error::{Error, InputError};

use crate::address::ObjectsAddress;
use crate::fault::{Fault, reason};
use crate::reader::runtime;

/// Matches as shells do, and as names of files are matched.
const AS_SHELLS_DO: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// The objects of a folder or a pattern, sorted by their names. Objects in a folder whose names, or those of
/// their folders, begin with a dot are left out, and so are objects without bytes below a folder.
///
/// # Errors
/// [`InputError::NoFiles`] for an invalid pattern. [`InputError::Io`] if the store has no list.
pub fn objects(store: &Arc<AmazonS3>, address: &ObjectsAddress) -> Result<Vec<Path>, Error> {
    let failed = |source| InputError::Io { name: address.shown(), source };
    let chosen = Chosen::of(address)?;
    let listed = listed(store.clone(), address.fixed().to_owned(), chosen.is_flat);
    // The thread that calls may belong to a runtime.
    let (sender, receiver) = std::sync::mpsc::channel();
    runtime().map_err(failed)?.spawn(async move {
        // Nobody receives it if the process ends.
        let _ = sender.send(listed.await);
    });
    let listed = receiver.recv().unwrap_or_else(|_| Err(Fault::Lost.into_io()));
    let listed = listed.map_err(failed)?;
    let chosen = listed.into_iter().filter(|(location, size)| {
        // Some programs mark a folder by an object without bytes, whose name ends in a slash.
        (chosen.is_flat || *size > 0) && chosen.has(location.as_ref(), address)
    });
    let mut locations: Vec<Path> = chosen.map(|(location, _)| location).collect();
    locations.sort();
    locations.dedup();
    Ok(locations)
}

/// The objects that are meant.
struct Chosen {
    /// The patterns, of which one must match; none for a folder.
    patterns: Vec<Pattern>,
    /// True if no name that is meant has another slash after the fixed beginning.
    is_flat: bool,
}

impl Chosen {
    fn of(address: &ObjectsAddress) -> Result<Self, Error> {
        if address.is_folder() {
            return Ok(Self { patterns: Vec::new(), is_flat: false });
        }
        let no_files = |why| InputError::NoFiles { name: address.shown(), why };
        let rest = &address.path()[address.fixed().len()..];
        let is_flat = !rest.contains('/') && !rest.contains("**");
        let patterns = braces::expanded(address.path()).map_err(no_files)?;
        let patterns = patterns.iter().map(|pattern| {
            // A `**` at the end means all objects below a folder.
            let at_end = pattern == "**" || pattern.ends_with("/**");
            let pattern = if at_end { &format!("{pattern}/*") } else { pattern };
            Pattern::new(pattern).map_err(|_| no_files("the pattern is invalid, and no object has this name"))
        });
        Ok(Self { patterns: patterns.collect::<Result<_, _>>()?, is_flat })
    }

    fn has(&self, key: &str, address: &ObjectsAddress) -> bool {
        if address.is_folder() {
            let Some(rest) = key.strip_prefix(address.path()) else { return false };
            return !rest.is_empty() && !rest.split('/').any(|part| part.starts_with('.'));
        }
        self.patterns.iter().any(|pattern| pattern.matches_with(key, AS_SHELLS_DO))
    }
}

/// The names and sizes of all objects whose names begin with a text; if `is_flat`, without those that have
/// another slash after it.
async fn listed(store: Arc<AmazonS3>, prefix: String, is_flat: bool) -> io::Result<Vec<(Path, u64)>> {
    let mut locations = Vec::new();
    let mut page_token = None;
    loop {
        let options = PaginatedListOptions {
            delimiter: is_flat.then(|| "/".into()),
            page_token,
            ..PaginatedListOptions::default()
        };
        let prefix = (!prefix.is_empty()).then_some(prefix.as_str());
        let page = store.list_paginated(prefix, options).await;
        let page = page.map_err(|error| match error {
            object_store::Error::InvalidPath { source } => {
                io::Error::other(format!("the list has a name that is not read: {source}"))
            }
            error => io::Error::other(reason(&error)),
        })?;
        locations.extend(page.result.objects.into_iter().map(|object| (object.location, object.size)));
        page_token = page.page_token;
        if page_token.is_none() {
            return Ok(locations);
        }
    }
}
