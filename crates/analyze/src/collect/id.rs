//! Identifiers: indices into the tables of one file.
//!
//! Each is stored plus one in an integer that is never zero, so that an `Option` of it takes no more room.

use std::num::{NonZeroU8, NonZeroU32};

macro_rules! identifier {
    ($(#[$attribute:meta])* $name:ident($nonzero:ty, $integer:ty)) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub(crate) struct $name($nonzero);

        impl $name {
            /// Returns the identifier of an index.
            #[inline]
            pub(crate) const fn from_index(index: usize) -> Self {
                Self(<$nonzero>::MIN.saturating_add(index as $integer))
            }

            /// Returns the index into the table.
            #[inline]
            pub(crate) const fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    };
}

/// Adds the conversions of identifiers that records store.
macro_rules! stored {
    ($name:ident($nonzero:ty, $integer:ty)) => {
        impl $name {
            /// Returns the identifier as an integer, 0 for none.
            #[inline]
            pub(crate) fn pack(id: Option<Self>) -> $integer {
                id.map_or(0, |id| id.0.get())
            }

            /// Returns the identifier that [`Self::pack`] made an integer of.
            #[inline]
            pub(crate) fn unpack(packed: $integer) -> Option<Self> {
                <$nonzero>::new(packed).map(Self)
            }
        }
    };
}

identifier! {
    /// A kind of events.
    KindId(NonZeroU32, u32)
}

identifier! {
    /// A stream of a device.
    StreamId(NonZeroU32, u32)
}

identifier! {
    /// A profiler step of the host.
    StepId(NonZeroU32, u32)
}

identifier! {
    /// A node of a call tree.
    NodeId(NonZeroU32, u32)
}

identifier! {
    /// A module call or an annotation, inside the same stack of others on its lane.
    ScopeId(NonZeroU32, u32)
}

identifier! {
    /// An operator with inputs of one shape.
    ShapeId(NonZeroU32, u32)
}

identifier! {
    /// A category of the rules. Where it takes what is inside of its events, it is a phase.
    CategoryId(NonZeroU8, u8)
}

stored!(StreamId(NonZeroU32, u32));
stored!(StepId(NonZeroU32, u32));
stored!(CategoryId(NonZeroU8, u8));
stored!(ScopeId(NonZeroU32, u32));
stored!(ShapeId(NonZeroU32, u32));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_identifier_has_the_same_size() {
        assert_eq!(size_of::<Option<KindId>>(), 4);
        assert_eq!(size_of::<Option<CategoryId>>(), 1);
    }

    #[test]
    fn packing_distinguishes_the_first_index_from_none() {
        for id in [None, Some(StreamId::from_index(0)), Some(StreamId::from_index(41))] {
            assert_eq!(StreamId::unpack(StreamId::pack(id)), id);
        }
        assert_eq!(StreamId::from_index(41).index(), 41);
    }
}
