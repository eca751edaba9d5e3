"""The task graph of the software stage: tasks, the nodes they run on, and their order (seeds 001 and 002)."""
