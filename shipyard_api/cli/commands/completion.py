"""``shipyard completion``: the shell script that completes commands, options, action names and versions.

Completion never contacts a server: it offers local names only.
"""

import click

from shipyard_api.cli.commands.syntax import examples

SHELLS = ("bash", "zsh", "fish")
# Replaces click's own: bash splits words at = and :, so --output-format=raw and http://host arrive in pieces. The
# script joins pieces without a blank between them; bash itself replaces only the part behind the split.
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n'
    local completion index response stripped type value word
    local rest=$COMP_LINE current=0 words=()

    for index in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[index]}
        stripped=${rest#"${rest%%%%[![:space:]]*}"}
        if [[ $index -gt 0 && $stripped == "$rest" && ( $word == [=:]* || ${words[-1]} == *[=:] ) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        rest=${stripped#"$word"}
        [[ $index -ne $COMP_CWORD ]] || current=$((${#words[@]} - 1))
    done

    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$current %(complete_var)s=bash_complete "$1")

    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"

        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("$value")
        fi
    done

    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


@click.command(
    short_help="Print a script that lets a shell complete commands.",
    epilog=examples(
        'eval "$(shipyard completion bash)"',
        "shipyard completion zsh > ~/.zfunc/_shipyard",
        "shipyard completion fish > ~/.config/fish/completions/shipyard.fish",
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, /, shell: str) -> None:
    """Print the script for SHELL. It completes commands, options, action names, versions, formats and files."""
    from click.shell_completion import get_completion_class

    if kind := get_completion_class(shell):
        completer = kind(context.find_root().command, {}, "shipyard", "_SHIPYARD_COMPLETE")
        # Not source(): for bash it would start a bash to read its version.
        click.echo((_BASH if shell == "bash" else completer.source_template) % completer.source_vars())
