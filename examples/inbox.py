"""An inbox: thousands of people who want mail that is similar to something.

Texts are embedded once for each mail, phrases once for all; the rest is a product of matrices. The
model comes with the extra ``operators``.

    python examples/inbox.py
"""

from __future__ import annotations

import time
import warnings

from tamis import CostlyWarning, Engine
from tamis.operators.library.similarity import embed, embed_phrases

SUBJECTS = (
    "phone",
    "laptop",
    "bicycle",
    "camera",
    "tent",
    "guitar",
    "coat",
    "oven",
    "ticket",
    "sofa",
)
WISHES = ("a refund for my {}", "a broken {}", "buying a used {}", "the warranty of a {}",
          "a {} that arrived late")  # fmt: skip
MAILS = (
    "I want my money back for the {}, it does not work",
    "Is the {} you offered second hand still available?",
    "The parcel with my {} came two weeks too late",
    "Minutes of the budget meeting",
)


def main(subscriptions: int = 1_000, mails: int = 100) -> None:
    """Match mails, and compare the time with what the model alone needs."""
    phrases = [
        f"{wish.format(subject)}, case {number}"
        for number in range(subscriptions // 50 + 1)
        for subject in SUBJECTS
        for wish in WISHES
    ][:subscriptions]
    texts = [MAILS[n % 4].format(SUBJECTS[n // 4 % 10]) + f" (mail {n})" for n in range(mails)]
    engine = Engine()
    begin = time.perf_counter()
    embed_phrases(phrases)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CostlyWarning)  # they ask about nothing else
        engine.subscribe_many(
            [(str(n), f"similar_to('{phrase}', 0.6)") for n, phrase in enumerate(phrases)]
        )
    engine.match({"text": "a first mail"})
    print(f"{len(engine):,} subscriptions in {time.perf_counter() - begin:.1f} s")
    begin = time.perf_counter()
    embed(texts)
    alone = time.perf_counter() - begin
    begin = time.perf_counter()
    found = engine.match_batch([{"text": text} for text in texts])
    seconds = time.perf_counter() - begin
    print(
        f"{mails:,} mails, {len(found):,} matches in {seconds:.2f} s; "
        f"the model alone takes {alone:.2f} s ({seconds / alone:.2f} ×)"
    )


if __name__ == "__main__":
    main()
