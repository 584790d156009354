use crate::jsonpath::parse;

fn canonical(query: &str) -> String {
    parse(query).unwrap_or_else(|error| panic!("{}", error.render(query))).to_string()
}

#[test]
fn canonical_form() {
    for (query, expected) in [
        ("$", "$"),
        ("$.a", "$['a']"),
        ("$ .a [ 0 ]", "$['a'][0]"),
        ("$.*..b..*", "$[*]..['b']..[*]"),
        (r#"$["it's", "\u00e9\"\/\\\b\f\n\r\t\u0001"]"#, r#"$['it\'s', 'é"/\\\b\f\n\r\t\u0001']"#),
        ("$[ : ]", "$[:]"),
        ("$[1 : 2 : 3, ::-1, :7, 5::]", "$[1:2:3, ::-1, :7, 5:]"),
        ("$..[?@.a]", "$..[?@['a']]"),
        ("$[?(@=='x')]", "$[?@ == 'x']"),
        ("$[?((@.a))&&(@.b||(@.c&&@.d))]", "$[?@['a'] && (@['b'] || @['c'] && @['d'])]"),
        ("$[?@.a||(@.b||@.c)]", "$[?@['a'] || (@['b'] || @['c'])]"),
        ("$[?@.a&&(@.b&&@.c)]", "$[?@['a'] && (@['b'] && @['c'])]"),
        ("$[?!@.a,?!(@.a),?!(@.a==1),?!(!@.a)]", "$[?!@['a'], ?!@['a'], ?!(@['a'] == 1), ?!(!@['a'])]"),
        ("$[?1.50E+2<@[-1].b]", "$[?1.50E+2 < @[-1]['b']]"),
        (
            "$[?length( @.a )>=count($..b)&&match(@,'x')]",
            "$[?length(@['a']) >= count($..['b']) && match(@, 'x')]",
        ),
        ("$[?search(value(@.*),null)]", "$[?search(value(@[*]), null)]"),
        ("$[?@==true||@!=false||@<=null]", "$[?@ == true || @ != false || @ <= null]"),
    ] {
        assert_eq!(canonical(query), expected, "{query}");
        assert_eq!(canonical(expected), expected, "canonical form of {query}");
    }
}

#[test]
fn singular() {
    for (query, expected) in [
        ("$", true),
        ("$.a['b'][0][ -1 ]", true),
        ("$.*", false),
        ("$[0:1]", false),
        ("$['a','b']", false),
        ("$..a", false),
        ("$[?@.a]", false),
    ] {
        assert_eq!(parse(query).map(|parsed| parsed.is_singular()), Ok(expected), "{query}");
    }
}
