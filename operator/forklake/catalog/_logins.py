"""Credentials of a catalog: a random password and the verifier that Postgres stores instead of it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

# A password of 32 random bytes cannot be guessed, so it needs no slow hash; and Postgres hashes each verifier it is given
# against the empty password, which at the usual 4,096 rounds costs a fork 5 ms.
_ROUNDS = 1


@dataclass(frozen=True, slots=True)
class Login:
    """A password and its SCRAM-SHA-256 verifier; neither shows in a repr. `role` is set once Postgres has it."""

    password: str = field(repr=False)
    verifier: str = field(repr=False)
    role: str = ""


def new_login() -> Login:
    """Fresh credentials. Hashing takes a millisecond: call it before opening a transaction."""
    password = secrets.token_urlsafe(32)
    return Login(password, _verifier(password, secrets.token_bytes(16)))


def _verifier(password: str, salt: bytes) -> str:
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ROUNDS)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    stored = base64.b64encode(hashlib.sha256(client_key).digest()).decode()
    server = base64.b64encode(hmac.digest(salted, b"Server Key", "sha256")).decode()
    return f"SCRAM-SHA-256${_ROUNDS}:{base64.b64encode(salt).decode()}${stored}:{server}"
