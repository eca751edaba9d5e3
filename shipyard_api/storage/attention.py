"""Whether a site needs a worker: asked over one short connection, so that sites without work hold none."""

ATTENTION = """
SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing'))
OR EXISTS (SELECT FROM actions WHERE state NOT IN ('success', 'failed'))
OR EXISTS (SELECT FROM stragglers WHERE ended_at IS NULL)
OR EXISTS (SELECT FROM sighted_actions WHERE done_at IS NULL)
OR EXISTS (SELECT FROM webhooks WHERE name = ANY(%(webhooks)s) AND cursor < (SELECT max(id) FROM journal))
"""
"""The query. ``webhooks``: the names of the targets in the site's settings."""
