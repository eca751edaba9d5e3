"""What a command printed, without the blanks that pad a table's last column."""


def lines(page: object) -> list[str]:
    return [line.rstrip() for line in str(page).split("\n")]


def unpadded(page: object) -> str:
    return "\n".join(lines(page))
