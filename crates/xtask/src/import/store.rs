//! LMDB files written by hand, page by page: sound ones, and ones whose numbers lead astray.

use crate::mutate::mutation;
use crate::random::Random;

/// Where the Python system keeps its store.
pub(super) const FILE: &str = "006/processed/lmdb/data.mdb";

const PAGE: usize = 4096;
const BRANCH: u16 = 1;
const LEAF: u16 = 2;
const OVERFLOW: u16 = 4;
/// Numbers that are too large, too small or those of another page.
const NUMBERS: [u64; 12] =
    [0, 1, 2, 3, 4, 5, 0xFFFF, 1 << 20, u32::MAX as u64, 1 << 47, u64::MAX / PAGE as u64, u64::MAX];

const RECORD: &str = "[{\"experiment\": {\"dataset_name\": \"d\", \"genotype\": {\"perturbations\": [{\"systematic_gene_name\": \
    \"YAL001C\", \"perturbation_type\": \"deletion\"}, {\"systematic_gene_name\": \"YAL002W\", \"perturbation_type\": \"damp\"}]}, \
    \"phenotype\": {\"gene_interaction\": -0.5, \"gene_interaction_p_value\": 0.25}}}]";

fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

fn meta(number: u64, root: u64, last: u64, transaction: u64) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    put(&mut page, 0, &number.to_le_bytes());
    put(&mut page, 10, &8_u16.to_le_bytes());
    put(&mut page, 16, &0xBEEF_C0DE_u32.to_le_bytes());
    put(&mut page, 20, &1_u32.to_le_bytes());
    put(&mut page, 32, &(1_u64 << 30).to_le_bytes());
    put(&mut page, 40, &(PAGE as u32).to_le_bytes());
    put(&mut page, 80, &u64::MAX.to_le_bytes());
    put(&mut page, 128, &root.to_le_bytes());
    put(&mut page, 136, &last.to_le_bytes());
    put(&mut page, 144, &transaction.to_le_bytes());
    page
}

/// A page of nodes: four words of a header, a key, and what follows it.
fn nodes(number: u64, kind: u16, nodes: &[([u16; 3], &[u8], Vec<u8>)]) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    let mut upper = PAGE;
    for (place, (words, key, rest)) in nodes.iter().enumerate() {
        let length = (8 + key.len() + rest.len()).next_multiple_of(2);
        if upper < length + 16 + 2 * nodes.len() {
            break;
        }
        upper -= length;
        for (word, value) in words.iter().chain([&(key.len() as u16)]).enumerate() {
            put(&mut page, upper + 2 * word, &value.to_le_bytes());
        }
        put(&mut page, upper + 8, key);
        put(&mut page, upper + 8 + key.len(), rest);
        put(&mut page, 16 + 2 * place, &(upper as u16).to_le_bytes());
    }
    put(&mut page, 0, &number.to_le_bytes());
    put(&mut page, 10, &kind.to_le_bytes());
    put(&mut page, 12, &(16 + 2 * nodes.len() as u16).to_le_bytes());
    put(&mut page, 14, &(upper as u16).to_le_bytes());
    page
}

fn words(number: u64) -> [u16; 3] {
    [number as u16, (number >> 16) as u16, (number >> 32) as u16]
}

/// Two leaves below a branch: short values, and one on a page of its own.
pub(super) fn sound() -> Vec<u8> {
    of([2, 3, 4], 5, RECORD.len() as u64)
}

/// Forges the pages of root and children, and the page and length of the long value.
fn of([root, left, right]: [u64; 3], long: u64, length: u64) -> Vec<u8> {
    let short = |value: &str| ([value.len() as u16, 0, 0], value.as_bytes().to_vec());
    let (record, value) = short(RECORD);
    let mut overflow = vec![0; PAGE];
    put(&mut overflow, 0, &5_u64.to_le_bytes());
    put(&mut overflow, 10, &OVERFLOW.to_le_bytes());
    put(&mut overflow, 12, &1_u32.to_le_bytes());
    put(&mut overflow, 16, RECORD.as_bytes());
    let pages = [
        meta(0, root, 5, 1),
        meta(1, root, 5, 2),
        nodes(2, BRANCH, &[(words(left), b"", Vec::new()), (words(right), b"1", Vec::new())]),
        nodes(3, LEAF, &[(record, b"0", value)]),
        nodes(4, LEAF, &[([length as u16, (length >> 16) as u16, 1], b"1", long.to_le_bytes().to_vec())]),
        overflow,
    ];
    pages.concat()
}

pub(super) fn forged(random: &mut Random) -> Vec<u8> {
    let [first, second] = [(); 2].map(|()| *random.of(&NUMBERS));
    let bytes = match random.below(4) {
        0 => sound(),
        1 => of([2, first, second], 5, RECORD.len() as u64),
        2 => of([first, 3, 4], 5, second),
        _ => of([2, 3, 4], first, second),
    };
    match random.below(3) {
        0 => bytes,
        1 => mutation(&bytes, random).1,
        _ => headers(bytes, random),
    }
}

/// Changes what LMDB itself would trust: headers, offsets and nodes.
fn headers(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(4) {
        let page = random.below(bytes.len() / PAGE) * PAGE;
        let number = random.of(&NUMBERS).to_le_bytes();
        let within = if random.below(3) == 0 { PAGE - 8 } else { 160 };
        let (at, length) = (page + random.below(within), 1 << random.below(4));
        put(&mut bytes, at, &number[..length]);
    }
    bytes
}
