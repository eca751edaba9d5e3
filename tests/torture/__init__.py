"""``./dev torture``: the whole stack in one process and in virtual time, under faults that one seed draws.

``plan`` draws a site, its policy, what operators do, and the faults; ``world`` plays it; ``faults`` has each kind of
fault; ``history`` records what happened, in the format of ``check_history``; ``judge`` says what was wrong.
"""
