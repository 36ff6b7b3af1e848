//! Findings become text, JSON and HTML. No arithmetic here: every figure was computed in [`knockout_profile`].
