//! The architectures that PTX is compiled for.

use std::{fmt, str::FromStr};

/// A GPU architecture to compile PTX for: the oldest architecture that can run the PTX. A driver compiles the
/// PTX for any newer one.
///
/// In device code, `cfg(target_feature = "sm_80")` is set if the target is that architecture or a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Arch {
    /// Turing (T4, RTX 20): the oldest architecture that CUDA 13 supports.
    #[default]
    Sm75,
    /// Ampere (A100): the first architecture with `redux.sync`.
    Sm80,
    /// Ampere (A10, RTX 30).
    Sm86,
    /// Ada (L4, L40, RTX 40).
    Sm89,
    /// Hopper (H100, H200).
    Sm90,
    /// Blackwell (B200).
    Sm100,
    /// Blackwell (RTX 50).
    Sm120,
}

impl Arch {
    /// Every architecture, oldest first.
    pub const ALL: &[Self] =
        &[Self::Sm75, Self::Sm80, Self::Sm86, Self::Sm89, Self::Sm90, Self::Sm100, Self::Sm120];

    /// The architectures whose PTX the repository contains, oldest first. At run time, the newest PTX that
    /// the device can run is loaded.
    pub const COMMITTED: &[Self] = &[Self::Sm75];

    /// The name that rustc's `-C target-cpu`, PTX's `.target` and `ptxas -arch` use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sm75 => "sm_75",
            Self::Sm80 => "sm_80",
            Self::Sm86 => "sm_86",
            Self::Sm89 => "sm_89",
            Self::Sm90 => "sm_90",
            Self::Sm100 => "sm_100",
            Self::Sm120 => "sm_120",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error: the text names no architecture that the builder knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown architecture `{0}`; known: {known}", known = Arch::ALL.iter().map(|arch| arch.name()).collect::<Vec<_>>().join(", "))]
pub struct UnknownArch(String);

impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(text: &str) -> Result<Self, UnknownArch> {
        Self::ALL.iter().copied().find(|arch| arch.name() == text).ok_or_else(|| UnknownArch(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_rise() {
        for &arch in Arch::ALL {
            assert_eq!(arch.name().parse(), Ok(arch));
        }
        assert!(Arch::ALL.is_sorted());
        assert!(Arch::COMMITTED.is_sorted());
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "sm_12".parse::<Arch>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown architecture `sm_12`; known: sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120"
        );
    }
}
