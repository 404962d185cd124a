//! Styles are computed once for elements that no rule can tell apart. Each page here has two elements that look alike to a
//! careless reader of its rules, and of which one is hidden.

use crate::support::Driver;

/// What tells the two apart, and the page. GOOD can be seen, BAD cannot.
const PAIRS: [(&str, &str); 40] = [
    (
        "attribute value",
        r#"<!doctype html><style>p{opacity: attr(data-o type(<number>), 1)}</style><p data-o=1>GOOD</p><p data-o=0>BAD</p>"#,
    ),
    (
        "attribute value by variable",
        r#"<!doctype html><style>p{--o: attr(data-o type(<number>), 1); opacity: var(--o)}</style><p data-o=1>GOOD</p><p data-o=0>BAD</p>"#,
    ),
    (
        "place by function",
        r#"<!doctype html><style>p{opacity: calc(2 - sibling-index())}</style><div><p>GOOD</p><p>BAD</p></div>"#,
    ),
    ("place", r#"<!doctype html><style>p:nth-child(2){opacity:0}</style><div><p>GOOD</p><p>BAD</p></div>"#),
    ("sibling", r#"<!doctype html><style>b + p{opacity:0}</style><div><p>GOOD</p><b>b</b><p>BAD</p></div>"#),
    ("content", r#"<!doctype html><style>p:has(i){opacity:0}</style><p>GOOD</p><p><i></i>BAD</p>"#),
    (
        "negated place",
        r#"<!doctype html><style>p:not(:first-child){opacity:0}</style><div><p>GOOD</p><p>BAD</p></div>"#,
    ),
    (
        "empty sibling",
        r#"<!doctype html><style>div:empty + p{opacity:0}</style><div>x</div><p>GOOD</p><div></div><p>BAD</p>"#,
    ),
    (
        "attribute",
        r#"<!doctype html><style>p[data-x="2"]{opacity:0}</style><p data-x=1>GOOD</p><p data-x=2>BAD</p>"#,
    ),
    ("attribute at all", r#"<!doctype html><style>p[title]{opacity:0}</style><p>GOOD</p><p title=x>BAD</p>"#),
    ("id", r#"<!doctype html><style>#b{opacity:0}</style><p id=a>GOOD</p><p id=b>BAD</p>"#),
    (
        "id around",
        r#"<!doctype html><style>#b p{opacity:0}</style><div id=a><p>GOOD</p></div><div id=b><p>BAD</p></div>"#,
    ),
    (
        "language",
        r#"<!doctype html><style>p:lang(de){opacity:0}</style><p lang=en>GOOD</p><p lang=de>BAD</p>"#,
    ),
    (
        "address",
        r#"<!doctype html><style>a[href*="bad"]{opacity:0}</style><a href=/good>GOOD</a> <a href=/bad>BAD</a>"#,
    ),
    (
        "unit of a container",
        r#"<!doctype html><style>.c{container-type:inline-size} p{font-size: 1cqw}</style><div class=c style="width:1600px"><p>GOOD</p></div><div class=c style="width:10px"><p>BAD</p></div>"#,
    ),
    (
        "container query",
        r#"<!doctype html><style>.c{container-type:inline-size} @container (max-width:50px){p{opacity:0}}</style><div class=c><p>GOOD</p></div><div class=c style="width:10px"><p>BAD</p></div>"#,
    ),
    (
        "inline style",
        r#"<!doctype html><style>p{color:black}</style><p style="opacity:1">GOOD</p><p style="opacity:0">BAD</p>"#,
    ),
    (
        "nested rule",
        r#"<!doctype html><style>.x{ & p{opacity:0} }</style><div><p>GOOD</p></div><div class=x><p>BAD</p></div>"#,
    ),
    (
        "nested place",
        r#"<!doctype html><style>.x{ p:last-child{opacity:0} }</style><div class=x><p>GOOD</p><p>BAD</p></div>"#,
    ),
    (
        "alternatives",
        r#"<!doctype html><style>:is(.a, .b) > p{opacity:0}</style><div class=c><p>GOOD</p></div><div class=b><p>BAD</p></div>"#,
    ),
    (
        "complex alternatives",
        r#"<!doctype html><style>:where(.x p){opacity:0}</style><div><p>GOOD</p></div><div class=x><p>BAD</p></div>"#,
    ),
    (
        "any element within",
        r#"<!doctype html><style>.x *{opacity:0}</style><div><p>GOOD</p></div><div class=x><p>BAD</p></div>"#,
    ),
    (
        "state of a sibling",
        r#"<!doctype html><style>:checked + p{opacity:0}</style><input type=checkbox><p>GOOD</p><input type=checkbox checked><p>BAD</p>"#,
    ),
    (
        "state of a sibling of an ancestor",
        r#"<!doctype html><style>input:checked ~ div p{opacity:0}</style><section><input type=checkbox><div><p>GOOD</p></div></section><section><input type=checkbox checked><div><p>BAD</p></div></section>"#,
    ),
    (
        "word of a class",
        r#"<!doctype html><style>[class~="q"]{opacity:0}</style><p class="a">GOOD</p><p class="a q">BAD</p>"#,
    ),
    (
        "escaped class",
        r#"<!doctype html><style>.md\:x{opacity:0}</style><p class="md">GOOD</p><p class="md:x">BAD</p>"#,
    ),
    (
        "escaped class with a pseudo-element",
        r#"<!doctype html><style>.before\:block::before{content:"GOOD"} .hover\:x:not(:first-child){opacity:0}</style><p class="before:block">.</p><p class="hover:x">BAD</p>"#,
    ),
    (
        "pseudo-element",
        r#"<!doctype html><style>p.x::before{content:"BAD";color:#fff} p.y::before{content:"GOOD"}</style><p class=y>.</p><p class=x>.</p>"#,
    ),
    (
        "generated from an attribute",
        r#"<!doctype html><style>p::before{content:attr(data-t)}</style><p data-t=GOOD>.</p><p data-t=FINE>.</p>"#,
    ),
    (
        "function of the page",
        r#"<!doctype html><style>@function --o() { result: attr(data-o type(<number>), 1) } p{opacity: --o()}</style><p data-o=1>GOOD</p><p data-o=0>BAD</p>"#,
    ),
    ("upper case", r#"<!doctype html><style>P.x{opacity:0}</style><p>GOOD</p><p class=x>BAD</p>"#),
    (
        "clipped by a box of its own",
        r#"<!doctype html><style>div{overflow:hidden;height:20px} </style><div><p style="margin:0">GOOD</p></div><div><p style="margin:60px 0">BAD</p></div>"#,
    ),
    (
        "animation",
        r#"<!doctype html><style>@keyframes k{to{opacity:0}} .k{animation:k 1ms forwards}</style><p>GOOD</p><p class=k>BAD</p>"#,
    ),
    (
        "animation by script",
        r#"<!doctype html><style>p{color:black}</style><p>GOOD</p><p id=w>BAD</p><script>w.animate([{opacity:0},{opacity:0}],{duration:1e9})</script>"#,
    ),
    ("layer", r#"<!doctype html><style>@layer a{p.x{opacity:0}}</style><p>GOOD</p><p class=x>BAD</p>"#),
    (
        "custom property",
        r#"<!doctype html><style>p{opacity:var(--o,1)} .x{--o:0}</style><p>GOOD</p><div class=x><p>BAD</p></div>"#,
    ),
    (
        "slotted",
        r#"<!doctype html><style></style><div id=h><p>BAD</p></div><p>GOOD</p><script>h.attachShadow({mode:"open"}).innerHTML="<style>::slotted(p){opacity:0}</style><slot></slot>"</script>"#,
    ),
    (
        "shadow host",
        r#"<!doctype html><style></style><div id=h>BAD</div><div>GOOD</div><script>h.attachShadow({mode:"open"}).innerHTML="<style>:host{opacity:0}</style><slot></slot>"</script>"#,
    ),
    ("id in quirks mode", r#"<style>#B{opacity:0}</style><p id=a>GOOD</p><p id=b>BAD</p>"#),
    ("class in quirks mode", r#"<style>.B{opacity:0}</style><p class=a>GOOD</p><p class=b>BAD</p>"#),
];

#[tokio::test]
async fn elements_that_a_rule_tells_apart_have_styles_of_their_own() {
    let pages: Vec<String> = (0..PAIRS.len()).map(|at| format!("shop.test/{at}")).collect();
    let served: Vec<(&str, &str)> =
        pages.iter().zip(PAIRS).map(|(at, (_, page))| (at.as_str(), page)).collect();
    let driver = Driver::with(&served).await;
    for (at, (what, _)) in pages.iter().zip(PAIRS) {
        let outline = driver.goto(&format!("http://{at}")).await;
        let lines = |word: &'static str| outline.lines().filter(move |line| line.contains(word));
        assert!(
            lines("GOOD").count() > 0 && lines("GOOD").all(|line| !line.contains("[unseen]")),
            "{what}: {outline}"
        );
        assert!(lines("BAD").all(|line| line.contains("[unseen]")), "{what}: {outline}");
    }
}
