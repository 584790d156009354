//! XML documents like pieces of DBLP, a bibliography that published measurements of XML filters use.
//!
//! They follow a document type like DBLP's, defined by a table in this module. Records of each kind have
//! fields of their own, 22 in all, and mark-up in titles holds more mark-up:
//!
//! ```text
//! <!ELEMENT dblp (article|inproceedings|proceedings|book|incollection|phdthesis|mastersthesis|www)*>
//! <!ELEMENT mastersthesis (author*,title,year,school,ee?,note?)>             and so the other records, with more fields
//! <!ATTLIST mastersthesis key CDATA #REQUIRED mdate CDATA #IMPLIED>
//! <!ENTITY % text "#PCDATA|sub|sup|i|tt|ref">
//! <!ELEMENT title (%text;)*>                                                 and so booktitle, sub, sup, i and tt
//! <!ELEMENT ref (#PCDATA)>                                                   and so the other fields
//! <!ATTLIST ref href CDATA #REQUIRED>
//! ```
//!
//! The fields of a record, their frequency and their order are like DBLP's: authors, a title, pages and a
//! year in most, notes and CD-ROMs in few. Mark-up is more frequent than there, in one title of eight, and
//! nests up to [`DEEPEST_MARKUP`] levels. Characters beyond ASCII are written as character references, where
//! DBLP uses entities. The documents have no document type, and no other entities than XML's own.
//!
//! The text is as long as in a bibliography: an element begins or ends every 20 bytes. The synthetic
//! documents of Absalyamov et al. (EDBT 2013) have an event for every 6.5. Attributes, two in most records,
//! are not counted in either.

use super::random::Random;
use super::text::Put;

/// Mark-up within mark-up, at most: an element is at most this deep below a title.
pub const DEEPEST_MARKUP: usize = 6;

/// The key that separates the random streams of documents from those of shapes and columns. Part of the
/// data's definition.
const KEY: u64 = 0x201;

/// The root element.
pub const ROOT: &str = "dblp";

const MARKUP: [&str; 5] = ["sub", "sup", "i", "tt", "ref"];

/// The elements that the document type allows right below another; none below what is not known.
#[must_use]
pub fn children(element: &str) -> Vec<&'static str> {
    match element {
        ROOT => KINDS.iter().map(|kind| kind.name).collect(),
        "title" | "booktitle" | "sub" | "sup" | "i" | "tt" => MARKUP.to_vec(),
        _ => {
            let kind = KINDS.iter().filter(|kind| kind.name == element);
            kind.flat_map(|kind| kind.fields).map(|(field, ..)| *field).collect()
        }
    }
}

/// A kind of records.
struct Kind {
    name: &'static str,
    /// The number of records of this kind in a thousand.
    share: u32,
    /// The beginning of its keys, and their next part, if that is not the venue's.
    key: (&'static str, Option<&'static str>),
    /// Its fields, in order.
    fields: &'static [Field],
}

impl Kind {
    fn drawn(random: &mut Random) -> &'static Self {
        let (mut kinds, mut place) = (KINDS.iter(), random.below(1000));
        loop {
            let kind = kinds.next().expect("shares are a thousand together");
            match place.checked_sub(kind.share) {
                Some(rest) => place = rest,
                None => return kind,
            }
        }
    }
}

/// A field of a kind of records: its name, the records in a thousand that have it, and the chance in a
/// thousand of one more after each.
type Field = (&'static str, u32, u32);

/// A field is there at most so often.
const MOST: u32 = 40;

const KINDS: [Kind; 8] = [
    Kind {
        name: "article",
        share: 370,
        key: ("journals", None),
        fields: &[
            ("author", 990, 600),
            ("title", 1000, 0),
            ("pages", 900, 0),
            ("year", 1000, 0),
            ("month", 30, 0),
            ("volume", 950, 0),
            ("journal", 1000, 0),
            ("number", 780, 0),
            ("publisher", 10, 0),
            ("note", 20, 0),
            ("ee", 880, 60),
            ("url", 960, 0),
            ("cdrom", 20, 0),
            ("cite", 60, 900),
        ],
    },
    Kind {
        name: "inproceedings",
        share: 480,
        key: ("conf", None),
        fields: &[
            ("author", 1000, 640),
            ("title", 1000, 0),
            ("pages", 930, 0),
            ("year", 1000, 0),
            ("cdrom", 25, 0),
            ("booktitle", 1000, 0),
            ("number", 5, 0),
            ("note", 8, 0),
            ("ee", 850, 60),
            ("crossref", 920, 0),
            ("url", 980, 0),
            ("cite", 50, 900),
        ],
    },
    Kind {
        name: "proceedings",
        share: 25,
        key: ("conf", None),
        fields: &[
            ("editor", 950, 650),
            ("title", 1000, 0),
            ("booktitle", 900, 0),
            ("address", 30, 0),
            ("publisher", 960, 0),
            ("series", 550, 0),
            ("volume", 560, 0),
            ("year", 1000, 0),
            ("isbn", 920, 30),
            ("ee", 650, 80),
            ("note", 15, 0),
            ("url", 990, 0),
        ],
    },
    Kind {
        name: "book",
        share: 20,
        key: ("books", Some("daglib")),
        fields: &[
            ("author", 750, 400),
            ("editor", 260, 500),
            ("title", 1000, 0),
            ("address", 20, 0),
            ("publisher", 990, 0),
            ("series", 400, 0),
            ("volume", 250, 0),
            ("year", 1000, 0),
            ("month", 10, 0),
            ("isbn", 970, 150),
            ("pages", 600, 0),
            ("chapter", 10, 0),
            ("ee", 450, 50),
            ("url", 200, 0),
            ("cdrom", 10, 0),
            ("cite", 30, 920),
        ],
    },
    Kind {
        name: "incollection",
        share: 35,
        key: ("books", Some("collections")),
        fields: &[
            ("author", 1000, 550),
            ("title", 1000, 0),
            ("pages", 950, 0),
            ("year", 1000, 0),
            ("booktitle", 1000, 0),
            ("chapter", 40, 0),
            ("publisher", 20, 0),
            ("ee", 800, 0),
            ("crossref", 950, 0),
            ("url", 970, 0),
            ("cite", 30, 920),
        ],
    },
    Kind {
        name: "phdthesis",
        share: 20,
        key: ("phd", Some("dnb")),
        fields: &[
            ("author", 1000, 0),
            ("title", 1000, 0),
            ("year", 1000, 0),
            ("month", 60, 0),
            ("school", 1000, 40),
            ("address", 20, 0),
            ("pages", 700, 0),
            ("publisher", 60, 0),
            ("series", 40, 0),
            ("number", 20, 0),
            ("isbn", 300, 0),
            ("ee", 600, 300),
            ("note", 150, 0),
        ],
    },
    Kind {
        name: "mastersthesis",
        share: 5,
        key: ("ms", Some("theses")),
        fields: &[
            ("author", 1000, 0),
            ("title", 1000, 0),
            ("year", 1000, 0),
            ("school", 1000, 0),
            ("ee", 500, 0),
            ("note", 100, 0),
        ],
    },
    Kind {
        name: "www",
        share: 45,
        key: ("homepages", Some("homes")),
        fields: &[
            ("author", 990, 120),
            ("editor", 5, 0),
            ("title", 1000, 0),
            ("year", 10, 0),
            ("note", 350, 200),
            ("url", 450, 300),
            ("crossref", 30, 0),
            ("cite", 5, 500),
        ],
    },
];

/// The document with a number, for a seed: whole records, the fewest that bring it to `bytes` bytes.
///
/// It does not depend on the other documents. A longer one begins with the same records.
#[must_use]
pub fn document(seed: u64, number: u64, bytes: usize) -> String {
    const BEGIN: &str = "<?xml version=\"1.0\" encoding=\"US-ASCII\"?>\n<dblp>\n";
    const END: &str = "</dblp>\n";
    let mut random = Random::new(KEY, seed, number);
    // Almost no record is longer than that.
    let mut out = Vec::with_capacity(bytes + (4 << 10));
    out.put(BEGIN);
    while out.len() + END.len() < bytes {
        Record::new(&mut random).put(&mut random, &mut out);
    }
    out.put(END);
    String::from_utf8(out).expect("all pieces are text")
}

/// A venue: its name in keys, as a journal, and as a conference.
type Venue = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const VENUES: &[Venue] = &[
    ("corr", "CoRR", "ICASSP"), ("tods", "ACM Trans. Database Syst.", "SIGMOD Conference"), ("vldb", "VLDB J.", "VLDB"),
    ("tse", "IEEE Trans. Software Eng.", "ICSE"), ("cacm", "Commun. ACM", "CHI"), ("tcs", "Theor. Comput. Sci.", "ICALP"),
    ("tkde", "IEEE Trans. Knowl. Data Eng.", "ICDE"), ("ipl", "Inf. Process. Lett.", "STACS"), ("jacm", "J. ACM", "STOC"),
    ("ai", "Artif. Intell.", "IJCAI"), ("is", "Inf. Syst.", "EDBT"), ("jmlr", "J. Mach. Learn. Res.", "NIPS"),
    ("tpds", "IEEE Trans. Parallel Distrib. Syst.", "PPoPP"), ("ton", "IEEE/ACM Trans. Netw.", "INFOCOM"),
    ("pami", "IEEE Trans. Pattern Anal. Mach. Intell.", "CVPR"), ("tocs", "ACM Trans. Comput. Syst.", "OSDI"),
    ("toplas", "ACM Trans. Program. Lang. Syst.", "POPL"), ("algorithmica", "Algorithmica", "SODA"),
    ("dam", "Discret. Appl. Math.", "IPCO"), ("entcs", "Electron. Notes Theor. Comput. Sci.", "ETAPS"),
    ("sigmod", "SIGMOD Rec.", "PODS"), ("ijcv", "Int. J. Comput. Vis.", "ECCV"), ("bioinformatics", "Bioinform.", "RECOMB"),
    ("jcss", "J. Comput. Syst. Sci.", "FOCS"), ("tog", "ACM Trans. Graph.", "SIGGRAPH"), ("spe", "Softw. Pract. Exp.", "USENIX"),
];

#[rustfmt::skip]
const GIVEN: &[&str] = &[
    "Wei", "Michael", "David", "Thomas", "Maria", "Anna", "Jos&#233;", "Peter", "Yang", "Daniel", "Christian", "Elena",
    "J&#252;rgen", "Hiroshi", "Laura", "Rakesh", "Fran&#231;ois", "Priya", "Mohammad", "Sergey", "Barbara", "Hans-Peter", "Jun",
    "Zden&#283;k", "Susan", "Giovanni", "Min", "A. S.", "Ingrid", "Paulo", "Mei-Ling", "Ren&#233;", "Vassilis", "Olga", "Jim",
];

/// Family names, and what they are in keys.
#[rustfmt::skip]
const FAMILY: &[(&str, &str)] = &[
    ("Wang", "Wang"), ("M&#252;ller", "Muller"), ("Zhang", "Zhang"), ("Smith", "Smith"), ("Garc&#237;a", "Garcia"),
    ("Chen", "Chen"), ("Kim", "Kim"), ("Schmidt", "Schmidt"), ("Johnson", "Johnson"), ("Tanaka", "Tanaka"),
    ("Rossi", "Rossi"), ("Gupta", "Gupta"), ("Ivanov", "Ivanov"), ("Dubois", "Dubois"), ("Li", "Li"), ("Liu", "Liu"),
    ("Papadopoulos", "Papadopoulos"), ("Andersson", "Andersson"), ("O'Brien", "OBrien"), ("van der Berg", "Berg"),
    ("Nguyen", "Nguyen"), ("Silva", "Silva"), ("Kowalski", "Kowalski"), ("Nov&#225;k", "Novak"), ("Haddad", "Haddad"),
    ("Lindstr&#246;m", "Lindstrom"), ("Yamamoto", "Yamamoto"), ("Cohen", "Cohen"), ("Fernandes", "Fernandes"),
    ("Stonefield", "Stonefield"), ("Petersen", "Petersen"), ("Singh", "Singh"), ("Brown", "Brown"), ("Keller", "Keller"),
];

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "a", "for", "of", "and", "in", "the", "with", "on", "Systems", "Data", "Model", "Efficient", "Analysis", "Using", "Network",
    "Learning", "Distributed", "Approach", "Query", "Adaptive", "to", "Algorithms", "based", "Parallel", "Streams", "Design",
    "Optimization", "XML", "Filtering", "Dynamic", "Control", "Processing", "Graphs", "Software", "Detection", "Semantic",
    "Computing", "Fast", "Structures", "Logic", "Indexing", "Performance", "Scheduling", "Evaluation", "Real-Time", "Images",
    "Bayesian", "Wireless", "Hardware", "Search", "Recognition", "Theory", "Constraints", "Q&amp;A", "Web", "Mobile", "Storage",
    "Approximation", "Complexity", "Verification", "Patterns", "Robust", "Clustering", "Protocols", "Estimation", "Transactions",
    "Na&#239;ve", "Gr&#246;bner", "Heterogeneous", "Recursive", "User-Centred", "Memory", "Languages", "Secure", "Languages:",
];

#[rustfmt::skip]
const CITIES: &[&str] = &[
    "Athens, Greece", "San Jose, CA, USA", "Z&#252;rich, Switzerland", "Beijing, China", "Genoa, Italy", "Kyoto, Japan",
    "Toronto, Canada", "S&#227;o Paulo, Brazil", "Edinburgh, UK", "Melbourne, Australia",
];

const PUBLISHERS: &[&str] = &[
    "Springer",
    "ACM",
    "IEEE Computer Society",
    "Morgan &amp; Claypool",
    "Elsevier",
    "CEUR-WS.org",
    "AAAI Press",
];

#[rustfmt::skip]
const SCHOOLS: &[&str] = &[
    "Univ. of California, Riverside", "ETH Z&#252;rich", "National Technical Univ. of Athens", "TU M&#252;nchen", "Univ. of Waterloo",
    "Politecnico di Milano", "Univ. de Chile", "Karlsruhe Institute of Technology", "Univ. of Tokyo",
];

const SERIES: &[&str] =
    &["Lecture Notes in Computer Science", "CEUR Workshop Proceedings", "LIPIcs", "IFIP Advances", "EPTCS"];

#[rustfmt::skip]
const NOTES: &[&str] = &[
    "Uni Halle", "Withdrawn.", "Technical report, in preparation", "Affiliation: Univ. of Somewhere", "Full version",
    "Habilitation", "Invited &amp; refereed",
];

#[rustfmt::skip]
const MONTHS: &[&str] = &[
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
];

/// A record that is about to be written: what several of its parts have to agree on.
struct Record {
    kind: &'static Kind,
    venue: Venue,
    year: u32,
    first_author: usize,
    id: u32,
}

impl Record {
    fn new(random: &mut Random) -> Self {
        Self {
            kind: Kind::drawn(random),
            venue: random.skewed(VENUES),
            // The later, the more.
            year: 2024 - random.below(8) * random.below(8),
            first_author: random.below(FAMILY.len() as u32) as usize,
            id: random.below(1_000_000),
        }
    }

    /// Appends the record, a field a line.
    fn put(&self, random: &mut Random, out: &mut Vec<u8>) {
        out.put("<");
        out.put(self.kind.name);
        if random.chance(950) {
            out.put(" mdate=\"20");
            out.put_digits(u64::from(random.between(2, 24)), 2);
            out.put("-");
            out.put_digits(u64::from(random.between(1, 12)), 2);
            out.put("-");
            out.put_digits(u64::from(random.between(1, 28)), 2);
            out.put("\"");
        }
        out.put(" key=\"");
        self.put_key(out);
        out.put("\">\n");
        for &(name, chance, more) in self.kind.fields {
            if !random.chance(chance) {
                continue;
            }
            let mut count = 1;
            while count < MOST && random.chance(more) {
                count += 1;
            }
            for nth in 0..count {
                out.put("<");
                out.put(name);
                out.put(">");
                self.put_value(name, nth, random, out);
                out.put("</");
                out.put(name);
                out.put(">\n");
            }
        }
        out.put("</");
        out.put(self.kind.name);
        out.put(">\n");
    }

    /// Appends the key, `conf/vldb/Muller98`, with a letter or two.
    fn put_key(&self, out: &mut Vec<u8>) {
        let (folder, of_kind) = self.kind.key;
        out.put(folder);
        out.put("/");
        out.put(of_kind.unwrap_or(self.venue.0));
        out.put("/");
        put_label(self.first_author, self.year, self.id, out);
    }

    /// Appends what is in the `nth` field of this name.
    fn put_value(&self, name: &str, nth: u32, random: &mut Random, out: &mut Vec<u8>) {
        let number = |out: &mut Vec<u8>, number: u32| out.put_number(u64::from(number));
        match name {
            "author" | "editor" => {
                out.put(random.skewed(GIVEN));
                if random.chance(200) {
                    out.push(b' ');
                    out.push(b'A' + random.below(26) as u8);
                    out.push(b'.');
                }
                out.push(b' ');
                let author =
                    if nth == 0 { self.first_author } else { random.below(FAMILY.len() as u32) as usize };
                out.put(FAMILY[author].0);
            }
            "title" if self.kind.name == "www" => out.put("Home Page"),
            "title" => put_title(random, out),
            "booktitle" => {
                out.put(self.venue.2);
                if random.chance(150) {
                    out.put(" (");
                    number(out, random.between(1, 4));
                    out.put(")");
                }
                if random.chance(30) {
                    out.push(b' ');
                    put_markup(1, random, out);
                }
            }
            "pages" => {
                let first = random.between(1, 1_200);
                number(out, first);
                out.put("-");
                number(out, first + random.between(1, 24));
            }
            "year" => number(out, self.year),
            "address" => out.put(random.pick(CITIES)),
            "journal" => out.put(self.venue.1),
            "volume" | "chapter" => number(out, random.between(1, 60)),
            "number" => number(out, random.between(1, 12)),
            "month" => out.put(random.pick(MONTHS)),
            "url" => {
                out.put("db/");
                self.put_key(out);
                out.put(".html#");
                put_label(self.first_author, self.year, self.id, out);
            }
            "ee" => {
                out.put("https://doi.example/10.");
                number(out, random.between(1_000, 1_200));
                out.put("/");
                number(out, self.id);
                out.put(".");
                number(out, random.below(10_000_000));
            }
            "cdrom" => {
                out.put(self.venue.2);
                out.put("/");
                number(out, self.year);
                out.put("/P");
                number(out, random.between(1, 900));
                out.put(".pdf");
            }
            // Most citations are of papers that are not there.
            "cite" if random.chance(400) => out.put("..."),
            "cite" => {
                out.put("journals/");
                out.put(random.skewed(VENUES).0);
                out.put("/");
                let (author, year) = (random.below(FAMILY.len() as u32), 1960 + random.below(64));
                put_label(author as usize, year, random.below(26), out);
            }
            "publisher" => out.put(random.skewed(PUBLISHERS)),
            "note" => out.put(random.pick(NOTES)),
            "crossref" => {
                out.put("conf/");
                out.put(self.venue.0);
                out.put("/");
                number(out, self.year);
            }
            "isbn" => {
                out.put("978-3-");
                out.put_digits(u64::from(random.below(100_000)), 5);
                out.put("-");
                out.put_digits(u64::from(random.below(1_000)), 3);
                out.put("-");
                number(out, random.below(10));
            }
            "series" => out.put(random.skewed(SERIES)),
            "school" => out.put(random.pick(SCHOOLS)),
            other => unreachable!("no field is called {other}"),
        }
    }
}

/// An author's name, a year and letters, as they are at the end of keys: `Muller98ab`.
fn put_label(author: usize, year: u32, id: u32, out: &mut Vec<u8>) {
    out.put(FAMILY[author].1);
    out.put_digits(u64::from(year % 100), 2);
    out.extend([b'a' + (id % 26) as u8]);
    if id >= 26 {
        out.extend([b'a' + (id / 26 % 26) as u8]);
    }
}

/// Appends a title: words, some with mark-up between them.
fn put_title(random: &mut Random, out: &mut Vec<u8>) {
    let words = random.between(4, 13);
    let markup = if random.chance(125) { random.below(words) } else { words };
    for word in 0..words {
        if word > 0 {
            out.push(b' ');
        }
        if word == markup {
            put_markup(1, random, out);
            // Some have several in sequence, as in formulas.
            while random.chance(350) {
                put_markup(1, random, out);
            }
            continue;
        }
        out.put(random.pick(WORDS));
    }
    out.push(b'.');
}

/// Appends an element of mark-up, `level` levels below the title.
fn put_markup(level: usize, random: &mut Random, out: &mut Vec<u8>) {
    let name = random.pick(&["sub", "sub", "sup", "sup", "i", "i", "i", "tt", "ref"]);
    out.put("<");
    out.put(name);
    if name == "ref" {
        out.put(" href=\"db/journals/");
        out.put(random.pick(VENUES).0);
        out.put("/index.html\"");
    }
    out.put(">");
    out.put(match name {
        "sub" => random.pick(&["2", "0", "&#8734;", "i", "min", "k+1", "n"]),
        "sup" => random.pick(&["2", "3", "+", "n", "-1", "&#8224;", "TM"]),
        "i" => random.pick(&["k", "n", "in vivo", "ab initio", "E. coli", "L", "&#969;", "p &lt; q"]),
        "tt" => random.pick(&["malloc", "grep", "SELECT", "C++", "call/cc", "if"]),
        _ => random.pick(WORDS),
    });
    if name != "ref" && level < DEEPEST_MARKUP {
        // So two of five hold more, and even the deepest occur in documents of some megabytes.
        while random.chance(400) {
            put_markup(level + 1, random, out);
            if random.chance(300) {
                out.put(random.pick(&["-", "(n)", ", ", " log "]));
            }
        }
    }
    out.put("</");
    out.put(name);
    out.put(">");
}
