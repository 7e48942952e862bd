"""Where files go that are moved together."""

from proofsweep.ingest.moves import folders_of, targets_of


def test_a_file_keeps_its_place_below_the_target_and_a_pair_its_names() -> None:
    """The second place has the digits of the content in it, for names that are taken."""
    first, second = targets_of("/in", "s3://b/ok/", "/in/acme/a.wav", "/in/acme/a.wav.sidecar", ("aa", "bb"))

    assert first == ("s3://b/ok/acme/a.wav", "s3://b/ok/acme/a.wav.sidecar")
    assert second[0].startswith("s3://b/ok/acme/")
    assert second[0].endswith("/a.wav")
    assert second[1] == f"{second[0]}.sidecar"
    assert targets_of("/in", "/ok", "/in/a.wav", None, ("aa", None))[0] == ("/ok/a.wav", None)


def test_a_batch_keeps_its_place_and_its_name_below_the_target() -> None:
    """By its name it is a batch; the watched folder itself may be one."""
    first, second = folders_of("/in", "/ok/", "/in/acme/20240607170334436", ("aa", None))

    assert first == "/ok/acme/20240607170334436"
    assert second.startswith("/ok/acme/")
    assert second.endswith("/20240607170334436")
    assert second != first
    assert folders_of("/in", "/ok", "/in", ("aa",))[0] == "/ok"
