"""Encryption: what they keep, under which key, and which keys are none."""

import base64

import pytest

from shipyard_api.adapters.encryption.fernet import FernetEncryption, new_key
from shipyard_api.ports.encryption import DecryptionFailed
from tests.unit.tables import every_row

FIRST, SECOND, THIRD = (base64.urlsafe_b64encode(bytes([number]) * 32).decode() for number in (1, 2, 250))
CLEAR = "a secret é".encode()


def test_a_seal_shows_nothing_and_is_decrypted_again() -> None:
    encryption = FernetEncryption([FIRST])
    one, other = encryption.encrypt(CLEAR), encryption.encrypt(CLEAR)

    assert one != other
    assert encryption.decrypt(one) == encryption.decrypt(other) == CLEAR
    assert encryption.decrypt(encryption.encrypt(b"")) == b""
    for sealed in (one, base64.urlsafe_b64decode(one)):
        assert CLEAR not in sealed


def test_the_newest_key_encrypts_and_all_decrypt() -> None:
    old, both = FernetEncryption([FIRST]), FernetEncryption([SECOND, FIRST])

    assert both.decrypt(old.encrypt(CLEAR)) == CLEAR
    assert FernetEncryption([SECOND]).decrypt(both.encrypt(CLEAR)) == CLEAR
    with pytest.raises(DecryptionFailed):
        old.decrypt(both.encrypt(CLEAR))
    newest = [both.is_newest(sealed) for sealed in (both.encrypt(CLEAR), old.encrypt(CLEAR), b"no seal at all")]
    assert newest == [True, False, False]


def test_a_seal_that_was_touched_is_broken() -> None:
    encryption = FernetEncryption([FIRST, SECOND])
    sealed = base64.urlsafe_b64decode(encryption.encrypt(CLEAR))

    for place in range(len(sealed)):
        touched = bytearray(sealed)
        touched[place] ^= 1
        with pytest.raises(DecryptionFailed):
            encryption.decrypt(base64.urlsafe_b64encode(touched))


@every_row([b"", b"x", b"\xff\x00", b"gAAAAA==", CLEAR])
def test_what_is_not_encrypted_cannot_be_decrypted(sealed: bytes) -> None:
    with pytest.raises(DecryptionFailed) as caught:
        FernetEncryption([FIRST]).decrypt(sealed)
    assert caught.value.__suppress_context__  # it does not bring its cause along


@every_row(
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
)
def test_what_is_no_key_is_named_by_its_place(wrong: str) -> None:
    with pytest.raises(ValueError, match="key 2 is not 32 bytes in URL-safe base64") as caught:
        FernetEncryption([FIRST, wrong])

    assert not wrong or wrong not in str(caught.value)


def test_the_same_key_twice_is_a_slip() -> None:
    # The last letter carries two bits that mean nothing.
    spelt_otherwise = FIRST[:-2] + chr(ord(FIRST[-2]) + 1) + "="
    assert base64.urlsafe_b64decode(spelt_otherwise) == base64.urlsafe_b64decode(FIRST)
    for keys, told in (
        ([FIRST, SECOND, FIRST], "key 3 is the same as key 1"),
        ([FIRST, spelt_otherwise], "key 2 is the same as key 1"),
        ([], "there is no key"),
    ):
        with pytest.raises(ValueError, match=told) as caught:
            FernetEncryption(keys)
        assert FIRST not in str(caught.value)


def test_a_new_key_is_a_key_and_never_the_same() -> None:
    keys = [new_key() for _ in range(3)]

    encryption = FernetEncryption(keys)

    assert encryption.decrypt(FernetEncryption([keys[2]]).encrypt(CLEAR)) == CLEAR
    assert not any(key in repr(encryption) for key in keys)
