"""Facts: everything that can happen to an action, one value each, with the form in which the journal stores it.

Notes, log lines, reports, validations and the history of nodes are functions of facts. A new fact is a class in the
module of its noun and a name in that module's ``FACTS``; after that only what shows it changes.
"""
