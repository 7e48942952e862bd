"""The partner's API, one method per endpoint (contract, Endpoints), plus slot upload and asset download."""

import base64
import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar
from urllib.parse import quote

from pydantic import SecretStr, ValidationError

from proofsweep.client.reply import Reply, Request, TakeBody
from proofsweep.client.session import Session
from proofsweep.config.sections import ServiceSettings
from proofsweep.domain.errors import CallFailed, UsageError
from proofsweep.domain.exchanges import IDEMPOTENCY_KEY_LENGTH, AnswerHeaders, Call, Exchange
from proofsweep.domain.items import NO_PROOF_IDS
from proofsweep.domain.models import (
    EraseProofResponse,
    GetProofResponse,
    HealthResponse,
    Interpretation,
    ListProofsResponse,
    PartnerKeysResponse,
    PartnerUsageResponse,
    Resource,
    RotatedKeyResponse,
    UploadResponse,
    VerifyResponse,
    object_of,
    text_of,
)
from proofsweep.domain.outcomes import Answer

_Resource = TypeVar("_Resource", bound=Resource)
_PROBE_ATTEMPTS = 2  # attempts of a probe's calls
_NO_SIDECAR_FIELD = "The sidecar's wire name is not set (service.sidecar_field); a pair cannot be verified."
_PACKET_BYTES = 64 * 1024
_FILE_NAME = "audio"  # the same for all files: the local name stays here
_ESCAPES = str.maketrans({"\r": "%0D", "\n": "%0A", '"': "%22"})  # in a field's name, as HTML forms do it


@dataclass(frozen=True, slots=True)
class Partner:
    """The service at one base URL.

    Every method raises CallFailed when the call failed for good, and RunMustStop when no more calls can be made.
    """

    session: Session  # the one that this partner's calls belong to

    def in_new_session(
        self, record: Callable[[Exchange], None], claim: Callable[[Call], None] | None = None
    ) -> "Partner":
        """Return the same partner with attempts counted anew, and its exchanges recorded elsewhere."""
        return Partner(replace(self.session, record=record, claim=claim or self.session.claim))

    def within(self, claim: Callable[[Call], None]) -> "Partner":
        """Return the same partner, which lets `claim` count each keyed call before it is sent, and refuse it."""
        return Partner(replace(self.session, claim=claim))

    def for_items(self) -> "Partner":
        """Return the same partner for a leg's items: what fails for one of them need not fail for all."""
        return Partner(replace(self.session, is_of_many=True))

    def for_probes(self) -> "Partner":
        """Return the same partner for probes: its calls go before all others, also while the circuit is open."""
        return Partner(replace(self.with_attempts(_PROBE_ATTEMPTS).session, is_of_many=True, is_probe=True))

    def with_attempts(self, attempts: int) -> "Partner":
        retry = self.session.retry.model_copy(update={"attempts": attempts})
        return Partner(replace(self.session, retry=retry))

    @property
    def base_url(self) -> str:
        return self.service.base_url

    @property
    def service(self) -> ServiceSettings:
        return self.session.context.service

    def health(self) -> HealthResponse:
        """GET /health, the one public endpoint: no key is sent."""
        return self._get(HealthResponse, Call.HEALTH, "/health")

    def keys(self, cursor: str | None = None) -> PartnerKeysResponse:
        """GET /partner/keys: the whole inventory, or the page after a cursor if the service cuts it into pages."""
        return self._get(PartnerKeysResponse, Call.KEYS, "/partner/keys", cursor=cursor)

    def rotate(self, idempotency_key: str) -> tuple[RotatedKeyResponse, AnswerHeaders]:
        """POST /partner/keys/rotate. The caller stores `idempotency_key` (16-128 characters) before the call.

        The secret appears once; the same Idempotency-Key gives it again, for 24 h.
        """
        if len(idempotency_key) not in IDEMPOTENCY_KEY_LENGTH or not idempotency_key.isascii():
            raise UsageError("An Idempotency-Key has 16 to 128 characters, all of them ASCII.")
        request = self.session.request(Call.ROTATE, "/partner/keys/rotate", "POST")
        reply = self.session.ask(replace(request, headers={"Idempotency-Key": idempotency_key}))
        return _read(RotatedKeyResponse, reply), reply.exchange.headers

    def usage(self, *, days: int | None = None) -> tuple[PartnerUsageResponse, AnswerHeaders]:
        """GET /partner/usage for `days` (1-90); the live headroom is the headers' `rate_remaining`."""
        request = self.session.request(Call.USAGE, "/partner/usage", days=days)
        reply = self.session.ask(request)
        return _read(PartnerUsageResponse, reply), reply.exchange.headers

    def proofs(self, *, limit: int | None = None, cursor: str | None = None) -> ListProofsResponse:
        """GET /proofs: one page, newest first; the last page has no `next_cursor`."""
        return self._get(ListProofsResponse, Call.PROOFS, "/proofs", limit=limit, cursor=cursor)

    def proof(self, proof_id: str) -> GetProofResponse:
        """GET /proofs/{proofId}: the sidecar stays base64, as received."""
        request = self.session.request(Call.PROOF, _proof_path(proof_id))
        reply = self.session.ask(request)
        members = object_of(reply.document)
        # The contract does not name the member of the sidecar, so a setting does; without it there is none.
        name = self.service.sidecar_field
        sidecar = None if name is None else text_of(members.get(name))
        document = members | {"sidecar": sidecar}
        return _read(GetProofResponse, replace(reply, document=document))

    def erase(self, proof_id: str) -> EraseProofResponse:
        """DELETE /proofs/{proofId}: idempotent; removes the record, so that later verifies are `unregistered`."""
        request = self.session.request(Call.ERASE, _proof_path(proof_id), "DELETE")
        return _read(EraseProofResponse, self.session.ask(request))

    def asset_url(self, proof_id: str) -> SecretStr:
        """GET /proofs/{proofId}/asset: a short-lived URL; download it at once, without the key.

        Raises CallFailed: as any call; 404 if the proof has no asset, `bad_answer` if the answer has no URL.
        """
        request = self.session.request(Call.ASSET, f"{_proof_path(proof_id)}/asset")
        reply = self.session.ask(request)
        members = object_of(reply.document)
        # The contract does not name the member of the URL. Without the setting, the only URL of the answer is it.
        name = self.service.asset_field
        values, lacks = list(members.values()), "no single URL"
        if name is not None:
            values, lacks = [members.get(name)], "no URL under the name of service.asset_field"
        urls = [text for text in values if isinstance(text, str) and self._may_lead_to(text)]
        if len(urls) == 1:
            return SecretStr(urls[0])
        raise _unusable(reply, f"has {lacks}: ask the partner for the name, and set service.asset_field.")

    def download(self, url: SecretStr, into: TakeBody) -> None:
        """GET an asset's URL, without the key; each attempt gives `into` the body from its start."""
        address = url.get_secret_value()
        self.session.ask(Request(call=Call.DOWNLOAD, method="GET", url=address, into=into))

    def interpretation(self, proof_id: str) -> Interpretation:
        """GET /proofs/{proofId}/interpretation, once: the caller polls."""
        return self._get(Interpretation, Call.INTERPRETATION, f"{_proof_path(proof_id)}/interpretation")

    def request_slot(self) -> UploadResponse:
        """POST /uploads?purpose=verify: a fresh slot at every call; short-lived, so fill it at once.

        A slot that lacks a part, or whose URL must not be used, says nothing about the item: the call is repeated.
        """
        request = self.session.request(Call.UPLOADS, "/uploads", "POST", purpose="verify")
        return _read(UploadResponse, self.session.ask(replace(request, flaw=self._flaw_of_slot)))

    def fill_slot(self, slot: UploadResponse, audio: Iterable[bytes], size_bytes: int) -> None:
        """POST the form to the slot, without the key; SlotSpent (fill a fresh one), or SlotRefused."""
        self.session.ask(slot_request(slot, audio, size_bytes))

    def verify(self, slot: UploadResponse, sidecar: bytes | None) -> Answer:
        """POST /verify for a filled slot; with the sidecar's bytes for a legacy pair.

        The call is repeated after an answer without `good` or `verdict`. SlotSpent if the upload is gone or cannot be
        used: upload once more.
        """
        body = {"uploadId": slot.upload_id}
        if sidecar is not None:
            if self.service.sidecar_field is None:
                raise UsageError(_NO_SIDECAR_FIELD)
            body[self.service.sidecar_field] = base64.b64encode(sidecar).decode()
        content = json.dumps(body).encode()
        blank = self.session.request(Call.VERIFY, "/verify", "POST")
        request = replace(
            blank,
            headers={"Content-Type": "application/json"},
            content=content,
            content_bytes=len(content),
            flaw=_flaw_of_answer,
        )
        reply = self.session.ask(request)
        return Answer(_read(VerifyResponse, reply), reply.body_sha256)

    def _flaw_of_slot(self, document: object) -> str | None:
        try:
            slot = UploadResponse.model_validate(document)
        except ValidationError:
            return "the answer is no slot"
        if not self._may_lead_to(slot.url.get_secret_value()):
            return "the slot's URL does not begin with https://"
        return None

    def _may_lead_to(self, url: str) -> bool:
        # Plain http is used only if the base URL is plain http, too.
        lower = url.lower()
        is_plain = self.base_url.lower().startswith("http:")
        return lower.startswith("https://") or (is_plain and lower.startswith("http://"))

    def _get(self, kind: type[_Resource], call: Call, path: str, **params: str | int | None) -> _Resource:
        request = self.session.request(call, path, **params)
        return _read(kind, self.session.ask(request))


def _flaw_of_answer(document: object) -> str | None:
    try:
        VerifyResponse.model_validate(document)
    except ValidationError:
        return "the answer says neither yes nor no"
    return None


def _proof_path(proof_id: str) -> str:
    # An empty ID, or dots alone, would call another endpoint, since paths are normalised.
    if proof_id in NO_PROOF_IDS:
        raise UsageError(f"{proof_id!r} is no proof ID.")
    return f"/proofs/{quote(proof_id, safe='')}"


def _read(kind: type[_Resource], reply: Reply) -> _Resource:
    # A JSON answer without the resource's parts is a bad answer, and a repeat would not help.
    try:
        return kind.model_validate(reply.document)
    except ValidationError as error:
        parts = {_part_of(mistake["loc"]) for mistake in error.errors()}
        names = ", ".join(sorted(parts))
        raise _unusable(reply, f"lacks a usable part ({names}).") from None


def _part_of(location: tuple[int | str, ...]) -> str:
    return str(location[0]) if location else "the whole"


def _unusable(reply: Reply, why: str) -> CallFailed:
    exchange = reply.exchange
    return CallFailed(
        f"The answer of the call {exchange.call} {why}",
        stage=str(exchange.call),
        reason="bad_answer",
        status=exchange.status,
        request_id=exchange.request_id,
    )


def slot_request(slot: UploadResponse, audio: Iterable[bytes], size_bytes: int) -> Request:
    """Make the multipart form of one slot: streamed, with a known length.

    Object storage refuses chunked transfer, so it needs Content-Length.
    """
    boundary = secrets.token_hex(16)
    part = f"--{boundary}\r\nContent-Disposition: form-data; name="
    form = ""
    for name, value in slot.fields.items():
        form += f'{part}"{name.translate(_ESCAPES)}"\r\n\r\n{value}\r\n'
    form += f'{part}"file"; filename="{_FILE_NAME}"\r\nContent-Type: application/octet-stream\r\n\r\n'
    head = form.encode("utf-8", "replace")
    tail = f"\r\n--{boundary}--\r\n".encode()
    content_bytes = len(head) + size_bytes + len(tail)
    return Request(
        call=Call.SLOT,
        method="POST",
        url=slot.url.get_secret_value(),
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
        content=_in_packets(head, chain(audio, (tail,))),
        content_bytes=content_bytes,
    )


def _in_packets(held: bytes, pieces: Iterable[bytes]) -> Iterator[bytes]:
    # A small file mostly waits for the network, so it goes with the form's head and tail in one packet.
    for piece in pieces:
        if len(held) + len(piece) < _PACKET_BYTES:
            held += piece
        else:
            yield held
            held = piece
    yield held
