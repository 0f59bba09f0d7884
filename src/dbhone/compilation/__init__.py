"""Tree, variant, toolchain and profile become a build, named by the digest of all four."""
