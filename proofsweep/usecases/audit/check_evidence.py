"""Check the evidence in this folder: `python3 check.py [HEAD]`, with Python 3.11 alone. Exit code 3: it is wrong."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def links_of(name: str, said: dict[str, Any]) -> list[list[str]]:  # what a receipt holds, with digests
    if "intent_sha256" in said:  # it is of a redaction
        return [*said["links"], [name.replace("-receipt", "-intent"), said["intent_sha256"]]]
    last = [f"_runs/{said['run_id']}/legs/{said['leg'] - 1:03}/receipt.json", said["previous_receipt_sha256"]]
    return [[each["name"], each["sha256"]] for each in said.get("earlier_receipts") or ()] + [last] * bool(last[1])


def root_of(leaf: bytes, place: int, last: int, path: list[str]) -> str:  # the Merkle root: RFC 9162, section 2.1
    while last:
        if place % 2 or place < last:
            other = bytes.fromhex(path.pop(0))
            leaf = hashlib.sha256(b"\x01" + (other + leaf if place % 2 else leaf + other)).digest()
        place, last = place // 2, last // 2
    return "" if path else leaf.hex()


def check(wrong: list[str]) -> None:
    paths = [path for path in HERE.rglob("[!.]*") if path.is_file() and path.name != "SHA256SUMS"]
    found = {path.relative_to(HERE).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    sums = dict(line.split("  ", 1)[::-1] for line in (HERE / "SHA256SUMS").read_text("utf-8").splitlines())
    wrong += sorted({f"{name} was changed, added or removed" for name, _ in sums.items() ^ found.items()})
    texts = {name[9:]: json.loads((HERE / name).read_bytes()) for name in found if name.startswith("receipts/")}
    links = {(by, *link) for by in texts if by.endswith("receipt.json") for link in links_of(by, texts[by])}
    wrong += sorted(f"{it} is not what {by} names" for by, it, sha in links if found.get(f"receipts/{it}", sha) != sha)
    rows: dict[tuple[str, int], str] = {}
    for proof in map(json.loads, (HERE / "rows.jsonl").open(encoding="utf-8")):
        part, place, receipt, row = proof["part"], proof["place"], proof["receipt"], proof["row"]
        leaf = hashlib.sha256(b"\x00" + row.encode()).hexdigest() if row else proof["row_sha256"]
        root = root_of(bytes.fromhex(leaf), place, proof["rows"] - 1, proof["path"])
        is_said = row or leaf in str(texts[proof["redaction"]])
        if root != texts[receipt]["merkle_roots"][part] or (part, place) in rows or not is_said:
            wrong.append(f"row {place} of {part} is not as it was recorded")
        rows[part, place] = receipt
    held = {name[9:] for name, digest in found.items() if digest in "".join(sys.argv[1:]).lower().split("+")}
    while new := {it for by, it, _ in links if by in held} - held:
        held |= new
    wrong += sorted(f"the head given does not hold {name}" for name in {*rows.values()} - held if sys.argv[1:])
    tips = {digest for name, digest in found.items() if name[9:] in texts.keys() - {it for _, it, _ in links}}
    print(f"{len(rows)} rows recorded, head {'+'.join(sorted(tips))}")


if __name__ == "__main__":
    problems: list[str] = []
    try:
        check(problems)
    except Exception as error:
        problems.append(f"the evidence is not whole: {error!r}")
    print("\n".join(f"wrong: {ascii(it)[1:-1]}" for it in problems) or "Nothing contradicts what was recorded.")
    sys.exit(3 if problems else 0)
