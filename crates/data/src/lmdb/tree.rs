//! The pages of an LMDB file, read as ordinary bytes: every number in them is checked before it is followed.
//!
//! LMDB itself maps its file and trusts it: a wrong number in a page, or a file that is shortened meanwhile, ends the process. Here both
//! are errors. The layout is that of version 1 on 64-bit machines: a page is a header of 16 bytes, an array of offsets and, from its
//! end, nodes; a node is a header of 8 bytes, a key and a value, a child's page, or the page at which a long value begins.

use crate::lmdb::LmdbError;
use crate::lmdb::header::LmdbHeader;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, PoisonError, RwLock};

const PAGE_HEADER: usize = 16;
const NODE_HEADER: usize = 8;
const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
/// Kinds of pages, without the marks that a transaction leaves.
const KINDS: u16 = 0x2F;
/// A node whose value is on pages of its own.
const LONG_VALUE: u16 = 0x01;
/// The root of a tree without entries.
pub(crate) const NO_PAGE: u64 = u64::MAX;
/// LMDB's own limit.
const MAX_DEPTH: usize = 32;

/// One page that holds nodes.
pub(crate) struct TreePage {
    number: u64,
    bytes: Vec<u8>,
    is_leaf: bool,
}

/// A node: three words of its header, its key and what follows to the end of the page.
struct PageNode<'p> {
    low: u16,
    high: u16,
    flags: u16,
    key: &'p [u8],
    rest: &'p [u8],
}

/// Value of a node of a leaf.
enum Value<'p> {
    Here(&'p [u8]),
    /// Its first page and its length in bytes.
    Long(u64, usize),
}

/// A file and the tree in it that starts at `root`.
#[derive(Debug)]
pub(crate) struct LmdbTree {
    file: File,
    page_size: usize,
    pages: u64,
    root: u64,
    /// Branches are few, and every search begins with them.
    branches: RwLock<HashMap<u64, Arc<TreePage>>>,
}

impl std::fmt::Debug for TreePage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Page").field("number", &self.number).finish_non_exhaustive()
    }
}

fn damaged(page: u64, why: &'static str) -> LmdbError {
    LmdbError::Damaged { page, why }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

impl TreePage {
    fn new(number: u64, bytes: Vec<u8>) -> Result<Self, LmdbError> {
        let bad = |why| Err(damaged(number, why));
        let (Some(found), Some(flags)) = (u64_at(&bytes, 0), u16_at(&bytes, 10)) else {
            return bad("it is too short");
        };
        if found != number {
            return bad("it has the number of another page");
        }
        let is_leaf = match flags & KINDS {
            BRANCH => false,
            LEAF => true,
            _ => return bad("it holds no keys"),
        };
        let (lower, upper) = (u16_at(&bytes, 12).unwrap_or(0), u16_at(&bytes, 14).unwrap_or(0));
        let (lower, upper) = (usize::from(lower), usize::from(upper));
        // An upper end of 65536 does not fit into 16 bits; no page that holds anything has it.
        if lower < PAGE_HEADER || lower % 2 != 0 || lower > upper || upper > bytes.len() {
            return bad("its bounds are wrong");
        }
        let page = Self { number, bytes, is_leaf };
        if page.len() == 0 {
            return bad("it is empty");
        }
        for index in 0..page.len() {
            page.node(index)?;
        }
        Ok(page)
    }

    fn len(&self) -> usize {
        usize::from(u16_at(&self.bytes, 12).unwrap_or(0)).saturating_sub(PAGE_HEADER) / 2
    }

    fn node(&self, index: usize) -> Result<PageNode<'_>, LmdbError> {
        let bad = || damaged(self.number, "a node lies outside of it");
        let at = usize::from(u16_at(&self.bytes, PAGE_HEADER + 2 * index).ok_or_else(bad)?);
        let words = [0, 2, 4, 6].map(|offset| u16_at(&self.bytes, at + offset));
        let [Some(low), Some(high), Some(flags), Some(key_size)] = words else { return Err(bad()) };
        if at < PAGE_HEADER + 2 * self.len() {
            return Err(bad());
        }
        let rest = self.bytes.get(at + NODE_HEADER..).ok_or_else(bad)?;
        let (key, value) = rest.split_at_checked(usize::from(key_size)).ok_or_else(bad)?;
        Ok(PageNode { low, high, flags, key, rest: value })
    }

    fn key(&self, index: usize) -> Result<&[u8], LmdbError> {
        Ok(self.node(index)?.key)
    }

    fn child(&self, index: usize) -> Result<u64, LmdbError> {
        let PageNode { low, high, flags, .. } = self.node(index)?;
        Ok(u64::from(low) | u64::from(high) << 16 | u64::from(flags) << 32)
    }

    fn value(&self, index: usize) -> Result<Value<'_>, LmdbError> {
        let PageNode { low, high, flags, rest, .. } = self.node(index)?;
        let length = usize::from(low) | usize::from(high) << 16;
        let bad = |why| damaged(self.number, why);
        match flags {
            0 => rest.get(..length).map(Value::Here).ok_or_else(|| bad("a value lies outside of it")),
            LONG_VALUE => {
                let first = u64_at(rest, 0).ok_or_else(|| bad("a value lies outside of it"))?;
                Ok(Value::Long(first, length))
            }
            _ => Err(bad("a value is a database of its own, or several values")),
        }
    }
}

impl LmdbTree {
    /// The tree of a file's database; nothing is read yet.
    pub(crate) fn new(file: File, header: &LmdbHeader, root: u64) -> Self {
        let page_size = header.page_size as usize;
        Self { file, page_size, pages: header.pages, root, branches: RwLock::default() }
    }

    fn read(&self, page: u64, offset: usize, bytes: &mut [u8]) -> Result<(), LmdbError> {
        let at = page * self.page_size as u64 + offset as u64;
        self.file.read_exact_at(bytes, at).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged(page, "the file ends before it"),
            _ => LmdbError::Io(error),
        })
    }

    fn page(&self, number: u64) -> Result<Arc<TreePage>, LmdbError> {
        let known = self.branches.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned();
        if let Some(page) = known {
            return Ok(page);
        }
        if !(2..self.pages).contains(&number) {
            return Err(damaged(number, "there is no such page"));
        }
        let mut bytes = vec![0; self.page_size];
        self.read(number, 0, &mut bytes)?;
        let page = Arc::new(TreePage::new(number, bytes)?);
        if !page.is_leaf {
            let mut branches = self.branches.write().unwrap_or_else(PoisonError::into_inner);
            branches.insert(number, Arc::clone(&page));
        }
        Ok(page)
    }

    fn bytes_of(&self, page: &TreePage, index: usize) -> Result<Vec<u8>, LmdbError> {
        let (first, length) = match page.value(index)? {
            Value::Here(bytes) => return Ok(bytes.to_vec()),
            Value::Long(first, length) => (first, length),
        };
        self.check_long(first, length)?;
        let mut bytes = vec![0; length];
        self.read(first, PAGE_HEADER, &mut bytes)?;
        Ok(bytes)
    }

    /// Refuses a long value that is not on pages of its own.
    fn check_long(&self, first: u64, length: usize) -> Result<(), LmdbError> {
        if !(2..self.pages).contains(&first) {
            return Err(damaged(first, "there is no such page"));
        }
        let mut header = [0; PAGE_HEADER];
        self.read(first, 0, &mut header)?;
        let flags = u16_at(&header, 10).unwrap_or(0);
        let count = header
            .get(12..)
            .and_then(|bytes| bytes.first_chunk())
            .map_or(0, |word| u32::from_le_bytes(*word));
        let is_inside = first.checked_add(u64::from(count)).is_some_and(|end| end <= self.pages);
        let room = u64::from(count).saturating_mul(self.page_size as u64);
        if u64_at(&header, 0) != Some(first) || flags & KINDS != OVERFLOW || !is_inside {
            return Err(damaged(first, "it holds no long value"));
        }
        if (length + PAGE_HEADER) as u64 > room {
            return Err(damaged(first, "a long value does not fit on its pages"));
        }
        Ok(())
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, LmdbError> {
        let mut number = self.root;
        for _ in 0..MAX_DEPTH {
            if number == NO_PAGE {
                return Ok(None);
            }
            let page = self.page(number)?;
            // The first key at or behind the wanted one; the first key of a branch counts as before all.
            let (mut low, mut high) = (usize::from(!page.is_leaf), page.len());
            while low < high {
                let middle = low.midpoint(high);
                let is_before = if page.is_leaf { page.key(middle)? < key } else { page.key(middle)? <= key };
                if is_before { low = middle + 1 } else { high = middle }
            }
            if page.is_leaf {
                let is_there = low < page.len() && page.key(low)? == key;
                return if is_there { self.bytes_of(&page, low).map(Some) } else { Ok(None) };
            }
            number = page.child(low - 1)?;
        }
        Err(damaged(number, "the tree is too deep"))
    }

    /// Iterates over the keys in the order of the tree.
    pub(crate) fn keys(&self) -> TreeKeys<'_> {
        TreeKeys { tree: self, stack: Vec::new(), next: Some(self.root), visited: 0 }
    }

    /// Checks every page of the tree and where its long values are.
    pub(crate) fn check(&self) -> Result<(), LmdbError> {
        let mut keys = self.keys();
        while let Some((page, index)) = keys.advance()? {
            if let Value::Long(first, length) = page.value(index)? {
                self.check_long(first, length)?;
            }
        }
        Ok(())
    }
}

/// Keys of a tree, in order.
pub(crate) struct TreeKeys<'t> {
    tree: &'t LmdbTree,
    /// Pages on the way down, each with the node that comes next.
    stack: Vec<(Arc<TreePage>, usize)>,
    /// The page to go down to.
    next: Option<u64>,
    visited: u64,
}

impl TreeKeys<'_> {
    fn advance(&mut self) -> Result<Option<(Arc<TreePage>, usize)>, LmdbError> {
        loop {
            if let Some(number) = self.next.take().filter(|&number| number != NO_PAGE) {
                self.visited += 1;
                if self.stack.len() >= MAX_DEPTH || self.visited > self.tree.pages {
                    return Err(damaged(number, "the tree goes round in circles"));
                }
                self.stack.push((self.tree.page(number)?, 0));
            }
            let Some((page, index)) = self.stack.last_mut() else { return Ok(None) };
            if *index >= page.len() {
                self.stack.pop();
                continue;
            }
            *index += 1;
            let (page, here) = (Arc::clone(page), *index - 1);
            if page.is_leaf {
                return Ok(Some((page, here)));
            }
            self.next = Some(page.child(here)?);
        }
    }
}

impl Iterator for TreeKeys<'_> {
    type Item = Result<Vec<u8>, LmdbError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.advance().and_then(|found| match found {
            Some((page, index)) => page.key(index).map(|key| Some(key.to_vec())),
            None => Ok(None),
        });
        if found.is_err() {
            // Nothing follows an error.
            self.stack.clear();
        }
        found.transpose()
    }
}
