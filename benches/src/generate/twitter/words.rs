//! The languages of the tweets, and the tables of their other texts.
//!
//! Every entry is JSON string source, with the necessary escapes.

use crate::generate::random::Random;

/// A language, how often users have it, and what they say in it.
#[derive(Debug)]
pub(in crate::generate) struct Language {
    /// Its code in `lang` and `user.lang`.
    pub(in crate::generate) code: &'static str,
    /// Its users, of a thousand.
    pub(in crate::generate) per_mille: u32,
    /// The text between two words.
    pub(in crate::generate) space: &'static str,
    /// Its words.
    pub(in crate::generate) words: &'static [&'static str],
}

impl Language {
    /// A language, as often as users have it.
    pub(in crate::generate) fn drawn(random: &mut Random) -> &'static Self {
        let mut rest = random.below(1000);
        let language = LANGUAGES.iter().find(|language| {
            let found = rest < language.per_mille;
            rest = rest.saturating_sub(language.per_mille);
            found
        });
        language.unwrap_or(&LANGUAGES[0])
    }
}

/// All languages, the most frequent first; their shares add up to a thousand.
#[rustfmt::skip]
pub(in crate::generate) const LANGUAGES: &[Language] = &[
    Language { code: "en", per_mille: 400, space: " ", words: &[
        "the", "a", "to", "and", "of", "in", "is", "it", "you", "that", "for", "on", "was", "with", "this", "my",
        "have", "just", "not", "people", "morning", "coffee", "train", "really", "because", "never", "weather",
        "thinking", "tonight", "football", "garden", "nobody", "someone", "can't", "don't", "I'm", "we're", "music",
        "yesterday", "finally", "amazing", "breakfast", "again", "looking", "forward", "tomorrow", "beautiful",
        "question", "remember", "everything", "winter", "photo", "birthday", "window", "quietly", "mountain",
    ] },
    Language { code: "ja", per_mille: 160, space: "", words: &[
        "今日", "は", "の", "を", "に", "が", "と", "です", "ます", "天気", "電車", "おはよう", "ございます", "写真",
        "楽しい", "ありがとう", "明日", "仕事", "ラーメン", "コーヒー", "新しい", "音楽", "桜", "。", "、", "!", "笑",
        "だった", "から", "こと", "猫", "眠い", "行きたい", "最高", "ニュース",
    ] },
    Language { code: "es", per_mille: 110, space: " ", words: &[
        "que", "de", "la", "el", "en", "y", "los", "no", "mañana", "también", "corazón", "música", "siempre", "nunca",
        "días", "buenos", "está", "café", "año", "gracias", "película", "domingo", "quiero", "más", "cuando", "todo",
        "¿por", "qué?", "partido", "tiempo", "¡vamos!", "amigos", "después",
    ] },
    Language { code: "pt", per_mille: 70, space: " ", words: &[
        "que", "não", "de", "uma", "você", "hoje", "amanhã", "coração", "saudade", "muito", "também", "é", "bom",
        "dia", "café", "música", "só", "então", "ontem", "jogo", "praia", "família", "obrigado", "estação", "pão",
        "sempre", "quando", "tudo", "chuva", "irmã",
    ] },
    Language { code: "ar", per_mille: 60, space: " ", words: &[
        "في", "من", "على", "الله", "صباح", "الخير", "اليوم", "كل", "شيء", "جميل", "القمر", "البحر", "يا", "رب", "شكرا",
        "كتاب", "مدينة", "قهوة", "الحياة", "حب", "سلام", "ليل", "سماء", "،", "طريق",
    ] },
    Language { code: "ko", per_mille: 45, space: " ", words: &[
        "오늘", "날씨가", "정말", "좋아요", "커피", "사진", "아침", "감사합니다", "사랑해", "내일", "음악", "너무", "영화",
        "친구", "행복", "ㅋㅋㅋ", "고양이", "바다", "그리고", "지금", "우리", "생일", "축하해",
    ] },
    Language { code: "th", per_mille: 35, space: "", words: &[
        "วันนี้", "อากาศ", "ดี", "มาก", "กาแฟ", "เพลง", "รัก", "คิดถึง", "ขอบคุณ", "พรุ่งนี้", "แมว", "ทะเล", "สวย", "ไป",
        "กิน", "ข้าว", "ครับ", "ค่ะ", "55555", " ", "เพื่อน", "สนุก",
    ] },
    Language { code: "tr", per_mille: 30, space: " ", words: &[
        "bir", "ve", "bu", "çok", "güzel", "günaydın", "İstanbul", "şimdi", "değil", "için", "gibi", "yağmur", "kahve",
        "müzik", "teşekkürler", "yarın", "dün", "kış", "ağaç", "öğle", "büyük", "küçük", "arkadaş",
    ] },
    Language { code: "fr", per_mille: 30, space: " ", words: &[
        "le", "la", "de", "et", "à", "c'est", "très", "aujourd'hui", "été", "déjà", "où", "même", "français", "être",
        "bientôt", "café", "l'hôtel", "forêt", "merci", "demain", "garçon", "noël", "pluie", "jamais", "beaucoup",
    ] },
    Language { code: "id", per_mille: 20, space: " ", words: &[
        "yang", "dan", "di", "ini", "itu", "aku", "kamu", "tidak", "sudah", "selamat", "pagi", "malam", "hujan", "kopi",
        "teman", "rindu", "makan", "hari", "besok", "terima", "kasih", "jalan-jalan", "wkwk",
    ] },
    Language { code: "ru", per_mille: 15, space: " ", words: &[
        "и", "в", "не", "на", "я", "что", "сегодня", "завтра", "утро", "доброе", "кофе", "погода", "музыка", "очень",
        "спасибо", "город", "зима", "люблю", "дождь", "книга", "время", "поезд", "кошка", "ещё",
    ] },
    Language { code: "de", per_mille: 8, space: " ", words: &[
        "der", "die", "und", "ich", "nicht", "heute", "morgen", "schön", "für", "über", "Straße", "Bäckerei", "müde",
        "Grüße", "Frühstück", "vielleicht", "Zug", "Verspätung", "Wetter", "immer", "wieder", "Fußball",
    ] },
    Language { code: "it", per_mille: 7, space: " ", words: &[
        "che", "di", "il", "la", "è", "perché", "così", "città", "oggi", "domani", "caffè", "bello", "grazie", "sempre",
        "mare", "più", "già", "musica", "amici", "lunedì", "pioggia", "però",
    ] },
    Language { code: "nl", per_mille: 5, space: " ", words: &[
        "de", "het", "een", "en", "van", "ik", "niet", "vandaag", "morgen", "lekker", "fiets", "regen", "gezellig",
        "koffie", "trein", "mooi", "één", "zoals", "altijd", "weer", "ijs", "straks", "zeeën",
    ] },
    Language { code: "pl", per_mille: 3, space: " ", words: &[
        "nie", "jest", "się", "dzień", "dobry", "dziękuję", "wszystko", "jutro", "źle", "może", "książka", "pociąg",
        "śnieg", "życie", "łódź", "kawa", "noc", "zawsze", "też",
    ] },
    Language { code: "hi", per_mille: 2, space: " ", words: &[
        "है", "और", "में", "के", "आज", "कल", "नमस्ते", "धन्यवाद", "बारिश", "चाय", "दोस्त", "सुबह", "बहुत", "अच्छा", "संगीत",
        "शहर", "किताब", "।",
    ] },
];

/// Emoji of one code point and of several: flags, skin tones, families joined by U+200D.
pub(in crate::generate) const EMOJI: &[&str] =
    &["😂", "❤️", "😍", "🔥", "🙏", "🎉", "👍🏽", "🇳🇱", "🇯🇵", "👩‍👩‍👧", "☕", "🌧️", "🤷🏿‍♀️", "⚽", "✨", "𝓼𝓸"];

/// Tests for a reader of strings: quotes, backslashes, structural characters, escapes of control characters.
pub(super) const SPECIALS: &[&str] = &[
    r#"\"no way\""#,
    r"¯\\_(ツ)_\/¯",
    r":\\",
    r"C:\\temp\\",
    r"\t",
    r"{sigh}",
    r"[pic]",
    r"a, b: c",
    r"&amp;",
    r"&lt;3",
    r"\u2026",
    r"\u00e9t\u00e9",
    r"\ud83d\ude00",
    r"1\/2",
    r#"\"\\\""#,
    r"}:]",
    "—",
    "“really”",
];

/// First halves of screen names.
pub(super) const ADJECTIVES: &[&str] = &[
    "sunny", "quiet", "Red", "happy", "Big", "lil", "The", "old", "neo", "Blue", "night", "Mr", "its",
    "real", "tiny", "x",
];

/// Second halves of screen names.
pub(super) const NOUNS: &[&str] = &[
    "otter", "Fox", "_kate", "river", "Panda", "moon", "_sam", "Robot", "cook", "Rider", "leaf", "_yuki",
    "Wolf", "pixel", "tea", "ana",
];

/// Names that users show.
#[rustfmt::skip]
pub(super) const NAMES: &[&str] = &[
    "Anna", "J. R. Miller", "sam ♡", "María José", "佐藤 さくら", "たけし@毎日ねむい", "Łukasz", "محمد", "Игорь", "김민수",
    "สมชาย", "João Pedro", "Chloé ✨", r#"Tom \"TJ\" Jones"#, "Zoë", "O'Neil", "Müller", "Ayşe", "Nguyễn Văn An", "अमित",
    "Bob", "Dr. Lee", "Night Owl 🦉", "Li Wei 李伟", r"back\\slash", "Ελένη", "noname", "Grace Hopper fan", "Kofi",
    "Ruby & Rust", "Sven Åkesson", "דנה",
];

/// Locations in the profiles of users; empty means none.
#[rustfmt::skip]
pub(super) const LOCATIONS: &[&str] = &[
    "", "", "", "London, England", "東京", "São Paulo, Brasil", "México", "İstanbul, Türkiye", "Paris", "Lagos, Nigeria",
    "Seoul, Republic of Korea", "กรุงเทพ", "Chicago, IL", "somewhere over the rainbow 🌈", "الرياض", r"home \/ work",
    "Jakarta, Indonesia", "Los Angeles, CA", "Москва", "Zürich",
];

/// Time zones and their offsets in seconds, as JSON.
pub(super) const TIME_ZONES: &[(&str, &str)] = &[
    ("null", "null"),
    ("null", "null"),
    (r#""Pacific Time (US & Canada)""#, "-28800"),
    (r#""Eastern Time (US & Canada)""#, "-18000"),
    (r#""London""#, "0"),
    (r#""Tokyo""#, "32400"),
    (r#""Brasilia""#, "-10800"),
    (r#""Amsterdam""#, "3600"),
];

/// The programs that tweets are sent with: markup in a string, with quotes and slashes escaped.
#[rustfmt::skip]
pub(super) const SOURCES: &[&str] = &[
    r#"<a href=\"http:\/\/twitter.com\/download\/iphone\" rel=\"nofollow\">Twitter for iPhone<\/a>"#,
    r#"<a href=\"http:\/\/twitter.com\/download\/iphone\" rel=\"nofollow\">Twitter for iPhone<\/a>"#,
    r#"<a href=\"http:\/\/twitter.com\/download\/android\" rel=\"nofollow\">Twitter for Android<\/a>"#,
    r#"<a href=\"http:\/\/twitter.com\/download\/android\" rel=\"nofollow\">Twitter for Android<\/a>"#,
    r#"<a href=\"http:\/\/twitter.com\" rel=\"nofollow\">Twitter Web Client<\/a>"#,
    r#"<a href=\"http:\/\/twitter.com\/#!\/download\/ipad\" rel=\"nofollow\">Twitter for iPad<\/a>"#,
    r#"<a href=\"https:\/\/bots.example\/weather\" rel=\"nofollow\">Weather \"bot\"<\/a>"#,
    r#"<a href=\"http:\/\/twittbot.example\/\" rel=\"nofollow\">ついっとぼっと<\/a>"#,
];

/// Cities for `place`: name, country code, country, longitude and latitude in millionths of a degree.
pub(super) const CITIES: &[(&str, &str, &str, i64, i64)] = &[
    ("Manhattan", "US", "United States", -73_985_130, 40_758_896),
    ("Utrecht", "NL", "Nederland", 5_121_420, 52_090_737),
    ("大阪市", "JP", "日本", 135_502_165, 34_693_738),
    ("Rio de Janeiro", "BR", "Brasil", -43_172_896, -22_906_847),
    ("Lagos", "NG", "Nigeria", 3_379_206, 6_524_379),
];

/// Words of which addresses of articles are made.
#[rustfmt::skip]
pub(super) const SLUGS: &[&str] = &[
    "why", "the", "new", "bridge", "opens", "after", "ten", "years", "city", "council", "votes", "on", "parks", "how", "to",
    "make", "better", "bread", "storm", "expected", "this", "weekend", "rovers", "win", "again", "what", "we", "know",
];
