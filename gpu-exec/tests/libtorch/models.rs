//! Every model of the zoo trains on the CPU by a plan that recomputes, at odd sizes, seeds and
//! numbers of threads.

use crate::common::{Case, GPT2, MOBILENET, RESNET, checkmate_plan, monet_schedule};
use remat_gpu_exec::{Device, Training, gradients};
use remat_instances::plan::Plan;
use remat_instances::zoo;

/// Small models of odd shapes, with every layout of the backward pass and every kind of attention.
const MODELS: &[&str] = &[
    "vgg16?batch=1&size=35x49&classes=3&hidden=50&dropout=false",
    "vgg19?batch=1&size=33x32&classes=3&hidden=64&gradients=split",
    "resnet18?batch=1&size=95x97&classes=3&relu_saves=input",
    "resnet50?batch=2&size=63x65&classes=3&grad_add=implicit",
    "resnet101?batch=1&size=64x65&classes=3",
    "resnet152?batch=1&size=65x64&classes=3",
    "mobilenet_v1?batch=3&size=65x63&classes=3",
    "mobilenet_v2?batch=1&size=61x97&classes=3&gradients=split&grad_add=implicit",
    "googlenet?batch=3&size=95x97&classes=3&aux=true",
    "inception_v3?batch=1&size=75x77&classes=3",
    "densenet121?batch=1&size=65x63&classes=3&grad_add=implicit",
    "unet?batch=1&size=80x48&up=transposed",
    "unet?batch=3&size=33x31",
    "fcn8?batch=1&size=64x96&classes=3&hidden=64",
    "segnet?batch=1&size=32x64&classes=3",
    "unet3d?batch=1&size=8x16x24",
    "gpt2?batch=1&layers=2&d_model=48&heads=3&seq=17&vocab=101&positions=31",
    "gpt2?batch=3&layers=3&d_model=24&heads=2&seq=9&vocab=31&positions=9&attention=flash&dropout=false",
    "bert?batch=3&layers=2&d_model=64&heads=4&ffn=96&seq=19&vocab=100&positions=23",
    "bert?batch=1&layers=2&d_model=32&heads=4&ffn=64&seq=15&vocab=50&task=mlm&gradients=split",
    "vit?batch=1&layers=3&d_model=48&heads=4&ffn=96&size=48&classes=3",
    "llama?batch=3&layers=2&d_model=64&heads=4&kv_heads=2&ffn=96&seq=13&vocab=37&dtype=fp32",
    "llama?batch=1&layers=3&d_model=32&heads=4&ffn=48&seq=21&vocab=37",
    "mixtral?batch=3&layers=2&d_model=64&heads=4&kv_heads=2&ffn=96&seq=13&vocab=37&dtype=fp32",
    "mixtral?batch=1&layers=4&d_model=32&heads=4&kv_heads=2&ffn=48&seq=21&vocab=37&experts=5&top_k=1&every=2",
    "deepseek_v3?batch=2&layers=3&dense_layers=1&d_model=32&heads=2&q_lora=24&kv_lora=16&qk_nope=8&qk_rope=4&v_head=12&ffn=48&moe_ffn=20&experts=5&top_k=2&seq=13&vocab=37&dtype=fp32",
    "deepseek_v3?batch=1&layers=2&dense_layers=1&d_model=32&heads=3&q_lora=24&kv_lora=16&qk_nope=8&qk_rope=4&v_head=10&ffn=48&moe_ffn=20&experts=4&top_k=2&shared=2&seq=9&vocab=37&attention=plain",
    "randwire?batch=2&size=95x97&classes=3&nodes=11&channels=20",
];

#[test]
fn every_model_of_the_zoo_trains() {
    let is_graph = |name| ["chain", "random_layered"].contains(&name);
    for known in zoo::list().iter().filter(|known| !is_graph(known.name)) {
        let tried = |text: &&str| text.split('?').next() == Some(known.name);
        assert!(MODELS.iter().any(tried), "{} is not tried", known.name);
    }
    for (k, model) in MODELS.iter().enumerate() {
        // A different seed for every model.
        let mut case = Case::with(model, k as u64, 1);
        let again = ["pytorch-min-cut", "ap-sqrt", "linearised-greedy"].map(|name| {
            let plan = checkmate_plan(&case.instance, name)?;
            Some(case.check(name, &plan))
        });
        assert!(again.contains(&Some(true)), "{model}: {again:?}");
    }
}

#[test]
fn two_threads_give_the_same_bits_with_and_without_recomputation() {
    for model in [RESNET, MOBILENET, GPT2] {
        let mut case = Case::with(model, 5, 2);
        let plan = checkmate_plan(&case.instance, "ap-sqrt").expect("a plan");
        assert!(case.check("ap-sqrt", &plan), "{model}");
    }
    for model in ["resnet18?batch=1&size=65x71", "unet?batch=1&size=47x32"] {
        let mut case = Case::with(&format!("{model}&implementations=monet"), 6, 2);
        let schedule = monet_schedule(&case.instance, "linearised-sqrt", 0);
        let plan = Plan::from_monet(&case.instance, &schedule).expect("a plan");
        assert!(case.check("linearised-sqrt", &plan), "{model}");
    }
}

/// Neighbouring seeds give other parameters, batches and masks.
#[test]
fn seeds_differ() {
    let one = |seed| {
        let case = Case::with(GPT2, seed, 1);
        gradients(&case.training).expect("gradients")
    };
    let (a, b, again) = (one(0), one(1), one(0));
    for ((a, b), again) in a.iter().zip(&b).zip(&again) {
        assert!(a != b && a == again);
    }
}

/// With mixed types libtorch would compute in one of them, and sizes would differ from the graph's.
#[test]
fn mixed_types_are_refused() {
    let device = Device::open("cpu", true).expect("the CPU");
    for other in [
        "dtype=bf16&param_dtype=fp32",
        "dtype=fp16&param_dtype=bf16",
        "dtype=fp32&grad_dtype=bf16",
    ] {
        let program = crate::common::program(&format!("resnet18?batch=1&size=64&{other}"));
        let Err(found) = Training::new(program, &device, 0) else {
            panic!("{other} is taken");
        };
        let types: Vec<&str> = other.split(['=', '&']).skip(1).step_by(2).collect();
        let named = types.iter().all(|dtype| found.to_string().contains(dtype));
        assert!(named, "{other}: {found}");
    }
}
