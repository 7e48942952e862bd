"""The partner's vocabulary as contract 2.4.2 states it. Pure: our own decisions live in `model`."""

CONTRACT_VERSION = "2.4.2"
