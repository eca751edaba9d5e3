"""The step "real Ansible" of .ci/run: ansible-core from the registry, with `shipyard inventory` and our collection
before a running stack, and `ansible-test sanity` on the collection.
"""

import sys
from functools import partial

from real_peer import installed, step

# The last one that runs on Python 3.11.
ANSIBLE = partial(installed, "ansible-core~=2.19.0", "ansible-playbook", "ANSIBLE_PLAYBOOK")
TESTS = ["-n", "0", "tests/acceptance/test_ansible.py", "tests/acceptance/test_ansible_collection.py"]

if __name__ == "__main__":
    sys.exit(step(ANSIBLE, TESTS))
