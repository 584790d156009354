//! Declarations of the LLVM intrinsics that this crate's functions call.
//!
//! LLVM knows the attributes of an intrinsic by its name. The barriers and warp collectives below are
//! convergent because LLVM defines them so; the declarations here do not change that.

#![expect(improper_ctypes, reason = "`unadjusted` passes these as LLVM values, not as C would")]

/// The result of the two-valued collectives: LLVM's `{ i32, i1 }`.
pub(crate) type ValueAndFlag = (u32, bool);

unsafe extern "unadjusted" {
    // Special registers.
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    pub(crate) safe fn tid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.y"]
    pub(crate) safe fn tid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.z"]
    pub(crate) safe fn tid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"]
    pub(crate) safe fn ntid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.y"]
    pub(crate) safe fn ntid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.z"]
    pub(crate) safe fn ntid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
    pub(crate) safe fn ctaid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.y"]
    pub(crate) safe fn ctaid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.z"]
    pub(crate) safe fn ctaid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.x"]
    pub(crate) safe fn nctaid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.y"]
    pub(crate) safe fn nctaid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.z"]
    pub(crate) safe fn nctaid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    pub(crate) safe fn laneid() -> u32;

    // Barriers of a block (barrier 0, all threads).
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
    pub(crate) fn barrier(id: u32);
    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    pub(crate) fn barrier_popc(id: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
    pub(crate) fn barrier_and(id: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    pub(crate) fn barrier_or(id: u32, predicate: bool) -> bool;

    // Fences and waiting.
    #[link_name = "llvm.nvvm.membar.gl"]
    pub(crate) safe fn membar_device();
    #[link_name = "llvm.nvvm.membar.cta"]
    pub(crate) safe fn membar_block();
    #[link_name = "llvm.nvvm.membar.sys"]
    pub(crate) safe fn membar_system();
    #[link_name = "llvm.nvvm.nanosleep"]
    pub(crate) safe fn nanosleep(nanoseconds: u32);
    #[link_name = "llvm.trap"]
    pub(crate) fn trap();

    // Warp collectives.
    #[link_name = "llvm.nvvm.activemask"]
    pub(crate) safe fn activemask() -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    pub(crate) fn bar_warp_sync(mask: u32);
    #[link_name = "llvm.nvvm.vote.all.sync"]
    pub(crate) fn vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    pub(crate) fn vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    pub(crate) fn vote_ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    pub(crate) fn match_any_32(mask: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    pub(crate) fn match_any_64(mask: u32, value: u64) -> u32;
    #[link_name = "llvm.nvvm.match.all.sync.i32p"]
    pub(crate) fn match_all_32(mask: u32, value: u32) -> ValueAndFlag;
    #[link_name = "llvm.nvvm.match.all.sync.i64p"]
    pub(crate) fn match_all_64(mask: u32, value: u64) -> ValueAndFlag;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32p"]
    pub(crate) fn shuffle_up(mask: u32, value: u32, delta: u32, clamp: u32) -> ValueAndFlag;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32p"]
    pub(crate) fn shuffle_down(mask: u32, value: u32, delta: u32, clamp: u32) -> ValueAndFlag;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32p"]
    pub(crate) fn shuffle_xor(mask: u32, value: u32, lane_mask: u32, clamp: u32) -> ValueAndFlag;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32p"]
    pub(crate) fn shuffle_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> ValueAndFlag;

    // Reductions in hardware, sm_80 and later. The value comes first, the mask second.
    #[link_name = "llvm.nvvm.redux.sync.add"]
    pub(crate) fn redux_add(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umin"]
    pub(crate) fn redux_min_u32(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    pub(crate) fn redux_max_u32(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.min"]
    pub(crate) fn redux_min_i32(value: i32, mask: u32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.max"]
    pub(crate) fn redux_max_i32(value: i32, mask: u32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.and"]
    pub(crate) fn redux_and(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.or"]
    pub(crate) fn redux_or(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.xor"]
    pub(crate) fn redux_xor(value: u32, mask: u32) -> u32;

    // Bits.
    #[link_name = "llvm.nvvm.prmt"]
    pub(crate) safe fn prmt(a: u32, b: u32, selector: u32) -> u32;
    #[link_name = "llvm.fshl.i32"]
    pub(crate) safe fn fshl(hi: u32, lo: u32, shift: u32) -> u32;
    #[link_name = "llvm.fshr.i32"]
    pub(crate) safe fn fshr(hi: u32, lo: u32, shift: u32) -> u32;
}
