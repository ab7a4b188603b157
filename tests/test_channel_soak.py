"""A short soak of every channel; `python -m bench.soak_channels` runs the long one."""

from pathlib import Path

import pytest

from bench.soak_channels import soak

from .synapse import Synapse

UPDATES = 240


@pytest.mark.parametrize("channel", ["telegram", "wechat", "webhook", "matrix"])
async def test_after_many_updates_with_faults_every_message_is_answered_once_or_marked(
    channel: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    synapse: Synapse | None = request.getfixturevalue("synapse") if channel == "matrix" else None

    found = await soak(channel, tmp_path, UPDATES, 7, synapse)

    assert found["answered"] + found["marked"] + found["lost"] == found["say"]
    assert found["answered"] > found["say"] * 0.7
