"""What a strategy, a rollout, an action and a design are: pure rules without I/O."""
