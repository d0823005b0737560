"""A thousand hostile bundles: the sensors with sound ones are served, and memory stays small."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from edge_agent.bundles import MAX_TOTAL_BYTES, Bundles
from edge_agent.core import bundle
from edge_agent.core.card import card, description, inspection
from edge_agent.core.errors import BadBundle
from edge_agent.core.messages import LIMIT, Reading, encode_estimate
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Windows
from tests.conftest import make_model
from tests.support.hostile import hostile_bundles, needs_fast_msgpack, sealed, sound_body

pytestmark = needs_fast_msgpack
BUNDLES = 1_000
# In a process of its own, because a test process is large: everything that the agent does with bundles.
SERVE = """
import json, sys
from pathlib import Path
from edge_agent import agent, health
from edge_agent.bundles import Bundles
from edge_agent.core.card import card
from edge_agent.core.messages import Reading, encode_estimate
from edge_agent.core.pipeline import Pipeline
from edge_agent.core.windows import Windows

bundles = Bundles(Path(sys.argv[1]), strict=False)
pipeline = Pipeline(Windows(), bundles.models)
for model in bundles.models.values():
    json.loads(json.dumps(card(model)), parse_constant=sys.exit)
    for name in (*model.measured, model.auxiliary):
        for at_ms in range(0, 900_000, 60_000):
            pipeline._windows.add(Reading(model.sensor, name, at_ms, 200.0 + at_ms / 60_000), at_ms)
served = {each.sensor: each.value for each in pipeline.close(now_ms=10_000_000) if encode_estimate(each)}
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"served": served, "refused": len(bundles.refused), "peak_kb": int(peak.split()[1])}))
"""


def test_a_thousand_hostile_bundles_stop_no_sound_sensor(tmp_path: Path) -> None:
    """Peak memory, with all imports of the agent, stays below 80 MB.

    The large ones come last. They show whether refused bundles stay in memory until Python looks for cycles.
    """
    for n, data in enumerate(hostile_bundles(BUNDLES, seed=17)):
        (tmp_path / f"{len(data):07}-{n}.bundle").write_bytes(data)
    sound = [f"S{n}" for n in range(6)]
    for sensor in sound:
        (tmp_path / f"{sensor}.bundle").write_bytes(bundle.encode(make_model(sensor)))
    done = subprocess.run(
        [sys.executable, "-c", SERVE, str(tmp_path)], capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    print(f"{told['refused']} refused, {len(told['served'])} served, peak {told['peak_kb']} kB")
    assert all(told["served"][sensor] is not None for sensor in sound)
    assert told["refused"] > BUNDLES // 2
    assert told["refused"] + len(told["served"]) == BUNDLES + len(sound)
    assert told["peak_kb"] < 80_000


@pytest.mark.parametrize("seed", range(3))
def test_what_is_accepted_gives_a_card_and_an_estimate_that_are_json(seed: int) -> None:
    for data in hostile_bundles(200, seed):
        try:
            model = bundle.decode(data)
        except BadBundle:
            continue
        for said in (card(model), inspection(model, len(data))):
            json.dumps(said, allow_nan=False)
        assert all(text.isprintable() for row in description(model, len(data)) for text in row)
        pipeline = Pipeline(Windows(), {model.sensor: model}, coverage=0.0)
        largest = 0.99 * LIMIT
        readings = [Reading(model.sensor, name, 0, largest) for name in (*model.measured, model.auxiliary)]
        for estimate in pipeline.replay(readings):
            encode_estimate(estimate)


def test_a_bad_bundle_among_good_ones_is_refused_at_the_start_and_the_others_serve(tmp_path: Path) -> None:
    (tmp_path / "a.bundle").write_bytes(bundle.encode(make_model("5A2D")))
    (tmp_path / "b.bundle").write_bytes(sealed(sound_body("a+b")))
    bundles = Bundles(tmp_path, strict=False)
    text = "expected a complete model, got 'a+b' where a name without / + # belongs; export it again"
    assert bundles.refused == {tmp_path / "b.bundle": f"{tmp_path}/b.bundle: {text}"}
    assert list(bundles.models) == ["5A2D"]
    with pytest.raises(BadBundle):
        Bundles(tmp_path)

    (tmp_path / "b.bundle").write_bytes(bundle.encode(make_model("5CB6")))
    assert [update.sensor for update in bundles.refresh()] == ["5CB6"]
    assert bundles.refused == {}


def test_all_bundles_together_are_bounded(tmp_path: Path) -> None:
    """Each of these is a right model, of a sensor of its own, of 131 kB."""
    for n in range(40):
        model = make_model(f"S{n}", support=8_192)
        (tmp_path / f"{n:02}.bundle").write_bytes(bundle.encode(model))
    bundles = Bundles(tmp_path, strict=False)
    assert len(bundles.models) == 31
    assert len(bundles.refused) == 9
    assert f"expected at most {MAX_TOTAL_BYTES} bytes of bundles" in bundles.refused[tmp_path / "39.bundle"]
    (tmp_path / "00.bundle").unlink()
    assert [update.sensor for update in bundles.refresh() if update.model] == ["S31"]


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.bundle").mkdir()
    assert "not a file" in Bundles(tmp_path, strict=False).refused[tmp_path / "a.bundle"]
