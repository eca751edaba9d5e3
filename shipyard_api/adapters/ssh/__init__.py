"""Tasks on running nodes over SSH, without an agent: ``supervisor.sh`` is sent with the task."""
