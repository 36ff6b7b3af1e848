//! The external sort against the standard library's, with every mix of memory, file and writers.

use super::*;
use proptest::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    group: u32,
    key: i64,
    order: u64,
}

impl SortRecord for Pair {
    const ZERO: Self = Self { group: 0, key: 0, order: 0 };

    fn group(&self) -> u32 {
        self.group
    }

    fn order(&self, other: &Self) -> Ordering {
        (self.key, self.order).cmp(&(other.key, other.order))
    }

    fn encode(&self, previous: &Self, out: &mut Vec<u8>) {
        put_signed(out, self.key.wrapping_sub(previous.key));
        put(out, self.order);
    }

    fn decode(previous: &Self, group: u32, input: &mut &[u8]) -> Option<Self> {
        let key = previous.key.wrapping_add(take_signed(input)?);
        Some(Self { group, key, order: take(input)? })
    }
}

fn sorted_by_us(pairs: &[Pair], writers: usize, buffer: usize, budget: usize) -> (Vec<Pair>, u64) {
    let store = Arc::new(SegmentStore::new(budget, std::env::temp_dir()));
    let mut all: Vec<Writer<Pair>> =
        (0..writers).map(|_| Writer::with_buffer(&store, buffer, helper(writers))).collect();
    for (index, pair) in pairs.iter().enumerate() {
        all[index % writers].push(*pair).unwrap();
    }
    let mut groups: std::collections::BTreeMap<u32, Vec<Segment<Pair>>> = std::collections::BTreeMap::new();
    for writer in all {
        for segment in writer.finish().unwrap() {
            groups.entry(segment.group).or_default().push(segment);
        }
    }
    let mut out = Vec::new();
    for segments in groups.into_values() {
        let mut merged = merge(&store, segments).unwrap();
        while let Some(pair) = merged.next().unwrap() {
            out.push(pair);
        }
    }
    (out, store.spilled_bytes())
}

fn helper(writers: usize) -> Helper {
    if writers.is_multiple_of(2) { Helper::Thread } else { Helper::None }
}

proptest! {
    #[test]
    fn order_equals_the_standard_sort(
        keys in proptest::collection::vec((0_u32..4, any::<i64>()), 0..400),
        writers in 1_usize..5, buffer in 1_usize..60, budget in 0_usize..2000,
    ) {
        let pairs: Vec<Pair> = keys.iter().enumerate()
            .map(|(order, &(group, key))| Pair { group, key, order: order as u64 }).collect();
        let mut expected = pairs.clone();
        expected.sort();
        prop_assert_eq!(sorted_by_us(&pairs, writers, buffer, budget).0, expected);
    }
}

#[test]
fn order_is_the_same_beyond_the_memory_budget() {
    let pairs: Vec<Pair> = (0..200_000_u64)
        .map(|order| Pair { group: 0, key: (order.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as i64, order })
        .collect();
    let (in_memory, spilled) = sorted_by_us(&pairs, 2, 1 << 12, usize::MAX >> 1);
    assert_eq!(spilled, 0);
    let (from_file, spilled) = sorted_by_us(&pairs, 3, 1 << 13, 10_000);
    assert!(spilled > 1_000_000, "only {spilled} bytes went to the file");
    assert_eq!(in_memory, from_file);
}
