"""``shipyard plan``: what an action, or a retry, would do now, without changing anything."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus

import click

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands import shared_options
from shipyard_api.cli.commands.actions import complete_action_name
from shipyard_api.cli.commands.forecast import request_body
from shipyard_api.cli.commands.request import show
from shipyard_api.cli.commands.syntax import check_action_id, examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import plan_tables
from shipyard_api.cli.output.answers import Answer
from shipyard_api.cli.output.printout import Printout
from shipyard_api.cli.output.shapes import JsonObject, object_at, parse_object

Query = list[tuple[str, str]]


@click.command(
    short_help="Show what an action would do: groups in order, nodes, steps, findings.",
    epilog=examples(
        "shipyard plan deploy_site --forecast",
        "shipyard plan deploy_site --version=buffer",
        "shipyard plan update_site --version=buffer --check",
        "shipyard plan --retry 01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "shipyard plan deploy_site --store",
    ),
)
@click.argument("name", required=False, shell_complete=complete_action_name)
@shared_options.parameters
@shared_options.version
@shared_options.intermediate_commits
@click.option("--strict", is_flag=True, help="As for `shipyard create action`.")
@click.option("--retry", metavar="ACTION", help="Plan a retry of this action, in place of an action NAME.")
@click.option("--force", is_flag=True, help="As for `shipyard retry`.")
@click.option("--forecast", "with_forecast", is_flag=True, help="Add the forecast, as `shipyard forecast` shows it.")
@click.option("--check", is_flag=True, help="Exit with 2 if a server would have to be reinstalled.")
@click.option("--store", is_flag=True, help="Store the plan, to have it approved or to start the action from it.")
@click.pass_obj
def plan(
    options: GlobalOptions,
    /,
    name: str | None,
    parameters: tuple[str, ...],
    version: str | None,
    allow_intermediate_commits: bool,
    strict: bool,
    retry: str | None,
    force: bool,
    with_forecast: bool,
    check: bool,
    store: bool,
) -> None:
    """Show what the action NAME, such as deploy_site, would do now, without starting it.

    Groups are listed in the order in which they start if every node succeeds. If the server would refuse the action,
    the plan contains the refusal, and the exit code is 1. A stored plan is approved with `shipyard approve plan/ID`.
    """
    for_an_action = parameters or version or allow_intermediate_commits or strict
    if bool(name) == bool(retry):
        raise click.UsageError("Give either the NAME of an action, or --retry with the id of one.")
    if (for_an_action and retry) or (force and name):
        raise click.UsageError("With --retry only --force may be used; it may not be used with the NAME of an action.")
    body: dict[str, object]
    query: Query = []
    if retry:
        body = {"retry": check_action_id(retry)}
        query += [("force", "true")] if force else []
    else:
        body = request_body(str(name), parameters, version)
        query += [("allow-intermediate-commits", str(allow_intermediate_commits))]
        query += [("strict", "true")] if strict else []

    asked = [*query, ("store", "true")] if store else query

    def request(api: Api) -> Answer:
        answer = api.post("plans", asked, json=body)
        planned = with_forecast and answer.status in (HTTPStatus.OK, HTTPStatus.CREATED)
        return _with_forecast(api, answer, query, body) if planned else answer

    table = plan_tables.stored_plan if store else plan_tables.plan
    show_plan(options, request, expected=201 if store else 200, cli=table, check=check)


def _reinstalls(plan: JsonObject) -> bool:
    """Return whether a server would have to be erased to be what the design says."""
    plan = object_at(plan, "plan") or plan
    return bool({"reinstall", "replace"}.intersection(object_at(object_at(plan, "changes"), "counts")))


def show_plan(
    options: GlobalOptions,
    request: Callable[[Api], Answer],
    *,
    expected: int = 200,
    cli: Callable[[str], str | Printout],
    check: bool = False,
) -> JsonObject:
    """Print a plan as ``show`` does, and return it; exit with 1 also if the server would refuse what it plans.

    ``check``: exit with 2 if a server would have to be reinstalled, refused or not.
    """
    answers: list[Answer] = []

    def kept(api: Api) -> Answer:
        answers.append(request(api))
        return answers[0]

    show(options, kept, expected=expected, cli=cli)
    plan = parse_object(answers[0].text)
    if check and _reinstalls(plan):
        raise SystemExit(2)
    if plan.get("refused"):
        raise SystemExit(1)
    return plan


def _with_forecast(api: Api, plan: Answer, query: Query, body: Mapping[str, object]) -> Answer:
    """Return the plan with its forecast, or why there is none."""
    known = [(name, value) for name, value in query if name == "allow-intermediate-commits"]
    answer = api.post("forecasts", known, json=body)
    if answer.status != HTTPStatus.OK:
        return answer
    merged = {**parse_object(plan.text), "forecast": parse_object(answer.text)}
    return replace(plan, text=json.dumps(merged, ensure_ascii=False))


@click.command(
    "plans",
    short_help="List stored plans, or show one.",
    epilog=examples("shipyard get plans", f"shipyard get plans {shared_options.PLAN_ID}"),
)
@click.argument("plan_id", metavar="[PLAN]", required=False)
@click.pass_obj
def get_plans(options: GlobalOptions, /, plan_id: str | None) -> None:
    """List the newest stored plans, or show the stored plan PLAN with what it changes beside the last one."""
    if plan_id:
        _show_plan(options, plan_id)
    else:
        show(options, lambda api: api.get("plans"), cli=plan_tables.stored_plans)


@click.command(
    "plan",
    short_help="Show a stored plan.",
    epilog=examples(f"shipyard describe plan/{shared_options.PLAN_ID}", "shipyard describe plan/latest"),
)
@click.argument("plan_id", metavar="PLAN")
@click.pass_obj
def describe(options: GlobalOptions, /, plan_id: str) -> None:
    """Show the stored plan PLAN, as `shipyard get plans PLAN` does; plan/PLAN is the same, plan/latest the newest."""
    _show_plan(options, plan_id)


def _show_plan(options: GlobalOptions, plan_id: str) -> None:
    path = f"plans/{shared_options.check_plan_id(plan_id)}"
    show(options, lambda api: api.get(path), cli=plan_tables.stored_plan)
