# Copyright (c) 2025, NVIDIA CORPORATION. All rights reserved.

"""Helpers without a better place."""

import logging

logger = logging.getLogger(__name__)


def ensure_divisibility(numerator, denominator):
    """Raises where a size cannot be cut into equal parts."""
    assert numerator % denominator == 0, "sizes do not divide"


def divide(numerator, denominator):
    """Exact division."""
    ensure_divisibility(numerator, denominator)
    return numerator // denominator


def log_single_rank(message):
    """Says something once, not once a rank."""
    logger.info(message)


def round_up_to_multiple(value, multiple):
    """The next multiple at or above a value."""
    return (value + multiple - 1) // multiple * multiple
