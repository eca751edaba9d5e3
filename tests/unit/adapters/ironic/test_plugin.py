"""The files that the section of Ironic names."""

from pathlib import Path

import pytest

from shipyard_api.adapters.ironic.plugin import _instance_info
from shipyard_api.settings.types import SettingsError


def test_instance_info_is_an_object_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "info.json"
    file.write_text('{"image_source": "http://images.example.org/a"}')
    assert _instance_info("[ironic] instance_info_file", str(file)) == {"image_source": "http://images.example.org/a"}
    file.write_text("[]")
    with pytest.raises(SettingsError, match=f"instance_info_file: {file} must hold a JSON object"):
        _instance_info("[ironic] instance_info_file", str(file))
