"""What the owner's browser is asked and what it answers, by WebAuthn level 2. Pure: who keeps it is `store/passkeys.py`.

A passkey is made for one host name, which is never an IP address; the person must be verified by the authenticator.
"""

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import webauthn
from webauthn.helpers import bytes_to_base64url
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from core.clock import Instant
from core.errors import BadInput

from ..store.passkeys import Passkey

CHALLENGE_BYTES = 32
CHALLENGE_LIFE_MS = 5 * 60 * 1000
MAX_ANSWER = 16_000
OWNER = b"owner"
_VERIFIED = UserVerificationRequirement.REQUIRED


@dataclass(frozen=True)
class Site:
    """Whom a passkey is for: the host name, and the origin its answers must come from."""

    id: str
    origin: str


def site_of(public_url: str, headers: Mapping[str, str]) -> Site:
    """By the settings, else by the page the request comes from, which the door has found to be ours.

    >>> site_of("https://blog.example.org/", {})
    Site(id='blog.example.org', origin='https://blog.example.org')
    """
    origin = public_url.rstrip("/") or headers.get("origin", "")
    host = urlsplit(origin).hostname or ""
    if not host or _is_address(host):
        raise BadInput(
            "a passkey needs a name and not an address of numbers: open this page as http://localhost, or set site.public_url"
        )
    return Site(host, origin)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def creation_options(site: Site, title: str, challenge: bytes, known: tuple[Passkey, ...]) -> str:
    """JSON for `PublicKeyCredential.parseCreationOptionsFromJSON`."""
    options = webauthn.generate_registration_options(
        rp_id=site.id,
        rp_name=title,
        user_name="owner",
        user_id=OWNER,
        challenge=challenge,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=_VERIFIED
        ),
        exclude_credentials=[
            PublicKeyCredentialDescriptor(id=webauthn.base64url_to_bytes(one.credential)) for one in known
        ],
    )
    return webauthn.options_to_json(options)


def request_options(site: Site, challenge: bytes) -> str:
    """JSON for `PublicKeyCredential.parseRequestOptionsFromJSON`. It names no credential: strangers learn of none."""
    options = webauthn.generate_authentication_options(rp_id=site.id, challenge=challenge, user_verification=_VERIFIED)
    return webauthn.options_to_json(options)


def asked_in(credential: str) -> str:
    """The challenge an answer says it answers, in base64url. BadInput for anything that is no answer."""
    try:
        client = json.loads(webauthn.base64url_to_bytes(_parsed(credential)["response"]["clientDataJSON"]))
        challenge = client["challenge"]
    except (ValueError, KeyError, TypeError, RecursionError) as wrong:
        raise BadInput("this is no answer of a passkey: load the page again") from wrong
    if not isinstance(challenge, str):
        raise BadInput("this is no answer of a passkey: load the page again")
    return challenge


def credential_in(credential: str) -> str:
    found = _parsed(credential).get("id")
    return found if isinstance(found, str) else ""


def made(site: Site, credential: str, challenge: str, name: str, now: Instant) -> Passkey:
    """The passkey a browser made. Errors: BadInput with the reason it is not taken."""
    try:
        done = webauthn.verify_registration_response(
            credential=credential,
            expected_challenge=webauthn.base64url_to_bytes(challenge),
            expected_rp_id=site.id,
            expected_origin=site.origin,
            require_user_verification=True,
        )
    except _REFUSALS as wrong:
        raise BadInput(f"the passkey is not taken: {wrong}") from wrong
    identity, key = bytes_to_base64url(done.credential_id), bytes_to_base64url(done.credential_public_key)
    return Passkey(identity, key, done.sign_count, name, now)


def used(site: Site, credential: str, challenge: str, passkey: Passkey) -> int:
    """The new count of the passkey that signed. Errors: BadInput, the same words for whatever is wrong."""
    try:
        return webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=webauthn.base64url_to_bytes(challenge),
            expected_rp_id=site.id,
            expected_origin=site.origin,
            credential_public_key=webauthn.base64url_to_bytes(passkey.public_key),
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        ).new_sign_count
    except _REFUSALS as wrong:
        raise BadInput("this passkey does not sign in here") from wrong


# Bytes of a stranger pass through parsers of JSON, CBOR and keys, which have errors of their own.
_REFUSALS = (WebAuthnException, ValueError, KeyError, TypeError, IndexError, RecursionError, OverflowError)


def _parsed(credential: str) -> dict[str, dict[str, str]]:
    if len(credential) > MAX_ANSWER:
        raise BadInput("this is no answer of a passkey: it is too long")
    try:
        found = json.loads(credential)
    except (ValueError, RecursionError) as wrong:
        raise BadInput("this is no answer of a passkey: load the page again") from wrong
    if not isinstance(found, dict):
        raise BadInput("this is no answer of a passkey: load the page again")
    return found
