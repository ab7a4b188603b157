"""A control request passes only as it was signed, by a known key, in time."""

import hashlib
import hmac
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.control.signing import (
    ID_HEADER,
    KEY_HEADER,
    MAX_SKEW_S,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    ControlKey,
    checked_keys,
    current_key,
    require_scope,
    sign,
    verify,
)
from core.errors import SettingsError, SignatureRefused

NOW = 1_790_000_000
KEY = ControlKey("bridge-1", "bridge", b"b" * 32)
DIGEST_KEY = ControlKey("digest-1", "digest", b"d" * 32)
KEYS = (KEY, DIGEST_KEY)
PATH = "/control/v1/instructions?after=7&wait=25"
BODY = '{"text":"你好"}'.encode()


def signed(key: ControlKey = KEY, now_s: int = NOW) -> dict[str, str]:
    return sign(key, "01HF7YAT00", now_s, "POST", PATH, BODY)


def refusal(headers: dict[str, str], method: str = "POST", path: str = PATH, body: bytes = BODY) -> str:
    with pytest.raises(SignatureRefused) as caught:
        verify(KEYS, headers, method, path, body, NOW)
    assert caught.value.status == 401
    return str(caught.value)


def test_a_request_passes_as_it_was_signed() -> None:
    assert verify(KEYS, signed(), "POST", PATH, BODY, NOW) is KEY


def test_the_signature_is_what_the_design_says() -> None:
    text = f"01HF7YAT00.{NOW}.POST.{PATH}.{hashlib.sha256(BODY).hexdigest()}"
    by_hand = hmac.new(b"b" * 32, text.encode(), "sha256").hexdigest()

    assert signed() == {
        "Penfriend-Id": "01HF7YAT00",
        "Penfriend-Timestamp": str(NOW),
        "Penfriend-Key": "bridge-1",
        "Penfriend-Signature": f"v1={by_hand}",
    }


def test_header_names_and_the_method_match_in_any_case() -> None:
    lowered = {name.lower(): value for name, value in signed().items()}

    assert verify(KEYS, lowered, "post", PATH, BODY, NOW) is KEY


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", PATH, BODY),
        ("POST", "/control/v1/instructions", BODY),
        ("POST", PATH + "0", BODY),
        ("POST", PATH.replace("7", "8"), BODY),
        ("POST", PATH.replace("/v1/", "/v1/%2e/"), BODY),
        ("POST", PATH, BODY + b" "),
        ("POST", PATH, b""),
        ("POST", PATH + ".", BODY),
    ],
)
def test_a_changed_method_path_query_or_body_is_refused(method: str, path: str, body: bytes) -> None:
    assert "does not match" in refusal(signed(), method, path, body)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        (ID_HEADER, "01HF7YAT01", "does not match"),
        (TIMESTAMP_HEADER, str(NOW + 1), "does not match"),
        (KEY_HEADER, "digest-1", "does not match"),
        (SIGNATURE_HEADER, signed(DIGEST_KEY)[SIGNATURE_HEADER], "does not match"),
        (KEY_HEADER, "bridge-2", "no key is named 'bridge-2'"),
        (SIGNATURE_HEADER, signed()[SIGNATURE_HEADER].replace("v1=", "v2="), "does not match"),
        (SIGNATURE_HEADER, signed()[SIGNATURE_HEADER].upper(), "does not match"),
        (SIGNATURE_HEADER, "", "does not match"),
        (SIGNATURE_HEADER, "v1=é", "does not match"),
        (SIGNATURE_HEADER, "v1=\ud800", "does not match"),
        (SIGNATURE_HEADER, "v1=" + "0" * 5_000, "does not match"),
        (ID_HEADER, "", "cannot be"),
        (ID_HEADER, "a.b", "cannot be"),
        (ID_HEADER, "编号", "cannot be"),
        (ID_HEADER, "a\n", "cannot be"),
        (ID_HEADER, "a" * 65, "cannot be"),
        (TIMESTAMP_HEADER, "soon", "cannot be"),
        (TIMESTAMP_HEADER, "-5", "cannot be"),
        (TIMESTAMP_HEADER, "1e9", "cannot be"),
        (TIMESTAMP_HEADER, "١٧٩٠٠٠٠٠٠٠", "cannot be"),
        (TIMESTAMP_HEADER, "9" * 5_000, "cannot be"),
        (KEY_HEADER, "\ud800", "cannot be"),
    ],
)
def test_a_swapped_or_impossible_header_is_refused_with_its_reason(name: str, value: str, reason: str) -> None:
    said = refusal(signed() | {name: value})

    assert reason in said
    assert len(said) < 400 and said.isascii()


@pytest.mark.parametrize("name", [ID_HEADER, TIMESTAMP_HEADER, KEY_HEADER, SIGNATURE_HEADER])
def test_a_missing_or_doubled_header_is_named(name: str) -> None:
    without = {key: value for key, value in signed().items() if key != name}

    assert f"{name} is missing" in refusal(without)
    assert f"{name} is given 2 times" in refusal(signed() | {name.lower(): signed()[name]})


@pytest.mark.parametrize("skew", [-MAX_SKEW_S, 0, MAX_SKEW_S])
def test_clocks_may_differ_by_five_minutes(skew: int) -> None:
    assert verify(KEYS, signed(now_s=NOW + skew), "POST", PATH, BODY, NOW) is KEY


@pytest.mark.parametrize(("skew", "word"), [(-MAX_SKEW_S - 1, "301 s behind"), (MAX_SKEW_S + 1, "301 s ahead of")])
def test_a_stale_or_future_request_is_refused_with_both_clocks(skew: int, word: str) -> None:
    said = refusal(signed(now_s=NOW + skew))

    assert word in said
    assert str(NOW) in said and str(NOW + skew) in said


def test_a_request_sent_again_is_another_request() -> None:
    first = sign(KEY, "one", NOW, "POST", PATH, BODY)
    second = sign(KEY, "two", NOW, "POST", PATH, BODY)

    assert first[SIGNATURE_HEADER] != second[SIGNATURE_HEADER]


def test_any_of_several_signatures_passes() -> None:
    headers = signed()
    headers[SIGNATURE_HEADER] = f"v1a=xyz v1={'0' * 64} {headers[SIGNATURE_HEADER]}"

    assert verify(KEYS, headers, "POST", PATH, BODY, NOW) is KEY


def test_keys_overlap_while_one_is_replaced() -> None:
    old = replace(KEY, not_after_s=NOW + 100)
    new = ControlKey("bridge-2", "bridge", b"n" * 32, not_before_s=NOW - 100)

    assert verify((old, new), signed(old), "POST", PATH, BODY, NOW) is old
    assert verify((old, new), signed(new), "POST", PATH, BODY, NOW) is new
    assert current_key((old, new), "bridge", NOW) is new
    assert current_key((old, new), "bridge", NOW - 101) is old


@pytest.mark.parametrize(("not_before_s", "not_after_s"), [(None, NOW), (NOW + 1, None)])
def test_a_key_outside_its_time_is_refused(not_before_s: int | None, not_after_s: int | None) -> None:
    key = replace(KEY, not_before_s=not_before_s, not_after_s=not_after_s)

    with pytest.raises(SignatureRefused, match="not valid at"):
        verify((key,), signed(key), "POST", PATH, BODY, NOW)
    with pytest.raises(SettingsError, match="'bridge'"):
        current_key((key, DIGEST_KEY), "bridge", NOW)


def test_a_good_key_is_refused_outside_its_scope() -> None:
    require_scope(KEY, "bridge")
    with pytest.raises(SignatureRefused, match="'digest'") as caught:
        require_scope(KEY, "digest")

    assert caught.value.status == 403


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ((KEY, replace(DIGEST_KEY, id="bridge-1")), "share"),
        ((KEY, replace(DIGEST_KEY, secret=KEY.secret)), "share"),
        ((replace(KEY, secret=b"short"),), "5 bytes"),
        ((replace(KEY, id="钥匙"),), "name"),
    ],
)
def test_keys_that_cannot_be_told_apart_or_are_weak_are_refused(keys: tuple[ControlKey, ...], reason: str) -> None:
    assert checked_keys(KEYS) == KEYS
    with pytest.raises(SettingsError, match=reason):
        checked_keys(keys)


def test_a_secret_is_not_in_the_text_of_a_key_or_of_a_refusal() -> None:
    assert "bbbb" not in repr(KEY)
    assert "bbbb" not in refusal(signed() | {SIGNATURE_HEADER: "v1=no"})


def test_an_id_that_cannot_be_is_refused_before_it_is_sent() -> None:
    with pytest.raises(ValueError, match=re.escape("'a.b'")):
        sign(KEY, "a.b", NOW, "POST", PATH, BODY)


ANY_TEXT = st.text(st.characters(), max_size=80)


@given(headers=st.dictionaries(st.sampled_from(sorted(signed())), ANY_TEXT), path=ANY_TEXT, body=st.binary())
def test_whatever_a_stranger_sends_is_a_refusal_and_never_a_crash(
    headers: dict[str, str], path: str, body: bytes
) -> None:
    with pytest.raises(SignatureRefused):
        verify(KEYS, signed() | {SIGNATURE_HEADER: "v1="} | headers, "POST", path, body, NOW)
