"""The cryptography: certificate chains, one-file manifests and sidecar documents."""
