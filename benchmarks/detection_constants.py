"""Constants of the rules of W7: *common* or *rare*.

Common ones come from the pools of which events are made, so that tests are true now and then. Rare
ones are random letters, which only a planted event has.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from benchmarks.detection_model import ALL, CIDR, CONTAINS, ENDS, EQUALS, REGEX, STARTS, Source
from benchmarks.detection_pools import FOREIGN, NUMBERS, Letters, Pools, zipf

TAILS = {
    r"\s+[0-9]{2,4}": "  417",
    r"[a-z0-9]+\.dll": "x7.dll",
    r"\d+(?:\.\d+)?\b": "81.5",
    r".{1,12}(?:http|ftp)s?://": " to https://",
    r"\w*=[^ ]{3,}": "key=abc$",
}
"""What follows the letters of a regular expression, each with a text that it matches."""
PRIVATE = ("10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12")


class Constants:
    """Draws constants for a field and an operator."""

    def __init__(self, rng: Generator, pools: Pools) -> None:
        self.rng, self.pools, self.letters = rng, pools, Letters(rng)

    def word(self) -> str:
        """Letters that no event has unless planted; some not ASCII, some in two words."""
        length = int(np.clip(self.rng.lognormal(2.5, 0.5), 6, 45))
        word, dice = self.letters.take(length), self.rng.random()
        if dice < 0.02:
            at = int(self.rng.integers(0, length))
            word = word[:at] + FOREIGN[int(self.rng.integers(0, len(FOREIGN)))] + word[at + 1 :]
        elif dice < 0.4:
            word = word.capitalize()
        elif dice < 0.5:
            word = word[:3] + " " + word[3:]
        return word

    def rare(self, source: Source, field: str, operator: str) -> str | int:
        """A constant that no event has unless planted."""
        kind = source.fields[field]
        number = int(self.rng.integers(100_000, 1_000_000))
        if kind == "number":
            return number
        if kind == "digits":
            return str(number)
        if operator == CIDR:
            return network(number, 16 + number % 13)
        if operator == REGEX:
            return self.letters.take(8 + number % 6) + list(TAILS)[number % len(TAILS)]
        return shaped(kind, operator, self.word(), source.is_unix)

    def common(self, source: Source, field: str, operator: str) -> str | int:
        """A constant that events have by chance."""
        kind, pools = source.fields[field], self.pools
        if kind in ("number", "digits"):
            number = zipf(self.rng, NUMBERS, 1)[0] + 10
            return number if kind == "number" else str(number)
        if operator == CIDR:
            return PRIVATE[int(self.rng.integers(0, len(PRIVATE)))]
        if operator == REGEX:
            return self.rare(source, field, operator)
        if operator in (CONTAINS, ALL) and kind in ("command", "script", "words"):
            return pools.words[zipf(self.rng, len(pools.words), 1)[0]]
        images = pools.images(source)
        path = images[zipf(self.rng, len(images), 1)[0]]
        name = path.replace("/", "\\").rsplit("\\", 1)[1].removesuffix(".exe")
        return shaped(kind, operator, name, source.is_unix)


def network(number: int, length: int) -> str:
    """A public network of IPv4 that is the same for the same number."""
    address = 20 + number % 150 << 24 | number * 2_654_435_761 & 0xFFFFFF
    address = address >> 32 - length << 32 - length
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0)) + f"/{length}"


def shaped(kind: str, operator: str, word: str, unix: bool) -> str:
    """A word as it is written for a field of this kind."""
    slash, suffix, root = ("/", "", "/") if unix else ("\\", ".exe", "C:\\")
    if kind in ("image", "path", "file"):
        before = {EQUALS: "" if kind == "file" else root, STARTS: root}
        after = {STARTS: "", CONTAINS: slash}
        return before.get(operator, slash) + word + after.get(operator, suffix)
    if kind == "registry":
        return ("HKLM\\" if operator in (STARTS, EQUALS) else "\\") + word
    if kind in ("domain", "url"):
        return {ENDS: f".{word}.com", EQUALS: f"{word}.com"}.get(operator, word)
    if kind == "hashes":
        return f"MD5={word}"
    return f" {word}" if operator == ENDS else word
