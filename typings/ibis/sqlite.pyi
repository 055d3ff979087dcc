from sqlite3 import Connection
from typing import Any

from ibis import Backend

def connect(*args: Any, **options: Any) -> Backend: ...
def from_connection(connection: Connection) -> Backend: ...
