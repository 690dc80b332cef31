//! A fingerprint of an instance, by which results identify it.

use super::Instance;
use sha2::{Digest, Sha256};

impl Instance {
    /// SHA-256 of the instance as written by [`crate::write_instance`], in hexadecimal. Equal
    /// instances have equal digests, independent of their files.
    ///
    /// ```
    /// use remat_instances::{read_bytes, write_instance, zoo};
    /// let instance = zoo::build(&"vgg16".parse()?)?;
    /// let again = read_bytes("again.json", write_instance(&instance).as_bytes())?;
    /// assert_eq!(instance.digest(), again.digest());
    /// assert_ne!(instance.digest(), zoo::build(&"vgg16?batch=7".parse()?)?.digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn digest(&self) -> String {
        let bytes = Sha256::digest(crate::write_instance(self));
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }
}
