"""Start one of the servers: ``python tests/servers/start.py NAME FOLDER``.

What committed reproducers have as their command: it installs what is missing, and then becomes the
server, so that a replay needs nothing that was prepared by hand.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.servers.catalogue import BY_NAME, ROOT
from tests.servers.prepare import prepare
from wirefence.targets.errors import TargetError


def main() -> None:
    server, folder = BY_NAME[sys.argv[1]], Path(sys.argv[2])
    os.chdir(ROOT)
    try:
        prepare(server.place)
    except TargetError as error:
        sys.exit(str(error))
    server.make(folder)
    launch = server.launch(folder)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # later starts are much faster
    os.environ.update({name: value for name, value in launch.env.items() if value is not None})
    os.execvp(launch.argv[0], launch.argv)


if __name__ == "__main__":
    main()
