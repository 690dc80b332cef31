//! Compiles the C++ side and lets binaries find libtorch, where the feature `torch` is on.

fn main() {
    println!("cargo::rerun-if-changed=src/shim.cpp");
    #[cfg(feature = "torch")]
    torch();
}

#[cfg(feature = "torch")]
fn torch() {
    use std::path::Path;
    // Set by torch-sys' build script.
    let Ok(lib) = std::env::var("DEP_TCH_LIBTORCH_LIB") else {
        println!(
            "cargo::error=torch-sys did not say where libtorch is; run scripts/setup-torch.sh"
        );
        return;
    };
    let include = Path::new(&lib).join("../include");
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .warnings(false)
        .include(&include)
        .include(include.join("torch/csrc/api/include"))
        .file("src/shim.cpp")
        .compile("remat_shim");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
    println!("cargo::metadata=LIBTORCH_LIB={lib}");
}
