//! Model descriptions as text.

use crate::zoo::{ModelSpec, ParameterKind, ZooError, build, list};
use proptest::prelude::*;

fn error(text: &str) -> ZooError {
    match text.parse::<ModelSpec>() {
        Ok(spec) => match build(&spec) {
            Ok(_) => panic!("{text} was built"),
            Err(error) => error,
        },
        Err(error) => error,
    }
}

#[test]
fn texts_round_trip() {
    let spec: ModelSpec = "zoo:ResNet-50?size=416x608&batch=1_84&dtype=FP16&device=v100"
        .parse()
        .unwrap();
    let text = "resnet50?batch=184&device=v100&dtype=fp16&size=416x608";
    assert_eq!(spec.to_string(), text);
    assert_eq!(text.parse(), Ok(spec.clone()));
    let built = ModelSpec::new("resnet50")
        .and_then(|spec| spec.with("batch", "184"))
        .and_then(|spec| spec.with("size", "416x608"))
        .and_then(|spec| spec.with("dtype", "fp16"))
        .and_then(|spec| spec.with("device", "v100"));
    assert_eq!(built, Ok(spec));
    assert_eq!("vgg16".parse(), "vgg16?".parse::<ModelSpec>());
    // One number sets all sides.
    let square: ModelSpec = "unet3d?size=32".parse().unwrap();
    assert_eq!(square.to_string(), "unet3d?size=32x32x32");
}

#[test]
fn errors_name_what_is_wrong_and_what_is_right() {
    let unknown = error("zoo:vgg17").to_string();
    assert!(unknown.contains("no model \"vgg17\""), "{unknown}");
    assert!(unknown.contains("did you mean \"vgg16\"?"), "{unknown}");
    assert!(unknown.contains("mobilenet_v2"), "{unknown}");
    let parameter = error("vgg16?bacth=3").to_string();
    assert!(parameter.contains("did you mean \"batch\"?"), "{parameter}");
    assert!(parameter.contains("relu_saves"), "{parameter}");
    let value = error("vgg16?device=v10").to_string();
    assert!(value.contains("did you mean \"v100\"?"), "{value}");
    assert!(
        value.contains("p100, v100, a100, h100, h200, cpu"),
        "{value}"
    );
    assert!(
        error("vgg16?batch=0")
            .to_string()
            .contains("a whole number from 1 to")
    );
    assert!(matches!(error("vgg16?batch"), ZooError::Syntax { .. }));
    assert!(matches!(
        error("vgg16?batch=1&batch=2"),
        ZooError::RepeatedParameter { .. }
    ));
    for bad in [
        "vgg16?size=1x2x3",
        "vgg16?size=0",
        "vgg16?size=x",
        "vgg16?size=",
        "vgg16?batch=-1",
        "vgg16?batch=99999999999999999999",
        "gpt2?tied=maybe",
    ] {
        assert!(matches!(error(bad), ZooError::BadValue { .. }), "{bad}");
    }
}

#[test]
fn what_does_not_fit_is_an_error_with_the_layer() {
    // An input of 16 pixels becomes too small at the fifth pooling layer.
    let small = error("vgg16?size=16").to_string();
    assert!(small.starts_with("layer pool5:"), "{small}");
    assert!(small.contains("32x512x1x1"), "{small}");
    let heads = error("gpt2?heads=7").to_string();
    assert!(
        heads.contains("7 heads do not divide d_model=768"),
        "{heads}"
    );
    assert!(
        error("gpt2?seq=2048")
            .to_string()
            .contains("set positions=2048")
    );
    assert!(
        error("fcn8?size=417x608")
            .to_string()
            .contains("use 416 or 448")
    );
    assert!(
        error("llama?kv_heads=5")
            .to_string()
            .contains("kv_heads=5 does not divide heads=32")
    );
    assert!(
        error("mixtral?top_k=9")
            .to_string()
            .contains("set experts=9 or a top_k of at most 8")
    );
    assert!(error("vit?size=225").to_string().contains("use 224 or 240"));
    for large in [
        "vgg16?batch=1000000000&size=100000",
        "gpt2?batch=1073741824&seq=1048576&positions=1048576",
        "llama?d_model=1048576&heads=64&ffn=16777216&layers=10000&batch=1000000",
        "unet3d?size=1048576",
    ] {
        assert!(
            matches!(error(large), ZooError::TooLarge { .. }),
            "{large}: {}",
            error(large)
        );
    }
}

#[test]
fn listings_hold_for_every_model() {
    let models = list();
    assert_eq!(models.len(), 24);
    for model in &models {
        let spec = ModelSpec::new(model.name).unwrap();
        assert!(!model.description.is_empty());
        for parameter in &model.parameters {
            // A default must be a valid value.
            assert!(
                spec.clone().with(parameter.name, parameter.default).is_ok(),
                "{} {}",
                model.name,
                parameter.name
            );
        }
    }
    let names: std::collections::BTreeSet<_> = models.iter().map(|model| model.name).collect();
    assert_eq!(names.len(), models.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// No user input makes the parser panic.
    #[test]
    fn any_text_is_read_or_refused(text in "(zoo:)?[a-z0-9_]{0,8}(\\?|)([a-z]{0,6}=?[0-9x&]{0,8}){0,3}") {
        if let Ok(spec) = text.parse::<ModelSpec>() {
            prop_assert_eq!(spec.to_string().parse::<ModelSpec>(), Ok(spec));
        }
    }

    /// Any values in range give a valid instance or a typed error, with extents and counts from
    /// tiny to absurd.
    #[test]
    fn any_values_build_or_fail(model in 0usize..19, picks in proptest::collection::vec(any::<u64>(), 32)) {
        let info = &list()[model];
        let mut spec = ModelSpec::new(info.name).unwrap();
        for (parameter, pick) in info.parameters.iter().zip(picks) {
            // Half of the parameters keep their defaults; the number of layers stays small to keep
            // the test fast.
            if pick % 2 == 0 && parameter.name != "layers" {
                continue;
            }
            let pick = pick / 2;
            let value = match parameter.kind {
                _ if parameter.name == "layers" => (1 + pick % 2).to_string(),
                _ if parameter.name == "n" => (1 + pick % 50).to_string(),
                ParameterKind::Integer { min, max } => match pick % 3 {
                    0 => min + pick / 3 % 8,
                    1 => min + pick / 3 % (max - min + 1).min(4096),
                    _ => max - pick / 3 % 8,
                }
                .clamp(min, max)
                .to_string(),
                ParameterKind::Size { axes } => {
                    let sides: Vec<String> = (0..axes as u32)
                        .map(|k| (1 + (pick >> (8 * k)) % 200).to_string())
                        .collect();
                    sides.join("x")
                }
                ParameterKind::Choice(words) => words[pick as usize % words.len()].to_string(),
            };
            spec = spec.with(parameter.name, &value).unwrap();
        }
        if let Err(error) = build(&spec) {
            prop_assert!(!matches!(error, ZooError::Structure(_)), "{spec}: {error}");
        }
    }
}
