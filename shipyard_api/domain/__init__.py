"""Pure rules without I/O: actions, strategies, rollouts, designs and their facts."""
