//! The HTML report: whatever a batch holds, the page is made of our own markup alone.

use std::collections::BTreeSet;

use lazaret_tests::hostile_tar::TarBuilder;
use lazaret_tests::tree_text;

use crate::support::{TestEnvironment, assert_bounded};

/// A tag of a page: its name, and its attributes in order.
#[derive(Debug, PartialEq, Eq)]
struct Tag {
    name: String,
    closes: bool,
    attributes: Vec<(String, String)>,
}

/// Takes a page apart, as strictly as a page of ours is written: nothing is repaired.
/// Returns the tags, and the text between them with its references left as they are.
#[track_caller]
fn tokens(page: &str) -> (Vec<Tag>, String) {
    let mut rest = page
        .strip_prefix("<!doctype html>")
        .expect("a document type");
    let (mut tags, mut text) = (Vec::new(), String::new());
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.find('>').expect("a tag ends");
        let (inside, after) = rest.split_at(end);
        rest = &after[1..];
        let closes = inside.starts_with('/');
        let inside = inside.trim_start_matches('/');
        let (name, mut left) = inside.split_once([' ', '\n']).unwrap_or((inside, ""));
        assert!(
            !name.is_empty()
                && name
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()),
            "<{inside}> is no tag of ours"
        );
        let mut attributes = Vec::new();
        loop {
            left = left.trim_start();
            if left.is_empty() {
                break;
            }
            let name_end = left.find(['=', ' ']).unwrap_or(left.len());
            let (key, more) = left.split_at(name_end);
            match more.strip_prefix("=\"") {
                Some(value) => {
                    let (value, more) = value.split_once('"').expect("a value ends");
                    attributes.push((key.to_owned(), value.to_owned()));
                    left = more;
                }
                None => {
                    attributes.push((key.to_owned(), String::new()));
                    left = more;
                }
            }
        }
        if name == "style" && !closes {
            let (_, more) = rest.split_once("</style>").expect("the style ends");
            rest = more;
            continue;
        }
        tags.push(Tag {
            name: name.to_owned(),
            closes,
            attributes,
        });
    }
    text.push_str(rest);
    assert!(!text.contains('>'), "a stray > in the text");
    (tags, text)
}

/// Asserts that a page holds nothing that could run, load or lead anywhere, and that it is
/// well formed; returns its text.
#[track_caller]
fn inert(page: &str) -> String {
    let (tags, text) = tokens(page);
    let elements = [
        "html", "head", "meta", "title", "body", "header", "main", "footer", "section", "h1", "h2",
        "h3", "p", "div", "span", "b", "i", "a", "code", "ul", "li", "dl", "dt", "dd", "table",
        "caption", "colgroup", "col", "thead", "tbody", "tr", "th", "td", "br", "details",
        "summary",
    ];
    let attributes = [
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "class",
        "id",
        "href",
        "scope",
        "colspan",
        "open",
        "aria-hidden",
        "aria-labelledby",
    ];
    let empty = ["meta", "col", "br"];
    let (mut open, mut ids, mut leads) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for tag in &tags {
        assert!(elements.contains(&&*tag.name), "{tag:?}");
        for (key, value) in &tag.attributes {
            assert!(attributes.contains(&&**key), "{tag:?}");
            let own = |c: char| c.is_ascii_alphanumeric() || "-_ ".contains(c);
            match &**key {
                "href" => {
                    let target = value.strip_prefix('#').expect("only places on the page");
                    leads.insert(target.to_owned());
                }
                "id" => assert!(ids.insert(value.clone()), "{value} twice"),
                "content" => assert!(tag.name == "meta", "{tag:?}"),
                _ => assert!(value.chars().all(own), "{tag:?}"),
            }
        }
        match (tag.closes, empty.contains(&&*tag.name)) {
            (false, false) => open.push(tag.name.clone()),
            (true, false) => assert_eq!(open.pop().as_deref(), Some(&*tag.name)),
            (closes, true) => assert!(!closes, "{tag:?}"),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(leads.is_subset(&ids), "{:?} lead nowhere", &leads - &ids);
    let policy = "<meta http-equiv=\"Content-Security-Policy\" \
        content=\"default-src 'none'; style-src 'unsafe-inline'\">";
    assert!(page.contains(policy));
    let invisible =
        |c: char| (c.is_control() && c != '\n' && c != '\t') || lazaret_tree::is_invisible(c);
    assert!(!page.contains(invisible), "{:?}", page.find(invisible));
    text
}

/// The page of an edit of a base, both in the tree language.
#[track_caller]
fn page(base: &str, edit: &str) -> String {
    let env = TestEnvironment::new();
    for dir in ["work/base", "work/candidate"] {
        std::fs::create_dir(env.path(dir)).unwrap();
        tree_text::build(base, &env.path(dir));
    }
    tree_text::build(edit, &env.path("work/candidate"));
    let outcome = env.run("check candidate --base base --html it.html");
    assert_eq!(outcome.stderr, "wrote $ROOT/work/it.html\n", "{outcome}");
    std::fs::read_to_string(env.path("work/it.html")).unwrap()
}

const EVIL: [&str; 12] = [
    "</pre><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onclick='alert(1)",
    "\" onmouseover=\"alert(1)",
    "javascript:alert(1)",
    "<!--",
    "-->",
    "]]>",
    "&lt;script&gt;",
    "</style></title></textarea>",
    "{{7*7}}${7*7}<%= 7*7 %>",
];

#[test]
fn aud_06_ui_01_names_and_contents_are_never_markup() {
    let mut tar = TarBuilder::new();
    let contents =
        EVIL.join("\n") + "\n\u{202e}\u{1b}]8;;http://evil.example\u{7}\u{9b}2J\r\n\u{feff}";
    for (index, evil) in EVIL.iter().enumerate() {
        // A slash would make a directory of it.
        let name = format!("{index}{}", evil.replace('/', "\u{2215}"));
        tar = tar.pax(&[("path", name.as_bytes())]).file("x", &contents);
        let link = format!("l{index}");
        tar = tar
            .pax(&[("linkpath", evil.as_bytes())])
            .symlink(&link, "y");
    }
    tar = tar.pax(&[("path", b"raw\xff<b>\x1b[2J")]).file("x", "");
    let env = TestEnvironment::new();
    std::fs::create_dir(env.path("work/base")).unwrap();
    let words = ["check", "-", "--base", "base", "--html", "-"];
    let outcome = env.run_reading(&words, &tar.end());
    assert_eq!(outcome.code, 120, "{}", outcome.stderr);
    let text = inert(&outcome.stdout);
    // All of it is there to be read, as text.
    for evil in EVIL {
        let shown = evil
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;");
        assert!(text.matches(&shown).count() >= EVIL.len(), "{evil}");
    }
    for escape in [
        "\\u{202e}",
        "\\u{1b}",
        "\\u{9b}",
        "\\u{d}",
        "\\u{feff}",
        "\\xff",
    ] {
        assert!(text.contains(escape), "{escape}");
    }
}

#[test]
fn aud_06_what_is_typed_is_no_markup_either() {
    let env = TestEnvironment::new();
    let name = "<script>alert(1)<\u{200b}";
    let dir = env.path("work").join(name);
    std::fs::create_dir(&dir).unwrap();
    tree_text::build("f a \"\"", &dir);
    let outcome = env.run_words(&["check", name, "--base", "../home", "--html", "-"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    assert!(inert(&outcome.stdout).contains("&lt;script&gt;alert(1)&lt;\\u{200b}"));
}

#[test]
fn g9_a_page_tells_all() {
    let page = page(
        "f a \"one\\ntwo\\n\"\nx tool \"t\"\nf gone \"x\\n\"\nl link -> a\nf bin \"\\0\"",
        "
        f a \"one\\nthree\\n\"
        m 644 tool
        - gone
        - link
        f link \"now a file\\n\"
        f bin \"\\0\\0\"
        f .vscode/tasks.json \"{}\"
        f Makefile \"all:\\n\"
        p pipe
        d empty
        ",
    );
    let text = inert(&page);
    for words in [
        "Needs review",
        "2 of 9 changes are withheld",
        "suspect.vscode",
        "suspect.entry_point",
        "type.fifo",
        "three",
        "is no longer executable",
        "a symbolic link became a file",
        "was binary, 1 bytes, blake3",
        "@@ -1,2 +1,2 @@",
    ] {
        assert!(text.contains(words), "{words} is missing in {text}");
    }
}

#[test]
fn g10_a_rejected_candidate_has_a_page_too() {
    let env = TestEnvironment::new();
    std::fs::create_dir(env.path("work/base")).unwrap();
    let tar = TarBuilder::new().file("/<script>", "").end();
    let outcome = env.run_reading(&["check", "-", "--base", "base", "--html", "-"], &tar);
    assert_eq!(outcome.code, 121);
    let text = inert(&outcome.stdout);
    assert!(
        text.contains("Rejected") && text.contains("path.absolute"),
        "{text}"
    );
    assert!(text.contains("/&lt;script&gt;: an absolute name"), "{text}");
}

/// The line that a finding names has the finding below it.
#[test]
fn aud_06_a_finding_stands_at_its_line() {
    let page = page("f a \"\"", "f a \"fine\\nbad \\xe2\\x80\\xae\\nfine\\n\"");
    inert(&page);
    let at = page.find("bad <b class=\"esc\">\\u{202e}</b>").unwrap();
    let behind = &page[at..];
    let finding = behind.find("content.invisible").unwrap();
    assert!(finding < behind.find("<td>3</td>").unwrap(), "{behind}");
}

/// What a person has to look at is open and whole; the rest of a large batch is folded and
/// cut, with a digest for what is not shown.
#[test]
fn aud_04_nothing_remarkable_is_folded() {
    let lines = |word: &str, number: usize| {
        (0..number)
            .map(|line| format!("{word} {line}\\n"))
            .collect::<String>()
    };
    let edit = format!(
        "f Makefile \"{}\"\nf ordinary \"{}\"\nf small \"x\\n\"",
        lines("warned", 3000),
        lines("plain", 3000)
    );
    let page = page("", &edit);
    let text = inert(&page);
    let open = |name: &str| {
        let heading = format!("<h3 class=\"path\">{name}</h3>");
        let before = &page[..page.find(&heading).unwrap()];
        before.ends_with("<details class=\"file\" open><summary>")
    };
    assert!(open("Makefile") && !open("ordinary") && !open("small"));
    assert!(text.contains("warned 2999"));
    assert!(text.contains("plain 399") && !text.contains("plain 400"));
    assert!(text.contains("2,600 more lines; blake3 "));
}

/// 30 MB in one line, and 50,000 files: a page that a browser opens, in bounded memory.
#[test]
fn aud_04_a_large_page_takes_bounded_memory() {
    let env = TestEnvironment::new();
    std::fs::create_dir(env.path("work/base")).unwrap();
    let mut tar = TarBuilder::new().file("Makefile", vec![b'b'; 30_000_000]);
    for index in 0..50_000 {
        tar = tar.file(format!("d{}/f{index}", index % 100), format!("{index}\n"));
    }
    let words = ["check", "-", "--base", "base", "--html", "it.html"];
    let outcome = env.run_reading(&words, &tar.end());
    assert_eq!(outcome.code, 120, "{}", outcome.stderr);
    assert_bounded(outcome.most);
    let page = std::fs::read_to_string(env.path("work/it.html")).unwrap();
    let text = inert(&page);
    assert!(page.len() < 32 << 20, "{}", page.len());
    assert!(text.contains("too large to show, 30000000 bytes, blake3 "));
    // Each file has its line, and each that is not shown its digest.
    assert!(text.contains("d99/f49999"));
    assert!(text.matches("blake3").count() > 25_000);
}

/// Small batches are open as a whole, and the numbers stand beside the bars.
#[test]
fn g9_small_batches_are_open() {
    let page = page("f a \"1\\n\"", "f a \"2\\n3\\n\"\nf b \"\"");
    inert(&page);
    assert_eq!(
        page.matches("<details").count(),
        page.matches("<details class=\"file\" open>").count()
    );
    assert!(page.contains("<span class=\"added\">+2</span> <span class=\"removed\">−1</span>"));
}
