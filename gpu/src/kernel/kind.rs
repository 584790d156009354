//! Bracket kinds across tiles: a scan of the kinds that each tile writes, compared with the kinds that each
//! tile expects.
//!
//! *Threads*: one thread a tile; blocks look back as in every scan ([`super::scan`]).
//! *Cost*: 16 bytes read a tile.

use cuda_std::kernel;
use cuda_std::shared::shared_array;
use warpath_shared::index::level::KindWrites;
use warpath_shared::kernel::KindCheckArgs;

use super::faulty::report;
use super::scan::{Element, Scratch, scan};
use crate::coop::WARPS;

/// Reports the lines whose brackets do not match.
///
/// # Safety
/// Launched as [`KindCheck`](warpath_shared::kernel::KindCheck) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn kind_check(args: KindCheckArgs<'_>) {
    let shared = Scratch {
        sums: shared_array![KindWrites; WARPS],
        before: shared_array![KindWrites; 1],
        tile: shared_array![u32; 1],
    };
    let tiles = args.kinds.len();
    let load = |at| if at < tiles { args.kinds.get(at).writes } else { KindWrites::default() };
    // SAFETY: no branch comes before this call, so every thread of the block is here. The shared memory is
    // this scan's own.
    let Element { at, before, .. } = unsafe { scan(&args.look_back, &shared, load) };
    if at < tiles && before.contradicts(args.kinds.get(at).reads) {
        report(&args.faulty, args.first_lines.get(at));
    }
}
