//! Objects that repeat a name: the first member of a name has the name, and the others are nodes without one.

/// The names that the open objects have had so far, as the numbers of these names.
///
/// ```text
/// {"a": {"a": 1, "b": 2}, "a": 3}     the level in `seen` of          a   b
///  │     │       │    │    └ level 1: has been seen there                    repeated
///  │     │       │    └ the object of level 2 ends: both are put back  1   0
///  │     │       └ level 2                                            2   2
///  │     └ level 2: another object; its a is its first                2   0
///  └ level 1                                                          1   0
/// ```
#[derive(Clone, Debug, Default)]
pub struct Members {
    /// For each name, the level of the innermost open object that has had it; 0 for none.
    seen: Vec<u32>,
    /// Names that objects have had, in this order, each with what `seen` contained before.
    had: Vec<(u32, u32)>,
}

impl Members {
    /// Begins a member of the object whose members are at `level`, which is at least 1. Returns whether the
    /// object has had no member of this name before.
    #[inline]
    pub fn is_first(&mut self, name: u32, level: u32) -> bool {
        let Self { seen, had } = self;
        if seen.len() <= name as usize {
            seen.resize(name as usize + 1, 0);
        }
        let seen = &mut seen[name as usize];
        if *seen == level {
            return false;
        }
        had.push((name, std::mem::replace(seen, level)));
        true
    }

    /// Ends the object whose members are at `level`.
    #[inline]
    pub fn end(&mut self, level: u32) {
        let Self { seen, had } = self;
        while let Some((name, before)) = had.pop_if(|(name, _)| seen[*name as usize] >= level) {
            seen[name as usize] = before;
        }
    }
}
