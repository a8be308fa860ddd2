"""This host: the settings a transfer runs under, and what they allow on a path.

`settings()` reads them; `advise()` says in sentences what they let a connection carry, and which
`sysctl` lines would lift that. Nothing here changes a setting.
"""

from __future__ import annotations

from fairway.host.advice import Advice, advise
from fairway.host.interface import Interface
from fairway.host.network import Route, route_to
from fairway.host.settings import FileSystem, Settings, settings
from fairway.host.sysctls import Sysctls
from fairway.host.windows import Path

__all__ = [
    "Advice",
    "FileSystem",
    "Interface",
    "Path",
    "Route",
    "Settings",
    "Sysctls",
    "advise",
    "route_to",
    "settings",
]
