from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tumult_intelligence.exceptions import WeightsError
from tumult_intelligence.weights import Tuning, Weights, load_tuning

if TYPE_CHECKING:
    from pathlib import Path


def load(tmp_path: Path, text: str) -> Tuning:
    path = tmp_path / "weights.toml"
    path.write_text(text)
    return load_tuning(path)


def test_what_is_not_said_keeps_its_default(tmp_path: Path) -> None:
    tuning = load(tmp_path, "stale_after_days = 7\nhalf_life_days = 10\n[weights]\nnovelty = 2\ncost = -3.5\n")

    assert tuning == Tuning(weights=Weights(novelty=2, cost=-3.5), stale_after_days=7, half_life_days=10)
    assert load(tmp_path, "") == Tuning()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[weights]\nnovlty = 1", "unknown key weights.novlty (did you mean weights.novelty?"),
        ("[weight]\nnovelty = 1", "unknown key weight (did you mean weights?"),
        ("weights = 3", "weights must be a table"),
        ("[weights]\nnovelty = true", "weights.novelty must be a number"),
        ("[weights]\nnovelty = 'much'", "weights.novelty must be a number"),
        ("[weights]\nnovelty = nan", "weights.novelty must be a number"),
        ("[weights]\nnovelty = inf", "weights.novelty must be a number"),
        ("stale_after_days = -1", "stale_after_days"),
        ("stale_after_days = 1.5", "stale_after_days"),
        ("half_life_days = 0", "half_life_days"),
        ("= 3", "not a TOML file"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(WeightsError) as caught:
        load(tmp_path, text)

    assert said in str(caught.value)
    assert str(tmp_path / "weights.toml") in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="No such file"):
        load_tuning(tmp_path / "none.toml")
