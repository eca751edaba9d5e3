"""Seals: what they keep, under which key, and which keys are none."""

import base64

import pytest

from shipyard_api.adapters.sealed.seals import FernetSeals, new_key
from shipyard_api.ports.secrets import BrokenSeal

FIRST, SECOND, THIRD = (base64.urlsafe_b64encode(bytes([number]) * 32).decode() for number in (1, 2, 250))
CLEAR = "a secret é".encode()


def test_what_was_sealed_is_opened_again() -> None:
    seals = FernetSeals([FIRST])

    assert seals.open(seals.seal(CLEAR)) == CLEAR
    assert seals.open(seals.seal(b"")) == b""


def test_a_seal_shows_nothing_and_no_two_are_equal() -> None:
    seals = FernetSeals([FIRST])
    one, other = seals.seal(CLEAR), seals.seal(CLEAR)

    assert one != other
    for sealed in (one, base64.urlsafe_b64decode(one)):
        assert CLEAR not in sealed


def test_the_newest_key_seals_and_all_open() -> None:
    old, both = FernetSeals([FIRST]), FernetSeals([SECOND, FIRST])

    assert both.open(old.seal(CLEAR)) == CLEAR
    assert FernetSeals([SECOND]).open(both.seal(CLEAR)) == CLEAR
    with pytest.raises(BrokenSeal):
        old.open(both.seal(CLEAR))


def test_whether_the_newest_key_sealed_it() -> None:
    old, both = FernetSeals([FIRST]), FernetSeals([SECOND, FIRST])

    assert both.is_newest(both.seal(CLEAR))
    assert not both.is_newest(old.seal(CLEAR))
    assert not both.is_newest(b"no seal at all")


def test_a_seal_that_was_touched_is_broken() -> None:
    seals = FernetSeals([FIRST, SECOND])
    sealed = base64.urlsafe_b64decode(seals.seal(CLEAR))

    for place in range(len(sealed)):
        touched = bytearray(sealed)
        touched[place] ^= 1
        with pytest.raises(BrokenSeal):
            seals.open(base64.urlsafe_b64encode(touched))


@pytest.mark.parametrize("sealed", [b"", b"x", b"\xff\x00", b"gAAAAA==", CLEAR], ids=repr)
def test_what_is_no_seal_is_broken(sealed: bytes) -> None:
    with pytest.raises(BrokenSeal):
        FernetSeals([FIRST]).open(sealed)


def test_a_broken_seal_does_not_bring_its_cause_along() -> None:
    with pytest.raises(BrokenSeal) as caught:
        FernetSeals([FIRST]).open(b"x")

    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "secret",
        FIRST[:-1],
        FIRST + "\n",
        " " + FIRST[1:],
        FIRST[:20] + "!" + FIRST[20:],
        "+" + THIRD[1:],
        base64.urlsafe_b64encode(bytes(31)).decode(),
        base64.urlsafe_b64encode(bytes(33)).decode(),
        "é" * 43 + "=",
    ],
    ids=repr,
)
def test_what_is_no_key_is_named_by_its_place(wrong: str) -> None:
    with pytest.raises(ValueError, match="key 2 is not 32 bytes in URL-safe base64") as caught:
        FernetSeals([FIRST, wrong])

    assert not wrong or wrong not in str(caught.value)


def test_the_same_key_twice_is_a_slip() -> None:
    with pytest.raises(ValueError, match="key 3 is the same as key 1") as caught:
        FernetSeals([FIRST, SECOND, FIRST])

    assert FIRST not in str(caught.value)


def test_two_spellings_of_a_key_are_the_same_key() -> None:
    """The last letter carries two bits that mean nothing."""
    spelt_otherwise = FIRST[:-2] + chr(ord(FIRST[-2]) + 1) + "="
    assert base64.urlsafe_b64decode(spelt_otherwise) == base64.urlsafe_b64decode(FIRST)

    with pytest.raises(ValueError, match="key 2 is the same as key 1"):
        FernetSeals([FIRST, spelt_otherwise])


def test_no_key_at_all() -> None:
    with pytest.raises(ValueError, match="there is no key"):
        FernetSeals([])


def test_a_new_key_is_a_key_and_never_the_same() -> None:
    keys = [new_key() for _ in range(3)]

    seals = FernetSeals(keys)

    assert seals.open(FernetSeals([keys[2]]).seal(CLEAR)) == CLEAR
    assert not any(key in repr(seals) for key in keys)
