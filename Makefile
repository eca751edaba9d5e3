# Wrapper around ./dev. Pass arguments in ARGS: make demo ARGS="--scenario ntp-prepare-fails"
COMMANDS = demo up run test crash mutants check lint-fast fmt bench fragments docs setup site packages release lock clean help

.PHONY: $(COMMANDS)
.DEFAULT_GOAL = help

$(COMMANDS):
	@./dev $@ $(ARGS)
