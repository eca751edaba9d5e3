"""The entities of the REST API, each said once: answers are encoded from them, and the command line decodes with them.

Their components of the OpenAPI document are made from them, too (``./dev docs``).
"""
