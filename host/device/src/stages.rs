//! The table of a device's stages, and the stages of one evaluation.
//!
//! Each stage is a type, so that the compiler refuses the launch of a kernel that is not in the stage's row.

use warpath_answer::answer::TextForm;
use warpath_answer::stage::{Evaluation, StageKernel, StageRow, When};
use warpath_cpu::twig::Documents;
use warpath_lang::program::Program;
use warpath_shared::kernel::{
    BinWords, BitmapRange, ColumnFinish, ColumnGather, ColumnRead, CompressAtoms, CompressStarts, CountScan,
    FilterCount, FilterFill, FsstDecode, FsstDecodeStrings, FsstMatch, KERNELS, Kernel, KindCheck,
    LeafDistinct, LeafFirst, LeafGroup, LeafGroupFew, LeafRankCounts, LeafRanks, LeafRows, LineIndex,
    LineScan, LineStates, ListOffsets, NamesCount, NamesFill, OddCheck, QueryBounds, QueryCount,
    QueryCountLoose, QueryFill, QuerySlots, QuerySlotsLoose, RecordCompact, RecordRows, SlotCompact,
    StrictCheck, StructureWrite, TapeLines, TapeMinima, TapeNodes, TapePieces, TapeScan, TapeWords,
    TextGather, TextScan, TreeCount, TreeFill, TwigMatch, TwigOps, XmlEvents, XmlNodes, XmlOps, XmlStates,
};

/// A stage of a device.
pub trait DeviceStage {
    /// The stage's row.
    const ROW: &'static StageRow;
}

/// A kernel of a stage: the macro below implements it for each kernel in the row of stage `S`.
pub trait Of<S: DeviceStage>: Kernel {}

macro_rules! stages {
    ($($stage:ident = $name:literal [$($kernel:ident $($when:ident $why:literal)?),+]
        $what:literal; $bytes:literal;)*) => {
        $(
            #[doc = concat!("The stage `", $name, "`: ", $what, ".")]
            pub enum $stage {}
            impl DeviceStage for $stage {
                const ROW: &'static StageRow = &StageRow {
                    place: "device",
                    name: $name,
                    kernels: &[$(StageKernel { name: $kernel::NAME, when: stages!(@ $($when $why)?) }),+],
                    what: $what,
                    bytes: $bytes,
                };
            }
            $(impl Of<$stage> for $kernel {})+
        )*
        /// The rows of all stages.
        pub const ROWS: &[&StageRow] = &[$($stage::ROW),*];
    };
    (@) => { When::Always };
    (@ $when:ident $why:literal) => { When::$when($why) };
}

stages! {
    Unpack = "unpack" [FsstDecode]
        "packed text becomes plain"; "the codes read, 1 byte written";
    Lines = "lines" [LineStates, LineScan]
        "the state in which each tile of 32 KiB begins; the scan is for lines longer than a tile";
        "1/16 and more read, by the records' length";
    Index = "index" [StructureWrite, LineIndex]
        "string bitmap, {levels}, each tile's newlines, faulty lines and bracket kinds; line starts";
        "1 read, (1 + levels)/8 written; 8 bytes a line";
    Kinds = "faults" [KindCheck, OddCheck]
        "bracket kinds, scanned and compared across tiles; the bytes of lines that are not usual"; "1/2048";
    Validate = "validate" [StrictCheck]
        "the contents of strings and scalars, and UTF-8"; "9/8 read";
    MakeTrees = "trees" [TapeWords, TapeScan, TapeLines, TapeMinima, TapePieces, TapeNodes]
        "tokens, brackets by lines or by pieces of long lines, and the nodes of each record";
        "9/8 + 2 × 3/4 read, 3/4 written; 12 bytes written and 16 read a bracket; 16 written a node";
    ListRecords = "records" [RecordCompact]
        "the lines that are records without a fault"; "8 bytes a line";
    Slots = "query" [QuerySlots, QuerySlotsLoose Seldom "for loose lines", SlotCompact]
        "the program, a thread a line with a slot for each path; full slots become lists";
        "what the query touches; 8 bytes a slot, 12 a match";
    Counts = "query" [QueryCount, QueryCountLoose Seldom "for loose lines"]
        "the program, a thread a line, counted"; "what the query touches";
    FilterCounts = "query" [FilterCount]
        "the program with filters beyond one equality, a thread a line, counted"; "what the query touches";
    TreeCounts = "query" [TreeCount]
        "the program over trees, a thread a line, counted"; "16 bytes a node";
    NameCounts = "query" [NamesCount]
        "paths `$..name`, several nodes a thread, counted"; "16 bytes a node";
    Offsets = "counts" [CountScan, QueryBounds]
        "the offsets of the matches of each path and line"; "16 bytes a path and line";
    Fill = "matches" [QueryFill Usually "if there are any"]
        "the matches, from those that were kept or by a second run"; "12 bytes a match";
    FilterFills = "matches" [FilterFill Usually "if there are any"]
        "the matches, from those that were kept or by a second run"; "12 bytes a match";
    TreeFills = "matches" [TreeFill Usually "if there are any"]
        "the matches, from those that were kept or by a second run"; "12 bytes a match";
    NameFills = "matches" [NamesFill Usually "if there are any"]
        "the matches, from those that were kept or by a second run"; "12 bytes a match";
    Text = "text" [TextScan Usually "if there are matches", TextGather Usually "if there are matches"]
        "the text of the matches"; "the matched bytes twice, 20 a match";
    Columns = "columns" [RecordRows Usually "for paths of one value", ListOffsets Usually "for other paths"]
        "the rows of columns"; "12 bytes a match and a row";
    Values = "values" [ColumnRead Usually "if there are any", CountScan Usually "for strings",
        ColumnGather Usually "for strings", ColumnFinish Usually "for strings"]
        "the values as numbers and bits, strings decoded"; "the matched bytes three times";
    TwigPrograms = "programs" [TwigOps]
        "each record as operations on twigs"; "names and tested values twice";
    Twigs = "twigs" [TwigMatch]
        "all subscriptions at once, by a bit for each node, a warp for a group of them and some records";
        "4 bytes an operation and group";
    Xml = "xml" [XmlStates, XmlEvents, XmlNodes]
        "tags, attributes and text of documents up to 128 KiB";
        "the text read twice, 4 + 16 bytes an event written and read";
    XmlPrograms = "programs" [XmlOps]
        "each document as operations on twigs"; "20 bytes an event";
    Range = "bitmaps" [BitmapRange]
        "a program over compressed bitmaps, four warps a tile, rows counted in the same kernel";
        "the atoms of the tiles that are not yet full; 8 bytes written for 63 rows";
    Bins = "bins" [BinWords]
        "the bins of rows become chunks of bitmaps";
        "the numbers of bins; 8 bytes written for 63 rows and each bin";
    Compress = "compress" [CompressStarts, CompressAtoms]
        "chunks become atoms"; "8 bytes read twice for 63 rows and bin; the atoms";
    Strings = "strings" [FsstDecodeStrings Usually "with the offsets of strings",
        FsstDecode Usually "without them"]
        "strings of their codes"; "the codes read, the strings written";
    Rows = "rows" [LeafRows]
        "a condition on packed leaves, a warp for 1,024 rows";
        "the packed words of the columns, 128 bytes written for 1,024 rows";
    Groups = "groups" [LeafGroupFew Usually "for few groups", LeafGroup Usually "for many",
        LeafDistinct Usually "for numbers of different values"]
        "counts, extremes, sums and sets of groups"; "the packed words of the columns, 8 bytes a group";
    First = "first" [LeafRanks, LeafRankCounts Usually "until few groups are left", LeafFirst]
        "the groups that are first in an order"; "the numbers of the order, 8 bytes a group";
    Like = "like" [FsstMatch]
        "a pattern over the codes of strings, a thread a string"; "the codes read, a bit a string written";
}

static JUDGE: StageRow = StageRow::cpu("faults", "the lines that the kernels suspect, if there are any");
static ROWS_OF_TEXT: StageRow =
    StageRow::cpu("rows", "rows of text, from the matches (the worker that read them)");
static DEEP_RECORDS: StageRow =
    StageRow::cpu("twigs", "records deeper than 16 levels, or that pass very many tests");
static DEEP_DOCUMENTS: StageRow = StageRow::cpu("twigs", "documents deeper than 16 levels");
static HOST_PROGRAMS: StageRow =
    StageRow::cpu("programs", "each document as operations on twigs (every worker)");
static OTHER_DOCUMENTS: StageRow = StageRow::cpu(
    "programs",
    "other documents, and those in which anything is out of the ordinary (every worker)",
);

/// The kernels that run a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One match a path and line at most.
    Slots,
    /// Leveled bitmaps, with no filter beyond one equality.
    Counts,
    /// Leveled bitmaps, with other filters.
    Filters,
    /// Trees.
    Trees,
    /// Paths `$..name` over all nodes of the trees.
    Names,
}

impl Form {
    pub fn of(program: &Program) -> Self {
        if program.is_singular() {
            Self::Slots
        } else if !program.names().is_empty() {
            Self::Names
        } else if program.needs_trees() {
            Self::Trees
        } else if program.has_plain_filters() {
            Self::Counts
        } else {
            Self::Filters
        }
    }

    /// The stages that find matches, and that write them if they are wanted.
    fn rows(self) -> (&'static StageRow, Option<&'static StageRow>) {
        match self {
            Self::Slots => (Slots::ROW, None),
            Self::Counts => (Counts::ROW, Some(Fill::ROW)),
            Self::Filters => (FilterCounts::ROW, Some(FilterFills::ROW)),
            Self::Trees => (TreeCounts::ROW, Some(TreeFills::ROW)),
            Self::Names => (NameCounts::ROW, Some(NameFills::ROW)),
        }
    }
}

/// The stages of an evaluation on a device, in order.
pub(super) fn of_program(evaluation: &Evaluation<'_>) -> Vec<&'static StageRow> {
    let Evaluation { program, want, strict, packed } = *evaluation;
    let find = want.to_find(program);
    let (query, fill) = Form::of(program).rows();
    let rows = [
        packed.then_some(Unpack::ROW),
        Some(Lines::ROW),
        Some(Index::ROW),
        Some(Kinds::ROW),
        strict.then_some(Validate::ROW),
        // The trees check tokens against the grammar, even if the program needs no trees.
        (strict || program.needs_trees()).then_some(MakeTrees::ROW),
        Some(&JUDGE),
        find.records.then_some(ListRecords::ROW),
        Some(query),
        fill.map(|_| Offsets::ROW),
        fill.filter(|_| find.matches),
        (want.text == Some(TextForm::Json)).then_some(Text::ROW),
        (want.text == Some(TextForm::Raw)).then_some(Values::ROW),
        want.columns.map(|_| Columns::ROW),
        want.columns.map(|_| Values::ROW),
        want.rows.map(|_| &ROWS_OF_TEXT),
    ];
    rows.into_iter().flatten().collect()
}

/// The stages that match documents against subscriptions on a device, in order.
pub(super) fn of_documents(documents: Documents) -> Vec<&'static StageRow> {
    match documents {
        Documents::Ndjson => vec![
            Lines::ROW,
            Index::ROW,
            Kinds::ROW,
            MakeTrees::ROW,
            &JUDGE,
            TwigPrograms::ROW,
            Twigs::ROW,
            &DEEP_RECORDS,
        ],
        Documents::Xml => {
            vec![Xml::ROW, XmlPrograms::ROW, &OTHER_DOCUMENTS, Twigs::ROW, &DEEP_DOCUMENTS]
        }
        Documents::Json => vec![&HOST_PROGRAMS, Twigs::ROW, &DEEP_DOCUMENTS],
    }
}

/// One kernel of each module that an evaluation is likely to need after the index, in the order of the
/// stages. Loading the kernel loads its module.
pub(super) fn to_prepare(evaluation: &Evaluation<'_>) -> Vec<&'static str> {
    let module = |name: &str| KERNELS.iter().find(|(kernel, _)| *kernel == name).map(|(_, module)| *module);
    let mut seen = vec![module(StructureWrite::NAME)];
    let rows = of_program(evaluation);
    let kernels = rows.iter().flat_map(|row| row.kernels);
    let likely = kernels.filter(|kernel| !matches!(kernel.when, When::Seldom(_)));
    let mut first = |name: &&str| {
        let is_first = !seen.contains(&module(name));
        seen.push(module(name));
        is_first
    };
    likely.map(|kernel| kernel.name).filter(|name| first(name)).collect()
}
