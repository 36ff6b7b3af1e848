//! A circular buffer of recent rows, so that a loss over distributions sees more than one small batch.
//!
//! A buffer holds pairs of rows (predictions and targets, or embeddings and labels) without gradients. It does not depend on
//! the loss that reads it.

use knockout_base::error::{Error, Result};
use knockout_base::random::Rng;
use knockout_engine::kernel::Real;
use serde::{Deserialize, Serialize};

/// When the current batch enters the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteOrder {
    /// After it was mixed with the stored rows: every row counts once.
    #[default]
    MixFirst,
    /// Before, as the reference does (`parity`): the current batch counts twice.
    WriteFirst,
}

/// Sizes and position of a buffer: with its values, enough to resume exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferState {
    /// Maximum number of rows.
    pub capacity: usize,
    /// Width of the features (predictions or embeddings).
    pub feature_width: usize,
    /// Width of the labels.
    pub label_width: usize,
    /// Index of the next row to write.
    pub pointer: usize,
    /// Number of rows stored.
    pub count: usize,
}

/// The last `capacity` pairs of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct CircularBuffer<T> {
    state: BufferState,
    /// `[capacity, feature_width]`, zero where nothing was written.
    features: Vec<T>,
    /// `[capacity, label_width]`.
    labels: Vec<T>,
}

/// Returns the number of random rows of a buffer that join a batch of `batch` rows at weight w: min(⌊batch · w/(1−w)⌋, count),
/// all for w ≥ 1.
pub fn rows_taken(batch: usize, weight: f64, count: usize) -> usize {
    if weight >= 1.0 {
        return count;
    }
    // A float too large for usize, or NaN, is clamped by the cast.
    ((batch as f64 * weight / (1.0 - weight)) as usize).min(count)
}

impl<T: Real> CircularBuffer<T> {
    /// An empty buffer.
    pub fn new(capacity: usize, feature_width: usize, label_width: usize) -> Self {
        Self {
            state: BufferState { capacity, feature_width, label_width, pointer: 0, count: 0 },
            features: vec![T::ZERO; capacity * feature_width],
            labels: vec![T::ZERO; capacity * label_width],
        }
    }

    /// Number of rows stored.
    pub fn count(&self) -> usize {
        self.state.count
    }

    /// Sizes and position, for a checkpoint.
    pub fn state(&self) -> BufferState {
        self.state
    }

    /// All features, `[capacity, feature_width]`, for a checkpoint.
    pub fn features(&self) -> &[T] {
        &self.features
    }

    /// All labels, `[capacity, label_width]`, for a checkpoint.
    pub fn labels(&self) -> &[T] {
        &self.labels
    }

    /// Restores the buffer from a checkpoint.
    ///
    /// On an error nothing was changed.
    pub fn restore(&mut self, state: BufferState, features: &[T], labels: &[T]) -> Result<()> {
        let mine = self.state;
        let refuse = |what: &str, stored: usize, needed: usize| {
            Err(Error::failure(format!(
                "the stored loss buffer does not fit: {what} is {stored}, this configuration needs {needed}; resume with the \
                 configuration the run was started with"
            )))
        };
        for (what, stored, needed) in [
            ("the number of rows", state.capacity, mine.capacity),
            ("the width of its rows", state.feature_width, mine.feature_width),
            ("the number of labels per row", state.label_width, mine.label_width),
            ("the number of values", features.len(), self.features.len()),
            ("the number of label values", labels.len(), self.labels.len()),
        ] {
            if stored != needed {
                return refuse(what, stored, needed);
            }
        }
        if state.count > state.capacity {
            return refuse("the count", state.count, state.capacity);
        }
        if state.pointer >= state.capacity.max(1) {
            return refuse("the pointer", state.pointer, 0);
        }
        self.state = state;
        self.features.copy_from_slice(features);
        self.labels.copy_from_slice(labels);
        Ok(())
    }

    /// Writes rows over the oldest; of a batch larger than the buffer its last rows.
    ///
    /// # Panics
    ///
    /// If the rows are not whole or the two sides differ in number.
    pub fn write(&mut self, features: &[T], labels: &[T]) {
        let rows = self.rows_of(features, labels);
        let BufferState { capacity, feature_width, label_width, .. } = self.state;
        if rows > capacity {
            self.state.pointer = 0;
        }
        for row in rows.saturating_sub(capacity)..rows {
            let at = self.state.pointer;
            self.features[at * feature_width..][..feature_width]
                .copy_from_slice(&features[row * feature_width..][..feature_width]);
            self.labels[at * label_width..][..label_width]
                .copy_from_slice(&labels[row * label_width..][..label_width]);
            self.state.pointer = (at + 1) % capacity;
            self.state.count = (self.state.count + 1).min(capacity);
        }
    }

    fn rows_of(&self, features: &[T], labels: &[T]) -> usize {
        let BufferState { feature_width, label_width, .. } = self.state;
        assert!(label_width > 0 && labels.len().is_multiple_of(label_width), "whole rows");
        let rows = labels.len() / label_width;
        assert_eq!(features.len(), rows * feature_width, "one row of features per row of labels");
        rows
    }

    /// The current rows followed by `take` of the stored ones: all in the order of the buffer, fewer drawn at random.
    pub fn mixed(&self, features: &[T], labels: &[T], take: usize, rng: &mut Rng) -> (Vec<T>, Vec<T>) {
        self.rows_of(features, labels);
        let BufferState { feature_width, label_width, count, .. } = self.state;
        let mut chosen: Vec<usize> = (0..count).collect();
        if take < count {
            rng.shuffle(&mut chosen);
            chosen.truncate(take);
        }
        let (mut features, mut labels) = (features.to_vec(), labels.to_vec());
        for row in chosen {
            features.extend_from_slice(&self.features[row * feature_width..][..feature_width]);
            labels.extend_from_slice(&self.labels[row * label_width..][..label_width]);
        }
        (features, labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(batches: &[&[f64]], capacity: usize) -> CircularBuffer<f64> {
        let mut buffer = CircularBuffer::new(capacity, 1, 1);
        for batch in batches {
            buffer.write(batch, batch);
        }
        buffer
    }

    #[test]
    fn rows_wrap_around() {
        let buffer = filled(&[&[1.0, 2.0], &[3.0, 4.0]], 3);
        assert_eq!(buffer.features(), [4.0, 2.0, 3.0]);
        assert_eq!((buffer.state().pointer, buffer.count()), (1, 3));
    }

    #[test]
    fn a_batch_larger_than_the_buffer_leaves_its_last_rows() {
        let buffer = filled(&[&[9.0], &[1.0, 2.0, 3.0, 4.0, 5.0]], 3);
        assert_eq!(buffer.features(), [3.0, 4.0, 5.0]);
        assert_eq!((buffer.state().pointer, buffer.count()), (0, 3));
        assert_eq!(filled(&[&[1.0, 2.0]], 0).count(), 0);
    }

    #[test]
    fn the_drawn_rows_are_distinct_and_repeatable() {
        let rows: Vec<f64> = (0..50).map(f64::from).collect();
        let buffer = filled(&[&rows], 50);
        let draw = || buffer.mixed(&[-1.0], &[-1.0], 20, &mut Rng::new(3, "test")).0;
        let mut drawn = draw();
        assert_eq!(drawn, draw());
        assert_eq!((drawn.len(), drawn[0]), (21, -1.0));
        drawn.sort_by(f64::total_cmp);
        drawn.dedup();
        assert_eq!(drawn.len(), 21);
    }

    #[test]
    fn the_number_of_buffered_rows_is_bounded() {
        assert_eq!(
            [0.0, 0.5, 0.75, 1.0, 2.0, f64::NAN].map(|weight| rows_taken(4, weight, 10)),
            [0, 4, 10, 10, 10, 0]
        );
        assert_eq!(rows_taken(4, 1.0 - f64::EPSILON, 10), 10);
    }

    #[test]
    fn a_restored_buffer_continues_exactly() {
        let mut old = filled(&[&[1.0, f64::NAN], &[3.0, 4.0]], 3);
        let mut new = CircularBuffer::new(3, 1, 1);
        let state = serde_json::from_str(&serde_json::to_string(&old.state()).unwrap()).unwrap();
        new.restore(state, old.features(), old.labels()).unwrap();
        for buffer in [&mut old, &mut new] {
            buffer.write(&[5.0], &[6.0]);
        }
        let bits =
            |buffer: &CircularBuffer<f64>| buffer.features().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&old), bits(&new));
        assert_eq!(old.state(), new.state());
    }

    #[test]
    fn a_buffer_of_another_size_is_rejected() {
        let old = filled(&[&[1.0]], 3);
        let error =
            CircularBuffer::new(4, 1, 1).restore(old.state(), old.features(), old.labels()).unwrap_err();
        assert!(error.to_string().contains("number of rows is 3, this configuration needs 4"), "{error}");
        let mut same = CircularBuffer::new(3, 1, 1);
        let wild = BufferState { pointer: 7, ..old.state() };
        assert!(same.restore(wild, old.features(), old.labels()).is_err());
        let wild = BufferState { count: 7, ..old.state() };
        assert!(same.restore(wild, old.features(), old.labels()).is_err());
    }
}
