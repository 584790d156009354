//! Blocks of IP addresses: `cidr($.ip, "10.0.0.0/8", "fe80::/10")`.
//!
//! A block is an address and a number of bits (RFC 4632, section 3.1; RFC 4291, section 2.3). An address
//! alone is a block of one address. An IPv4-mapped IPv6 address, such as `::ffff:10.0.0.1`, is its IPv4
//! address, in values and in blocks (RFC 4291, section 2.5.5.2). Otherwise no IPv4 address is in a block of
//! IPv6 addresses, and no IPv6 address is in a block of IPv4 addresses.

use std::net::IpAddr;

/// A block of IP addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first address.
    first: IpAddr,
    /// The number of leading bits that all addresses of the block have in common.
    bits: u32,
}

/// The reason why a text is not a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The text before the `/` is not an address.
    #[error("expected an IPv4 or IPv6 address, and `/` and a number after it")]
    Address,
    /// The text after the `/` is not a number of bits up to this one.
    #[error("after `/`, expected a number from 0 to {0}")]
    Bits(u32),
    /// The address is not the first one of its block, which is this one.
    #[error("its address has bits after the first {bits}", bits = .0.rsplit('/').next().unwrap_or_default())]
    NotFirst(String),
}

impl Block {
    /// Parses a block, such as `10.0.0.0/8`, or an address.
    ///
    /// # Errors
    /// [`BlockError`] also for an address that is not the first one of its block.
    pub fn parse(text: &str) -> Result<Self, BlockError> {
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| BlockError::Address)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let is_number = |bits: &str| {
            bits.bytes().all(|byte| byte.is_ascii_digit()) && (bits == "0" || !bits.starts_with('0'))
        };
        let bits = match bits {
            None => most,
            Some(bits) => {
                let number = Some(bits).filter(|bits| is_number(bits)).and_then(|bits| bits.parse().ok());
                number.filter(|number| *number <= most).ok_or(BlockError::Bits(most))?
            }
        };
        let first = first(address, bits);
        if first != address {
            return Err(BlockError::NotFirst(format!("{first}/{bits}")));
        }
        Ok(match address.to_canonical() {
            mapped @ IpAddr::V4(_) if address.is_ipv6() && bits >= 96 => {
                Self { first: mapped, bits: bits - 96 }
            }
            _ => Self { first: address, bits },
        })
    }

    /// Returns true if an address is in the block.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && first(address, self.bits) == self.first
    }
}

/// Returns true if a text is an address in one of some blocks.
#[must_use]
pub fn are_of(blocks: &[Block], text: &[u8]) -> bool {
    let address: Option<IpAddr> = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    address.is_some_and(|address| blocks.iter().any(|block| block.has(address)))
}

/// The first address that has some leading bits in common with an address.
fn first(address: IpAddr, bits: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            IpAddr::V6((address.to_bits() & mask).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use warpath_random::table::texts;

    use super::*;

    const CASES: &str = include_str!("addresses.txt");

    #[test]
    fn addresses_are_in_blocks() {
        for [block, text, is_in] in texts(CASES, "blocks") {
            let of = Block::parse(&block).expect(&block);
            assert_eq!(are_of(&[of], text.as_bytes()).to_string(), is_in, "{text} in {block}");
        }
        assert!(!are_of(&[], b"10.0.0.1") && !are_of(&[Block::parse("::/0").unwrap()], b"\xff"));
    }

    #[test]
    fn other_texts_are_no_blocks() {
        for [text, message] in texts(CASES, "refused") {
            let error = Block::parse(&text).expect_err(&text);
            assert_eq!(error.to_string(), message, "{text}");
        }
        let not_first = |text| match Block::parse(text) {
            Err(BlockError::NotFirst(block)) => block,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(not_first("10.1.2.3/8"), "10.0.0.0/8");
        assert_eq!(not_first("fe80::1/10"), "fe80::/10");
        assert_eq!(not_first("10.0.0.1/0"), "0.0.0.0/0");
    }
}
