"""``shipyard help``: how commands work together, in the order of use. Contacts no server."""

import click

from shipyard_api.cli.commands.syntax import examples

_ACTIONS = """\
An action is work on the site, such as deploying it. It uses the documents that
are committed when it starts, and then runs on its own.

  shipyard plan deploy_site             what it would do, without starting it
  shipyard create action deploy_site    start one and print its id
  shipyard get actions                  all actions, oldest first
  shipyard describe action ID           its steps, and who sent which commands
  shipyard describe step STEP -a ID     one step; its detail says why it failed
  shipyard watch ID                     follow it: groups, nodes, progress

action/ID and step/ID/STEP, as the tables print them, work too:

  shipyard describe step/ID/STEP

One site action runs at a time. If documents were committed more than once since
the last site action, the next one needs --allow-intermediate-commits.

Action names; a server may not offer all of them:
  {names}"""

_CONFIGDOCS = """\
Configdocs are the YAML documents that describe the site. They are stored in
named collections. Loading changes the buffer; committing the buffer puts its
documents in force.

  shipyard create configdocs COLLECTION --directory=DIRECTORY
                                        load a collection into the buffer
  shipyard get configdocs               collections that the buffer changes
  shipyard get configdocs --base-version=committed
                                        the changes, line by line
  shipyard get renderedconfigdocs       the rendered design
  shipyard commit configdocs --dryrun   only validate the buffer
  shipyard commit configdocs            validate the buffer and commit it

A collection is loaded as a whole: a document that is missing from the load is
deleted. If the buffer is not empty, --append adds a collection and --replace
empties the buffer first.

The versions of the documents:
  committed                 in force
  buffer                    loaded since the last commit
  last-site-action          used by the last site action
  successful-site-action    used by the last site action that succeeded"""

_LOGS = """\
To see why a step failed, or what it is doing, start with its detail:

  shipyard describe action ID           the steps, each with its state
  shipyard describe step STEP -a ID     times, notes and detail of one step
  shipyard logs step STEP -a ID         its log, line by line

To see which groups and nodes failed, and why:

  shipyard watch ID                     while the action runs
  shipyard report ID                    at any time, with hints where to look
  shipyard describe node NAME           one node, in all actions
  shipyard get site-statuses            the provisioner's status of the machines

The API and the worker log one JSON object per line on stdout; lines about an
action contain its id. --debug logs the requests of this command and how long
the answers take."""

_OVERVIEW = """\
  shipyard help actions       start an action and follow it
  shipyard help configdocs    load documents, review changes, commit
  shipyard help logs          find out why an action failed

`shipyard COMMAND --help` lists the options of a command, with examples."""

_TOPICS = {"actions": _ACTIONS, "configdocs": _CONFIGDOCS, "logs": _LOGS}


def _complete_topic(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [topic for topic in _TOPICS if topic.startswith(incomplete)]


@click.command(
    "help",
    short_help="How to work with actions, configdocs or logs.",
    epilog=examples("shipyard help", "shipyard help configdocs"),
)
@click.argument("topic", required=False, metavar="[TOPIC]", shell_complete=_complete_topic)
def help_(topic: str | None) -> None:
    """Explain how to work with actions, configdocs or logs; without TOPIC, list the topics."""
    from shipyard_api.cli.commands.actions import ACTION_NAMES

    if topic is None:
        click.echo(_OVERVIEW)
    elif topic in _TOPICS:
        click.echo(_TOPICS[topic].format(names="\n  ".join(ACTION_NAMES)))
    else:
        raise click.UsageError("Invalid topic. Run command 'shipyard help' for a list of  available topics.")
