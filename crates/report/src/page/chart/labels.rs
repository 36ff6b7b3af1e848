//! Names beside lone points, where no two of them lie over each other.

/// A point with a label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LabelledPoint<'n> {
    pub(super) name: &'n str,
    pub(super) x: f64,
    pub(super) y: f64,
}

/// Where a name stands: the left end of its baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Label {
    pub(super) x: f64,
    pub(super) y: f64,
    /// Width that the name is given.
    pub(super) width: f64,
}

/// The room that labels may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Room {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// Of a letter of the charts' font, more than most have.
const LETTER: f64 = 6.2;
/// Height of a name above and below its baseline.
const ABOVE: f64 = 9.0;
const BELOW: f64 = 3.0;
/// From a point to its name, and around a point.
const GAP: f64 = 6.0;
const DOT: f64 = 3.5;

#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn of(label: Label) -> Self {
        Self { left: label.x, right: label.x + label.width, top: label.y - ABOVE, bottom: label.y + BELOW }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn is_in(&self, room: Room) -> bool {
        self.left >= room.left
            && self.right <= room.right
            && self.top >= room.top
            && self.bottom <= room.bottom
    }
}

/// Puts every name beside its point if there is room, else as near above or below as there is some.
pub(super) fn place(points: &[LabelledPoint<'_>], room: Room) -> Vec<Label> {
    let dot = |point: &LabelledPoint<'_>| Frame {
        left: point.x - DOT,
        right: point.x + DOT,
        top: point.y - DOT,
        bottom: point.y + DOT,
    };
    let mut taken: Vec<Frame> = points.iter().map(dot).collect();
    let mut order: Vec<usize> = (0..points.len()).collect();
    // From the top: a name that must give way goes down, where those below have not chosen yet.
    order.sort_by(|&a, &b| points[a].y.total_cmp(&points[b].y));
    let mut labels = vec![Label { x: 0.0, y: 0.0, width: 0.0 }; points.len()];
    for index in order {
        let point = points[index];
        let width = LETTER * point.name.chars().count() as f64;
        let sides = if point.x > f64::midpoint(room.left, room.right) {
            [point.x - GAP - width, point.x + GAP]
        } else {
            [point.x + GAP, point.x - GAP - width]
        };
        // Nothing, down a little, up a little, down further, …
        let shifts =
            (0..60).map(|step: i32| f64::from((step + 1) / 2 * if step % 2 == 1 { 1 } else { -1 }) * 4.0);
        let candidates = shifts.flat_map(|shift| sides.map(|x| Label { x, y: point.y + 3.5 + shift, width }));
        let fits = |label: &Label| {
            let frame = Frame::of(*label);
            frame.is_in(room) && taken.iter().all(|other| !frame.overlaps(other))
        };
        let beside = Label { x: sides[0], y: point.y + 3.5, width };
        let label = candidates.into_iter().find(fits).unwrap_or(beside);
        taken.push(Frame::of(label));
        labels[index] = label;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { left: 46.0, right: 432.0, top: 0.0, bottom: 214.0 };

    #[test]
    fn a_lone_name_stands_beside_its_point() {
        let at = |x| place(&[LabelledPoint { name: "stack", x, y: 100.0 }], ROOM)[0];
        assert_eq!((at(100.0).x, at(100.0).y), (106.0, 103.5));
        assert_eq!(at(400.0).x + at(400.0).width, 394.0);
    }

    #[test]
    fn names_do_not_overlap() {
        let names = [
            "additive-ridge",
            "gene-mlp",
            "low-rank",
            "network-kernel",
            "stack",
            "dango",
            "hetero",
            "transformer",
            "ridge-pairs",
        ];
        for spread in [0.0, 2.0, 7.0, 20.0] {
            for x in [60.0, 220.0, 420.0] {
                let points: Vec<LabelledPoint<'_>> = (names.iter().enumerate())
                    .map(|(i, name)| LabelledPoint {
                        name,
                        x: x + spread * (i % 3) as f64 / 3.0,
                        y: 90.0 + spread * i as f64 / 9.0,
                    })
                    .collect();
                let labels = place(&points, ROOM);
                for (i, a) in labels.iter().enumerate() {
                    let frame = Frame::of(*a);
                    assert!(frame.is_in(ROOM), "{} at {x}, {spread}: {a:?}", names[i]);
                    for b in &labels[..i] {
                        assert!(!frame.overlaps(&Frame::of(*b)), "{a:?} and {b:?} at {x}, {spread}");
                    }
                }
            }
        }
    }
}
