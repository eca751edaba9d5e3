"""``shipyard help``: how commands work together, in the order of use. Contacts no server."""

import click

from shipyard_api.cli.commands.syntax import examples

_ACTIONS = """\
An action is work on the site, such as deploying it. It uses the documents that
are committed when it is started, and goes on by itself: it may be left alone.

  shipyard plan deploy_site             what it would do; nothing is started
  shipyard create action deploy_site    start one; its id is in the answer
  shipyard get actions                  all actions, oldest first
  shipyard describe action ID           its steps, and who commanded what
  shipyard describe step STEP -a ID     one step; its detail says why it failed
  shipyard watch ID                     follow it: groups, nodes, progress

action/ID and step/ID/STEP, as the tables print them, may be used, too:

  shipyard describe step/ID/STEP

One site action runs at a time. If documents were committed more than once since
the last one, it is refused unless --allow-intermediate-commits is given.

The name of an action is one of these, if the server offers it:
  {names}"""

_CONFIGDOCS = """\
Configdocs are the YAML documents that describe the site. They are kept in named
collections, and go through two places: what is loaded is in the buffer, and
what is committed is in force.

  shipyard create configdocs COLLECTION --directory=DIRECTORY
                                        load a collection into the buffer
  shipyard get configdocs               which collections the buffer changes
  shipyard get configdocs --base-version=committed
                                        what it changes, line by line
  shipyard get renderedconfigdocs       the design that it makes
  shipyard commit configdocs --dryrun   is it sound? Nothing changes
  shipyard commit configdocs            put it in force

A collection is loaded as a whole: a document that is left out is deleted. If
the buffer is not empty, --append adds a collection and --replace starts anew.

The versions of the documents:
  committed                 in force
  buffer                    loaded since the last commit
  last-site-action          used by the last site action
  successful-site-action    used by the last site action that succeeded"""

_LOGS = """\
Why did a step fail, or what is it doing? Its detail says so in a sentence:

  shipyard describe action ID           the steps, each with its state
  shipyard describe step STEP -a ID     times, notes and detail of one
  shipyard logs step STEP -a ID         what happened in it, line by line

Which groups and nodes failed, and why:

  shipyard watch ID                     while it goes on
  shipyard report ID                    at any time; says where there is more
  shipyard describe node NAME           one node, in all actions
  shipyard get site-statuses            machines as the provisioner sees them

What the service itself did is in the logs of the API and of the worker: one
JSON object a line, on stdout; lines about an action carry its id. --debug says
what this command asks the API, and how long the answers take."""

_OVERVIEW = """\
  shipyard help actions       start an action and follow it
  shipyard help configdocs    load documents, see what changes, commit
  shipyard help logs          find out what happened

`shipyard COMMAND --help` has the options of a command, and examples."""

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
