//! Numbers with more digits than a double holds: refused for proofs, reported elsewhere.

use crate::common::{object, run_to, text};

/// `0.123456789 n` with n = 16000000007, all 19 digits of it.
const DIGITS: &str = "Minimize\n goal: n\nSubject To\n side: 0.123456789 n = 1975308624.864197523\nGeneral\n n\nEnd\n";

/// `0.1 <= x + y <= 0.1 + 0.2`: x is at most 0.3.
const RANGE: &str = "NAME range\nROWS\n N goal\n G both\nCOLUMNS\n M 'MARKER' 'INTORG'\n y goal 1 both 1\n M 'MARKER' 'INTEND'\n \
                     x goal -1 both 1\nRHS\n RHS both 0.1\nRANGES\n RNG both 0.2\nBOUNDS\n UP B y 1\n UP B x 9\nENDATA\n";

#[test]
fn a_proof_of_rounded_numbers_is_refused_and_a_search_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("digits.lp");
    std::fs::write(&file, DIGITS).unwrap();
    let proof = folder.path().join("proof.vipr");
    for option in [&["--exact"][..], &["--certificate", text(&proof)]] {
        let (_, err) = run_to(2, &[&["mip", text(&file)], option].concat());
        let words = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("row side"), "{words}");
        assert!(words.contains("1975308624.864197523"), "{words}");
        assert!(!proof.exists());
    }
    // A proof of the rounded numbers is not a proof of the file either.
    let rounded = DIGITS.replace("197523", "1975");
    std::fs::write(&file, rounded).unwrap();
    run_to(
        3,
        &["mip", text(&file), "--exact", "--certificate", text(&proof)],
    );
    run_to(0, &["check-certificate", text(&proof), text(&file)]);
    std::fs::write(&file, DIGITS).unwrap();
    run_to(2, &["check-certificate", text(&proof), text(&file)]);
    let (_, err) = run_to(0, &["mip", text(&file)]);
    assert!(err.contains("row side"), "{err}");
}

#[test]
fn a_range_is_the_sum_of_decimals() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("range.mps");
    std::fs::write(&file, RANGE).unwrap();
    let proof = folder.path().join("proof.vipr");
    let certificate = ["--certificate", text(&proof)];
    let ask = [
        &["mip", text(&file), "--exact", "--json", "-q"],
        &certificate[..],
    ];
    let (out, _) = run_to(0, &ask.concat());
    assert_eq!(object(&out)["exact"]["objective"], "-3/10");
    run_to(0, &["check-certificate", text(&proof), text(&file)]);
}
