"""Check the evidence in this folder: `python3 check.py [HEAD]`, with Python 3.11 alone. Exit code 3: it is wrong."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def root_of(leaf: bytes, index: int, last: int, path: list[str]) -> str:  # the Merkle root: RFC 9162, section 2.1
    while last:
        if index % 2 or index < last:
            other = bytes.fromhex(path.pop(0))
            leaf = hashlib.sha256(b"\x01" + (other + leaf if index % 2 else leaf + other)).digest()
        index, last = index // 2, last // 2
    return "" if path else leaf.hex()


def is_recorded(proof: dict[str, Any], texts: dict[str, Any]) -> bool:  # that a row is in its part, at its index
    receipt, index, row = texts[proof["receipt"]], proof["index"], proof["row"]
    (rows,) = (each["rows"] for each in receipt["parts"] if each["name"] == proof["part"])
    leaf = hashlib.sha256(b"\x00" + row.encode()).hexdigest() if row else proof["row_sha256"]
    root = root_of(bytes.fromhex(leaf), index, rows - 1, proof["path"]) if index in range(rows) else ""
    return root == receipt["merkle_roots"][proof["part"]] and bool(row or leaf in str(texts[proof["redaction"]]))


def check(head: str, wrong: list[str]) -> None:
    paths = [path for path in HERE.rglob("[!.]*") if path.is_file() and path.name != "SHA256SUMS"]
    found = {path.relative_to(HERE).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    sums = dict(line.split("  ", 1)[::-1] for line in (HERE / "SHA256SUMS").read_text("utf-8").splitlines())
    wrong += sorted({f"{name} was changed, added or removed" for name, _ in sums.items() ^ found.items()})
    texts = {name[9:]: json.loads((HERE / name).read_bytes()) for name in found if name.startswith("receipts/")}
    said = [(by, it) for by in texts if by.endswith("receipt.json") for it in texts[by]["earlier_receipts"]]
    links = [(by, it["name"], it["sha256"]) for by, it in said]  # what each receipt holds
    wrong += [f"{it} is not what {by} names" for by, it, sha in links if found.get(f"receipts/{it}", sha) != sha]
    proofs = [json.loads(line) for line in (HERE / "rows.jsonl").open(encoding="utf-8")]
    indexes = {(proof["part"], proof["index"]) for proof in proofs}
    wrong += ["a row is there more than once"] * (len(indexes) < len(proofs))
    wrong += [f"row {it['index']} of {it['part']} is not as recorded" for it in proofs if not is_recorded(it, texts)]
    held = {name[9:] for name, digest in found.items() if digest in head.lower().split("+")}
    while new := {it for by, it, _ in links if by in held} - held:
        held |= new
    wrong += [f"the head given does not hold {name}" for name in {it["receipt"] for it in proofs} - held if head]
    tips = {found[f"receipts/{name}"] for name in texts.keys() - {it for _, it, _ in links}}
    print(f"{len(indexes)} rows recorded, head {'+'.join(sorted(tips))}")


if __name__ == "__main__":
    problems: list[str] = []
    try:
        check("".join(sys.argv[1:]), problems)
    except Exception as error:
        problems.append(f"the evidence is not whole: {error!r}")
    print("\n".join(f"wrong: {ascii(it)[1:-1]}" for it in problems) or "Nothing contradicts what was recorded.")
    sys.exit(3 if problems else 0)
