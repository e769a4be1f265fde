//! Characters and scripts that fonts have, or lack.

use super::*;

/// Rules: DOCUMENT-15
#[test]
fn a_character_without_a_glyph_is_named_with_its_place() {
    let refused = |company: &Company, quote: &Quote| match try_render(company, quote) {
        Err(RenderError::Text(invalid)) => invalid.to_string(),
        other => panic!("{:?}", other.map(|pdf| pdf.len())),
    };
    let mut odd = quote();
    odd.lines[3].description = "Mur \u{13000} nord".into();
    let message = |text: &str| format!("{text}, which no font of the document has");
    let expected = message("lines[3].description: has “\u{13000}” U+13000 (character 5)");
    assert_eq!(refused(&company(), &odd), expected);
    odd.lines[3].description = "Mur nord".into();
    odd.lines[1].lot = Some("Lot\n電気".into());
    assert_eq!(refused(&company(), &odd), message("lines[1].lot: has “電” U+96FB (character 5)"));
    let mut name = company();
    name.name = "A\u{2}B".into();
    assert_eq!(refused(&name, &quote()), message("company.name: has U+0002 (character 2)"));
    // Behind the label of the template.
    let mut insured = company();
    insured.identity.insurance = Some("A 電".into());
    assert_eq!(refused(&insured, &quote()), message("company.insurance: has “電” U+96FB (character 3)"));
    // An accent that no font has on this letter.
    odd.lines[1].lot = Some("ש\u{301}\u{1ab0}".into());
    assert!(refused(&company(), &odd).starts_with("lines[1].lot: has “"));
}

/// Rules: DOCUMENT-15
#[test]
fn a_character_is_printed_by_plainer_ones_of_the_same_meaning() {
    let mut plain = quote();
    plain.lines[0].description = "Gaine ⌀ 20 ㎜, 12㎡ à ３ ㎧".into();
    let text = text_of(&composed(&company(), &plain));
    assert!(text.contains("Gaine ⌀ 20 mm, 12m² à 3 m∕s\n"), "{text}");
}

/// The signed copy of a quote with this name and e-mail of its signer.
/// Rules: DOCUMENT-21
#[test]
fn a_signers_name_that_no_font_has_is_printed_as_far_as_it_can_be() {
    let explanation = "Nom complet\nDans la preuve qui porte cette empreinte (□ : caractère non imprimé)";
    for (name, printed) in [
        ("Jean Lefèvre", "Jean Lefèvre"),
        ("Ｊｅａｎ Lefèvre", "Jean Lefèvre"),
        ("Jean Հակոբյան", "Jean □□□□□□□□"),
        ("สมชาย 電気", "□□□□□ □□"),
        ("\u{10ffff}\u{1} Léa \u{13000}\u{301}", "□□ Léa □\u{301}"),
    ] {
        let pages = composed(&company(), &signed_by(name, "jean@client.example"));
        assert_tidy(&pages);
        let text = text_of(&pages);
        assert!(text.contains(&format!("Signé par\n{printed}\nE-mail\njean@client.example\n")), "{text}");
        assert_eq!(text.contains(explanation), printed.contains('□'), "{name}");
        assert!(try_render(&company(), &signed_by(name, "jean@client.example")).is_ok(), "{name}");
    }
    let text = text_of(&composed(&company(), &signed_by("Jean", "電@client.example")));
    assert!(text.contains("E-mail\n□@client.example\n") && text.contains(explanation), "{text}");
    let marked = format!("z{}", "\u{335}".repeat(200));
    assert!(try_render(&company(), &signed_by(&marked, "\u{200b}")).is_ok());
}

/// Runs in a separate process, whose standard error is read: a dependency printed there, past the
/// log.
#[test]
fn scripts_without_spaces_print_nothing_past_the_log() {
    const INSIDE: &str = "INVOICING_TEST_SCRIPTS";
    if std::env::var_os(INSIDE).is_some() {
        let scripts = "ภาษาไทย ភាសាខ្មែរ ພາສາລາວ မြန်မာစာ 漢字 ひらがな 한국어";
        assert!(try_render(&company(), &quote_of(vec![line(scripts, (None, None), "20")])).is_err());
        assert!(try_render(&company(), &signed_by(scripts, "jean@client.example")).is_ok());
        return;
    }
    let test = "documents::pdf::tests::glyphs::scripts_without_spaces_print_nothing_past_the_log";
    let inside = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&inside.stdout);
    assert!(inside.status.success() && printed.contains("1 passed"), "{printed}");
    assert_eq!(String::from_utf8_lossy(&inside.stderr), "");
}

#[test]
fn a_host_can_add_a_font() {
    assert_eq!(PdfRenderer::new().with_fallback(*b"not a font").unwrap_err(), FontError);
    let font = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fonts/NotoEmoji-Regular.ttf"));
    let renderer = PdfRenderer::new().with_fallback(*font).unwrap();
    assert!(renderer.render(&input(&offer_facts(company()), offered(&quote()))).is_ok());
}

/// Rules: DOCUMENT-21
#[test]
fn names_in_scripts_of_added_fonts_are_printed() {
    let folder = std::path::Path::new("/usr/share/fonts/truetype/noto");
    let names = [
        ("Armenian", "Անահիտ Հակոբյան"),
        ("Devanagari", "आरव शर्मा"),
        ("Georgian", "ნინო ბერიძე"),
        ("Tamil", "தமிழ்ச்செல்வி"),
        ("Thai", "สมชาย ใจดี"),
    ];
    let mut renderer = PdfRenderer::new();
    for (script, _) in names {
        let Ok(font) = std::fs::read(folder.join(format!("NotoSans{script}-Regular.ttf"))) else {
            println!("skipped: Noto Sans {script} is not installed");
            return;
        };
        renderer = renderer.with_fallback(font).unwrap();
    }
    for (script, name) in names {
        let (facts, signed) = (offer_facts(company()), signed_by(name, "jean@client.example"));
        let mut sent = quote();
        // Words of any length, and a text without spaces: lines break at the places that the script
        // allows.
        sent.lines[0].description = [name, &name.replace(' ', "").repeat(12)].join(" ");
        for quote in [signed, sent] {
            let input = input(&facts, offered(&quote));
            let pages = renderer.compose(&DocumentView::of(&input)).unwrap().0;
            assert_tidy(&pages);
            let text = text_of(&pages);
            assert!(text.contains(name) && !text.contains('□'), "{script}: {text}");
            assert!(renderer.render(&input).is_ok(), "{script}");
        }
    }
}

#[test]
fn every_script_with_a_font_is_printed() {
    let mut quote = quote();
    quote.lines[0].description =
        "Łódź, Ηλεκτρολογικά ᾧ, Прокладка, עבודות צבע 42 m², طلاء الجدران لا, 🏠👩\u{200d}🔧 1\u{fe0f}\u{20e3}, ½ → ✓ ☐ ⚠ ≥".into();
    assert_tidy(&composed(&company(), &quote));
    assert!(try_render(&company(), &quote).is_ok());
}

#[test]
fn an_accent_is_placed_higher_on_a_taller_letter() {
    let fonts = Arc::clone(&super::fonts::EMBEDDED);
    let mut set = Typesetter::new(&fonts, Unprintable::Refused);
    let mut height = |letter: &str| {
        let lines = set.lines(letter, FOOTER.style, None).unwrap();
        lines[0].runs[0].glyphs.last().unwrap().y_offset
    };
    let (small, capital) = (height("x\u{302}"), height("X\u{302}"));
    assert!(capital > small + 0.1, "{small} {capital}");
}
