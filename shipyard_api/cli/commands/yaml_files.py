"""Read YAML files of which a request is made."""

import json
from pathlib import Path

import click

from shipyard_api.cli.output.wording import yaml_fault


def read_yaml(file: Path) -> object:
    """Return the content of a YAML file. Raises UsageError if it cannot be read, or cannot be sent as JSON."""
    import yaml

    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        # What JSON cannot hold, such as a date, cannot be sent.
        json.dumps(content)
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise click.UsageError(f"{file} is not YAML that can be sent: {yaml_fault(error)}") from error
    return content
