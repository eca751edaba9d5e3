"""``shipyard forecast``: how an action is likely to go, or how a running one goes on."""

from collections.abc import Mapping, Sequence

import click

from shipyard_api.cli.commands import shared_options
from shipyard_api.cli.commands.actions import check_action_name, complete_action_name, parse_parameters
from shipyard_api.cli.commands.request import show
from shipyard_api.cli.commands.syntax import check_action_id, examples, is_action_id
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import forecast_tables

_CRITERIA = ("percent_successful_nodes", "minimum_successful_nodes", "maximum_failed_nodes")


@click.command(
    short_help="Show how likely an action is to succeed, and how long it takes.",
    epilog=examples(
        "shipyard forecast deploy_site",
        "shipyard forecast deploy_site --failures prepare=0.01 --failures deploy=0.03",
        "shipyard forecast deploy_site --criterion compute:percent_successful_nodes=90",
        "shipyard forecast action/01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "shipyard forecast action/01ARZ3NDEKTSV4RRFFQ69G5FAV --from-start",
    ),
)
@click.argument("name", required=False, shell_complete=complete_action_name)
@shared_options.parameters
@shared_options.version
@shared_options.intermediate_commits
@click.option("--retry", metavar="ACTION", help="Forecast a retry of this action, in place of an action NAME.")
@click.option("--from-start", is_flag=True, help="With the id of an action: forecast it as it was when it started.")
@click.option(
    "--failures",
    multiple=True,
    metavar="[PHASE=]CHANCE",
    help="The chance that a node fails, from 0 to 1, in prepare, deploy, or both. (repeatable; default: measured)",
)
@click.option(
    "--criterion",
    "criteria",
    multiple=True,
    metavar="GROUP:NAME=VALUE",
    help="Try this success criterion of a group instead of all of its own. (repeatable)",
)
@click.option(
    "--runs",
    type=click.IntRange(100, 10_000),
    help="How many runs; a rollout policy gets at most 200. (default: 2000)",
)
@click.option("--seed", type=click.IntRange(0, 2**53 - 1), help="Same seed, same answer. (default: 1)")
@click.pass_obj
def forecast(
    options: GlobalOptions,
    /,
    name: str | None,
    parameters: tuple[str, ...],
    version: str | None,
    allow_intermediate_commits: bool,
    retry: str | None,
    from_start: bool,
    failures: tuple[str, ...],
    criteria: tuple[str, ...],
    runs: int | None,
    seed: int | None,
) -> None:
    """Show how the action NAME, such as deploy_site, is likely to go, or the rest of a running action by its id.

    The server simulates the deployment of all groups many times. Intervals say how exact the simulation is.
    """
    if bool(name) == bool(retry):
        raise click.UsageError("Give the NAME of an action, the id of a running one, or --retry with the id of one.")
    question = _question(failures, criteria, runs, seed)
    for_an_action = bool(parameters or version or allow_intermediate_commits)
    if name and (name.startswith("action/") or is_action_id(name)):
        if question or for_an_action:
            raise click.UsageError("The forecast of a running action takes no options but --from-start.")
        path = f"actions/{check_action_id(name)}/forecast"
        since = [("from-start", "true")] if from_start else []
        show(options, lambda api: api.get(path, since), cli=forecast_tables.forecast)
        return
    if from_start:
        raise click.UsageError("--from-start is for the id of an action.")
    query = []
    body: dict[str, object]
    if retry:
        if for_an_action:
            raise click.UsageError("With --retry there are no parameters, versions and commits to choose.")
        body = {"retry": check_action_id(retry)}
    else:
        body = request_body(str(name), parameters, version)
        query += [("allow-intermediate-commits", str(allow_intermediate_commits))]
    show(options, lambda api: api.post("forecasts", query, json={**body, **question}), cli=forecast_tables.forecast)


def request_body(name: str, parameters: Sequence[str], version: str | None) -> dict[str, object]:
    """Return the part of a body that names an action; plans and forecasts share it."""
    return {
        "name": check_action_name(name),
        "parameters": parse_parameters(parameters),
        "version": version or "committed",
    }


def _question(
    failures: Sequence[str], criteria: Sequence[str], runs: int | None, seed: int | None
) -> Mapping[str, object]:
    question: dict[str, object] = {}
    chances = [_chance(failure) for failure in failures]
    if chances:
        question["failure_probability"] = chances[0][1] if chances == [("", chances[0][1])] else dict(chances)
    if len(chances) > 1 and any(not phase for phase, _ in chances):
        raise click.UsageError("--failures: give one number, or numbers for prepare and deploy.")
    tried: dict[str, dict[str, int]] = {}
    for written in criteria:
        group, criterion, value = _criterion(written)
        tried.setdefault(group, {})[criterion] = value
    question |= {"criteria": tried} if tried else {}
    question |= {} if runs is None else {"runs": runs}
    return question | ({} if seed is None else {"seed": seed})


def _chance(written: str) -> tuple[str, float]:
    phase, _, number = written.rpartition("=")
    try:
        chance = float(number)
    except ValueError:
        chance = -1.0
    if phase not in ("", "prepare", "deploy") or not 0 <= chance <= 1:
        raise click.UsageError(f"--failures '{written}': write a number from 0 to 1, prepare=NUMBER or deploy=NUMBER.")
    return phase, chance


def _criterion(written: str) -> tuple[str, str, int]:
    group, _, rest = written.rpartition(":")
    name, _, value = rest.partition("=")
    if not group or name not in _CRITERIA or not value.isdecimal():
        raise click.UsageError(
            f"--criterion '{written}': write GROUP:NAME=VALUE, with a whole number and one of the names "
            f"{', '.join(_CRITERIA)}."
        )
    return group, name, int(value)
