//! Encryption of connections.

/// Has the process use ring for it, unless its program chose something else before.
pub(crate) fn provide() {
    // Where two threads come here at once, both want the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
