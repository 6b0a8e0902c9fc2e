use super::*;

#[test]
fn base64_is_as_everybody_writes_it() {
    assert_eq!(base64(b""), "");
    assert_eq!(base64(b"f"), "Zg==");
    assert_eq!(base64(b"fo"), "Zm8=");
    assert_eq!(base64(b"foobar"), "Zm9vYmFy");
}

#[test]
fn data_cannot_end_its_block() {
    let safe = inert(r#"{"a":"</script><!--&"}"#);
    assert!(!safe.contains(['<', '>', '&']), "{safe}");
    let back: serde_json::Value = serde_json::from_str(&safe).unwrap();
    assert_eq!(back["a"], "</script><!--&");
}

#[test]
fn the_page_asks_for_nothing_from_elsewhere() {
    for part in [PAGE, STYLE, SCRIPT] {
        assert!(!part.contains("http:") && !part.contains("https:") && !part.contains("innerHTML"), "{part}");
    }
}
