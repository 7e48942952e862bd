"""The partner's words, pure: what contract 2.4.2 says, and nothing that we think of it."""

CONTRACT_VERSION = "2.4.2"
