"""Images: the payload ``image`` of an event, an array (grey, or blue-green-red) or encoded bytes.

An image is decoded once for an event, however many of these operators look at it. People and faces
are found by the detectors that OpenCV brings (histograms of gradients, Haar cascades): quick, and
right about upright people in full and faces from the front.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import cv2
import numpy as np

from tamis.arrays.types import Bytes
from tamis.model.events.event import Event
from tamis.operators.registry import operator

MOST_PIXELS = 40_000_000
"""Pixels of an image; larger ones are refused."""


class Images:
    """The image of an event, and the one before it, in grey."""

    def __init__(self, grey: Bytes, before: Bytes | None) -> None:
        self.grey = grey
        self.before = before


def decoded(event: Event) -> Images | None:
    """The images of an event; None if it has none."""
    image = _grey(event.payloads.get("image"))
    if image is None:
        return None
    return Images(image, _grey(event.payloads.get("previous")))


def _grey(given: Any) -> Bytes | None:
    if given is None:
        return None
    if isinstance(given, bytes | bytearray | memoryview):
        given = cv2.imdecode(np.frombuffer(given, np.uint8), cv2.IMREAD_GRAYSCALE)
        if given is None:
            raise ValueError("these bytes are not an image that OpenCV can decode")
    image = np.asarray(given)
    if image.size > MOST_PIXELS * 4 or image.ndim not in (2, 3):
        raise ValueError(f"an image of the shape {image.shape}")
    if image.ndim == 3:
        image = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    found: Bytes = image.astype(np.uint8, copy=False)
    return found


@cache
def _people_detector() -> Any:
    vision: Any = cv2
    detector = vision.HOGDescriptor()
    detector.setSVMDetector(vision.HOGDescriptor_getDefaultPeopleDetector())
    return detector


@cache
def _face_detector() -> Any:
    vision: Any = cv2
    folder = vision.data.haarcascades
    return vision.CascadeClassifier(folder + "haarcascade_frontalface_default.xml")


def _told(found: float, asked: float | None) -> Iterator[float] | bool:
    return iter([found]) if asked is None else found == asked


@operator("?count: number", reads=("image",), prepare=decoded)
def people_count(images: Images | None, count: int | None) -> Any:
    """How many people the image shows, standing upright."""
    if images is None:
        return None
    boxes, _ = _people_detector().detectMultiScale(images.grey, winStride=(8, 8))
    return _told(len(boxes), count)


@operator("?count: number", reads=("image",), prepare=decoded)
def face_count(images: Images | None, count: int | None) -> Any:
    """How many faces the image shows, from the front."""
    if images is None:
        return None
    return _told(len(_face_detector().detectMultiScale(images.grey, 1.1, 5)), count)


@operator("?level: number", reads=("image",), prepare=decoded)
def brightness(images: Images | None, level: float | None) -> Any:
    """How bright the image is, from 0 to 1."""
    return None if images is None else _told(float(images.grey.mean()) / 255, level)


@operator("?share: number", reads=("image", "previous"), prepare=decoded)
def motion(images: Images | None, share: float | None) -> Any:
    """The share of the image that differs from the payload ``previous``, from 0 to 1."""
    if images is None or images.before is None:
        return None
    if images.before.shape != images.grey.shape:
        raise ValueError("the previous image has another size")
    difference = cv2.absdiff(cv2.GaussianBlur(images.grey, (5, 5), 0),
                             cv2.GaussianBlur(images.before, (5, 5), 0))  # fmt: skip
    return _told(float((difference > 25).mean()), share)
